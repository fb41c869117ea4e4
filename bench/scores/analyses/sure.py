"""Means and slopes with intervals when scenes share characters and situations.

Every interval here is two-way clustered (Cameron, Gelbach and Miller; see
:func:`bench.scores.clusters.clustered`) with Student's t: scenes of one character, or of one situation,
are not independent of each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bench.scores.bootstrap import Array
from bench.scores.clusters import clustered
from bench.scores.digits import published
from bench.scores.distributions import half_width

FEW = "fewer than two scenes: no interval"
SAME = "the same value in every scene: no interval"


@dataclass(frozen=True)
class Estimate:
    """A number with its 95% interval; None where it does not exist, and why."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    reason: str | None = None

    def cells(self, name: str = "value") -> dict[str, float | str | None]:
        """The columns of a table: ``name``, ``low``, ``high``, ``reason``."""
        return {name: self.value, "low": self.low, "high": self.high, "reason": self.reason}


def mean_estimate(values: pd.Series) -> Estimate:
    """The mean of a series indexed by two levels, both of which are clusters; missing values stay out.

    Repeats of a scene, a third level, are averaged first.
    """
    if values.index.nlevels > 2:
        values = values.groupby(level=[0, 1]).mean()
    return grid_estimate(as_array(values)[1])


def grid_estimate(values: Array) -> Estimate:
    """The mean of an array whose rows and columns are clusters; NaN where a cell is missing."""
    known = values[~np.isnan(values)]
    n = len(known)
    if n == 0:
        return Estimate(None, reason="nothing was scored")
    mean = math.fsum(known) / n
    if n < 2:
        return Estimate(published(mean), n=n, reason=FEW)
    made = clustered(values[np.newaxis])
    if math.isnan(made.df[0]):
        return Estimate(published(mean), n=n, reason=SAME)
    return interval_of(mean, float(made.error[0]), float(made.df[0]), n)


def interval_of(value: float, error: float, df: float, n: int) -> Estimate:
    """The estimate from a value, its standard error and degrees of freedom."""
    reach = float(half_width(error, df))
    return Estimate(published(value), published(value - reach), published(value + reach), n)


def as_array(values: pd.Series) -> tuple[list[tuple[Any, ...]], Array]:
    """The sorted names of each level of the index, and the values in an axis for each; NaN: missing."""
    levels = [values.index.get_level_values(level) for level in range(values.index.nlevels)]
    places, names = zip(*(pd.factorize(level, sort=True) for level in levels), strict=True)
    table = np.full([len(part) for part in names], np.nan)
    table[places] = values.to_numpy(dtype=np.float64)
    return [tuple(part) for part in names], table


def missing_to_none(table: pd.DataFrame) -> pd.DataFrame:
    """The table with None in place of every missing cell."""
    return table.astype(object).where(table.notna(), None)
