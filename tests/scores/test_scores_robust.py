"""The robust statistics, each against an independent implementation or a case worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

from bench.scores.bootstrap import Array, draw_counts, draw_indices, stable_stream
from bench.scores.robust import (
    Grid,
    adjusted,
    detectable_difference,
    grid,
    intervals,
    paired_differences,
    power_of,
    rank_intervals,
    scenes_needed,
    separability,
    standard_error,
    two_way_means,
)


def clustered(seed: int, character: float, situation: float, noise: float = 0.3) -> Array:
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


@pytest.mark.parametrize("holes", [0, 9])
def test_standard_error_is_the_two_way_clustered_one_of_statsmodels(holes: int) -> None:
    data = clustered(1, 0.4, 0.3)
    data.ravel()[np.random.default_rng(2).permutation(64)[:holes]] = math.nan
    have = ~np.isnan(data)
    groups = np.column_stack([index[have] for index in np.indices((8, 8))])
    fit = sm.OLS(data[have], np.ones(have.sum())).fit(cov_type="cluster", cov_kwds={"groups": groups})
    assert standard_error(data)[0] == pytest.approx(fit.bse[0], rel=1e-9)


def test_without_clusters_it_is_the_paired_t_test() -> None:
    # rows and columns sum to zero, so that clustering would find nothing: the plain error is the floor
    rng = np.random.default_rng(3)
    data = rng.normal(0, 1, (8, 8))
    data = data - data.mean(axis=0) - data.mean(axis=1, keepdims=True) + data.mean() + 0.2
    values = np.stack([data + 3, np.full((8, 8), 3.0)])
    found = paired_differences(as_grid(values), "none").iloc[0]
    theirs = stats.ttest_rel(values[0].ravel(), values[1].ravel())
    assert found["p"] == pytest.approx(theirs.pvalue, rel=1e-9)
    assert found["df"] == 63
    assert found["difference"] == pytest.approx(0.2)


@pytest.mark.parametrize(("character", "situation"), [(0, 0), (0.1, 0.1), (0.3, 0.1)])
def test_equal_players_are_called_different_about_as_often_as_promised(
    character: float, situation: float
) -> None:
    wrong = 0
    for seed in range(600):
        data = clustered(seed, character, situation)
        error, df = standard_error(data)
        wrong += 2 * stats.t.sf(abs(data.mean()) / error, df) < 0.05
    assert 0.005 < wrong / 600 < 0.075


def test_taking_scenes_for_independent_would_not_keep_the_promise() -> None:
    wrong = sum(stats.ttest_1samp(clustered(seed, 0.3, 0.1).ravel(), 0).pvalue < 0.05 for seed in range(300))
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
    assert detectable_difference(0.5 / 8, 63) == pytest.approx(0.5 * effect, rel=1e-4)


@pytest.mark.parametrize("difference", [0.05, 0.1, 0.3])
def test_scenes_needed_are_those_of_statsmodels(difference: float) -> None:
    needed = TTestPower().solve_power(effect_size=difference / 0.5, alpha=0.05, power=0.8)
    assert scenes_needed(difference, 0.5 / 8, 64) == pytest.approx(math.ceil(needed), abs=1)


def test_no_difference_is_never_found() -> None:
    assert scenes_needed(0.0, 0.1, 64) is None
    assert scenes_needed(1e-6, 0.1, 64) is None


def test_power_grows_with_the_difference_up_to_one() -> None:
    powers = [power_of(d, 0.05, 7) for d in (0.0, 0.1, 0.2, 0.4, 5.0)]
    assert powers == sorted(powers)
    assert powers[0] == pytest.approx(0.05, rel=1e-4)
    assert powers[-1] == pytest.approx(1)


def test_two_way_resampling_draws_characters_and_situations() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(4, 0.5, (3, 4, 5))
    values[1, 2, 3] = math.nan
    found = two_way_means(as_grid(values), 50, ["k"])
    stream = stable_stream("k")
    characters = draw_indices(stream, 4, 50)
    situations = draw_indices(stream, 5, 50)
    for n in range(50):
        drawn = values[:, characters[n]][:, :, situations[n]]
        assert found[n] == pytest.approx(np.nanmean(drawn.reshape(3, -1), axis=1))


def test_two_way_interval_is_wider_where_characters_differ() -> None:
    values = np.stack([4 + clustered(1, 0.0, 0.0), 4 + clustered(1, 0.5, 0.0)])
    table = intervals(as_grid(values), 2000, ["w"])
    width = table["high"] - table["low"]
    assert width.iloc[1] > 2 * width.iloc[0]
    assert ((table["low"] < table["score"]) & (table["score"] < table["high"])).all()


def pairs_of(sure: list[tuple[str, str]], unsure: list[tuple[str, str]]) -> pd.DataFrame:
    rows = [(a, b, 1.0, True) for a, b in sure] + [(b, a, -0.1, False) for a, b in unsure]
    return pd.DataFrame(rows, columns=["player", "other", "difference", "separated"])


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
    only = as_grid(4 + clustered(1, 0.1, 0.1)[np.newaxis])
    pairs = paired_differences(only)
    assert pairs.empty
    assert separability(pairs) is None
    table = rank_intervals(intervals(only, 50, ["s"])["score"], pairs)
    assert table.iloc[0][["rank_low", "rank_high", "group"]].tolist() == [1, 1, 1]


def test_players_with_equal_scores_everywhere_are_not_separated() -> None:
    same = np.full((2, 8, 8), 4.0)
    assert not paired_differences(as_grid(same))["separated"].any()
    same[1] = 3.0
    assert paired_differences(as_grid(same))["separated"].all()


def test_grid_places_scores_and_leaves_holes() -> None:
    index = pd.MultiIndex.from_tuples(
        [("b", "c1", "s2"), ("a", "c1", "s1")], names=["player", "character", "situation"]
    )
    made = grid(pd.Series([2.0, 1.0], index=index))
    assert (made.players, made.characters, made.situations) == (("a", "b"), ("c1",), ("s1", "s2"))
    assert made.values.tolist() == pytest.approx(np.array([[[1, math.nan]], [[math.nan, 2]]]), nan_ok=True)


def test_items_of_a_data_set_are_resampled_with_their_character() -> None:
    """Against one-way resampling of characters' sums, drawn by the same stream."""
    rng = np.random.default_rng(5)
    values = np.full((2, 6, 17), np.nan)
    column = 0
    for character, items in enumerate((1, 2, 3, 3, 4, 4)):
        values[:, character, column : column + items] = rng.normal(3, 1, (2, items))
        column += items
    means = two_way_means(as_grid(values), 500, ["items"])
    counts = draw_counts(stable_stream("items"), 6, 500)
    known = np.nan_to_num(values).sum(axis=2) @ counts.T
    expected = known / ((~np.isnan(values)).sum(axis=2) @ counts.T)
    np.testing.assert_allclose(means, expected.T, atol=1e-11)


def test_one_item_a_character_is_the_plain_bootstrap() -> None:
    values = np.full((1, 40, 40), np.nan)
    scores = np.random.default_rng(6).normal(50, 10, 40)
    np.fill_diagonal(values[0], scores)
    low, high = np.quantile(two_way_means(as_grid(values), 4000, ["one"])[:, 0], [0.025, 0.975])
    found = stats.bootstrap((scores,), np.mean, method="percentile", rng=np.random.default_rng(7))
    assert low == pytest.approx(found.confidence_interval.low, abs=0.3)
    assert high == pytest.approx(found.confidence_interval.high, abs=0.3)
