"""Spearman correlations with p and bootstrap interval, and their differences on the same resamples.

Resamples are counts: how often each item was drawn. A correlation is worked out from the counts and average
ranks, which are half-integers, so that a resample's value is exact and equal on every machine.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from bench.records import Record, sha256_of
from bench.scores.bootstrap import (
    CONFIDENCE,
    NOISE_DECIMALS,
    Array,
    draw_counts,
    interval,
    stable_stream,
)
from bench.scores.correlation import DRAWS, LEAST, LEAST_FOR_INTERVAL, SAME, chance, rho
from bench.scores.paper import DIGITS, published

RESAMPLES = 2_000
MANY = 50
"""From so many pairs on p is that of the t approximation, as in the paper: random orders cannot show a p
below 0.0001, and with so many pairs the two agree."""
LEAST_BY_ORDERS = 1 / (1 + DRAWS)
"""The smallest p that random orders can show."""
TIE_DECIMALS = 9
"""What is ranked is rounded to so many: coarser than NOISE_DECIMALS, since a mean of means that were rounded
to those differs from its equal in their last place."""
USABLE = 0.9
"""The share of resamples that must have a value for an interval to be made of them."""

Unit = Literal["conversations", "players"]
Mask = npt.NDArray[np.bool_]


class Figure(Record):
    """A coefficient over ``n`` items; what does not exist is null, and ``reason`` says why."""

    n: int
    value: float | None
    """To 12 decimals, so that it can be compared with other software."""
    p: float | None = None
    """Two-sided. It takes items for independent."""
    p_method: Literal["exact", "permutation", "t"] | None = None
    low: float | None = None
    high: float | None = None
    """95% percentile bootstrap interval."""
    reason: str | None = None


class Difference(Record):
    """One correlation with people minus another, over the ``n`` items that both have."""

    n: int
    value: float | None
    low: float | None = None
    high: float | None = None
    """95% interval: the difference, give or take 1.96 standard deviations of it over paired resamples."""
    p: float | None = None
    """Two-sided, of no difference, from the same standard deviation."""
    reason: str | None = None


class Resampling:
    """Resamples of items, or of players with all their items, each made once.

    ``items`` are all items, ``units`` what each of them is drawn with (itself, or its player). Figures over
    the same items get the same resamples, which is what makes their differences paired.
    """

    def __init__(
        self, items: Sequence[str], units: Sequence[Hashable], key: Sequence[str | int], resamples: int
    ) -> None:
        self._items = list(items)
        self._units = pd.factorize(pd.Series(list(units), dtype="object"))[0]
        self._key = list(key)
        self._resamples = resamples
        self._made: dict[bytes, Array] = {}

    def counts(self, mask: Mask) -> Array:
        """How often each item of ``mask`` was drawn: resamples x items of the mask."""
        found = self._made.get(mask.tobytes())
        if found is None:
            chosen = [item for item, is_in in zip(self._items, mask, strict=True) if is_in]
            units, at = np.unique(self._units[mask], return_inverse=True)
            stream = stable_stream(*self._key, sha256_of(chosen))
            found = draw_counts(stream, len(units), self._resamples)[:, at]
            self._made[mask.tobytes()] = found
        return found

    def units(self, mask: Mask) -> int:
        """How many units the items of ``mask`` are of."""
        return len(np.unique(self._units[mask]))


def resampled_ranks(values: Array, counts: Array) -> Array:
    """The average ranks of ``values`` in each resample, minus their mean: resamples x items."""
    order = np.argsort(values, kind="stable")
    distinct, place = np.unique(values, return_inverse=True)
    starts = np.searchsorted(values[order], distinct)
    held = np.add.reduceat(counts[:, order], starts, axis=1)
    upto = held.cumsum(axis=1)
    middles = upto - held / 2 - upto[:, -1:] / 2
    ranks: Array = middles[:, place]
    return ranks


def resampled_spearman(x: Array, y: Array, counts: Array) -> Array:
    """Spearman's rho in each resample; NaN where a side is constant there."""
    a, b = resampled_ranks(x, counts), resampled_ranks(y, counts)
    weighted = counts * a
    scale = np.sqrt((weighted * a).sum(axis=1) * (counts * b * b).sum(axis=1))
    sums = (weighted * b).sum(axis=1)
    values: Array = np.divide(sums, scale, out=np.full_like(sums, np.nan), where=scale > 0)
    return values


