"""Rank correlations of small samples: Spearman's rho and Kendall's tau-b with permutation p values.

Ties get average ranks. With up to nine pairs p is exact, from all orders; beyond, it comes from seeded random
orders. The statistics are computed for many orders or resamples at once, and agree with scipy.stats, whose
own permutation test and bootstrap cannot use the stable random stream of :mod:`bench.scores.bootstrap`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from bench.records import Record
from bench.scores.bootstrap import NOISE_DECIMALS, Array, draw_indices, interval, stable_stream
from bench.scores.paper import published

Kind = Literal["spearman", "kendall"]
PMethod = Literal["exact", "permutation"]
Orders = npt.NDArray[np.int64]
LEAST = 3
"""Fewest pairs for a correlation; two pairs always give 1 or -1."""
EXACT_UP_TO = 9
DRAWS = 9_999
LEAST_FOR_INTERVAL = 5
"""With fewer pairs, most resamples contain only two or three different pairs."""
RESAMPLES = 2_000
ALPHA = 0.05
TIE_DECIMALS = 9
SAME = 1e-9
"""Values that differ by less are equal: the difference comes from the order of a sum."""


class Correlation(Record):
    """A rank correlation. Unknown numbers are null, and ``reason`` says why."""

    kind: Kind
    n: int
    value: float | None
    p: float | None = None
    """Two-sided: share of the orders with a correlation at least this strong in either direction."""
    p_method: PMethod | None = None
    critical: float | None = None
    """Smallest absolute value with p of at most 0.05 for these pairs; null if no value has."""
    low: float | None = None
    high: float | None = None
    """95% interval from resampling the pairs."""
    reason: str | None


def correlation(kind: Kind, x: Sequence[float], y: Sequence[float], key: Sequence[str | int]) -> Correlation:
    """The correlation of ``x`` and ``y``, which are of equal length. ``key`` seeds the random numbers."""
    n = len(x)
    value = _value(kind, x, y)
    if value is None:
        why = f"only {n} of the {LEAST} pairs needed" if n < LEAST else "one side is the same for all"
        return Correlation(kind=kind, n=n, value=None, reason=why)
    first, second = ranks(x), ranks(y)
    p, method, spread = _permuted(kind, first, second, value, key)
    low, high, reason = _interval(kind, first, second, value, key)
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
    """Two-sided p of a correlation of ``value``, and its method. ``key`` seeds random orders."""
    return _permuted(kind, ranks(x), ranks(y), value, key)[:2]


def tau(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Kendall's tau-b; None if one side is constant or there are fewer than two pairs."""
    return _value("kendall", x, y, least=2)


def rho(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Spearman's rho; None if one side is constant or there are fewer than three pairs."""
    return _value("spearman", x, y)


def ranks(values: Sequence[float]) -> Array:
    """Average ranks. Equal means of means can differ in their last digit, so values are rounded first."""
    found: Array = average_ranks(np.asarray(values, dtype=np.float64).round(TIE_DECIMALS)[np.newaxis])[0]
    return found


def average_ranks(rows: Array) -> Array:
    """Average ranks in each row. Those of pandas: ``scipy.stats`` takes long to load, and 46 MB."""
    average: Array = pd.DataFrame(rows).rank(axis=1).to_numpy()
    return average


def _value(kind: Kind, x: Sequence[float], y: Sequence[float], least: int = LEAST) -> float | None:
    if len(x) < least:
        return None
    value = float(_ROWS[kind](ranks(x)[np.newaxis], ranks(y)[np.newaxis])[0])
    return None if math.isnan(value) else value


def _spearman_rows(x: Array, y: Array) -> Array:
    """Rho of each row of ranks ``x`` with the same row of ``y``; one row is used for all; NaN if constant."""
    a = x - x.mean(axis=1, keepdims=True)
    b = y - y.mean(axis=1, keepdims=True)
    scale = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    return _divided((a * b).sum(axis=1), scale)


def _kendall_rows(x: Array, y: Array) -> Array:
    """Tau-b of each row, like :func:`_spearman_rows`."""
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


_ROWS: dict[Kind, Callable[[Array, Array], Array]] = {"spearman": _spearman_rows, "kendall": _kendall_rows}


def _permuted(
    kind: Kind, first: Array, second: Array, value: float, key: Sequence[str | int]
) -> tuple[float, PMethod, Array]:
    """p, its method, and the absolute correlation of every order that was tried."""
    orders = _orders(len(first), key)
    spread = np.abs(np.concatenate([_ROWS[kind](first[np.newaxis], second[part]) for part in orders]))
    reached = int((spread >= abs(value) - SAME).sum())
    if len(first) <= EXACT_UP_TO:
        return reached / len(spread), "exact", spread
    return (1 + reached) / (1 + len(spread)), "permutation", spread


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
    """All orders of ``n`` things: each in turn in front of all orders of the others."""
    if n == 1:
        return np.zeros((1, 1), dtype=np.int64)
    rest = _every_order(n - 1)
    return np.concatenate([np.insert(rest + (rest >= first), 0, first, axis=1) for first in range(n)])


def _critical(spread: Array) -> float | None:
    """The smallest value that at most ALPHA of the orders reach."""
    values, counts = np.unique(spread.round(9), return_counts=True)
    reached = counts[::-1].cumsum()[::-1] / len(spread)
    enough = values[reached <= ALPHA]
    return published(float(enough[0])) if len(enough) else None


def _interval(
    kind: Kind, x: Array, y: Array, value: float, key: Sequence[str | int]
) -> tuple[float | None, float | None, str | None]:
    """Percentile interval over resampled pairs, or the reason why it is unknown.

    Resamples with a constant side have no correlation and are left out.
    """
    n = len(x)
    if n < LEAST_FOR_INTERVAL:
        return None, None, f"only {n} of the {LEAST_FOR_INTERVAL} pairs that an interval needs"
    if abs(value) > 1 - SAME:
        return None, None, "any resample of a perfect order is perfect, so resampling gives no interval"
    drawn = draw_indices(stable_stream(*key, "pairs"), n, RESAMPLES)
    values = _ROWS[kind](average_ranks(x[drawn]), average_ranks(y[drawn]))
    low, high = interval(values[~np.isnan(values)][:, np.newaxis])
    return published(float(low[0])), published(float(high[0])), None
