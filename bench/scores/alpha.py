"""Krippendorff's alpha for ordinal scores, of data and of many resamples at once."""

from __future__ import annotations

import numpy as np

from bench.scores.bootstrap import NOISE_DECIMALS, Array


def ordinal_alpha(values: Array, counts: Array | None = None) -> Array:
    """Alpha of ``values`` (units x judges, NaN if missing, at least two scores in each row).

    1: identical scores; 0: no better than scores given at random; NaN if all scores are the same.

    After Krippendorff, Content Analysis (2019), ch. 12: the distance of two scores is the number of scores
    between them, counting half of those at either end. That is the difference of their mid-ranks, so the
    disagreement in a unit is its variance of mid-ranks, and no table of all pairs of values is needed.

    Args:
        values: The scores.
        counts: How often each unit counts in each resample (resamples x units); default: once, in one.

    Returns:
        One alpha for each resample.
    """
    counts = np.ones((1, len(values))) if counts is None else counts
    held = ~np.isnan(values)
    size = held.sum(axis=1)
    unit = np.repeat(np.arange(len(values)), size)
    _, place = np.unique(values[held], return_inverse=True)
    order = np.argsort(place, kind="stable")
    totals = _sums(counts[:, unit[order]], np.bincount(place))
    number = totals.sum(axis=1, keepdims=True)
    middles = totals.cumsum(axis=1) - totals / 2 - number / 2
    ranks = middles[:, place]
    spread = _sums(ranks**2, size) - _sums(ranks, size) ** 2 / size
    observed = (counts * spread * (size / (size - 1))).sum(axis=1)
    expected = (totals * middles**2).sum(axis=1)
    ratio = np.divide(observed, expected, out=np.full_like(observed, np.nan), where=expected > 0)
    result: Array = (1 - (1 - 1 / number[:, 0]) * ratio).round(NOISE_DECIMALS) + 0.0
    return result


def _sums(cells: Array, sizes: np.ndarray) -> Array:
    """Sums of consecutive groups of columns, of the given ``sizes``."""
    sums: Array = np.add.reduceat(cells, np.concatenate([[0], sizes.cumsum()[:-1]]), axis=1)
    return sums
