"""Annotators against each other: the krippendorff library, scipy, and cases by hand."""

from __future__ import annotations

import tracemalloc

import krippendorff
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bench.agreement.coefficients import Resampling
from bench.agreement.people import People, alpha_of, people_of
from bench.agreement.report import agreement_of
from bench.scores.alpha import ResampledAlpha, ordinal_alpha
from tests.agreement.simulated import panel_of, sample

pytestmark = pytest.mark.filterwarnings("error")

TEXTBOOK = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, np.nan, np.nan, np.nan],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, np.nan, 3],
    [np.nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, np.nan],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, np.nan],
]
"""Krippendorff, "Computing Krippendorff's alpha-reliability": ordinal alpha is 0.815."""


def table(*columns: list[float]) -> pd.DataFrame:
    index = pd.Index([f"i{at}" for at in range(len(columns[0]))], name="item")
    return pd.DataFrame({f"a{n}": column for n, column in enumerate(columns)}, index=index, dtype="float64")


def people(of: pd.DataFrame, resamples: int = 100) -> People:
    names = [str(name) for name in of.index]
    return people_of({"score": of}, {"score": Resampling(names, names, ["t"], resamples)})


def test_alpha_of_the_textbook() -> None:
    made = people(table(*TEXTBOOK)).alpha[0]
    assert made.value == pytest.approx(0.815, abs=5e-4)
    assert made.n == 11  # the last unit was scored by one only


def test_alpha_is_that_of_the_library_with_missing_scores() -> None:
    scores, _ = sample(3, 200)
    made = people(scores).alpha[0]
    expected = krippendorff.alpha(scores.to_numpy().T, level_of_measurement="ordinal")
    assert made.value == pytest.approx(expected, abs=1e-12)
    assert made.low is not None
    assert made.high is not None
    assert made.low < expected < made.high


def test_resampled_alpha_is_that_of_the_library() -> None:
    scores = sample(1, 40)[0].to_numpy()
    scores = scores[(~np.isnan(scores)).sum(axis=1) > 1]
    counts = np.random.default_rng(0).multinomial(len(scores), [1 / len(scores)] * len(scores), size=30)
    made = ResampledAlpha(scores)(counts)
    for row, value in zip(counts, made, strict=True):
        drawn = np.repeat(scores, row, axis=0)
        expected = krippendorff.alpha(drawn.T, level_of_measurement="ordinal")
        assert value == pytest.approx(expected, abs=1e-10)


def test_alpha_of_scores_that_all_differ_is_that_of_the_library() -> None:
    scores = np.random.default_rng(1).normal(size=(60, 1)) + np.random.default_rng(2).normal(size=(60, 4))
    scores[np.random.default_rng(3).random(scores.shape) < 0.2] = np.nan
    scores = scores[(~np.isnan(scores)).sum(axis=1) > 1]
    expected = krippendorff.alpha(scores.T, level_of_measurement="ordinal")
    assert ordinal_alpha(scores) == pytest.approx(expected, abs=1e-12)


def test_memory_does_not_grow_with_the_number_of_different_scores() -> None:
    scores = np.random.default_rng(1).normal(size=(20_000, 3))
    tracemalloc.start()
    try:
        assert abs(ordinal_alpha(scores)) < 0.1
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


def test_alpha_by_hand() -> None:
    """Two annotators, two items: (1, 1) and (1, 2). Observed disagreement 1 coincidence pair of 4 values; by
    chance 2 * 3 * 1 of 4 * 3. Alpha = 1 - (2/4) / (6/12) = 0, whatever the distance."""
    scores = table([1, 1], [1, 2])
    draws = Resampling(["i0", "i1"], ["i0", "i1"], ["t"], 10)
    assert alpha_of(scores, draws).value == 0.0


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ([[1, 2, 3]], "only one annotator, so there is nothing to compare"),
        ([[1, 2, np.nan], [np.nan, np.nan, 3]], "no item was scored by two annotators"),
        ([[3, 3, 3], [3, 3, 3]], "all scores are the same, so alpha is undefined"),
    ],
)
def test_alpha_that_does_not_exist_says_why(columns: list[list[float]], reason: str) -> None:
    made = people(table(*columns)).alpha[0]
    assert (made.value, made.low, made.reason) == (None, None, reason)


