"""Krippendorff's alpha for ordinal scores, of data and of many resamples at once."""

from __future__ import annotations

import numpy as np

from bench.scores.bootstrap import NOISE_DECIMALS, Array
from bench.scores.resampled_ranks import Counts, ResampledRanks


def ordinal_alpha(values: Array) -> float:
    """Alpha of ``values`` (units x judges, NaN if missing, at least two scores in each row).

    1: identical scores; 0: no better than scores given at random; NaN if all scores are the same.
    """
    return float(ResampledAlpha(values)(np.ones((1, len(values)), dtype=np.uint8))[0])


class ResampledAlpha:
    """:func:`ordinal_alpha` of ``values`` in resamples of their rows. The values are sorted once.

    After Krippendorff, Content Analysis (2019), ch. 12: the distance of two scores is the number of scores
    between them, counting half of those at either end. That is the difference of their mid-ranks, so the
    disagreement in a unit is its variance of mid-ranks, and no table of all pairs of values is needed.
    """

    def __init__(self, values: Array) -> None:
        held = ~np.isnan(values)
        self._size = held.sum(axis=1)
        self._ranks = ResampledRanks(values[held], np.repeat(np.arange(len(values)), self._size))

    def __call__(self, counts: Counts) -> Array:
        """Alpha in each resample; NaN where all scores are the same."""
        size = self._size
        ranks = self._ranks.of(counts).astype(np.float64)
        squares = _sums(ranks**2, size)
        spread = squares - _sums(ranks, size) ** 2 / size
        expected = (counts * squares).sum(axis=1)
        observed = (counts * spread * (size / (size - 1))).sum(axis=1)
        ratio = np.divide(observed, expected, out=np.full_like(observed, np.nan), where=expected > 0)
        result: Array = (1 - (1 - 1 / (counts @ size)) * ratio).round(NOISE_DECIMALS) + 0.0
        return result


def _sums(cells: Array, sizes: np.ndarray) -> Array:
    """Sums of consecutive groups of columns, of the given ``sizes``."""
    sums: Array = np.add.reduceat(cells, np.concatenate([[0], sizes.cumsum()[:-1]]), axis=1)
    return sums
