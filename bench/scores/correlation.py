"""Rank correlations of few things: value, permutation p, and what the number of things allows to find.

Spearman's rho and Kendall's tau-b, with average ranks for ties. Up to nine pairs every order is tried, so p
is exact; beyond, p comes from seeded random orders. Nothing is taken from a table or an approximation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import stats

from bench.records import Record
from bench.scores.bootstrap import NOISE_DECIMALS, Array, draw_indices, interval, stable_stream
from bench.scores.paper import published

Kind = Literal["spearman", "kendall"]
PMethod = Literal["exact", "permutation"]
Orders = npt.NDArray[np.int64]
LEAST = 3
"""Fewer pairs have no correlation worth the name: two always give 1 or -1."""
EXACT_UP_TO = 9
DRAWS = 9_999
LEAST_FOR_INTERVAL = 5
"""With fewer pairs most resamples hold only two or three different ones."""
RESAMPLES = 2_000
ALPHA = 0.05
TIE_DECIMALS = 9
SAME = 1e-9
"""Values that lie no further apart are equal: what is left is the order in which they were added up."""


class Correlation(Record):
    """A rank correlation; what does not exist is null, and ``reason`` says why."""

    kind: Kind
    n: int
    value: float | None
    p: float | None
    """Two-sided: how often a random order gives at least this much, either way."""
    p_method: PMethod | None
    critical: float | None
    """The smallest value, either way, whose p is at most 0.05 with these pairs; null where none is."""
    low: float | None
    high: float | None
    """95% interval from resampling the pairs."""
    reason: str | None


def correlation(kind: Kind, x: Sequence[float], y: Sequence[float], key: Sequence[str | int]) -> Correlation:
    """The correlation of pairs; ``key`` seeds what is random."""
    n = len(x)
    rows = _ROWS[kind]
    first, second = ranks(x), ranks(y)
    value = float(rows(first[np.newaxis], second[np.newaxis])[0]) if n >= LEAST else math.nan
    if math.isnan(value):
        few = f"{n} pairs are fewer than {LEAST}"
        return _none(kind, n, few if n < LEAST else "one side is the same for all")
    p, method, spread = _chance(kind, first, second, value, key)
    low, high, reason = _interval(rows, first, second, value, key)
    return Correlation(
        kind=kind,
        n=n,
        value=published(value),
        p=published(p),
        p_method=method,
        critical=_critical(spread),
        low=low,
        high=high,
        reason=reason,
    )


def chance(
    kind: Kind, x: Sequence[float], y: Sequence[float], value: float, key: Sequence[str | int]
) -> tuple[float, PMethod]:
    """The two-sided p of a correlation of ``value``, and how it was found; ``key`` seeds random orders."""
    return _chance(kind, ranks(x), ranks(y), value, key)[:2]


def _chance(
    kind: Kind, first: Array, second: Array, value: float, key: Sequence[str | int]
) -> tuple[float, PMethod, Array]:
    """p, its method, and the size of the correlation of every order that was tried."""
    rows, n = _ROWS[kind], len(first)
    spread = np.abs(np.concatenate([rows(first[np.newaxis], second[part]) for part in _orders(n, key)]))
    reached = int((spread >= abs(value) - SAME).sum())
    if n <= EXACT_UP_TO:
        return reached / len(spread), "exact", spread
    return (1 + reached) / (1 + len(spread)), "permutation", spread


def _none(kind: Kind, n: int, reason: str) -> Correlation:
    return Correlation(
        kind=kind, n=n, value=None, p=None, p_method=None, critical=None, low=None, high=None, reason=reason
    )


def tau(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Kendall's tau-b alone; None where a side is the same for all or there are fewer than two pairs."""
    return _alone(kendall_rows, x, y)


