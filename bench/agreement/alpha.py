"""Krippendorff's alpha, ordinal: its value by the ``krippendorff`` library, its interval by resampling."""

from __future__ import annotations

import krippendorff
import numpy as np
import pandas as pd

from bench.agreement.figures import Figure, Resampling, few_units, percentiles
from bench.scores.bootstrap import NOISE_DECIMALS, Array
from bench.scores.correlation import LEAST_FOR_INTERVAL


def alpha_figure(table: pd.DataFrame, resampling: Resampling) -> Figure:
    """Alpha of a table of items x annotators with its interval; ``n``: items that at least two scored.

    1: all give the same scores; 0: as if scores were dealt out by chance; below 0: against each other.
    """
    values = table.to_numpy(dtype=np.float64)
    mask = (~np.isnan(values)).sum(axis=1) > 1
    both = values[mask]
    n = len(both)
    if table.shape[1] < 2:
        return Figure(n=n, value=None, reason=NOBODY if table.shape[1] == 0 else ONE)
    if n == 0:
        return Figure(n=0, value=None, reason="no item was scored by two annotators")
    if len(np.unique(both[~np.isnan(both)])) < 2:
        return Figure(n=n, value=None, reason="all scores are the same: agreement cannot be told from habit")
    value = float(krippendorff.alpha(both.T, level_of_measurement="ordinal"))
    value = round(value, NOISE_DECIMALS) + 0.0
    units = resampling.units(mask)
    if units < LEAST_FOR_INTERVAL:
        return Figure(n=n, value=value, reason=few_units(units))
    low, high, reason = percentiles(resampled_alpha(both, resampling.counts(mask)))
    return Figure(n=n, value=value, low=low, high=high, reason=reason)


NOBODY = "nobody annotated it"
ONE = "one annotator: there is nobody to compare with"


def resampled_alpha(values: Array, counts: Array) -> Array:
    """Ordinal alpha in each resample of the rows of ``values`` (items x annotators, NaN where none).

    After Krippendorff, Content Analysis (2019), ch. 12: coincidences of an item with m scores weigh
    1/(m - 1); the distance of two values is the number of scores from one to the other, half of each end
    counted.
    NaN in a resample with one value only.
    """
    known = ~np.isnan(values)
    domain = np.unique(values[known])
    held = np.stack([(values == v).sum(axis=1) for v in domain], axis=1).astype(np.float64)
    m = held.sum(axis=1)
    inside = held[:, :, np.newaxis] * held[:, np.newaxis, :]
    inside -= held[:, :, np.newaxis] * np.eye(len(domain))
    weights = (inside / (m - 1)[:, np.newaxis, np.newaxis]).reshape(len(values), -1)
    coincidences = (counts @ weights).reshape(-1, len(domain), len(domain))
    totals = counts @ held
    middles = totals.cumsum(axis=1) - totals / 2
    distances = (middles[:, :, np.newaxis] - middles[:, np.newaxis, :]) ** 2
    observed = (coincidences * distances).sum(axis=(1, 2))
    expected = (totals[:, :, np.newaxis] * totals[:, np.newaxis, :] * distances).sum(axis=(1, 2))
    ratio = np.divide(observed, expected, out=np.full_like(observed, np.nan), where=expected > 0)
    result: Array = (1 - (totals.sum(axis=1) - 1) * ratio).round(NOISE_DECIMALS)
    return result
