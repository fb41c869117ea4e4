"""The paper's scoring, kept exactly: see "The numbers" in the design notes and the methods page.

What differs between protocols is in :mod:`bench.protocol_facts`.

From turns to a board, each step one function: :func:`judge_scores` (mean over turns, then over criteria),
:func:`conversation_scores` (plain average across judges), :func:`player_scores` (mean over conversations,
length normalisation, intervals), :func:`ranked`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from bench.protocol_facts import ProtocolFacts, facts_of
from bench.scores.bootstrap import NOISE_DECIMALS, Array, mean_half_widths
from bench.scores.frame import SCENE, Frames
from bench.scores.weights import Weights

LENGTH_STRENGTH = 0.07
"""The most that long answers can cost, as a share of the score."""

PAPER_GAP = 6
"""Players share a rank with the leader of their group unless they score more than this many hundredths of a
point below it, on version 2's scale of 1 to 5."""
PAPER_WIDTH = 4.0
"""Highest minus lowest score of version 2's scale."""

V1_REACH = 3.0
"""In version 1, how many median lengths beyond the median it takes for tanh(1) of the largest penalty."""

DIGITS = 6
"""Decimals that are published; ranks and printed hundredths are made from the published number."""


def usable_judgements(frames: Frames) -> pd.DataFrame:
    """Judgements that say something: ok, and of the messages that a complete conversation holds now."""
    complete = frames.conversations.loc[frames.conversations["status"] == "complete", SCENE]
    told = frames.judgements[(frames.judgements["status"] == "ok") & ~frames.judgements["stale"]]
    return _joined(told, complete, SCENE)


def judge_scores(frames: Frames, weightings: Mapping[str, Weights]) -> pd.DataFrame:
    """Per (player, character, situation, judge): each criterion's mean over turns, each weighting's final.

    A judgement that saw a refusal in any turn is left out. Finals are in columns named by
    :func:`final_column`.
    """
    judged = usable_judgements(frames)
    return with_finals(turn_means(frames, judged[~judged["refusal"]]), weightings)


def turn_means(frames: Frames, judgements: pd.DataFrame) -> pd.DataFrame:
    """Per (player, character, situation, judge) of ``judgements``: each criterion's mean over turns."""
    keys = [*SCENE, "judge"]
    rows = _joined(frames.scores[[*keys, "criterion", "score"]], judgements, keys)
    grouped = rows.groupby([*keys, "criterion"], observed=True)["score"]
    means = (grouped.sum() / grouped.count()).unstack("criterion")
    means = means.reindex(columns=list(frames.criteria))
    means.columns.name = None
    return means.sort_index()


def with_finals(means: pd.DataFrame, weightings: Mapping[str, Weights]) -> pd.DataFrame:
    """``means`` with a column for each weighting's final: the weighted average of the criteria."""
    finals = {}
    for name, weights in weightings.items():
        final = sum((w * means[criterion] for criterion, w in weights.items()), pd.Series(0.0, means.index))
        finals[final_column(name)] = final / math.fsum(weights.values())
    return means.assign(**finals)


def final_column(weighting: str) -> str:
    """The column that holds a weighting's final score."""
    return f"final:{weighting}"


def conversation_scores(by_judge: pd.DataFrame) -> pd.DataFrame:
    """Per (player, character, situation): the plain average of what its judges gave."""
    if by_judge.empty:
        return by_judge.droplevel("judge")
    return by_judge.groupby(level=SCENE, observed=True).mean().sort_index()


