"""Spearman figures against scipy and by hand: ties, missing scores, constant columns, few pairs."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bench.agreement.coefficients import MANY, Against, Mask, ResampledSpearman, Resampling
from bench.scores.bootstrap import Array
from bench.scores.correlation import DRAWS
from bench.scores.resampled_ranks import Counts, ResampledRanks

pytestmark = pytest.mark.filterwarnings("error")


def items(n: int) -> pd.Index:
    return pd.Index([f"i{at}" for at in range(n)], name="item")


def resampled_spearman(x: Array, y: Array, counts: Counts) -> Array:
    return ResampledSpearman(np.column_stack([x, y]))(counts)


def resampling(n: int, units: list[str] | None = None, resamples: int = 200) -> Resampling:
    names = items(n).tolist()
    return Resampling(names, units or names, ["test"], resamples)


def likert(n: int, seed: int = 0, missing: float = 0.0) -> tuple[pd.Series, pd.DataFrame]:
    """People and two judges on scales with many ties."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=n)
    people = pd.Series((quality + rng.normal(size=n)).round(), index=items(n))
    sides = pd.DataFrame({name: (quality + rng.normal(size=n)).round() for name in "ab"}, index=items(n))
    for column in (people, sides["a"], sides["b"]):
        column[rng.random(n) < missing] = np.nan
    return people, sides


@pytest.mark.parametrize("n", [5, 20, 60, 250])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_value_is_that_of_scipy_over_the_pairs_that_are_there(n: int, missing: float) -> None:
    people, sides = likert(n, n, missing)
    made = Against(people, sides, resampling(n)).coefficient("a")
    both = pd.DataFrame({"x": sides["a"], "y": people}).dropna()
    assert made.n == len(both)
    assert made.value == pytest.approx(stats.spearmanr(both["x"], both["y"]).statistic, abs=1e-12)


def test_p_of_many_pairs_is_that_of_scipy() -> None:
    for seed in range(5):
        people, sides = likert(MANY + 10, seed)
        made = Against(people, sides, resampling(MANY + 10)).coefficient("a")
        assert made.p_method == "t"
        assert made.p == pytest.approx(stats.spearmanr(sides["a"], people).pvalue, abs=1e-12)


def test_p_of_few_pairs_counts_all_orders() -> None:
    """Of the 24 orders of four things, 2 have a rho of 1 or -1."""
    x = pd.Series([1.0, 2.0, 3.0, 4.0], index=items(4))
    made = Against(x, pd.DataFrame({"a": x}), resampling(4)).coefficient("a")
    assert (made.value, made.p, made.p_method) == (1.0, round(2 / 24, 12), "exact")


def test_p_below_what_random_orders_can_show_is_approximated() -> None:
    """Else every strong correlation of few pairs would look as if its p were 0.0001 and no less."""
    x = pd.Series(np.arange(40.0), index=items(40))
    y = x.copy()
    y.iloc[:2] = [1.0, 0.0]
    strong = Against(x, pd.DataFrame({"a": y}), resampling(40)).coefficient("a")
    assert strong.p_method == "t"
    assert strong.p is not None
    assert strong.p < 1 / (1 + DRAWS)
    people, sides = likert(40, 1)
    assert Against(people, sides, resampling(40)).coefficient("a").p_method == "permutation"


@pytest.mark.parametrize("noise", [1.5, 0.8, 0.3])
def test_no_p_that_is_more_than_0_is_rounded_to_0(noise: float) -> None:
    rng = np.random.default_rng(3)
    x = pd.Series(rng.normal(size=250), index=items(250))
    sides = pd.DataFrame({"a": x + noise * rng.normal(size=250), "b": rng.normal(size=250)})
    against = Against(x, sides, resampling(250))
    made = against.coefficient("a")
    expected = stats.spearmanr(sides["a"], x).pvalue
    assert 0 < expected < 1e-12
    assert made.p == pytest.approx(expected, rel=1e-2)
    p = against.difference("a", "b").p
    assert p is not None
    assert 0 < p < 1e-6


def counts_of(draws: Resampling, mask: Mask) -> Counts:
    """How often each item of ``mask`` was drawn: resamples x items."""
    numbers = np.arange(float(mask.sum()))[:, np.newaxis]
    counts = draws.over(mask, numbers, lambda rows: lambda counts: counts.astype(np.float64))
    return counts.astype(np.int64)


