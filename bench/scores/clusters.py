"""Standard errors when scores share characters and situations, and when judges are a sample too.

Every function works on many comparisons at once: the first axis of its arrays counts them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.scores.bootstrap import Array
from bench.scores.components import henderson
from bench.scores.distributions import half_width

Positions = npt.NDArray[np.signedinteger[Any]]

CERTAIN = 1e-12
"""Standard errors up to this size are rounding noise of constant scores: nothing is known about the error."""
MOST_CELLS = 1_000_000
"""Scores that are compared at once."""


@dataclass(frozen=True)
class MeanError:
    """Means with the variance of each, and its degrees of freedom; NaN where they cannot be known.

    All arrays have one entry per comparison. ``n``: scenes that the mean is taken over.
    """

    mean: Array
    variance: Array
    df: Array
    n: Array

    @property
    def error(self) -> Array:
        """Standard errors; NaN where unknown."""
        root: Array = np.sqrt(self.variance)
        return root


def clustered(values: Array) -> MeanError:
    """Means of ``values`` (comparisons x characters x situations, NaN: missing), two-way clustered errors.

    With a, b the variances of the mean clustered by character and by situation, and c that of the cells, the
    variance is max(a + b - c, a, b) (Cameron, Gelbach and Miller 2011, bounded below so that it cannot fall
    short of either). Degrees of freedom: Satterthwaite's, at least min(characters, situations) - 1, where
    a + b - c is the largest; otherwise those of the larger of a and b. Unknown (NaN) with fewer than two
    scenes, and where all scores are the same.
    """
    have = ~np.isnan(values)
    n = have.sum(axis=(1, 2)).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(have, values, 0.0).sum(axis=(1, 2)) / n
        rest = np.where(have, values - mean[:, None, None], 0.0)
        a, df_a = _cluster_variance(rest.sum(axis=2), _count(have, 2), n)
        b, df_b = _cluster_variance(rest.sum(axis=1), _count(have, 1), n)
        c = (rest**2).sum(axis=(1, 2)) / (n - 1) / n
    return two_way(mean, (a, df_a), (b, df_b), (c, n - 1), n)


def two_way(
    mean: Array, a: tuple[Array, Array], b: tuple[Array, Array], c: tuple[Array, Array], n: Array
) -> MeanError:
    """The two-way error of :func:`clustered` from (variance, degrees of freedom) by character, by situation
    and by cell; degrees of freedom are 0 with a single character or situation."""
    (var_a, df_a), (var_b, df_b) = a, b
    with np.errstate(invalid="ignore", divide="ignore"):
        both = var_a + var_b - c[0]
        pieces = sum(np.divide(v**2, df, out=np.zeros_like(v), where=df > 0) for v, df in (a, b, c))
        satterthwaite = np.maximum(both**2 / pieces, np.minimum(df_a, df_b))
        larger, df_larger = np.maximum(var_a, var_b), np.where(var_a >= var_b, df_a, df_b)
        crossed = both > larger * (1 + 1e-9)
    variance = np.where(crossed, both, larger)
    df = np.where(crossed, satterthwaite, df_larger)
    unknown = ~(variance > CERTAIN**2) | ~(df >= 1)
    return MeanError(mean, np.where(unknown, np.nan, variance), np.where(unknown, np.nan, df), n)


def clustered_differences(values: Array, first: Positions, second: Positions) -> MeanError:
    """:func:`clustered` of ``values[first] - values[second]``: pairs of players on the scenes that both have.

    ``values``: players x characters x situations. Works through the pairs in parts, to need little memory.
    """
    step = max(1, MOST_CELLS // max(1, values[0].size if len(values) else 1))
    starts = range(0, len(first), step) or [0]
    parts = [clustered(values[first[at : at + step]] - values[second[at : at + step]]) for at in starts]
    return MeanError(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("mean", "variance", "df", "n"))
    )


def _count(have: npt.NDArray[np.bool_], over: int) -> Array:
    """Clusters with at least one scene, per comparison; ``over`` is the axis inside a cluster."""
    counts: Array = have.any(axis=over).sum(axis=1).astype(np.float64)
    return counts


def _cluster_variance(sums: Array, clusters: Array, n: Array) -> tuple[Array, Array]:
    """Variance of means from sums of residuals by cluster; its degrees of freedom, 0 with one cluster."""
    scale = np.divide(clusters, clusters - 1, out=np.zeros_like(clusters), where=clusters > 1)
    return (sums**2).sum(axis=1) * scale / n**2, np.maximum(clusters - 1, 0.0)


@dataclass(frozen=True)
class JudgeSpread:
    """How much players' scores depend on which judges were asked: variance of player x judge.

    ``own``: per player, squared points; None with fewer than four judges. ``pooled``: over all players.
    """

    judges: int
    pooled: float
    pooled_df: float
    own: Array | None

    def of_difference(self, first: Positions, second: Positions) -> tuple[Array, float]:
        """(variance, degrees of freedom) that sampling judges adds to differences of players ``first`` and
        ``second`` (positions)."""
        if self.own is not None:
            return (self.own[first] + self.own[second]) / self.judges, 2 * (self.judges - 1)
        return np.full(len(first), 2 * self.pooled / self.judges), self.pooled_df

    def of_means(self, count: int) -> tuple[Array, float]:
        """The same for the means of players 0 to ``count`` - 1, relative to the field."""
        if self.own is not None:
            return self.own[:count] / self.judges, self.judges - 1
        return np.full(count, self.pooled / self.judges), self.pooled_df


OWN_FROM = 4
"""Judges from which each player gets its own player x judge variance."""


def mean_of_known(values: Array) -> Array:
    """The mean along the first axis of what is known; NaN where nothing is."""
    have = ~np.isnan(values)
    counts = have.sum(axis=0)
    sums = np.where(have, values, 0.0).sum(axis=0)
    means: Array = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    return means


def judge_spread(values: Array) -> JudgeSpread | None:
    """The player x judge variance of ``values`` (players x scenes x judges, NaN: missing).

    With A the scores minus the mean over players of each scene and judge, a player's own variance is that
    of judges in the table scenes x judges of its A. Without a missing score that is
    Var_j(mean_s A) - MS_r / n_s, MS_r the residual mean square; judges may also take turns. It is cut at 0,
    the pooled one only after the mean over players. None with fewer than two judges, players or scenes.
    """
    n_p, _, n_j = values.shape
    if n_j < 2 or n_p < 2:
        return None
    field = mean_of_known(values)
    raw = np.array([_between_judges(values[player] - field) for player in range(n_p)])
    if np.isnan(raw).all():
        return None
    # E(raw) is s2(pj) (1 - 1/P), since each player is part of the field's mean
    pooled = max(0.0, float(np.nanmean(raw)) * n_p / (n_p - 1))
    own = np.where(np.isnan(raw), pooled, np.maximum(raw, 0.0)) if n_j >= OWN_FROM else None
    return JudgeSpread(n_j, pooled, float((n_p - 1) * (n_j - 1)), own)


def _between_judges(table: Array) -> float:
    """The variance of judges in a table scenes x judges; NaN if unknown. One judge a scene: without an effect
    of the scene, which is then part of the residual."""
    table = table[~np.isnan(table).all(axis=1)]
    if len(table) < 2 or np.isnan(table).all(axis=0).any():
        return math.nan
    found = henderson(table, [(0,), (1,), (0, 1)])
    if found is not None:
        return found[1]
    alone = henderson(table, [(1,), (0, 1)])
    return math.nan if alone is None else alone[0]


def widened(these: MeanError, added: Array, added_df: float) -> MeanError:
    """``these`` (judges fixed) plus the variance of sampling judges; degrees of freedom by Satterthwaite.

    More degrees of freedom could make an interval shorter where little variance is added. ``these`` stays
    as it is there: sampling judges never makes a claim more certain.
    """
    variance = these.variance + added
    df = variance**2 / (these.variance**2 / these.df + added**2 / added_df)
    more = np.flatnonzero(df > these.df)
    reach = half_width(np.sqrt(variance[more]), df[more])
    shorter = more[reach < half_width(these.error[more], these.df[more])]
    variance[shorter], df[shorter] = these.variance[shorter], these.df[shorter]
    return MeanError(these.mean, variance, df, these.n)
