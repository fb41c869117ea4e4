"""Spearman correlations with p and bootstrap interval, and paired differences between them.

A resample is a vector of counts: how often each item was drawn. Correlations of resamples are computed from
the counts and twice the average ranks. Those are whole numbers, so the values are exact and the same on every
machine.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from hashlib import sha256
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from bench.records import Record, sha256_of
from bench.scores.bootstrap import (
    CONFIDENCE,
    NOISE_DECIMALS,
    Array,
    draw_indices,
    interval,
    stable_stream,
)
from bench.scores.correlation import DRAWS, LEAST, LEAST_FOR_INTERVAL, SAME, TIE_DECIMALS, chance, rho
from bench.scores.paper import DIGITS, published
from bench.scores.resampled_ranks import Counts, ResampledRanks, sum_of_products

RESAMPLES = 2_000
MANY = 50
"""From this many pairs on, p is Student's t approximation, as in the paper. Random orders cannot show a p
below 0.0001, and with this many pairs the two agree."""
LEAST_BY_ORDERS = 1 / (1 + DRAWS)
"""The smallest p that random orders can show."""
CELLS_AT_ONCE = 200_000
"""Most counts that are worked on at once, resamples x items: as many as a processor's cache holds."""
CELLS_KEPT = 500_000_000
"""Most counts that are kept, one byte each. Sets of resamples that are larger are drawn again at each use."""
USABLE = 0.9
"""An interval needs a value in at least this share of the resamples."""
UNSTEADY = "no interval: few scores differ, so too many resamples have no value"
PERFECT = "no interval: every resample of a perfect order is perfect"

Unit = Literal["conversations", "players"]
Places = npt.NDArray[np.signedinteger[Any]]
Mask = npt.NDArray[np.bool_]
Statistic = Callable[[Array], Callable[[Counts], Array]]
"""Takes distinct rows; returns a function of how often each was drawn in each resample."""
Drawn = npt.NDArray[np.uint8]
"""How often each resampling unit was drawn: about once, so never near 255 times."""
Interval = tuple[float | None, float | None, str | None]
"""Low, high, and the reason if there is no interval."""


class Measured(Record):
    """A number over ``n`` items. What does not exist is null, and ``reason`` says why."""

    n: int
    value: float | None
    low: float | None = None
    high: float | None = None
    """95% interval."""
    p: float | None = None
    """Two-sided."""
    reason: str | None = None


class Coefficient(Measured):
    """A correlation or alpha, to 12 decimals so that it can be compared with other software.

    The interval is a percentile bootstrap. p treats items as independent.
    """

    p_method: Literal["exact", "permutation", "t"] | None = None


class Difference(Measured):
    """One correlation with people minus another, over the items that both cover.

    The interval is the difference plus or minus 1.96 standard deviations of it over paired resamples, and p
    is for the hypothesis of no difference, from the same standard deviation.
    """