def rho(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Spearman's rho alone; None where a side is the same for all or there are fewer than three pairs."""
    return _alone(spearman_rows, x, y) if len(x) >= LEAST else None


def ranks(values: Sequence[float]) -> Array:
    """Average ranks. Means of means that are equal can differ in their last place: they tie."""
    made: Array = stats.rankdata(np.asarray(values, dtype=np.float64).round(TIE_DECIMALS))
    return made


def _alone(rows: _Rows, x: Sequence[float], y: Sequence[float]) -> float | None:
    if len(x) < 2:
        return None
    value = float(rows(ranks(x)[np.newaxis], ranks(y)[np.newaxis])[0])
    return None if math.isnan(value) else value


def spearman_rows(x: Array, y: Array) -> Array:
    """Rho of each row of ranks ``x`` with the same row of ``y`` (one row serves all); NaN if constant."""
    a = x - x.mean(axis=1, keepdims=True)
    b = y - y.mean(axis=1, keepdims=True)
    scale = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    return _divided((a * b).sum(axis=1), scale)


def kendall_rows(x: Array, y: Array) -> Array:
    """Tau-b of each row of ``x`` with the same row of ``y`` (a single row serves all); NaN if constant."""
    agreed, in_x, in_y = np.zeros(len(y)), np.zeros(len(x)), np.zeros(len(y))
    for lag in range(1, x.shape[1]):
        a, b = np.sign(x[:, lag:] - x[:, :-lag]), np.sign(y[:, lag:] - y[:, :-lag])
        agreed += (a * b).sum(axis=1)
        in_x += np.abs(a).sum(axis=1)
        in_y += np.abs(b).sum(axis=1)
    return _divided(agreed, np.sqrt(in_x * in_y))


def _divided(sums: Array, scale: Array) -> Array:
    scale = np.broadcast_to(scale, sums.shape)
    result: Array = np.divide(sums, scale, out=np.full_like(sums, np.nan), where=scale > 0)
    return result.round(NOISE_DECIMALS)


_Rows = Callable[[Array, Array], Array]
_ROWS: dict[Kind, _Rows] = {"spearman": spearman_rows, "kendall": kendall_rows}


def _orders(n: int, key: Sequence[str | int]) -> Iterator[Orders]:
    """Orders of ``n`` things as rows, some thousand at a time: all of them, or DRAWS random ones."""
    size = max(1, 1_000_000 // (n * n))
    if n <= EXACT_UP_TO:
        every = _every_order(n)
        yield from (every[at : at + size] for at in range(0, len(every), size))
        return
    stream = stable_stream(*key, "orders")
    for at in range(0, DRAWS, size):
        rows = min(size, DRAWS - at)
        yield np.argsort(stream.random_raw(rows * n).reshape(rows, n), axis=1, kind="stable")


def _every_order(n: int) -> Orders:
    """All orders of ``n`` things: each thing in turn first, the orders of the others behind it."""
    if n == 1:
        return np.zeros((1, 1), dtype=np.int64)
    rest = _every_order(n - 1)
    parts = [np.insert(rest + (rest >= first), 0, first, axis=1) for first in range(n)]
    return np.concatenate(parts)


def _critical(spread: Array) -> float | None:
    """The smallest value that at most ALPHA of the orders reach."""
    values, counts = np.unique(spread.round(9), return_counts=True)
    reached = counts[::-1].cumsum()[::-1] / len(spread)
    enough = values[reached <= ALPHA]
    return published(float(enough[0])) if len(enough) else None


def _interval(
    rows: _Rows, x: Array, y: Array, value: float, key: Sequence[str | int]
) -> tuple[float | None, float | None, str | None]:
    """Percentile interval over resampled pairs, or why there is none.

    Resamples in which a side is constant say nothing and are left out.
    """
    n = len(x)
    if n < LEAST_FOR_INTERVAL:
        return None, None, f"{n} pairs are fewer than the {LEAST_FOR_INTERVAL} that an interval needs"
    if abs(value) > 1 - SAME:
        return None, None, "any resample of a perfect order is perfect, so resampling gives no interval"
    drawn = draw_indices(stable_stream(*key, "pairs"), n, RESAMPLES)
    values = rows(stats.rankdata(x[drawn], axis=1), stats.rankdata(y[drawn], axis=1))
    low, high = interval(values[~np.isnan(values)][:, np.newaxis])
    return published(float(low[0])), published(float(high[0])), None
