"""The leaderboard of one suite and language: how it is made of the evidence, and its frozen records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

import pandas as pd
from pydantic import Field

from bench.errors import UserError
from bench.protocol_facts import facts_of
from bench.records import SCHEMA_VERSION, Openness, PlayerInfo, Record
from bench.scores import paper
from bench.scores.bootstrap import CONFIDENCE
from bench.scores.frame import Frames
from bench.scores.ledger import Scene, conversation_counts, judgement_counts, ledger, scenes_of
from bench.scores.robust import CORRECTION, detectable_difference, robust_grid, robust_numbers, separability
from bench.scores.weights import CUSTOM, EQUAL, Weights, checked_weights, standard_weightings

RESAMPLES = 1000
SEED = 0


class WeightedScore(Record):
    """A player's numbers under one weighting of the criteria."""

    rank: int | None
    length_norm_score: float | None
    length_norm_ci: float | None
    score: float | None
    score_ci: float | None


class RobustScore(Record):
    """A player's numbers under the robust scoring: refusals count, characters and situations are a sample."""

    score: float
    """Length-normalised, comparable with ``length_norm_score``."""
    low: float | None
    high: float | None
    """The 95% interval from resampling characters and situations."""
    rank_low: int
    rank_high: int
    """The ranks that the data leave open."""
    group: int
    """Tie group: the place of its leader, from whom no member is surely different."""


class RobustSummary(Record):
    """What the robust scoring says of a board as a whole."""

    correction: str
    """For many comparisons: bh (Benjamini-Hochberg) or holm."""
    pairs: int
    separability: float | None
    """Share of the pairs of players that the data tell apart."""
    standard_error: float | None
    """Of the difference of a typical (median) pair."""
    detectable_difference: float | None
    """The smallest true difference of such a pair that a single comparison finds four times in five."""


class BoardRow(Record):
    """One player of a board. A number that cannot be known is null, never 0."""

    player: str
    name: str
    family: str
    provider: str
    model: str
    weights: Openness
    parameters_billion: float | None
    rank: int | None
    """Place of the leader of the player's group: players within 0.06 of the leader share it, on a
    protocol's scale of another width within the same share (1.5%) of it."""
    length_norm_score: float | None
    length_norm_ci: float | None
    """Half the width of the 95% interval; null where fewer than two conversations are scored."""
    score: float | None
    score_ci: float | None
    in_character: float | None
    entertaining: float | None
    fluency: float | None
    criteria: dict[str, float]
    """Mean of each criterion of the protocol, by name; empty where nothing is scored."""
    refusal_ratio: float | None
    """Share of the judged conversations in which any judge saw a refusal."""
    avg_length: int | None
    """Mean length of an answer in characters, over all complete conversations, cut to an integer."""
    length_factor: float | None
    """What ``score`` was multiplied with to get ``length_norm_score``; null where the protocol's length rule
    multiplies nothing."""
    conversations: int
    """Complete conversations."""
    conversations_scored: int
    """Complete conversations with at least one judgement that counts."""
    conversations_failed: int
    conversations_missing: int
    conversations_expected: int
    judgements_ok: int
    """Judgements that count in the means, repaired ones included."""
    judgements_repaired: int
    judgements_refused: int
    judgements_failed: int
    judgements_stale: int
    judgements_missing: int
    judgements_expected: int
    judges: tuple[str, ...]
    """Judges with at least one judgement of this player."""
    cost: str | None
    """US dollars of all calls as a decimal string; null where any call's price is unknown."""
    weightings: dict[str, WeightedScore]
    """The numbers under other weightings of the criteria, by the weighting's name."""
    robust: RobustScore | None
    """Null where the player has no conversation that counts, or the protocol's scale is not known."""


class Board(Record):
    """The leaderboard of one suite and language: board.json."""

    schema_version: int = SCHEMA_VERSION
    suite: str
    version: str
    protocol: str
    language: str
    scoring: Literal["paper"] = "paper"
    criteria: tuple[str, ...]
    weights: dict[str, float]
    """The weight of each criterion in the ranking numbers; only their proportions matter."""
    weightings: dict[str, dict[str, float]]
    """The other weightings that rows report, by name."""
    judges: tuple[str, ...]
    median_length: float | None
    """``L`` of the length normalisation: the median of the scored players' ``avg_length``."""
    confidence: float = CONFIDENCE
    resamples: int
    seed: int
    digits: int = Field(default=paper.DIGITS)
    """Decimals to which every number of the rows is rounded."""
    robust: RobustSummary | None
    rows: tuple[BoardRow, ...]


