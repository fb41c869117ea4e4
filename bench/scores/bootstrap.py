"""Seeded resampling that gives the same digits on every machine.

Random numbers come from the raw stream of PCG64, which numpy promises never to change (the derived
distributions may change from version to version), and resampled means are rounded to 12 decimals, so that the
order in which a linear-algebra library adds does not show.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bench.records import sha256_of

Array = npt.NDArray[np.float64]

CONFIDENCE = 0.95
NOISE_DECIMALS = 12
"""Far above what adding in another order changes, far below what is published."""


def stable_stream(*key: str | int) -> np.random.PCG64:
    """A random stream that belongs to ``key`` alone: who else is on the board does not matter."""
    return np.random.PCG64(int(sha256_of(list(key))[:32], 16))


def draw_indices(stream: np.random.PCG64, size: int, resamples: int) -> npt.NDArray[np.int64]:
    """``resamples`` rows of ``size`` indices below ``size``, drawn with replacement."""
    numbers = np.empty((resamples * size + 1) // 2 * 2, dtype=np.uint64)
    raw = stream.random_raw(len(numbers) // 2)
    np.right_shift(raw, np.uint64(32), out=numbers[0::2])
    np.bitwise_and(raw, np.uint64(0xFFFFFFFF), out=numbers[1::2])
    numbers *= np.uint64(size)
    numbers >>= np.uint64(32)
    return numbers[: resamples * size].view(np.int64).reshape(resamples, size)


def draw_counts(stream: np.random.PCG64, size: int, resamples: int) -> Array:
    """How often each of ``size`` items is drawn in each of ``resamples`` resamples, as a matrix."""
    drawn = draw_indices(stream, size, resamples)
    drawn += np.arange(resamples, dtype=np.int64)[:, np.newaxis] * size
    counts = np.bincount(drawn.ravel(), minlength=resamples * size)
    return counts.reshape(resamples, size).astype(np.float64)


def resampled_means(values: Array, counts: Array, weights: Array | None = None) -> Array:
    """Means of the columns of ``values`` (items x columns) in each resample: resamples x columns.

    ``weights``: of the items, where not all weigh alike.
    """
    if weights is None:
        return np.round(counts @ values / len(values), NOISE_DECIMALS)
    drawn = counts * weights
    means: Array = np.round(drawn @ values / drawn.sum(axis=1, keepdims=True), NOISE_DECIMALS)
    return means


def half_widths(means: Array, confidence: float = CONFIDENCE) -> Array:
    """Half the width of the percentile interval of each column of ``means``."""
    low, high = interval(means, confidence)
    half: Array = (high - low) / 2
    return half


def interval(means: Array, confidence: float = CONFIDENCE) -> tuple[Array, Array]:
    """Lower and upper end of the percentile interval of each column of ``means``."""
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail], axis=0)
    return low, high


def mean_half_widths(
    values: Array, resamples: int, key: Sequence[str | int], weights: Array | None = None
) -> Array | None:
    """Half-widths for the means of the columns of ``values``; None where fewer than two items say nothing."""
    if len(values) < 2:
        return None
    counts = draw_counts(stable_stream(*key), len(values), resamples)
    return half_widths(resampled_means(values, counts, weights))


def resampled_grid_means(values: Array, first: Array, second: Array) -> Array:
    """Means of each player's grid in resamples of both its dimensions: resamples x players.

    ``values`` is players x A x B with NaN where a cell is missing; ``first`` (resamples x A) and ``second``
    (resamples x B) say how often each row and column was drawn. NaN where a resample holds no cell.
    """
    players, rows, columns = values.shape
    weights = (first[:, :, np.newaxis] * second[:, np.newaxis, :]).reshape(-1, rows * columns)
    flat = values.reshape(players, rows * columns)
    have = ~np.isnan(flat)
    sums = weights @ np.where(have, flat, 0.0).T
    counts = weights @ have.T.astype(np.float64)
    means: Array = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
    return means.round(NOISE_DECIMALS)
