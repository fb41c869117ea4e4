"""Krippendorff's alpha, ordinal: the value from the ``krippendorff`` package, the interval by resampling."""

from __future__ import annotations

import krippendorff
import numpy as np
import pandas as pd

from bench.agreement.coefficients import Coefficient, Resampling
from bench.scores.bootstrap import NOISE_DECIMALS, Array

NOBODY = "nobody annotated it"
ONE_ANNOTATOR = "only one annotator, so there is nothing to compare"


def alpha_of(table: pd.DataFrame, resampling: Resampling) -> Coefficient:
    """Alpha of a table of items x annotators; ``n`` counts the items that at least two scored.

    1: all give the same scores; 0: no better than scores assigned at random; below 0: worse than random.
    """
    values = table.to_numpy(dtype=np.float64)
    mask = (~np.isnan(values)).sum(axis=1) > 1
    scored = values[mask]
    n = len(scored)
    if table.shape[1] < 2:
        return Coefficient(n=n, value=None, reason=ONE_ANNOTATOR if table.shape[1] else NOBODY)
    if n == 0:
        return Coefficient(n=0, value=None, reason="no item was scored by two annotators")
    if len(np.unique(scored[~np.isnan(scored)])) < 2:
        return Coefficient(n=n, value=None, reason="all scores are the same, so alpha is undefined")
    value = float(krippendorff.alpha(scored.T, level_of_measurement="ordinal"))
    low, high, reason = resampling.interval(mask, lambda: resampling.over(mask, scored, resampled_alpha))
    return Coefficient(n=n, value=round(value, NOISE_DECIMALS) + 0.0, low=low, high=high, reason=reason)


def resampled_alpha(values: Array, counts: Array) -> Array:
    """Ordinal alpha in each resample of the rows of ``values`` (items x annotators, NaN if missing).

    All resamples at once: calling ``krippendorff.alpha`` for each takes 35 times as long. After Krippendorff,
    Content Analysis (2019), ch. 12: coincidences of an item with m scores have weight 1/(m - 1). The distance
    of two values is the number of scores between them, counting half of those at either end.
    NaN in a resample with only one distinct value.
    """
    domain = np.unique(values[~np.isnan(values)])
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