def board_of(
    frames: Frames,
    *,
    weights: Weights | None = None,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    scenes: Sequence[Scene] | None = None,
) -> Board:
    """The board of evidence that is loaded already."""
    if resamples < 1:
        raise UserError(f"{resamples} resamples are too few for an interval", hint="Ask for 1000 or more.")
    standard = standard_weightings(frames.criteria)
    main, main_weights = EQUAL, standard[EQUAL]
    if weights is not None:
        main, main_weights = CUSTOM, checked_weights(weights, frames.criteria)
    weightings = {main: main_weights, **standard}
    scored, median = paper_numbers(frames, weightings, resamples=resamples, seed=seed)
    gap = paper.rank_gap(facts_of(frames.protocol))
    tables = {name: paper.ranked(_published(scored, name), gap) for name in weightings}
    counts = _counts(frames, scenes_of(frames) if scenes is None else list(scenes))
    summary, robust = _robust(frames, main_weights, resamples, seed)
    infos = {info.player: info for info in frames.players}
    rows = tuple(
        _row(
            infos[player],
            frames.criteria,
            scored.loc[player],
            counts.loc[player],
            {name: _weighted(tables[name], player) for name in weightings},
            main,
            robust.get(player),
        )
        for player in tables[main].index
    )
    return Board(
        suite=frames.suite,
        version=frames.version,
        protocol=frames.protocol,
        language=frames.language,
        criteria=frames.criteria,
        weights=main_weights,
        weightings={name: dict(weightings[name]) for name in weightings if name != main},
        judges=frames.judges,
        median_length=median,
        resamples=resamples,
        seed=seed,
        robust=summary,
        rows=rows,
    )


def paper_numbers(
    frames: Frames, weightings: Mapping[str, Weights], *, resamples: int, seed: int
) -> tuple[pd.DataFrame, float | None]:
    """Unrounded numbers of the paper's scoring, one row per player of the board, and ``L``.

    Columns: those of :func:`bench.scores.paper.player_scores`, and avg_length, length_factor, refusal_ratio.
    """
    names = [info.player for info in frames.players]
    conversations = paper.conversation_scores(paper.judge_scores(frames, weightings))
    lengths = {str(p): int(n) for p, n in paper.answer_lengths(frames.conversations).items()}
    scored_names = sorted({str(p) for p in conversations.index.get_level_values("player")})
    median = paper.median_length([lengths[name] for name in scored_names])
    multiplied = facts_of(frames.protocol).length_rule == "paper_v2"
    factors = {
        name: paper.length_factor(lengths[name], median or 0.0) if multiplied else 1.0
        for name in scored_names
    }
    key: list[str | int] = [seed, frames.suite, frames.language]
    weights = paper.turn_weights(frames, conversations.index)
    table = paper.player_scores(conversations, factors, resamples=resamples, key=key, weights=weights)
    for name in weightings if len(table) else ():
        final = paper.final_column(name)
        norm = final.replace("final:", "norm:", 1)
        table[norm] = table[norm] + paper.length_terms(frames, table[final])["shift"].to_numpy()
    table = table.reindex(pd.Index(names, name="player"))
    ratios = {str(p): float(r) for p, r in paper.refusal_ratios(paper.usable_judgements(frames)).items()}
    table["avg_length"] = pd.array([lengths.get(name) for name in names], dtype="Int64")
    table["length_factor"] = [factors.get(name) if multiplied else None for name in names]
    table["refusal_ratio"] = [ratios.get(name) for name in names]
    return table, median


def _robust(
    frames: Frames, weights: Weights, resamples: int, seed: int
) -> tuple[RobustSummary | None, dict[str, RobustScore]]:
    if facts_of(frames.protocol).scale is None or frames.scores.empty:
        return None, {}
    key: list[str | int] = [seed, frames.suite, frames.language]
    table, pairs = robust_numbers(robust_grid(frames, weights), resamples=resamples, key=key)
    known = pairs[pairs["standard_error"] > 0]
    error = float(known["standard_error"].median()) if len(known) else None
    least = detectable_difference(error, float(known["df"].median())) if error else None
    summary = RobustSummary(
        correction=CORRECTION,
        pairs=len(pairs),
        separability=_known(separability(pairs)),
        standard_error=_known(error),
        detectable_difference=_known(least),
    )
    rows = {
        str(player): RobustScore(
            score=paper.published(float(row["score"])),
            low=_known(row["low"]),
            high=_known(row["high"]),
            rank_low=int(row["rank_low"]),
            rank_high=int(row["rank_high"]),
            group=int(row["group"]),
        )
        for player, row in table.iterrows()
    }
    return summary, rows