def test_one_annotator_has_no_pair_and_no_means() -> None:
    made = people(table([1, 2, 3, 4]))
    assert made.pairs == ()
    assert made.reason == "only one annotator, so there is nothing to compare"
    assert made.each[0].with_mean_of_others.value is None
    assert made.each[0].with_mean_of_others.reason == made.reason
    assert made.each[0].items == 4


def test_pairs_are_those_of_scipy_over_shared_items() -> None:
    scores, _ = sample(5, 150)
    for pair in people(scores).pairs:
        both = scores[[pair.annotator, pair.other]].dropna()
        assert pair.n == len(both)
        expected = stats.spearmanr(both[pair.annotator], both[pair.other]).statistic
        assert pair.value == pytest.approx(expected, abs=1e-12)


def test_mean_of_others_leaves_the_annotator_out_and_mean_of_all_does_not() -> None:
    scores, _ = sample(6, 150)
    for each in people(scores).each:
        mine, rest = scores[each.annotator], scores.drop(columns=each.annotator)
        shared = mine.notna() & rest.notna().any(axis=1)
        for figure, mean in ((each.with_mean_of_all, scores), (each.with_mean_of_others, rest)):
            expected = stats.spearmanr(mine[shared], mean.mean(axis=1)[shared]).statistic
            assert figure.n == shared.sum()
            assert figure.value == pytest.approx(expected, abs=1e-12)
        assert (each.with_mean_of_all.value or 0) > (each.with_mean_of_others.value or 0)


def test_an_item_that_only_one_scored_is_in_neither_mean() -> None:
    """Else the mean of all would be the annotator itself there, and agree with it perfectly."""
    scores = table([1, 2, 3, 4, 5, 1], [2, 1, 4, 3, np.nan, np.nan])
    made = people(scores).each[0]
    assert (made.items, made.with_mean_of_all.n, made.with_mean_of_others.n) == (6, 4, 4)
    assert made.with_mean_of_others.value == 0.6  # 1 - 6 * 4 / (4 * 15)


def test_means_that_are_equal_tie_however_they_are_added_up() -> None:
    """0.1 + 0.2 and 0.15 + 0.15 differ in the last digit of floating point."""
    scores = table([1, 2, 3, 4], [0.1, 0.15, 3, 2], [0.2, 0.15, 1, 2])
    made = people(scores).each[0]
    expected = stats.spearmanr([1, 2, 3, 4], [1, 1, 3, 3]).statistic
    assert made.with_mean_of_others.value == pytest.approx(expected, abs=1e-12)


def test_final_is_the_mean_of_criteria_that_are_all_there() -> None:
    a, b = sample(1, 60, missing=0.0)[0], sample(2, 60, missing=0.3)[0]
    judges = sample(1, 60)[1]
    made = agreement_of(panel_of({"x": a, "y": b}, {"x": judges, "y": judges}), resamples=50)
    finals = (a + b) / 2
    pair = next(
        p for p in made.people.pairs if p.criterion == "final" and (p.annotator, p.other) == ("ann", "ben")
    )
    both = finals[["ann", "ben"]].dropna()
    assert pair.n == len(both)
    assert pair.value == pytest.approx(stats.spearmanr(both["ann"], both["ben"]).statistic, abs=1e-12)
    figure = next(f for f in made.judged[0].figures if (f.criterion, f.name) == ("final", "fair"))
    human = (a.mean(axis=1) + b.mean(axis=1)) / 2
    known = human.notna()
    expected = stats.spearmanr(judges["fair"][known], human.round(12)[known]).statistic
    assert figure.value == pytest.approx(expected, abs=1e-12)
