"""The quick distributions give the numbers of scipy.stats, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from bench.scores.bootstrap import Array
from bench.scores.distributions import benjamini_hochberg, chi2_quantile, t_quantile, t_tail
from bench.scores.paper import published
from bench.scores.planning import PairComponents, detectable_difference, size_needed
from bench.scores.robust import power_of

DF = np.concatenate([10 ** np.random.default_rng(1).uniform(-0.3, 6, 3000), [1.0, 2.0, np.inf, np.nan]])


@pytest.mark.parametrize("share", [0.025, 0.1, 0.5, 0.9, 0.975, 0.99999])
def test_quantiles_of_t(share: float) -> None:
    assert np.array_equal(t_quantile(share, DF), stats.t.ppf(share, DF), equal_nan=True)


@pytest.mark.parametrize("share", [0.025, 0.1, 0.5, 0.9, 0.975, 0.99999])
def test_quantiles_of_chi_squared(share: float) -> None:
    assert chi2_quantile(share, [1.0, 2.5, 63.0]) == pytest.approx(
        stats.chi2.ppf(share, [1.0, 2.5, 63.0]), rel=1e-12
    )


def test_tails_of_t() -> None:
    values = np.concatenate([np.random.default_rng(2).normal(0, 3, len(DF) - 3), [0.0, np.inf, np.nan]])
    assert np.array_equal(t_tail(values, DF), stats.t.sf(values, DF), equal_nan=True)


@pytest.mark.parametrize("p", [np.sort(np.random.default_rng(3).uniform(0, 1, 500) ** 3), np.array([0.04])])
def test_adjusted_p_values(p: Array) -> None:
    assert np.array_equal(benjamini_hochberg(p), stats.false_discovery_control(p))
    assert benjamini_hochberg(p[:0]).size == 0


@pytest.mark.parametrize("df", [1.0, 3.4, 14.0, 900.0])
def test_the_detectable_difference_is_the_root_of_the_power(df: float) -> None:
    root = optimize.brentq(lambda d: power_of(d, 0.05, df) - 0.8, 0.0, 4.0)
    found = detectable_difference(0.05, df, width=4.0)
    assert found is not None
    assert published(found) == published(float(root))


def test_the_size_needed_is_the_first_that_suffices() -> None:
    """By trying every side, whatever the first guess of the search is."""
    random = np.random.default_rng(4)
    for _ in range(40):
        a, b, c = (10 ** random.uniform(-5, -1, 3)).tolist()
        pair = PairComponents(a, b, c, nested=bool(random.integers(4) == 0))
        difference = float(10 ** random.uniform(-1.2, 0.3))
        first = None
        for side in range(2, 60):
            variance, df = pair.error(side)
            if df >= 1 and power_of(difference, variance**0.5, df) >= 0.8:
                first = side
                break
        found = size_needed(difference, pair)
        assert found == first or (first is None and (found is None or found >= 60))
