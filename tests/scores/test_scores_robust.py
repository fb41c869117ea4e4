"""The robust statistics, each against an independent implementation or a case worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import integrate, stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

from bench.scores.bootstrap import Array
from bench.scores.clusters import MOST_CELLS, clustered, clustered_differences
from bench.scores.planning import detectable_difference
from bench.scores.robust import (
    Grid,
    adjusted,
    grid,
    intervals,
    paired_differences,
    power_of,
    rank_intervals,
    separability,
)


def simulated(seed: int, character: float, situation: float, noise: float = 0.3) -> Array:
    """Differences on 8 x 8 scenes with effects of characters and situations, mean 0."""
    rng = np.random.default_rng(seed)
    effects = rng.normal(0, character, (8, 1)) + rng.normal(0, situation, (1, 8))
    made: Array = effects + rng.normal(0, noise, (8, 8))
    return made


def as_grid(values: Array) -> Grid:
    names = [
        tuple(f"{letter}{n}" for n in range(size)) for letter, size in zip("pcs", values.shape, strict=True)
    ]
    return Grid(names[0], names[1], names[2], values)


def standard_error(differences: Array) -> tuple[float, float]:
    """Standard error and degrees of freedom of one mean."""
    made = clustered(differences[np.newaxis])
    return float(made.error[0]), float(made.df[0])


@pytest.mark.parametrize("holes", [0, 9])
def test_standard_error_is_the_two_way_clustered_one_of_statsmodels(holes: int) -> None:
    data = simulated(4, 0.4, 0.4)  # with effects on both sides, so that the formula is not bounded
    data.ravel()[np.random.default_rng(2).permutation(64)[:holes]] = math.nan
    have = ~np.isnan(data)
    groups = np.column_stack([index[have] for index in np.indices((8, 8))])
    fit = sm.OLS(data[have], np.ones(have.sum())).fit(cov_type="cluster", cov_kwds={"groups": groups})
    assert standard_error(data)[0] == pytest.approx(fit.bse[0], rel=1e-9)


def test_the_variance_never_falls_short_of_either_side() -> None:
    """Rows sum to zero, so the formula for two-way clusters would fall below the variance by situation."""
    data = np.random.default_rng(3).normal(0, 1, (8, 8))
    data = data - data.mean(axis=1, keepdims=True) + 0.2
    error, df = standard_error(data)
    assert error == pytest.approx(stats.sem(data.mean(axis=0)), rel=1e-9)
    assert df == 7


@pytest.mark.parametrize("seed", range(20))
def test_degrees_of_freedom_are_at_least_those_of_the_smaller_side(seed: int) -> None:
    data = simulated(seed, 0.2, 0.2)[:3, :5]
    assert standard_error(data)[1] >= 2


def test_boards_of_equal_players_separate_no_pair_more_often_than_promised() -> None:
    """The false discovery rate of 5% is the share of boards on which any pair is separated."""
    wrong = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        values = 3.5 + rng.normal(0, 0.25, (1, 8, 1)) + rng.normal(0, 0.25, (1, 1, 8))
        values = values + rng.normal(0, 0.2, (63, 8, 1)) + rng.normal(0, 0.2, (63, 1, 8))
        values = values + rng.normal(0, 0.35, (63, 8, 8))
        wrong += bool(paired_differences(as_grid(values))["separated"].any())
    assert wrong <= 4  # without the lower bound on the variance it would be 7 to 11


def test_many_pairs_are_compared_in_parts_with_the_same_result() -> None:
    values = np.random.default_rng(1).normal(3, 1, (4, 700, 800))
    assert values[0].size < MOST_CELLS < 6 * values[0].size
    first, second = np.triu_indices(4, 1)
    parts = clustered_differences(values, first, second)
    whole = clustered(values[first] - values[second])
    for name in ("mean", "variance", "df", "n"):
        assert getattr(parts, name) == pytest.approx(getattr(whole, name))


@pytest.mark.parametrize(("character", "situation"), [(0, 0), (0.1, 0.1), (0.3, 0.1)])
def test_equal_players_are_called_different_about_as_often_as_promised(
    character: float, situation: float
) -> None:
    wrong = 0
    for seed in range(600):
        data = simulated(seed, character, situation)
        error, df = standard_error(data)
        wrong += 2 * stats.t.sf(abs(data.mean()) / error, df) < 0.05
    assert 0.005 < wrong / 600 < 0.075


def test_taking_scenes_for_independent_would_not_keep_the_promise() -> None:
    wrong = sum(stats.ttest_1samp(simulated(seed, 0.3, 0.1).ravel(), 0).pvalue < 0.05 for seed in range(300))
    assert wrong / 300 > 0.3


@pytest.mark.parametrize("shape", [(1, 6), (6, 1)])
def test_one_character_or_situation_still_has_an_error(shape: tuple[int, int]) -> None:
    data = np.arange(6, dtype=np.float64).reshape(shape)
    error, df = standard_error(data)
    assert error == pytest.approx(data.std(ddof=1) / math.sqrt(6))
    assert df == 5


@pytest.mark.parametrize("size", [1, 2, 40])
def test_corrections_are_those_of_statsmodels(size: int) -> None:
    values = np.random.default_rng(size).uniform(0, 0.1, size).round(2)
    for ours, theirs in (("holm", "holm"), ("bh", "fdr_bh")):
        assert adjusted(values, ours) == pytest.approx(multipletests(values, method=theirs)[1])  # type: ignore[arg-type]


def test_pairs_without_a_common_scene_are_not_corrected_for() -> None:
    assert adjusted(np.array([0.01, math.nan, 0.04]), "holm") == pytest.approx(
        [0.02, math.nan, 0.04], nan_ok=True
    )


def test_detectable_difference_is_that_of_statsmodels() -> None:
    effect = TTestPower().solve_power(nobs=64, alpha=0.05, power=0.8)
    assert detectable_difference(0.5 / 8, 63, width=4) == pytest.approx(0.5 * effect, rel=1e-4)
    assert detectable_difference(0.5 / 8, 63, width=0.1) is None


def test_power_grows_with_the_difference_up_to_one() -> None:
    powers = [power_of(d, 0.05, 7) for d in (0.0, 0.1, 0.2, 0.4, 5.0)]
    assert powers == sorted(powers)
    assert powers[0] == pytest.approx(0.05, rel=1e-12)
    assert powers[-1] == pytest.approx(1)


@pytest.mark.parametrize("df", [1.0, 1.05, 1.7, 3.7, 12.0, 63.0, 1e4])
@pytest.mark.parametrize("shift", [0.0, 0.5, 2.0, 2.8, 4.0, 7.0])
def test_power_is_the_tail_of_the_noncentral_t(shift: float, df: float) -> None:
    """By integrating over the estimated error, chi-squared with ``df`` degrees of freedom, another way."""
    threshold = stats.t.isf(0.025, df)

    def beyond(share: float) -> float:
        limit = threshold * np.sqrt(stats.chi2.ppf(share, df) / df)
        return float(stats.norm.sf(limit - shift) + stats.norm.cdf(-limit - shift))

    expected, _ = integrate.quad(beyond, 0, 1, epsabs=1e-9, limit=200)
    assert power_of(shift, 1, df) == pytest.approx(expected, abs=2e-8)


@pytest.mark.parametrize(("character", "situation"), [(0.0, 0.0), (0.3, 0.1), (0.3, 0.3)])
def test_a_players_interval_holds_the_truth_as_often_as_promised(character: float, situation: float) -> None:
    held = 0
    for seed in range(400):
        table = intervals(as_grid(4 + simulated(seed, character, situation)[np.newaxis]))
        held += bool(table["low"].iloc[0] <= 4 <= table["high"].iloc[0])
    assert 0.92 < held / 400 < 0.985


def test_two_way_interval_is_wider_where_characters_differ() -> None:
    values = np.stack([4 + simulated(1, 0.0, 0.0), 4 + simulated(1, 0.5, 0.0)])
    table = intervals(as_grid(values))
    width = table["high"] - table["low"]
    assert width.iloc[1] > 2 * width.iloc[0]
    assert ((table["low"] < table["score"]) & (table["score"] < table["high"])).all()


def pairs_of(sure: list[tuple[str, str]], unsure: list[tuple[str, str]]) -> pd.DataFrame:
    rows = [(a, b, 1.0, 0.01, True) for a, b in sure] + [(b, a, -0.1, 0.5, False) for a, b in unsure]
    return pd.DataFrame(rows, columns=["player", "other", "difference", "p", "separated"])


def test_rank_intervals_and_groups_by_hand() -> None:
    # a and b cannot be told apart, nor b and c; a beats c; all beat d
    scores = pd.Series({"d": 2.0, "b": 4.0, "a": 4.2, "c": 3.9})
    pairs = pairs_of([("a", "c"), ("a", "d"), ("b", "d"), ("c", "d")], [("a", "b"), ("b", "c")])
    table = rank_intervals(scores, pairs)
    assert list(table.index) == ["a", "b", "c", "d"]
    assert list(zip(table["rank_low"], table["rank_high"], strict=True)) == [(1, 2), (1, 3), (2, 3), (4, 4)]
    assert list(table["group"]) == [1, 1, 3, 4]
    assert separability(pairs) == pytest.approx(4 / 6)


def test_single_player_has_rank_one_and_no_pairs() -> None:
    only = as_grid(4 + simulated(1, 0.1, 0.1)[np.newaxis])
    pairs = paired_differences(only)
    assert pairs.empty
    assert separability(pairs) is None
    table = rank_intervals(intervals(only)["score"], pairs)
    assert table.iloc[0][["rank_low", "rank_high", "group"]].tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "values",
    [np.stack([np.full((8, 8), 4.0), np.full((8, 8), 3.0)]), np.array([[[4.0]], [[3.0]]])],
    ids=["constant scores", "one scene"],
)
def test_what_cannot_be_known_is_neither_certain_nor_zero(values: Array) -> None:
    pairs = paired_differences(as_grid(values))
    assert pairs["difference"].tolist() == [1.0]
    assert pairs[["standard_error", "p", "p_adjusted"]].isna().all(axis=None)
    assert not pairs["separated"].any()
    assert separability(pairs) is None
    table = intervals(as_grid(values))
    assert table["score"].tolist() == [4.0, 3.0]
    assert table[["low", "high"]].isna().all(axis=None)
    ranks = rank_intervals(table["score"], pairs)
    assert ranks[["rank", "rank_low", "rank_high"]].to_numpy().tolist() == [[1, 1, 2], [2, 1, 2]]


def test_grid_places_scores_and_leaves_holes() -> None:
    index = pd.MultiIndex.from_tuples(
        [("b", "c1", "s2"), ("a", "c1", "s1")], names=["player", "character", "situation"]
    )
    made = grid(pd.Series([2.0, 1.0], index=index))
    assert (made.players, made.characters, made.situations) == (("a", "b"), ("c1",), ("s1", "s2"))
    assert made.values.tolist() == pytest.approx(np.array([[[1, math.nan]], [[math.nan, 2]]]), nan_ok=True)


def test_items_of_a_data_set_are_clustered_by_their_character() -> None:
    """Against statsmodels: each item (situation) has one character, so only characters are clusters."""
    rng = np.random.default_rng(5)
    values = np.full((6, 17), np.nan)
    groups: list[int] = []
    scores: list[float] = []
    column = 0
    for character, items in enumerate((1, 2, 3, 3, 4, 4)):
        drawn = rng.normal(3, 1, items) + rng.normal(0, 1)
        values[character, column : column + items] = drawn
        groups += [character] * items
        scores += drawn.tolist()
        column += items
    fit = sm.OLS(scores, np.ones(17)).fit(cov_type="cluster", cov_kwds={"groups": groups})
    error, df = standard_error(values)
    assert error == pytest.approx(fit.bse[0], rel=1e-9)
    assert df == 5


def test_one_item_a_character_is_the_t_interval() -> None:
    values = np.full((1, 40, 40), np.nan)
    scores = np.random.default_rng(6).normal(50, 10, 40)
    np.fill_diagonal(values[0], scores)
    table = intervals(as_grid(values))
    low, high = stats.t.interval(0.95, 39, scores.mean(), stats.sem(scores))
    assert (table["low"].iloc[0], table["high"].iloc[0]) == pytest.approx((low, high))
