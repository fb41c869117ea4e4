"""Student's t, chi-squared and the corrected p values of many tests, from scipy.special.

The same numbers as scipy.stats, which takes as long to load as everything else that a board needs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

from bench.scores.bootstrap import CONFIDENCE, Array


def t_quantile(share: float, df: npt.ArrayLike) -> Array:
    """The value that Student's t with ``df`` degrees of freedom stays below with probability ``share``."""
    return np.asarray(special.stdtrit(np.asarray(df, np.float64), share), np.float64)


def half_width(error: npt.ArrayLike, df: npt.ArrayLike) -> Array:
    """Half the width of the 95% interval of an estimate with this standard error."""
    return t_quantile((1 + CONFIDENCE) / 2, df) * np.asarray(error, np.float64)


def t_tail(value: npt.ArrayLike, df: npt.ArrayLike) -> Array:
    """The probability that Student's t exceeds ``value``."""
    beyond = -np.asarray(value, np.float64)
    return np.asarray(special.stdtr(np.asarray(df, np.float64), beyond), np.float64)


def chi2_quantile(share: npt.ArrayLike, df: npt.ArrayLike) -> Array:
    """The value that chi-squared with ``df`` degrees of freedom stays below with probability ``share``."""
    return np.asarray(
        2 * special.gammaincinv(np.asarray(df, np.float64) / 2, np.asarray(share, np.float64)), np.float64
    )


def benjamini_hochberg(p: Array) -> Array:
    """Sorted p values ``p`` adjusted to control the false discovery rate (Benjamini and Hochberg 1995)."""
    stepped: Array = p * (len(p) / np.arange(1, len(p) + 1))
    return np.clip(np.minimum.accumulate(stepped[::-1])[::-1], 0.0, 1.0)
