"""The paper's scoring: PingPong (arXiv 2409.06820), version 2 unless a docstring says otherwise.

Protocols differ in their facts (:mod:`bench.protocol_facts`). From judgements to a board, each step is one
function: :func:`judge_scores` (mean over turns, then over criteria), :func:`conversation_scores` (mean over
judges), :func:`over_repeats` (mean over repeats), :func:`player_scores` (mean over scenes, length
normalisation, intervals), :func:`ranked`.
Scores are in points of the protocol's scale, lengths in Unicode characters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np
import pandas as pd

from bench.protocol_facts import ProtocolFacts, facts_of
from bench.scores.bootstrap import Array, mean_half_widths
from bench.scores.digits import DIGITS as DIGITS
from bench.scores.digits import published as published
from bench.scores.frame import SCENE, TALK, VERDICT, Frames
from bench.scores.weights import Weights

T = TypeVar("T")

LENGTH_STRENGTH = 0.07
"""The most that long answers can cost, as a share of the score."""

PAPER_GAP = 6
"""Players share a rank with the leader of their group unless they score more than this many hundredths of a
point below it, on version 2's scale of 1 to 5."""
PAPER_WIDTH = 4.0
"""Highest minus lowest score of version 2's scale."""

V1_REACH = 3.0
"""In version 1, an answer this many median lengths beyond the median costs tanh(1) of the largest penalty."""


def judge_scores(frames: Frames, weightings: Mapping[str, Weights]) -> pd.DataFrame:
    """Criteria means and final scores of every judgement that counts, indexed by VERDICT.

    Returns one column per criterion, and one per weighting (see :func:`final_column`).
    """
    return with_finals(frames.counting_means, weightings)


def with_finals(means: pd.DataFrame, weightings: Mapping[str, Weights]) -> pd.DataFrame:
    """``means`` with a column for each weighting's final score: the weighted average of the criteria."""
    finals = {}
    for name, weights in weightings.items():
        final = sum((w * means[criterion] for criterion, w in weights.items()), pd.Series(0.0, means.index))
        finals[final_column(name)] = final / math.fsum(weights.values())
    return means.assign(**finals)


def turn_noise(frames: Frames, weights: Weights) -> pd.Series:
    """Variance of a judgement's mean over turns that comes from single turns, indexed by VERDICT.

    Of every judgement that counts: the variance of its turns' final scores divided by their number. Empty
    where every judgement has one turn.
    """
    scores = frames.counting_scores
    share = scores["criterion"].map(weights) / math.fsum(weights.values())
    turns = (scores["score"] * share).groupby([scores[name] for name in (*VERDICT, "turn")]).sum()
    by_judgement = turns.groupby(level=VERDICT)
    return (by_judgement.var() / by_judgement.size()).dropna()


def final_column(weighting: str) -> str:
    """Name of the column with a weighting's final score."""
    return f"final:{weighting}"


def norm_column(weighting: str) -> str:
    """Name of the column with a weighting's length-normalised final score."""
    return f"norm:{weighting}"


def conversation_scores(by_judge: pd.DataFrame) -> pd.DataFrame:
    """Mean over judges of :func:`judge_scores`, one row per conversation, indexed by TALK."""
    return by_judge.groupby(level=TALK).mean()


def over_repeats(conversations: pd.DataFrame) -> pd.DataFrame:
    """Mean over the repeats of each scene, one row per player and scene, indexed by SCENE.

    ``conversations``: indexed by TALK.
    """
    if (conversations.index.get_level_values("repeat") == 1).all():
        return conversations.droplevel("repeat")
    return conversations.groupby(level=SCENE).mean()


def refusal_ratios(judged: pd.DataFrame) -> dict[str, float]:
    """Share of each player's judged conversations in which any judge saw a refusal.

    ``judged``: usable judgements (:attr:`bench.scores.frame.Frames.usable`).
    """
    any_judge = judged.groupby(TALK)["refusal"].any()
    return {str(name): float(ratio) for name, ratio in any_judge.groupby(level="player").mean().items()}


def length_factor(length: float, median: float) -> float:
    """Version 2's factor for answers of ``length`` characters: 1 up to the median length, at least 0.93."""
    if length <= median or length <= 0:
        return 1.0
    return max(1 - LENGTH_STRENGTH, 1 + LENGTH_STRENGTH * (median / length - 1))


def v1_penalty(length: float, median: float) -> float:
    """Version 1's penalty for long answers, as a share (0 to -1) of the range of the board's scores."""
    return min(0.0, math.tanh((median - length) / (V1_REACH * median))) if median > 0 else 0.0


def median_length(lengths: Sequence[int]) -> float | None:
    """``L``: the median of the scored players' mean lengths; None without any."""
    return float(np.median(np.asarray(lengths, dtype=np.float64))) if len(lengths) else None


def length_terms(frames: Frames, means: pd.Series) -> pd.DataFrame:
    """The ``factor`` and ``shift`` that the protocol's length rule applies to each player's score.

    The normalised score is score * factor + shift. With ``l`` a player's mean answer length and ``L`` the
    median over the players of ``means``:

    ``paper_v2``: factor = clamp(1 + 0.07 (L / l - 1), 0.93, 1), from the paper.
    ``paper_v1``: shift = (largest - smallest score) * min(0, tanh((L - l) / (3 L))), from its public code.
    ``none``: factor 1, shift 0.

    ``means``: mean score by player (index). The result has the same index.
    """
    rule = facts_of(frames.protocol).length_rule
    lengths = frames.answer_lengths
    median = median_length([lengths[name] for name in means.index if name in lengths]) or 0.0
    terms = pd.DataFrame({"factor": 1.0, "shift": 0.0}, index=pd.Index(means.index, name="player"))
    if rule == "paper_v2":
        terms["factor"] = [length_factor(lengths.get(name, 0), median) for name in means.index]
    elif rule == "paper_v1" and len(means):
        span = float(means.max() - means.min())
        terms["shift"] = [span * v1_penalty(lengths.get(name, 0), median) for name in means.index]
    return terms


