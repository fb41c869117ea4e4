"""The leaderboard of one suite and language: its records, and how they are computed from the evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

import pandas as pd
from pydantic import ConfigDict, Field, model_validator

from bench.errors import UserError
from bench.protocol_facts import facts_of
from bench.records import SCHEMA_VERSION, Openness, PlayerInfo, Record
from bench.results.facts import CallFacts, standing_out
from bench.scores import paper
from bench.scores.bootstrap import CONFIDENCE
from bench.scores.calibration import CalibratedStudy
from bench.scores.digits import known
from bench.scores.flaws import FlawRates, flaw_rates
from bench.scores.frame import Frames
from bench.scores.ledger import Scene, conversation_counts, judgement_counts, ledger, scenes_of
from bench.scores.long_talks import LongTalk, long_talks
from bench.scores.probes import ProbeRates, probe_rates
from bench.scores.standing import RobustScore, RobustSummary, robust_records
from bench.scores.weights import CUSTOM, EQUAL, Weights, checked_weights, standard_weightings
from bench.tables import counted

RESAMPLES = 1000
SEED = 0

OWN_KEYS = ("in_character", "entertaining", "fluency")
"""Criteria that have a key of their own in each row of board.json, and a column in the CSV, null without a
mean. All criteria are under ``criteria``."""


PROBE_KEYS = ("pass_rate", "pass_rate_ci", "unclear", "rates")
"""Keys of the probes that board.json repeats in each row, where a board has probes."""


def _with_own_keys(schema: dict[str, Any]) -> None:
    """Add OWN_KEYS to the JSON Schema of a row."""
    number = {"anyOf": [{"type": "number"}, {"type": "null"}]}
    schema["properties"] |= dict.fromkeys(OWN_KEYS, number)
    schema["required"] += OWN_KEYS
    schema["properties"] |= {name: {} for name in PROBE_KEYS}


class WeightedScore(Record):
    """A player's numbers under one weighting of the criteria."""

    rank: int | None
    length_norm_score: float | None
    length_norm_ci: float | None
    score: float | None
    score_ci: float | None


