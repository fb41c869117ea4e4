"""Rank correlations against scipy, and what small numbers of pairs do not allow."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import stats

from bench.scores.correlation import Kind, correlation, rho, tau


def pairs(n: int, ties: bool) -> tuple[list[float], list[float]]:
    rng = np.random.default_rng(n)
    x = rng.normal(size=n)
    y = x + rng.normal(size=n)
    return (x.round(0).tolist(), y.round(0).tolist()) if ties else (x.tolist(), y.tolist())


def scipy_value(kind: Kind, x: Any, y: Any) -> float:
    made = stats.spearmanr(x, y) if kind == "spearman" else stats.kendalltau(x, y)
    return float(made.statistic)


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n", [4, 7, 15, 40])
def test_value_is_that_of_scipy(kind: Kind, ties: bool, n: int) -> None:
    x, y = pairs(n, ties)
    assert correlation(kind, x, y, ["t"]).value == pytest.approx(scipy_value(kind, x, y), abs=1e-6)


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
@pytest.mark.parametrize("ties", [False, True])
def test_exact_p_is_that_of_scipys_permutation_test(kind: Kind, ties: bool) -> None:
    x, y = pairs(6, ties)
    permuted: Any = stats.permutation_test
    expected = permuted(
        (y,),
        lambda shuffled: abs(scipy_value(kind, x, shuffled)),
        permutation_type="pairings",
        alternative="greater",
        n_resamples=np.inf,
    )
    made = correlation(kind, x, y, ["t"])
    assert made.p_method == "exact"
    assert made.p == pytest.approx(expected.pvalue, abs=1e-6)


def test_kendall_p_without_ties_is_the_exact_one() -> None:
    x, y = pairs(9, False)
    assert correlation("kendall", x, y, ["t"]).p == pytest.approx(
        stats.kendalltau(x, y, method="exact").pvalue, abs=1e-6
    )


@pytest.mark.parametrize("kind", ["spearman", "kendall"])
def test_permutation_p_of_many_pairs_is_near_the_approximation(kind: Kind) -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=40)
    y = 0.3 * x + rng.normal(size=40)
    made = correlation(kind, x.tolist(), y.tolist(), ["t"])
    expected = stats.spearmanr(x, y).pvalue if kind == "spearman" else stats.kendalltau(x, y).pvalue
    assert made.p_method == "permutation"
    assert made.p == pytest.approx(expected, abs=0.015)


@pytest.mark.parametrize(("n", "critical"), [(5, 1.0), (7, 0.786), (8, 0.738), (9, 0.7)])
def test_critical_values_are_those_of_the_printed_tables(n: int, critical: float) -> None:
    x, y = pairs(n, False)
    assert correlation("spearman", x, y, ["t"]).critical == pytest.approx(critical, abs=5e-4)


def test_four_pairs_cannot_reach_five_percent() -> None:
    made = correlation("spearman", [1, 2, 3, 4], [1, 2, 3, 4], ["t"])
    assert (made.value, made.critical) == (1, None)
    assert made.p == pytest.approx(2 / 24, abs=1e-6)


def test_all_orders_of_three_worked_by_hand() -> None:
    """Of six orders of (1, 2, 3) all have a rho of at least 0.5 either way."""
    assert correlation("spearman", [1, 2, 3], [1, 3, 2], ["t"]).p == 1
    assert correlation("spearman", [1, 2, 3], [1, 2, 3], ["t"]).p == pytest.approx(2 / 6, abs=1e-6)


@pytest.mark.parametrize(
    ("x", "y", "reason"), [([1, 2], [1, 2], "only 2 of the 3"), ([1, 2, 3], [4, 4, 4], "the same for all")]
)
def test_what_does_not_exist_is_null_with_a_reason(x: list[float], y: list[float], reason: str) -> None:
    made = correlation("kendall", x, y, ["t"])
    assert (made.value, made.p, made.low, made.high, made.critical) == (None,) * 5
    assert reason in (made.reason or "")


def test_interval_covers_the_value_and_is_the_same_each_time() -> None:
    x, y = pairs(12, False)
    made = correlation("spearman", x, y, ["t"])
    assert made.low is not None
    assert made.high is not None
    assert made.value is not None
    assert made.low < made.value < made.high
    assert correlation("spearman", x, y, ["t"]) == made


def test_interval_is_near_that_of_scipys_bootstrap() -> None:
    x, y = pairs(30, False)
    made = correlation("spearman", x, y, ["t"])
    resampled: Any = stats.bootstrap
    expected = resampled(
        (np.asarray(x), np.asarray(y)),
        lambda a, b: stats.spearmanr(a, b).statistic,
        paired=True,
        vectorized=False,
        method="percentile",
        n_resamples=1000,
        rng=np.random.default_rng(1),
    ).confidence_interval
    assert made.low == pytest.approx(expected.low, abs=0.06)
    assert made.high == pytest.approx(expected.high, abs=0.06)


@pytest.mark.parametrize(
    ("n", "reason"), [(4, "only 4 of the 5"), (8, "perfect order")], ids=["few", "perfect"]
)
def test_interval_that_resampling_cannot_give_is_null(n: int, reason: str) -> None:
    made = correlation("spearman", list(range(n)), list(range(n)), ["t"])
    assert (made.value, made.low) == (1, None)
    assert reason in (made.reason or "")


def test_bare_values_are_those_of_scipy() -> None:
    for x, y in itertools.product([[1, 2, 2, 4], [3, 1, 2, 5]], [[2, 1, 3, 3]]):
        assert tau(x, y) == pytest.approx(stats.kendalltau(x, y).statistic)
        assert rho(x, y) == pytest.approx(stats.spearmanr(x, y).statistic)
    assert tau([1], [1]) is None
    assert rho([1, 1, 1], [1, 2, 3]) is None


@pytest.mark.parametrize("turns", [3, 5, 6, 7])
def test_means_of_means_that_are_equal_tie(turns: int) -> None:
    """Against ranks of exact fractions; plain floats break these ties and move the third decimal."""
    rng = np.random.default_rng(turns)
    sides = rng.integers(1, 6, (2, 60, 3, turns))
    exact = [[int(item.sum()) for item in side] for side in sides]
    floats = [[float(np.mean([np.mean(part) for part in item])) for item in side] for side in sides]
    assert any(len(set(side)) > len(set(sums)) for side, sums in zip(floats, exact, strict=True))
    assert rho(*floats) == pytest.approx(scipy_value("spearman", *exact), abs=1e-12)
    assert tau(*floats) == pytest.approx(scipy_value("kendall", *exact), abs=1e-12)
    made = correlation("spearman", floats[0], floats[1], ["ties"])
    assert made.value == pytest.approx(scipy_value("spearman", *exact), abs=1e-6)