def test_few_resamples_at_a_time_are_the_same_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    mask = np.ones(31, dtype=bool)
    units = [f"p{at % 7}" for at in range(31)]
    at_once = [counts_of(resampling(31, of, resamples=101), mask) for of in (None, units)]
    for cells in (1, 100, 500):
        monkeypatch.setattr("bench.agreement.coefficients.CELLS_AT_ONCE", cells)
        parts = [counts_of(resampling(31, of, resamples=101), mask) for of in (None, units)]
        for one, other in zip(at_once, parts, strict=True):
            assert np.array_equal(one, other)


def test_resamples_that_are_too_many_to_keep_are_drawn_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    people, sides = likert(80, 2)
    known = Against(people, sides, resampling(80)).coefficient("a")
    monkeypatch.setattr("bench.agreement.coefficients.CELLS_KEPT", 10)
    again = Against(people, sides, resampling(80))
    assert again.coefficient("a") == known == again.coefficient("a")


def test_a_large_sample_takes_one_byte_for_each_count() -> None:
    """With eight bytes and all resamples at once, a table of 200,000 rows needs several times 3 GB."""
    n, resamples = 20_000, 400
    quality = np.random.default_rng(1).normal(size=n)
    people = pd.Series(np.round(quality))
    against = Against(
        people, pd.DataFrame({"a": quality, "b": quality**3}), resampling(n, resamples=resamples)
    )
    tracemalloc.start()
    try:
        against.difference("a", "b")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2.5 * n * resamples


def test_scores_are_sorted_once_and_what_is_asked_for_twice_is_computed_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """200,000 rows are one resample at a time: sorting them for each took minutes."""
    monkeypatch.setattr("bench.agreement.coefficients.CELLS_AT_ONCE", 100)
    prepared, parts = [], []

    def statistic(rows: Array) -> Callable[[Counts], Array]:
        prepared.append(len(rows))

        def first(counts: Counts) -> Array:
            parts.append(len(counts))
            return counts[:, 0].astype(np.float64)

        return first

    draws, mask = resampling(50, resamples=20), np.ones(50, dtype=bool)
    rows = np.random.default_rng(1).normal(size=(50, 3))
    values = draws.over(mask, rows, statistic)
    assert (prepared, parts) == ([50], [2] * 10)
    assert draws.over(mask, rows.copy(), statistic) is values
    assert draws.over(mask, rows + 1, statistic) is not values
    assert len(prepared) == 2


def test_ranks_in_resamples_are_small_whole_numbers() -> None:
    """Twice those of scipy, minus their mean. In eight bytes, they took three times as long."""
    rng = np.random.default_rng(5)
    counts = rng.multinomial(40, [1 / 40] * 40, size=20).astype(np.uint8)
    for values in (rng.normal(size=40), rng.integers(0, 5, 40).astype(float), np.arange(40.0)):
        ranks = ResampledRanks(values).of(counts)
        assert ranks.dtype == np.int32
        for row, drawn in zip(ranks, counts, strict=True):
            expected = 2 * stats.rankdata(np.repeat(values, drawn)) - 41
            assert np.repeat(row, drawn).tolist() == expected.tolist()


def test_items_with_equal_scores_are_counted_together_without_a_difference() -> None:
    people, sides = likert(80, 2)
    draws, mask = resampling(80), np.ones(80, dtype=bool)
    rows = np.column_stack([sides["a"], people])
    grouped = draws.over(mask, rows, ResampledSpearman)
    single = resampled_spearman(rows[:, 0], rows[:, 1], counts_of(draws, mask))
    assert np.array_equal(grouped, single)


def test_resamples_are_those_of_scipy() -> None:
    people, sides = likert(30, 4)
    counts = counts_of(resampling(30, resamples=50), np.ones(30, dtype=bool))
    made = resampled_spearman(sides["a"].to_numpy(), people.to_numpy(), counts)
    for row, value in zip(counts, made, strict=True):
        at = np.repeat(np.arange(30), row)
        expected = stats.spearmanr(sides["a"].to_numpy()[at], people.to_numpy()[at]).statistic
        assert value == pytest.approx(expected, abs=1e-12)


def test_interval_is_the_middle_of_the_resamples() -> None:
    people, sides = likert(80, 2)
    draws = resampling(80, resamples=1000)
    made = Against(people, sides, draws).coefficient("a")
    spread = resampled_spearman(
        sides["a"].to_numpy(), people.to_numpy(), counts_of(draws, np.ones(80, dtype=bool))
    )
    low, high = np.quantile(spread, [0.025, 0.975])
    assert made.low == pytest.approx(low, abs=1e-6)
    assert made.high == pytest.approx(high, abs=1e-6)