def _published(scored: pd.DataFrame, weighting: str) -> pd.DataFrame:
    """The four numbers of a weighting, rounded as they are published."""
    final = paper.final_column(weighting)
    norm = final.replace("final:", "norm:", 1)
    columns = {
        "length_norm_score": norm,
        "length_norm_ci": f"{norm}_ci",
        "score": final,
        "score_ci": f"{final}_ci",
    }
    return pd.DataFrame(
        {
            name: [paper.published(float(x)) for x in scored[column]] if column in scored else float("nan")
            for name, column in columns.items()
        },
        index=scored.index,
        dtype="float64",
    )


def _counts(frames: Frames, scenes: list[Scene]) -> pd.DataFrame:
    """Per player: counts of conversations and judgements, judges, cost."""
    names = [info.player for info in frames.players]
    talks = conversation_counts(frames, scenes).add_prefix("conversations_")
    verdicts = judgement_counts(ledger(frames, scenes)).reindex(names, fill_value=0)
    table = talks.join(verdicts.add_prefix("judgements_"))
    table["judgements_expected"] = len(scenes) * len(frames.judges)
    pairs = frames.judgements[["player", "judge"]].drop_duplicates().astype(str)
    table["judges"] = [tuple(sorted(pairs.loc[pairs["player"] == name, "judge"])) for name in names]
    costs = pd.concat([frames.conversations[["player", "cost"]], frames.judgements[["player", "cost"]]])
    by_player = {str(p): list(group) for p, group in costs.astype({"player": str}).groupby("player")["cost"]}
    totals = [_total(by_player.get(name, [])) for name in names]
    table["cost"] = pd.Series(totals, index=table.index, dtype="object")
    return table


def _total(costs: list[Any]) -> str | None:
    """The exact sum of decimal strings; None where one is missing or there are none."""
    if not costs or any(not isinstance(cost, str) for cost in costs):
        return None
    return f"{sum(map(Decimal, costs), Decimal(0)):f}"


def _row(
    info: PlayerInfo,
    criteria: tuple[str, ...],
    scored: pd.Series,
    counts: pd.Series,
    weighted: Mapping[str, WeightedScore],
    main: str,
    robust: RobustScore | None,
) -> BoardRow:
    means = {name: _known(scored.get(name)) for name in criteria}
    length = scored["avg_length"]
    return BoardRow(
        player=info.player,
        name=info.name,
        family=info.family,
        provider=info.provider,
        model=info.model,
        weights=info.weights,
        parameters_billion=info.parameters_billion,
        **weighted[main].model_dump(),
        in_character=means.get("in_character"),
        entertaining=means.get("entertaining"),
        fluency=means.get("fluency"),
        criteria={name: mean for name, mean in means.items() if mean is not None},
        refusal_ratio=_known(scored["refusal_ratio"]),
        avg_length=None if pd.isna(length) else int(length),
        length_factor=_known(scored["length_factor"]),
        conversations=int(counts["conversations_complete"]),
        conversations_scored=int(_known(scored.get("conversations_scored")) or 0),
        conversations_failed=int(counts["conversations_failed"]),
        conversations_missing=int(counts["conversations_missing"]),
        conversations_expected=int(counts["conversations_expected"]),
        judgements_ok=int(counts["judgements_ok"] + counts["judgements_repaired"]),
        judgements_repaired=int(counts["judgements_repaired"]),
        judgements_refused=int(counts["judgements_refused"]),
        judgements_failed=int(counts["judgements_failed"]),
        judgements_stale=int(counts["judgements_stale"]),
        judgements_missing=int(counts["judgements_missing"]),
        judgements_expected=int(counts["judgements_expected"]),
        judges=counts["judges"],
        cost=counts["cost"],
        weightings={name: numbers for name, numbers in weighted.items() if name != main},
        robust=robust,
    )


def _weighted(table: pd.DataFrame, player: str) -> WeightedScore:
    row = table.loc[[player]].iloc[0]
    return WeightedScore(
        rank=None if pd.isna(row["rank"]) else int(row["rank"]),
        length_norm_score=_known(row["length_norm_score"]),
        length_norm_ci=_known(row["length_norm_ci"]),
        score=_known(row["score"]),
        score_ci=_known(row["score_ci"]),
    )


def _known(value: Any) -> float | None:
    """A number as published, None where it is missing."""
    return None if value is None or pd.isna(value) else paper.published(float(value))