class Against:
    """Correlations of several sides (columns) with one (people), on shared resamples."""

    def __init__(self, people: pd.Series, sides: pd.DataFrame, resampling: Resampling) -> None:
        self._people = _tied(people)
        self._sides = {str(name): _tied(sides[name]) for name in sides.columns}
        self._resampling = resampling
        self._spread: dict[tuple[str, bytes], Array] = {}

    def figure(self, name: str) -> Figure:
        """The correlation of one side with people."""
        mask = self._mask(name)
        x, y = self._sides[name][mask], self._people[mask]
        value, reason = rho_or_reason(x, y)
        if value is None:
            return Figure(n=len(x), value=None, reason=reason)
        p, method = p_of(x, y, value, [*self._key(mask), name])
        low, high, reason = self._interval(name, mask, value)
        p = kept_p(p, NOISE_DECIMALS)
        return Figure(n=len(x), value=value, p=p, p_method=method, low=low, high=high, reason=reason)

    def difference(self, first: str, second: str) -> Difference:
        """``first`` minus ``second`` over the items that both have."""
        mask = self._mask(first) & self._mask(second)
        n = int(mask.sum())
        made = [rho_or_reason(self._sides[name][mask], self._people[mask]) for name in (first, second)]
        (a, why_a), (b, why_b) = made
        if a is None or b is None:
            return Difference(n=n, value=None, reason=why_a or why_b)
        value = a - b
        if self._resampling.units(mask) < LEAST_FOR_INTERVAL:
            return Difference(n=n, value=published(value), reason=few_units(self._resampling.units(mask)))
        spread = self._values(first, mask) - self._values(second, mask)
        spread = spread[~np.isnan(spread)]
        if len(spread) < USABLE * self._resampling.counts(mask).shape[0]:
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
            p=kept_p(float(2 * stats.norm.sf(abs(value) / error)), DIGITS),
        )

    def _mask(self, name: str) -> Mask:
        mask: Mask = ~(np.isnan(self._sides[name]) | np.isnan(self._people))
        return mask

    def _key(self, mask: Mask) -> list[str | int]:
        return ["agreement-p", int(mask.sum())]

    def _values(self, name: str, mask: Mask) -> Array:
        key = (name, mask.tobytes())
        if key not in self._spread:
            counts = self._resampling.counts(mask)
            self._spread[key] = resampled_spearman(self._sides[name][mask], self._people[mask], counts)
        return self._spread[key]

    def _interval(self, name: str, mask: Mask, value: float) -> tuple[float | None, float | None, str | None]:
        units = self._resampling.units(mask)
        if units < LEAST_FOR_INTERVAL:
            return None, None, few_units(units)
        if abs(value) > 1 - SAME:
            return None, None, "any resample of a perfect order is perfect, so resampling gives no interval"
        return percentiles(self._values(name, mask))


def _tied(values: pd.Series) -> Array:
    """Values that are equal but for the order in which they were added up, as equal floats."""
    return values.to_numpy(dtype=np.float64).round(TIE_DECIMALS)


UNSTEADY = "too many resamples have no value, since few scores differ: no interval"


def kept_p(p: float, decimals: int) -> float:
    """A p rounded to ``decimals``, or to three digits where rounding would leave fewer: none becomes 0."""
    return float(f"{p:.3g}") if p < 10 ** (3 - decimals) else round(p, decimals)


def few_units(units: int) -> str:
    """Why there is no interval."""
    return f"{units} things to draw from are fewer than the {LEAST_FOR_INTERVAL} that an interval needs"


def percentiles(values: Array) -> tuple[float | None, float | None, str | None]:
    """The 95% percentile interval of resampled values, or why there is none."""
    known = values[~np.isnan(values)]
    if len(known) < USABLE * len(values):
        return None, None, UNSTEADY
    low, high = interval(known[:, np.newaxis])
    return published(float(low[0])), published(float(high[0])), None


def rho_or_reason(x: Array, y: Array) -> tuple[float | None, str | None]:
    """Spearman's rho of complete pairs, or why there is none."""
    value = rho(x.tolist(), y.tolist())
    if value is not None:
        return value, None
    if len(x) < LEAST:
        return None, "no pairs" if not len(x) else f"{len(x)} pairs are fewer than {LEAST}"
    return None, "one side is the same for all"


def p_of(
    x: Array, y: Array, value: float, key: Sequence[str | int]
) -> tuple[float, Literal["exact", "permutation", "t"]]:
    """Two-sided p: over all orders up to nine pairs, over random ones below MANY, else by Student's t.

    Also by t where no random order reached the value: then they only say that p is very small.
    """
    if len(x) < MANY:
        p, method = chance("spearman", x.tolist(), y.tolist(), value, key)
        if method == "exact" or p > LEAST_BY_ORDERS:
            return p, method
    return float(stats.spearmanr(x, y).pvalue), "t"