class Resampling:
    """Resamples of items, or of players with all their items. Each set of resamples is drawn once.

    ``items`` are all items; ``units`` gives the resampling unit of each (itself, or its player). Coefficients
    over the same items share their resamples, so their differences are paired. What is asked for twice is
    computed once, by whatever names: the median of two judges is their mean.
    """

    def __init__(
        self, items: Sequence[str], units: Sequence[Hashable], key: Sequence[str | int], resamples: int
    ) -> None:
        self._items = np.asarray(items, dtype=object)
        self._units = pd.factorize(pd.Series(list(units), dtype="object"))[0]
        self._key = list(key)
        self._resamples = resamples
        self._drawn: dict[bytes, list[Drawn]] = {}
        self._values: dict[tuple[Statistic, bytes, bytes], Array] = {}

    def over(self, mask: Mask, rows: Array, statistic: Statistic) -> Array:
        """``statistic(distinct rows)(how often each was drawn)`` in each resample of the items of ``mask``.

        ``rows`` holds the scores of each of these items. Items with equal scores are counted together, and
        resamples are counted a few at a time, so that memory does not grow with the number of items.
        """
        key = (statistic, sha256(mask.tobytes()).digest(), sha256(rows.tobytes()).digest())
        if key not in self._values:
            self._values[key] = self._over(mask, rows, statistic)
        return self._values[key]

    def _over(self, mask: Mask, rows: Array, statistic: Statistic) -> Array:
        distinct, place = _distinct(rows)
        order = np.argsort(place, kind="stable")
        starts = np.searchsorted(place[order], np.arange(len(distinct)))
        units, at = np.unique(self._units[mask], return_inverse=True)
        unit_of = at[order]
        tied = len(distinct) < len(rows)
        step = max(1, CELLS_AT_ONCE // len(rows))
        values, parts = statistic(distinct), []
        for counts in self._draws(mask, len(units)):
            for part in range(0, len(counts), step):
                drawn: Counts = counts[part : part + step].take(unit_of, axis=1)
                if tied:
                    drawn = np.add.reduceat(drawn, starts, axis=1, dtype=np.int32)
                parts.append(values(drawn))
        return np.concatenate(parts)

    def _draws(self, mask: Mask, units: int) -> Iterator[Drawn]:
        """How often each resampling unit of ``mask`` was drawn, a few resamples at a time."""
        key = mask.tobytes()
        if key in self._drawn:
            yield from self._drawn[key]
            return
        cells = self._resamples * units
        if sum(part.size for parts in self._drawn.values() for part in parts) + cells > CELLS_KEPT:
            self._drawn.clear()
        kept: list[Drawn] = []
        stream = stable_stream(*self._key, sha256_of(self._items[mask].tolist()))
        size = max(2, CELLS_AT_ONCE // units // 2 * 2)  # even: a number of the stream gives two indices
        for start in range(0, self._resamples, size):
            drawn = draw_indices(stream, units, min(size, self._resamples - start))
            counts = np.stack([np.bincount(row, minlength=units) for row in drawn]).astype(np.uint8)
            if cells <= CELLS_KEPT:
                kept.append(counts)
            yield counts
        if kept:
            self._drawn[key] = kept

    def too_few(self, mask: Mask) -> str | None:
        """Why the items of ``mask`` have no interval; None if they belong to enough units."""
        units = np.count_nonzero(np.bincount(self._units[mask]))
        if units >= LEAST_FOR_INTERVAL:
            return None
        return f"an interval needs {LEAST_FOR_INTERVAL} resampling units; there are {units}"

    def interval(self, mask: Mask, values: Callable[[], Array]) -> Interval:
        """The 95% percentile interval of ``values()``, one value for each resample of ``mask``."""
        if reason := self.too_few(mask):
            return None, None, reason
        known, steady = with_value(values())
        if not steady:
            return None, None, UNSTEADY
        low, high = interval(known[:, np.newaxis])
        return published(float(low[0])), published(float(high[0])), None


def with_value(values: Array) -> tuple[Array, bool]:
    """The resampled values that exist, and whether they are enough for an interval."""
    known = values[~np.isnan(values)]
    return known, len(known) >= USABLE * len(values)


class ResampledSpearman:
    """Spearman's rho of the two columns of ``rows`` in resamples. They are sorted once, for all resamples."""

    def __init__(self, rows: Array) -> None:
        self._x, self._y = ResampledRanks(rows[:, 0]), ResampledRanks(rows[:, 1])

    def __call__(self, counts: Counts) -> Array:
        """Rho in each resample; NaN where a side is constant there."""
        a, b = self._x.of(counts), self._y.of(counts)
        sums = sum_of_products(counts, a, b)
        scale = np.sqrt(sum_of_products(counts, a, a) * sum_of_products(counts, b, b))
        values: Array = np.divide(sums, scale, out=np.full_like(sums, np.nan), where=scale > 0)
        return values


def _distinct(rows: Array) -> tuple[Array, Places]:
    """The distinct rows, and which of them each row is. Missing values are equal."""
    table = pd.DataFrame(rows)
    groups = table.groupby(list(table.columns), dropna=False, sort=True).ngroup()
    place: Places = np.asarray(groups, dtype=np.intp)
    distinct = np.empty((int(place.max()) + 1, rows.shape[1]))
    distinct[place] = rows
    return distinct, place


class Against:
    """Correlations of several score columns with one column of people's scores, on shared resamples."""

    def __init__(self, people: pd.Series, columns: pd.DataFrame, resampling: Resampling) -> None:
        self._people = _rounded(people)
        self._columns = {str(name): _rounded(columns[name]) for name in columns.columns}
        self._resampling = resampling

    def coefficient(self, name: str) -> Coefficient:
        """The correlation of one column with people."""
        mask = self._mask(name)
        x, y = self._columns[name][mask], self._people[mask]
        value, reason = _rho(x, y)
        if value is None:
            return Coefficient(n=len(x), value=None, reason=reason)
        p, method = _p(x, y, value, ["agreement-p", len(x), name])
        low, high, reason = self._interval(name, mask, value)
        p = rounded_p(p, NOISE_DECIMALS)
        return Coefficient(n=len(x), value=value, p=p, p_method=method, low=low, high=high, reason=reason)

    def difference(self, first: str, second: str) -> Difference:
        """The correlation of ``first`` minus that of ``second``, over the items that both cover."""
        mask = self._mask(first) & self._mask(second)
        n = int(mask.sum())
        a, why_a = _rho(self._columns[first][mask], self._people[mask])
        b, why_b = _rho(self._columns[second][mask], self._people[mask])
        if a is None or b is None:
            return Difference(n=n, value=None, reason=why_a or why_b)
        value = a - b
        if reason := self._resampling.too_few(mask):
            return Difference(n=n, value=published(value), reason=reason)
        spread, steady = with_value(self._values(first, mask) - self._values(second, mask))
        if not steady:
            return Difference(n=n, value=published(value), reason=UNSTEADY)
        error = float(spread.std(ddof=1))
        if error < SAME:
            same = "both order the items alike" if abs(value) < SAME else "no resample changes the difference"
            return Difference(n=n, value=published(value), reason=same)
        reach = float(stats.norm.ppf((1 + CONFIDENCE) / 2)) * error
        return Difference(
            n=n,
            value=published(value),
            low=published(value - reach),
            high=published(value + reach),
            p=rounded_p(float(2 * stats.norm.sf(abs(value) / error)), DIGITS),
        )

    def _mask(self, name: str) -> Mask:
        mask: Mask = ~(np.isnan(self._columns[name]) | np.isnan(self._people))
        return mask

    def _values(self, name: str, mask: Mask) -> Array:
        """The correlation of one column with people in each resample."""
        rows = np.column_stack([self._columns[name][mask], self._people[mask]])
        return self._resampling.over(mask, rows, ResampledSpearman)

    def _interval(self, name: str, mask: Mask, value: float) -> Interval:
        if abs(value) > 1 - SAME:
            return None, None, self._resampling.too_few(mask) or PERFECT
        return self._resampling.interval(mask, lambda: self._values(name, mask))


def _rounded(values: pd.Series) -> Array:
    """Values rounded so that those which differ only by the order of summation are equal.

    Coarser than NOISE_DECIMALS: a mean of values rounded to those can differ from its equal in the last one.
    """
    return values.to_numpy(dtype=np.float64).round(TIE_DECIMALS)


def rounded_p(p: float, decimals: int) -> float:
    """p with ``decimals`` decimals, or three digits if that keeps more: a small p does not become 0."""
    return float(f"{p:.3g}") if p < 10 ** (3 - decimals) else round(p, decimals)


def _rho(x: Array, y: Array) -> tuple[float | None, str | None]:
    """Spearman's rho of complete pairs, or why it is unknown."""
    value = rho(x.tolist(), y.tolist())
    if value is not None:
        return value, None
    if len(x) < LEAST:
        return None, f"only {len(x)} of the {LEAST} pairs needed" if len(x) else "no pairs"
    return None, "one side is the same for all"


def _p(
    x: Array, y: Array, value: float, key: Sequence[str | int]
) -> tuple[float, Literal["exact", "permutation", "t"]]:
    """Two-sided p: exact for up to nine pairs, from random orders below MANY pairs, else Student's t.

    Also by t if no random order reached ``value``: random orders then only show that p is very small.
    """
    if len(x) < MANY:
        p, method = chance("spearman", x.tolist(), y.tolist(), value, key)
        if method == "exact" or p > LEAST_BY_ORDERS:
            return p, method
    return float(stats.spearmanr(x, y).pvalue), "t"