def answer_lengths(conversations: pd.DataFrame) -> pd.Series:
    """Per player: mean characters of an answer, cut to an integer; of complete conversations only."""
    complete = conversations[(conversations["status"] == "complete") & (conversations["turns"] > 0)]
    sums = complete.groupby("player", observed=True)[["answer_characters", "turns"]].sum()
    return (sums["answer_characters"] // sums["turns"]).rename("avg_length")


def refusal_ratios(judged: pd.DataFrame) -> pd.Series:
    """Per player: the share of its judged conversations in which any judge saw a refusal."""
    any_judge = judged.groupby(SCENE, observed=True)["refusal"].any()
    grouped = any_judge.groupby(level="player", observed=True)
    return (grouped.sum() / grouped.count()).rename("refusal_ratio")


def length_factor(length: float, median: float) -> float:
    """What a player's scores are multiplied with: 1 up to the median length, never below 0.93."""
    if length <= median or length <= 0:
        return 1.0
    return max(1 - LENGTH_STRENGTH, 1 + LENGTH_STRENGTH * (median / length - 1))


def median_length(lengths: Sequence[int]) -> float | None:
    """``L``: the median over the players that have a score; None where there are none."""
    return float(np.median(np.asarray(lengths, dtype=np.float64))) if len(lengths) else None


def length_factors(conversations: pd.DataFrame, players: Sequence[str]) -> pd.Series:
    """Each player's length factor on a board of ``players``; 1 for one without a complete conversation."""
    lengths = {str(p): int(n) for p, n in answer_lengths(conversations).items()}
    median = median_length([lengths[name] for name in players if name in lengths])
    factors = [length_factor(lengths.get(name, 0), median or 0.0) for name in players]
    return pd.Series(factors, index=pd.Index(players, name="player"), dtype="float64")


def length_terms(frames: Frames, means: pd.Series) -> pd.DataFrame:
    """What the protocol's length rule makes of the scores ``means`` of a board's players (index: player):
    each times ``factor``, plus ``shift``.

    With ``l`` a player's mean answer length and ``L`` the median of the scored players':
    ``paper_v2``: factor clamp(1 + 0.07 (L / l - 1), 0.93, 1).
    ``paper_v1``: shift (largest - smallest score) * min(0, tanh((L - l) / (3 L))), from its public code.
    ``none``: the score as it is.
    """
    rule = facts_of(frames.protocol).length_rule
    players = [str(player) for player in means.index]
    terms = pd.DataFrame({"factor": 1.0, "shift": 0.0}, index=pd.Index(players, name="player"))
    if rule == "paper_v2":
        terms["factor"] = length_factors(frames.conversations, sorted(players)).reindex(players)
    elif rule == "paper_v1" and players:
        lengths = {str(p): int(n) for p, n in answer_lengths(frames.conversations).items()}
        median = median_length([lengths[name] for name in players if name in lengths]) or 0.0
        span = float(means.max() - means.min())
        terms["shift"] = [span * v1_penalty(lengths.get(name, 0), median) for name in players]
    return terms


def v1_penalty(length: float, median: float) -> float:
    """Version 1's penalty for long answers, as a share (0 to -1) of the range of the board's scores."""
    return min(0.0, math.tanh((median - length) / (V1_REACH * median))) if median > 0 else 0.0


def length_normalised(frames: Frames, means: pd.Series) -> pd.Series:
    """The scores ``means`` of players (index) under the protocol's length rule."""
    terms = length_terms(frames, means)
    made: pd.Series = means * terms["factor"].to_numpy() + terms["shift"].to_numpy()
    return made


def turn_weights(frames: Frames, conversations: pd.Index) -> Array | None:
    """How much each of ``conversations`` (by player, character, situation) weighs in its player's mean: its
    answers where the protocol pools turns, else None, for all alike."""
    if not facts_of(frames.protocol).pools_turns:
        return None
    table = frames.conversations
    turns = dict(
        zip(table[SCENE].astype(str).itertuples(index=False, name=None), table["turns"], strict=True)
    )
    return np.asarray([turns[tuple(map(str, key))] for key in conversations], dtype=np.float64)


def player_means(frames: Frames, scenes: pd.Series) -> pd.Series:
    """Each player's mean of ``scenes``, a series by (player, character, situation)."""
    weights = turn_weights(frames, scenes.index)
    if weights is None:
        return scenes.groupby(level="player", observed=True).mean()
    players = scenes.index.get_level_values("player")
    sums = (scenes * weights).groupby(players, observed=True).sum()
    return sums / pd.Series(weights, index=scenes.index).groupby(players, observed=True).sum()


def player_scores(
    conversations: pd.DataFrame,
    factors: Mapping[str, float],
    *,
    resamples: int,
    key: Sequence[str | int],
    weights: Array | None = None,
) -> pd.DataFrame:
    """Per scored player (index) and column of ``conversations``: mean and half-width of its interval.

    They are in columns ``<column>`` and ``<column>_ci``; finals are there also times the player's length
    factor, with ``norm:`` in place of ``final:``. ``conversations_scored`` says how many there are.
    Half-widths are missing where a player has only one scored conversation. ``weights``: of the rows, where
    not all weigh alike (see :func:`turn_weights`).
    """
    rows: dict[str, dict[str, float]] = {}
    columns = list(conversations.columns)
    weighed = conversations.assign(**{_WEIGHT: 1.0 if weights is None else weights})
    for player, group in weighed.groupby(level="player", observed=True):
        name = str(player)
        table = group.sort_index()
        values = table[columns].to_numpy(dtype=np.float64)
        own = None if weights is None else table[_WEIGHT].to_numpy(dtype=np.float64)
        widths = mean_half_widths(values, resamples, [*key, name], own)
        rows[name] = _player_row(columns, values, widths, factors[name], own)
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("player")


_WEIGHT = "weight:"


def _player_row(
    columns: list[str], values: Array, widths: Array | None, factor: float, weights: Array | None
) -> dict[str, float]:
    row: dict[str, float] = {"conversations_scored": len(values)}
    for at, column in enumerate(columns):
        if weights is None:
            mean = math.fsum(values[:, at]) / len(values)
        else:
            mean = math.fsum(values[:, at] * weights) / math.fsum(weights)
        width = math.nan if widths is None else float(widths[at])
        row |= {column: mean, f"{column}_ci": width}
        if column.startswith("final:"):
            norm = column.replace("final:", "norm:", 1)
            row |= {norm: mean * factor, f"{norm}_ci": width * factor}
    return row


def published(value: float) -> float:
    """A number as it is published: DIGITS decimals, with the noise of floating point taken off before, so
    that a number half-way between two does not fall either way by the order in which it was added up."""
    return round(round(value, NOISE_DECIMALS), DIGITS) + 0.0


def hundredths(score: float) -> int:
    """The score as printed with two decimals, as a whole number of hundredths."""
    return int(f"{score:.2f}".replace(".", ""))


def rank_gap(facts: ProtocolFacts) -> float:
    """PAPER_GAP as the same share of this protocol's scale: 6 on 1 to 5, 13.5 on 1 to 10, 150 on 0 to 100."""
    low, high = facts.scale or (0.0, PAPER_WIDTH)
    return PAPER_GAP * (high - low) / PAPER_WIDTH


def ranks(printed: Sequence[int], gap: float = PAPER_GAP) -> list[int]:
    """Ranks of scores in hundredths, sorted from high to low.

    A group shares the place of its leader; the next group begins with the first score that lies more than
    ``gap`` hundredths below that leader. Groups of 2 and 3 thus have ranks 1 and 3.
    """
    given: list[int] = []
    leader = None
    for place, score in enumerate(printed, start=1):
        if leader is None or leader - score > gap:
            leader = score
            given.append(place)
        else:
            given.append(given[-1])
    return given


def ranked(scores: pd.DataFrame, gap: float = PAPER_GAP) -> pd.DataFrame:
    """Rows sorted from best to worst with a ``rank`` column; those without a score follow, unranked.
    ``gap``: see :func:`ranks`.

    Takes a frame indexed by player with ``length_norm_score`` and ``score``, both as published. Equal
    length-normalised scores are ordered by score, then by player id, and always share a rank.
    """
    table = scores.assign(_player=scores.index.astype(str))
    table = table.sort_values(
        ["length_norm_score", "score", "_player"], ascending=[False, False, True], na_position="last"
    ).drop(columns="_player")
    scored = [hundredths(score) for score in table["length_norm_score"].dropna()]
    places: list[int | None] = [*ranks(scored, gap)]
    places += [None] * (len(table) - len(scored))
    return table.assign(rank=pd.array(places, dtype="Int64"))


def _joined(table: pd.DataFrame, keep: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Rows of ``table`` whose ``keys`` occur in ``keep``, in the order of ``table``."""
    wanted = pd.MultiIndex.from_frame(keep[keys].astype(str))
    have = pd.MultiIndex.from_frame(table[keys].astype(str))
    return table[have.isin(wanted)]
