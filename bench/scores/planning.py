"""How many scenes it takes to detect a difference, when characters and situations are crossed.

Crossed characters and situations do not shrink the error like independent scenes do: with k characters in k
situations, what belongs to a character or a situation shrinks with k only, not with k squared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from bench.scores.bootstrap import Array
from bench.scores.robust import ALPHA, POWER, power_of

MOST_SIDE = 1000
"""Grids larger than this by this are never suggested."""


@dataclass(frozen=True)
class PairComponents:
    """Variances of a difference between two players over a grid of characters and situations.

    ``character`` and ``situation``: how far the difference varies with each; ``rest``: with the single scene.
    ``nested``: situations of one character only, so that all scenes count as independent (``rest`` alone).
    """

    character: float
    situation: float
    rest: float
    nested: bool = False

    def error(self, side: int) -> tuple[float, float]:
        """(variance of the mean difference, degrees of freedom) on ``side`` x ``side`` scenes.

        Satterthwaite over the mean squares of the two-way analysis of variance. Nested: on ``side`` squared
        independent scenes.
        """
        k = side
        if self.nested:
            return self.rest / k**2, k**2 - 1
        variance = self.character / k + self.situation / k + self.rest / k**2
        parts = (
            ((k * self.character + self.rest) / k**2, k - 1),
            ((k * self.situation + self.rest) / k**2, k - 1),
            (self.rest / k**2, (k - 1) ** 2),
        )
        pieces = sum(value**2 / df for value, df in parts)
        return variance, variance**2 / pieces if pieces else math.nan


def pair_components(differences: Array) -> PairComponents | None:
    """The variances behind ``differences`` (characters x situations, NaN: missing).

    By expected mean squares on the characters and situations without a missing scene. None where fewer than
    two of each are left, unless all scenes are independent (each situation has one character).
    """
    have = ~np.isnan(differences)
    if (have.sum(axis=0) <= 1).all() or min(differences.shape) < 2:
        known = differences[have]
        return PairComponents(0.0, 0.0, float(known.var(ddof=1)), nested=True) if len(known) > 1 else None
    table = differences
    while np.isnan(table).any():
        holes = np.isnan(table)
        rows, columns = holes.mean(axis=1), holes.mean(axis=0)
        if rows.max() >= columns.max():
            table = np.delete(table, int(rows.argmax()), axis=0)
        else:
            table = np.delete(table, int(columns.argmax()), axis=1)
    n_c, n_t = table.shape
    if min(n_c, n_t) < 2:
        return None
    by_c, by_t, mean = table.mean(axis=1), table.mean(axis=0), table.mean()
    rest = float(((table - by_c[:, None] - by_t + mean) ** 2).sum()) / ((n_c - 1) * (n_t - 1))
    character = (n_t * float(by_c.var(ddof=1)) - rest) / n_t
    situation = (n_c * float(by_t.var(ddof=1)) - rest) / n_c
    return PairComponents(max(0.0, character), max(0.0, situation), rest)


def side_needed(difference: float, pair: PairComponents, power: float = POWER) -> int | None:
    """The smallest k such that a two-sided 5% t test on k x k scenes detects ``difference`` with ``power``.

    None where ``difference`` is 0 or more than MOST_SIDE would be needed.
    """

    def enough(side: int) -> bool:
        variance, df = pair.error(side)
        return variance > 0 and df >= 1 and power_of(difference, math.sqrt(variance), df) >= power

    if difference == 0 or not enough(MOST_SIDE):
        return None
    low, high = 1, MOST_SIDE  # ``low`` never suffices: one scene has no error
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def detectable_difference(
    error: float, df: float, *, width: float, alpha: float = ALPHA, power: float = POWER
) -> float | None:
    """The smallest true difference that a comparison with ``error`` detects with ``power``.

    ``width``: of the scale, from its lowest to its highest score. None where only a difference wider than the
    scale would be detected.
    """
    if power_of(width, error, df, alpha) < power:
        return None
    return float(optimize.brentq(lambda d: power_of(d, error, df, alpha) - power, 0.0, width))