class BoardRow(Record):
    """One player of a board. An unknown number is null, never 0."""

    model_config = ConfigDict(json_schema_extra=_with_own_keys)

    player: str
    name: str
    family: str
    provider: str
    model: str
    weights: Openness
    parameters_billion: float | None
    rank: int | None
    """Rank of the leader of the player's group: players within 0.06 of the leader share it, on scales other
    than 1 to 5 within the same share (1.5%) of the scale."""
    length_norm_score: float | None
    length_norm_ci: float | None
    """Half the width of the 95% interval; null with fewer than two scored conversations, or the same score in
    all of them."""
    score: float | None
    score_ci: float | None
    criteria: dict[str, float]
    """Mean of each criterion of the protocol, by name; empty if nothing is scored."""
    refusal_ratio: float | None
    """Share of the judged conversations in which any judge saw a refusal."""
    avg_length: int | None
    """Mean length of an answer in characters, over all complete conversations, cut to an integer."""
    length_factor: float | None
    """Factor from ``score`` to ``length_norm_score``; null if the protocol's length rule is not a factor."""
    conversations: int
    """Complete conversations."""
    conversations_scored: int
    """Complete conversations with at least one judgement that counts."""
    conversations_failed: int
    conversations_missing: int
    conversations_expected: int
    judgements_ok: int
    """Judgements that count in the means, including repaired ones."""
    judgements_repaired: int
    judgements_refused: int
    judgements_failed: int
    judgements_stale: int
    judgements_missing: int
    judgements_expected: int
    judges: tuple[str, ...]
    """Judges with at least one judgement of this player."""
    cost: str | None
    """US dollars of all calls as a decimal string; null if the price of a call is unknown."""
    weightings: dict[str, WeightedScore]
    """Numbers under other weightings of the criteria, by the weighting's name."""
    robust: RobustScore | None
    """Null if no conversation of the player counts, or the protocol's scale is unknown."""
    probes: ProbeRates | None = None
    """Pass rates, on boards of probes only."""
    long_talk: LongTalk | None = None
    """Recall, slopes, breaks, recovery and repetition by turn; left out unless conversations have scripts."""
    flaws: FlawRates | None = None
    """Flaws that judges listed; left out where they were not asked for any."""
    calls: tuple[CallFacts, ...] = ()
    """What stands out among the player's calls and those made for it; left out where nothing does."""

    @property
    def reasoning_tokens(self) -> float | None:
        """Mean tokens of reasoning of the player's answers; None where the provider counts none."""
        return next((facts.reasoning_tokens for facts in self.calls if facts.role == "player"), None)

    @model_validator(mode="before")
    @classmethod
    def _drop_own_keys(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {key: value for key, value in data.items() if key not in (*OWN_KEYS, *PROBE_KEYS)}


class StaleEvidence(Record):
    """Evidence that was made with another version of the suite, or other prompts, parameters or models."""

    conversations: int
    judgements: int
    """Those whose own inputs have changed, beside the conversations."""
    players: dict[str, int]
    """Stale conversations by player."""
    cost: str | None
    """Estimate of what redoing them costs, in US dollars; null if a price is unknown."""
    unknown: str = ""
    """Why some evidence, or all of it, cannot be compared with the current prompts and models."""

    @property
    def known(self) -> int:
        """Records that are known to be out of date."""
        return self.conversations + self.judgements

    @property
    def text(self) -> str:
        """One or two sentences for people."""
        unknown = f"Whether evidence is out of date is unknown: {self.unknown}." if self.unknown else ""
        if not self.known:
            return unknown
        cost = "an unknown sum: a price is missing" if self.cost is None else f"about ${self.cost}"
        known = (
            f"{counted(self.conversations, 'conversation')} and {counted(self.judgements, 'judgement')} are"
            " out of date: the suite's version, prompts, parameters or models have changed since."
            f" Redoing them costs {cost}."
        )
        return f"{known} {unknown}".rstrip()


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
    """Weight of each criterion in the ranking numbers; only the proportions matter."""
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
    other_judges: tuple[str, ...] = ()
    """Judges whose judgements do not count: the suite does not name them. Left out where empty."""
    repeats: int | None = None
    """How often each scene is played; left out where once."""
    judges_per_scene: int | None = None
    """How many of the judges score each scene; left out where all do."""
    absent_judges: tuple[str, ...] = ()
    """Judges that the suite names and that have judged nothing. Left out where empty."""
    stale: StaleEvidence | None = None
    """Left out where nothing is stale, and where the current prompts and models are not known."""
    people: tuple[CalibratedStudy, ...] = ()
    """Human-calibrated scores by the studies of this board. Left out where there is no study, and from the
    results' own board.json."""


def board_of(
    frames: Frames,
    *,
    weights: Weights | None = None,
    resamples: int = RESAMPLES,
    seed: int = SEED,
    scenes: Sequence[Scene] | None = None,
) -> Board:
    """Compute the board of ``frames``.

    Args:
        frames: The evidence, only by judges that count.
        weights: Weight of each criterion; None for equal weights.
        resamples, seed: Number of bootstrap resamples for the confidence intervals, and their seed.
        scenes: Scenes that every player should have; None for all that any player was given.

    Raises UserError for invalid weights or resamples.
    """
    if resamples < 1:
        raise UserError(f"{resamples} resamples are too few for an interval", hint="Ask for 1000 or more.")
    standard = standard_weightings(frames.criteria)
    main, main_weights = EQUAL, standard[EQUAL]
    if weights is not None:
        main, main_weights = CUSTOM, checked_weights(weights, frames.criteria)
    weightings = {main: main_weights, **standard}
    scored, median = paper_numbers(frames, weightings, resamples=resamples, seed=seed)
    tables = {name: _weighted(ranked_numbers(frames, scored, name)) for name in weightings}
    counts = _counts(frames, list(scenes_of(frames) if scenes is None else scenes))
    beside, facts = _beside(frames), standing_out(frames.calls)
    summary, robust = robust_records(frames, main_weights, resamples=resamples, seed=seed)
    infos, repeats = {info.player: info for info in frames.players}, len(frames.samples)
    return Board(
        suite=frames.suite,
        version=frames.version,
        protocol=frames.protocol,
        language=frames.language,
        criteria=frames.criteria,
        weights=main_weights,
        weightings={name: dict(weightings[name]) for name in weightings if name != main},
        judges=frames.judges,
        repeats=repeats if repeats > 1 else None,
        judges_per_scene=frames.judges_per_scene,
        median_length=median,
        resamples=resamples,
        seed=seed,
        robust=summary,
        rows=tuple(
            BoardRow(
                **_scores(scored.loc[player], frames.criteria),
                **tables[main][player].model_dump(),
                **counts.loc[player].to_dict(),
                **infos[player].model_dump(include=_PLAYER_FIELDS),
                weightings={name: tables[name][player] for name in weightings if name != main},
                robust=robust.get(player),
                **beside[player],
                calls=tuple(fact for (name, *_), fact in facts.items() if name == player),
            )
            for player in tables[main]
        ),
    )


def _beside(frames: Frames) -> dict[str, dict[str, Any]]:
    """By player, the fields of its row that only some protocols and suites have."""
    found: dict[str, Mapping[str, Record]] = {
        "probes": probe_rates(frames),
        "long_talk": long_talks(frames),
        "flaws": flaw_rates(frames),
    }
    return {name: {key: rates.get(name) for key, rates in found.items()} for name in frames.names}


_PLAYER_FIELDS = set(BoardRow.model_fields) & set(PlayerInfo.model_fields)
NUMBERS = ("length_norm_score", "length_norm_ci", "score", "score_ci")
"""Fields of a weighting's numbers besides the rank."""


def paper_numbers(
    frames: Frames, weightings: Mapping[str, Weights], *, resamples: int, seed: int
) -> tuple[pd.DataFrame, float | None]:
    """Unrounded numbers of the paper's scoring, one row per player of the board, and ``L``.

    Columns: those of :func:`bench.scores.paper.player_scores`, avg_length, length_factor, refusal_ratio.
    """
    talks = paper.conversation_scores(paper.judge_scores(frames, weightings))
    conversations = paper.over_repeats(talks)
    scored = pd.Series(0.0, index=sorted(set(conversations.index.get_level_values("player"))))
    terms = paper.length_terms(frames, scored)
    factors = {str(name): float(factor) for name, factor in terms["factor"].items()}
    table = paper.player_scores(
        conversations,
        factors,
        resamples=resamples,
        key=[seed, frames.suite, frames.language],
        weights=paper.turn_weights(frames, conversations.index),
    )
    for name in weightings if len(table) else ():
        table[paper.norm_column(name)] += paper.length_terms(frames, table[paper.final_column(name)])["shift"]
    table["conversations_scored"] = talks.groupby(level="player").size().reindex(table.index)
    table = table.reindex(pd.Index(frames.names, name="player"))
    facts, lengths = facts_of(frames.protocol), frames.answer_lengths
    ratios = paper.refusal_ratios(frames.usable) if facts.published_scale is None else {}
    multiplied = facts.length_rule == "paper_v2"
    table["avg_length"] = [lengths.get(name) for name in frames.names]
    table["length_factor"] = [factors.get(name) if multiplied else None for name in frames.names]
    table["refusal_ratio"] = [ratios.get(name) for name in frames.names]
    return table, paper.median_length([lengths[name] for name in factors if name in lengths])


def ranked_numbers(frames: Frames, scored: pd.DataFrame, weighting: str) -> pd.DataFrame:
    """Rank and NUMBERS of a weighting from :func:`paper_numbers` as they are published, best first."""
    final, norm = paper.final_column(weighting), paper.norm_column(weighting)
    columns = [norm, f"{norm}_ci", final, f"{final}_ci"]
    table = scored.reindex(columns=columns).astype("float64").map(paper.published)
    return paper.ranked(
        table.set_axis(list(NUMBERS), axis="columns"), paper.rank_gap(facts_of(frames.protocol))
    )


def _counts(frames: Frames, scenes: list[Scene]) -> pd.DataFrame:
    """Counts of conversations and judgements, judges and cost of each player, as fields of its row."""
    talks = conversation_counts(frames, scenes).add_prefix("conversations_")
    states = judgement_counts(ledger(frames, scenes)).reindex(frames.names, fill_value=0)
    table = talks.join(states.add_prefix("judgements_")).rename(
        columns={"conversations_complete": "conversations"}
    )
    table["judgements_ok"] += table["judgements_repaired"]
    table["judgements_expected"] = states.sum(axis=1)
    pairs = sorted(set(zip(frames.judgements["player"], frames.judgements["judge"], strict=True)))
    costs = pd.concat([frames.conversations[["player", "cost"]], frames.judgements[["player", "cost"]]])
    by_player = {name: list(group) for name, group in costs.groupby("player")["cost"]}
    table["judges"] = [tuple(judge for player, judge in pairs if player == name) for name in frames.names]
    totals = [_total(by_player.get(name, [])) for name in frames.names]
    return table.assign(cost=pd.Series(totals, index=table.index, dtype="object")).astype("object")


def _total(costs: list[Any]) -> str | None:
    """Exact sum of decimal strings; None if one is missing or there are none."""
    if not costs or any(not isinstance(cost, str) for cost in costs):
        return None
    return f"{sum(map(Decimal, costs), Decimal(0)):f}"


def _scores(scored: pd.Series, criteria: tuple[str, ...]) -> dict[str, Any]:
    """Fields of a row from its numbers in :func:`paper_numbers`."""
    means = {name: known(scored.get(name)) for name in criteria}
    length = known(scored["avg_length"])
    return {
        "criteria": {name: mean for name, mean in means.items() if mean is not None},
        "refusal_ratio": known(scored["refusal_ratio"]),
        "avg_length": None if length is None else int(length),
        "length_factor": known(scored["length_factor"]),
        "conversations_scored": int(known(scored.get("conversations_scored")) or 0),
    }


def _weighted(table: pd.DataFrame) -> dict[Any, WeightedScore]:
    """The numbers of each player."""
    return {
        str(player): WeightedScore(
            rank=None if pd.isna(rank) else int(rank),
            **{name: known(value) for name, value in zip(NUMBERS, values, strict=True)},
        )
        for player, rank, *values in table[["rank", *NUMBERS]].itertuples(name=None)
    }
