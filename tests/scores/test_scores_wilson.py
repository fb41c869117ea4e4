"""Wilson's interval of a pass rate against statsmodels."""

from __future__ import annotations

import pytest
from statsmodels.stats.proportion import proportion_confint

from bench.scores.probes import wilson


@pytest.mark.parametrize("decided", [1, 2, 3, 7, 12, 24, 96, 1000])
def test_the_interval_is_that_of_statsmodels(decided: int) -> None:
    """proportion_confint(method="wilson"), for every number of passed probes up to 100."""
    for passed in {*range(min(decided, 100) + 1), decided}:
        expected = proportion_confint(passed, decided, alpha=0.05, method="wilson")
        assert wilson(passed, decided) == pytest.approx(expected, abs=1e-6)


def test_without_a_decided_probe_there_is_no_interval() -> None:
    assert wilson(0, 0) is None
