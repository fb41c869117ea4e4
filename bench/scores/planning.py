"""How many scenes it takes to detect a difference, when characters and situations are crossed.

Crossed characters and situations do not shrink the error like independent scenes do: with k characters in k
situations, what belongs to a character or a situation shrinks with k only, not with k squared.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import special

from bench.scores.bootstrap import Array
from bench.scores.clusters import clustered
from bench.scores.distributions import chi2_quantile, t_quantile
from bench.scores.robust import ALPHA, POWER, power_of

MOST_SIDE = 1000
"""Grids larger than this by this are never suggested, nor more independent scenes than such a grid has."""
EXACT = 1e-12
"""A detectable difference is known to within this."""


@dataclass(frozen=True)
class PairComponents:
    """Variances of a difference between two players over a grid of characters and situations.

    ``character`` and ``situation``: how far the difference varies with each; ``rest``: with the single scene.
    ``nested``: situations of one character only, so that all scenes count as independent (``rest`` alone).
    ``df``: degrees of freedom of the present error; it says how well the variances themselves are known.
    ``judges``: variance that sampling judges adds, however many scenes there are, with ``judges_df``.
    """

    character: float
    situation: float
    rest: float
    nested: bool = False
    df: float = math.inf
    judges: float = 0.0
    judges_df: float = 1.0

    def scaled(self, factor: float) -> PairComponents:
        """The same with every variance between scenes ``factor`` times as large."""
        return replace(
            self,
            character=self.character * factor,
            situation=self.situation * factor,
            rest=self.rest * factor,
        )

    def scenes(self, size: int) -> int:
        """The scenes of a design: a grid of ``size`` by ``size``, or ``size`` independent scenes."""
        return size if self.nested else size**2

    @property
    def most(self) -> int:
        """The largest ``size`` that is suggested."""
        return MOST_SIDE**2 if self.nested else MOST_SIDE

    def error(self, size: int) -> tuple[float, float]:
        """(variance of the mean difference, degrees of freedom) of a design (see :meth:`scenes`).

        Satterthwaite over the mean squares of the two-way analysis of variance.
        """
        k = size
        if self.nested:
            variance = self.rest / k
            parts = [(variance, k - 1)]
        else:
            variance = self.character / k + self.situation / k + self.rest / k**2
            parts = [
                ((k * self.character + self.rest) / k**2, k - 1),
                ((k * self.situation + self.rest) / k**2, k - 1),
                (self.rest / k**2, (k - 1) ** 2),
            ]
        pieces = sum(value**2 / df for value, df in (*parts, (self.judges, self.judges_df)))
        variance += self.judges
        return variance, variance**2 / pieces if pieces else math.nan


def pair_components(differences: Array) -> PairComponents | None:
    """The variances behind ``differences`` (characters x situations, NaN: missing); None if unknown.

    By expected mean squares, on the characters and situations without a missing scene. If each situation has
    one character, the error clustered by character counts as that of independent scenes.
    """
    have = ~np.isnan(differences)
    made = clustered(differences[np.newaxis])
    if math.isnan(made.df[0]):
        return None
    df = float(made.df[0])
    if (have.sum(axis=0) <= 1).all() or min(differences.shape) < 2:
        return PairComponents(0.0, 0.0, float(made.variance[0] * made.n[0]), nested=True, df=df)
    table = _without_holes(differences)
    n_c, n_t = table.shape
    if min(n_c, n_t) < 2:
        return None
    by_c, by_t, mean = table.mean(axis=1), table.mean(axis=0), table.mean()
    rest = float(((table - by_c[:, None] - by_t + mean) ** 2).sum()) / ((n_c - 1) * (n_t - 1))
    character = (n_t * float(by_c.var(ddof=1)) - rest) / n_t
    situation = (n_c * float(by_t.var(ddof=1)) - rest) / n_c
    return PairComponents(max(0.0, character), max(0.0, situation), rest, df=df)


def _without_holes(table: Array) -> Array:
    """``table`` without the rows and columns that miss most, until nothing is missing."""
    while np.isnan(table).any():
        holes = np.isnan(table)
        rows, columns = holes.mean(axis=1), holes.mean(axis=0)
        if rows.max() >= columns.max():
            table = np.delete(table, int(rows.argmax()), axis=0)
        else:
            table = np.delete(table, int(columns.argmax()), axis=1)
    return table


@dataclass(frozen=True)
class ScenesNeeded:
    """How many scenes would detect a difference: the estimate, and its 80% range."""

    scenes: int
    low: int
    high: int | None
    """None: more than MOST_SIDE squared."""


def scenes_needed(difference: float, pair: PairComponents | None) -> ScenesNeeded | None:
    """Scenes that detect a true ``difference`` with a power of 80%, on a square grid or independent.

    The range comes from the uncertainty of the variances (chi-squared, with the pair's degrees of freedom).
    None if the variances are unknown, the difference is 0, or more than MOST_SIDE squared would be needed.
    """
    size = None if pair is None else size_needed(difference, pair)
    if pair is None or size is None:
        return None
    low, high = (
        size_needed(difference, pair.scaled(pair.df / float(chi2_quantile(share, pair.df))))
        for share in (0.9, 0.1)
    )
    return ScenesNeeded(
        pair.scenes(size), pair.scenes(low or size), None if high is None else pair.scenes(high)
    )


def size_needed(difference: float, pair: PairComponents) -> int | None:
    """The smallest size (see :meth:`PairComponents.scenes`) whose two-sided 5% t test detects ``difference``.

    With POWER. None where ``difference`` is 0 or more than ``pair.most`` would be needed.
    """

    def enough(size: int) -> bool:
        variance, df = pair.error(size)
        return variance > 0 and df >= 1 and power_of(difference, math.sqrt(variance), df) >= POWER

    if difference == 0:
        return None
    high = _likely_size(difference, pair)
    low, step = high - 1, 1
    while not enough(high):
        if high == pair.most:
            return None
        low, high, step = high, min(pair.most, high + step), 2 * step
    while low > 1 and enough(low):  # ``low`` = 1 never suffices: one scene has no error
        high, low, step = low, max(1, low - step), 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _likely_size(difference: float, pair: PairComponents) -> int:
    """A first guess for :func:`size_needed`, 2 to ``pair.most``, by the noncentral t: fast but not exact."""

    def enough(size: int) -> bool:
        variance, df = pair.error(size)
        if not (variance > 0 and df >= 1):
            return False
        threshold = float(t_quantile(1 - ALPHA / 2, df))
        return bool(special.nctdtr(df, abs(difference) / math.sqrt(variance), threshold) <= 1 - POWER)

    return bisect_left(range(2, pair.most), True, key=enough) + 2


def typical_difference(pairs: pd.DataFrame, *, width: float) -> tuple[float | None, float | None]:
    """(standard error, smallest detectable difference) of a typical pair of a board.

    ``pairs``: from :func:`bench.scores.robust.paired_differences`. ``width``: of the scale. The error is the
    root of the mean variance. A board separates pairs after correction: with k of m pairs separated, a pair
    is tested at about 5% max(1, k) / m. None without a pair of known error.
    """
    known = pairs[pairs["standard_error"].notna()]
    if known.empty:
        return None, None
    error = math.sqrt(float((known["standard_error"] ** 2).mean()))
    alpha = ALPHA * max(1, int(known["separated"].sum())) / len(known)
    return error, detectable_difference(error, float(known["df"].median()), width=width, alpha=alpha)


def detectable_difference(
    error: float, df: float, *, width: float, alpha: float = ALPHA, power: float = POWER
) -> float | None:
    """The smallest true difference that a comparison with ``error`` detects with ``power``.

    ``width``: of the scale, from its lowest to its highest score. None where only a difference wider than the
    scale would be detected.
    """
    if power_of(width, error, df, alpha) < power:
        return None
    low, high = 0.0, width
    while high - low > EXACT:
        middle = (low + high) / 2
        low, high = (low, middle) if power_of(middle, error, df, alpha) >= power else (middle, high)
    return high
