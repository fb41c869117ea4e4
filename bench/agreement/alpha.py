"""Krippendorff's alpha, ordinal, with an interval by resampling."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bench.agreement.coefficients import Coefficient, Resampling
from bench.scores.alpha import ResampledAlpha, ordinal_alpha

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
    low, high, reason = resampling.interval(mask, lambda: resampling.over(mask, scored, ResampledAlpha))
    return Coefficient(n=n, value=ordinal_alpha(scored), low=low, high=high, reason=reason)
