"""Seeded resampling that gives the same digits on every machine.

Random numbers come from the raw stream of PCG64, which NumPy promises never to change (distributions derived
from it may change with the version). Resampled means are rounded to 12 decimals, so that the order in which
a linear-algebra library adds does not matter. In the arrays below, an item is what is resampled, for example
a conversation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bench.records import sha256_of
from bench.scores.digits import NOISE_DECIMALS as NOISE_DECIMALS

Array = npt.NDArray[np.float64]

CONFIDENCE = 0.95


def stable_stream(*key: str | int) -> np.random.PCG64:
    """A random stream seeded by ``key``: the first 128 bits of the SHA-256 of its JSON array."""
    return np.random.PCG64(int(sha256_of(list(key))[:32], 16))


def draw_indices(stream: np.random.PCG64, size: int, resamples: int) -> npt.NDArray[np.int64]:
    """Indices below ``size``, drawn with replacement: an array resamples x size.

    Each 64-bit number of the stream gives two indices, floor(half * size / 2**32), the high half first.
    """
    numbers = np.empty((resamples * size + 1) // 2 * 2, dtype=np.uint64)
    raw = stream.random_raw(len(numbers) // 2)
    np.right_shift(raw, np.uint64(32), out=numbers[0::2])
    np.bitwise_and(raw, np.uint64(0xFFFFFFFF), out=numbers[1::2])
    numbers *= np.uint64(size)
    numbers >>= np.uint64(32)
    return numbers[: resamples * size].view(np.int64).reshape(resamples, size)


def draw_counts(stream: np.random.PCG64, size: int, resamples: int) -> Array:
    """How often each of ``size`` items is drawn: an array resamples x size."""
    drawn = draw_indices(stream, size, resamples)
    drawn += np.arange(resamples, dtype=np.int64)[:, np.newaxis] * size
    counts = np.bincount(drawn.ravel(), minlength=resamples * size)
    return counts.reshape(resamples, size).astype(np.float64)


def interval(means: Array) -> tuple[Array, Array]:
    """Ends of the 95% percentile interval of each column of ``means`` (resamples x columns)."""
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(means, [tail, 1 - tail], axis=0)
    return low, high


def mean_half_widths(
    values: Array, resamples: int, key: Sequence[str | int], weights: Array | None = None
) -> Array | None:
    """Half the width of the 95% interval for the mean of each column of ``values`` (items x columns).

    ``weights``: of the items; None for equal weights. Returns None for fewer than two items. NaN for a column
    that is the same in every item: how far other items would differ is then unknown, not zero.
    """
    if len(values) < 2:
        return None
    drawn = draw_counts(stable_stream(*key), len(values), resamples)
    if weights is None:
        means = drawn @ values / len(values)
    else:
        drawn *= weights
        means = drawn @ values / drawn.sum(axis=1, keepdims=True)
    low, high = interval(np.round(means, NOISE_DECIMALS))
    same = np.ptp(values, axis=0) <= 10.0**-NOISE_DECIMALS
    half: Array = np.where(same, np.nan, (high - low) / 2)
    return half
