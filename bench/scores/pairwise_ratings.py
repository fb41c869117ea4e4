"""What pairwise judgements say of players and judges: ratings, rank ranges, and each judge's biases.

Ratings are strengths in log odds: a player rated 1 above another wins about 73% of their comparisons that are
not ties, once position, length and family are accounted for.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bench.scores.bootstrap import Array
from bench.scores.clusters import OWN_FROM, JudgeSpread, widened
from bench.scores.pairwise import Comparisons, Fit, fit
from bench.scores.robust import interval_table, p_values, pair_table, with_ranks


def pairwise_numbers(fitted: Fit, spread: JudgeSpread | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two tables: players, best first, and their pairs, with the columns of the robust scoring.

    Intervals and tests hold for other scenes and these judges; with ``spread`` (:func:`judges_spread`) for
    judges like these too. Players: ``score`` (log odds, mean 0), ``low``, ``high``, ``rank``, ``rank_low``,
    ``rank_high``, ``group``. NaN where unknown.
    """
    names = fitted.data.players
    first, second = np.triu_indices(len(names), 1)
    made, single = fitted.differences(first, second), fitted.strengths()
    if spread is not None:
        made = widened(made, *spread.of_difference(first, second))
        single = widened(single, *spread.of_means(len(names)))
    pairs = pair_table(names, made, p_values(made))
    return with_ranks(interval_table(names, single).dropna(subset="score"), pairs), pairs


def judges_spread(data: Comparisons) -> JudgeSpread | None:
    """How much strengths depend on which judges were asked, from one fit per judge.

    A player's variance is max(0, variance of its strength over judges - mean squared error of those), with
    four or more judges who each compared every player. None with fewer: it is unknown.
    """
    judged = [data.by_judge(n) for n in range(len(data.judges))]
    if len(judged) < OWN_FROM or any(not part.margin.any() for part in judged):
        return None
    fits = [fit(part) for part in judged]
    theta = np.stack([made.theta for made in fits])
    noise = np.stack([made.strengths().variance for made in fits])
    if np.isnan(theta).any() or np.isnan(noise).any():
        return None
    raw: Array = theta.var(axis=0, ddof=1) - noise.mean(axis=0)
    count, judges = theta.shape[1], len(fits)
    pooled = max(0.0, float(raw.mean())) * count / (count - 1)
    return JudgeSpread(judges, pooled, float((count - 1) * (judges - 1)), np.maximum(raw, 0.0))


@dataclass(frozen=True)
class Habits:
    """What moves a judge's verdicts besides the answers. Shares are None where nothing was counted."""

    judge: str
    verdicts: int
    ties: float | None
    first: float | None
    """Share of the verdicts that are not ties and prefer the answer shown first."""
    flipped: float | None
    """Of the pairs asked in both orders, the share where one answer is preferred in one order and the other,
    or neither, in the other order."""
    by_position: float | None
    """Of the pairs asked in both orders, the share where the answer at the same place is preferred twice."""
    cycles: float | None
    """Of the triples of players that a majority orders in all three pairs, the share that goes in a circle:
    A beats B, B beats C, C beats A. Random verdicts give 1/4."""


def habits(data: Comparisons) -> list[Habits]:
    """The habits of every judge, in the order of ``data.judges``."""
    return [_habits(data.by_judge(n), name) for n, name in enumerate(data.judges)]


def _habits(data: Comparisons, judge: str) -> Habits:
    wins = data.margin[data.margin != 0] > 0
    both: dict[tuple[int, int, int], dict[bool, float]] = defaultdict(dict)
    for first, second, scene, margin in zip(data.first, data.second, data.scene, data.margin, strict=True):
        low, high = sorted((int(first), int(second)))
        both[low, high, int(scene)][bool(first == low)] = float(np.sign(margin))
    complete = [found for found in both.values() if len(found) == 2]
    return Habits(
        judge=judge,
        verdicts=len(data.margin),
        ties=_share(data.margin == 0),
        first=_share(wins),
        flipped=_share(np.array([found[True] != -found[False] for found in complete])),
        by_position=_share(np.array([found[True] == found[False] != 0 for found in complete])),
        cycles=cycles(data),
    )


def _share(flags: Array) -> float | None:
    return float(flags.mean()) if len(flags) else None


def cycles(data: Comparisons) -> float | None:
    """Share of circular triples (:class:`Habits`); None if no three players were all compared."""
    count = len(data.players)
    balance = np.zeros((count, count))
    np.add.at(balance, (data.first, data.second), np.sign(data.margin))
    balance -= balance.T
    beats = (balance > 0).astype(np.int64)
    known = beats + beats.T
    triples = int(np.trace(known @ known @ known)) // 6
    return int(np.trace(beats @ beats @ beats)) / 3 / triples if triples else None