def test_players_are_drawn_with_all_their_conversations() -> None:
    units = [f"p{at % 6}" for at in range(24)]
    counts = counts_of(resampling(24, units), np.ones(24, dtype=bool))
    by_player = counts.reshape(200, 4, 6)
    assert (by_player == by_player[:, :1, :]).all()
    assert (by_player[:, 0, :].sum(axis=1) == 6).all()


@pytest.mark.parametrize(
    ("people", "judge", "n", "reason"),
    [
        ([1, 2, 3, 4], [2, 2, 2, 2], 4, "one side is the same for all"),
        ([3, 3, 3, 3], [1, 2, 3, 4], 4, "one side is the same for all"),
        ([1, 2, np.nan, np.nan], [1, 2, 3, 4], 2, "only 2 of the 3 pairs needed"),
        ([1, np.nan, 3, np.nan], [np.nan, 2, np.nan, 4], 0, "no pairs"),
        ([1, 2, 3, np.nan], [1, np.nan, np.nan, 4], 1, "only 1 of the 3 pairs needed"),
    ],
)
def test_what_does_not_exist_says_why(people: list[float], judge: list[float], n: int, reason: str) -> None:
    sides = pd.DataFrame({"a": judge, "b": [4.0, 3.0, 2.0, 1.0]}, index=items(4), dtype="float64")
    against = Against(pd.Series(people, index=items(4), dtype="float64"), sides, resampling(4))
    made = against.coefficient("a")
    assert (made.value, made.p, made.low, made.high) == (None, None, None, None)
    assert (made.n, made.reason) == (n, reason)
    difference = against.difference("a", "b")
    assert difference.value is None
    assert difference.reason


def test_no_interval_from_four_pairs_or_of_a_perfect_order() -> None:
    four = Against(*likert(4, 8), resampling(4)).coefficient("a")
    assert four.low is None
    assert four.reason is not None
    assert "there are 4" in four.reason
    x = pd.Series(np.arange(60.0), index=items(60))
    perfect = Against(x, pd.DataFrame({"a": -x}), resampling(60)).coefficient("a")
    assert (perfect.value, perfect.p, perfect.low) == (-1.0, 0.0, None)
    assert perfect.reason is not None
    assert "perfect" in perfect.reason


def test_no_interval_where_most_resamples_are_constant() -> None:
    """One item of ten differs: a third of the resamples lack it, so the others alone would mislead."""
    people = pd.Series([1.0] * 9 + [2.0], index=items(10))
    sides = pd.DataFrame({"a": np.arange(10.0)}, index=items(10))
    made = Against(people, sides, resampling(10)).coefficient("a")
    assert made.value is not None
    assert made.low is None
    assert made.reason is not None
    assert "resamples have no value" in made.reason


def test_difference_is_paired_and_of_the_items_that_both_have() -> None:
    people, sides = likert(120, 3, 0.1)
    draws = resampling(120, resamples=500)
    made = Against(people, sides, draws).difference("a", "b")
    mask = (people.notna() & sides.notna().all(axis=1)).to_numpy()
    assert made.n == mask.sum()
    y = people.to_numpy()[mask]
    a, b = (sides[name].to_numpy()[mask] for name in "ab")
    assert made.value == pytest.approx(
        stats.spearmanr(a, y).statistic - stats.spearmanr(b, y).statistic, abs=1e-6
    )
    counts = counts_of(draws, mask)
    error = (resampled_spearman(a, y, counts) - resampled_spearman(b, y, counts)).std(ddof=1)
    assert made.p == pytest.approx(2 * stats.norm.sf(abs(made.value or 0) / error), abs=1e-5)


def test_two_judges_that_order_alike_do_not_differ() -> None:
    people, sides = likert(60)
    sides["b"] = 10 + 3 * sides["a"]
    made = Against(people, sides, resampling(60)).difference("a", "b")
    assert (made.value, made.p, made.reason) == (0.0, None, "both order the items alike")


def test_equal_calls_give_equal_figures() -> None:
    people, sides = likert(70)
    first = Against(people, sides, resampling(70)).coefficient("a")
    assert first == Against(people, sides[["b", "a"]], resampling(70)).coefficient("a")