def length_normalised(frames: Frames, means: pd.Series) -> pd.Series:
    """Scores ``means`` by player after the protocol's length rule."""
    terms = length_terms(frames, means)
    return means * terms["factor"] + terms["shift"]


def turn_weights(frames: Frames, scenes: pd.Index) -> Array | None:
    """Weight of each scene in its player's mean: its answers in all repeats, if the protocol pools turns.

    ``scenes``: index by SCENE. None means equal weights.
    """
    if not facts_of(frames.protocol).pools_turns:
        return None
    answers = frames.conversations.groupby(SCENE)["turns"].sum()
    return answers.reindex(scenes).to_numpy(dtype=np.float64)


def player_means(frames: Frames, scenes: pd.Series) -> pd.Series:
    """Mean score of each player. ``scenes``: score of each scene, indexed by SCENE."""
    weights = turn_weights(frames, scenes.index)
    if weights is None:
        return scenes.groupby(level="player").mean()
    totals = pd.Series(weights, index=scenes.index).groupby(level="player").sum()
    return (scenes * weights).groupby(level="player").sum() / totals


def player_scores(
    scenes: pd.DataFrame,
    factors: Mapping[str, float],
    *,
    resamples: int,
    key: Sequence[str | int],
    weights: Array | None = None,
) -> pd.DataFrame:
    """Mean of every column of ``scenes`` for each player, with the half-width of its 95% interval.

    Args:
        scenes: One row per scored scene, the mean over its repeats, indexed by SCENE.
        factors: Length factor by player.
        resamples: Bootstrap resamples over a player's scenes.
        key: Seed of the resamples, together with the player's id.
        weights: Weight of each row; None for equal weights (see :func:`turn_weights`).

    Returns one row per player: ``<column>`` and ``<column>_ci``; for each final also ``norm:<weighting>`` and
    its ``_ci``, times the player's length factor. Half-widths are missing for players with one scene.
    """
    columns, every = list(scenes.columns), scenes.to_numpy(dtype=np.float64)
    rows: dict[str, dict[str, float]] = {}
    for name, at in sorted(scenes.groupby(level="player").indices.items()):
        values, own = every[at], None if weights is None else weights[at]
        widths = mean_half_widths(values, resamples, [*key, str(name)], own)
        rows[str(name)] = _player_row(columns, values, widths, factors[str(name)], own)
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("player")


def _player_row(
    columns: list[str], values: Array, widths: Array | None, factor: float, weights: Array | None
) -> dict[str, float]:
    row: dict[str, float] = {}
    share = np.ones(len(values)) if weights is None else weights
    for at, column in enumerate(columns):
        mean = math.fsum(values[:, at] * share) / math.fsum(share)
        width = math.nan if widths is None else float(widths[at])
        row |= {column: mean, f"{column}_ci": width}
        if column.startswith("final:"):
            norm = column.replace("final:", "norm:", 1)
            row |= {norm: mean * factor, f"{norm}_ci": width * factor}
    return row


def hundredths(score: float) -> int:
    """The score as printed with two decimals, as a whole number of hundredths."""
    return int(f"{score:.2f}".replace(".", ""))


def rank_gap(facts: ProtocolFacts) -> float:
    """PAPER_GAP as the same share of this protocol's scale: 6 on 1 to 5, 13.5 on 1 to 10, 150 on 0 to 100."""
    low, high = facts.scale or (0.0, PAPER_WIDTH)
    return PAPER_GAP * (high - low) / PAPER_WIDTH


def ranks(printed: Sequence[int], gap: float = PAPER_GAP) -> list[int]:
    """Ranks of scores in hundredths, sorted from high to low.

    A group shares the place of its leader. The next group begins with the first score more than ``gap``
    hundredths below that leader. For example, groups of 2 and 3 have ranks 1 and 3.
    """
    return group_places(printed, lambda leader, score: leader - score > gap)


def group_places(ordered: Sequence[T], apart: Callable[[T, T], bool]) -> list[int]:
    """For each of ``ordered`` the place of its group's leader; who is ``apart`` from it leads the next."""
    leader = 0
    leaders = []
    for place, item in enumerate(ordered):
        if apart(ordered[leader], item):
            leader = place
        leaders.append(leader + 1)
    return leaders


def ranked(scores: pd.DataFrame, gap: float = PAPER_GAP) -> pd.DataFrame:
    """``scores`` sorted from best to worst with a ``rank`` column; unscored players come last, unranked.

    ``scores``: published ``length_norm_score`` and ``score`` by player (index). Equal length-normalised
    scores are ordered by score, then by player id, and always share a rank. ``gap``: see :func:`ranks`.
    """
    table = scores.assign(_player=scores.index.astype(str))
    table = table.sort_values(
        ["length_norm_score", "score", "_player"], ascending=[False, False, True], na_position="last"
    ).drop(columns="_player")
    scored = [hundredths(score) for score in table["length_norm_score"].dropna()]
    places: list[int | None] = [*ranks(scored, gap)]
    places += [None] * (len(table) - len(scored))
    return table.assign(rank=pd.array(places, dtype="Int64"))
