"""Ways to combine judges: by hand, and that none is fitted on what it is tested on."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bench.agreement.ensembles import Material, ensemble, folds_of
from bench.agreement.judges import Best
from bench.agreement.panel import ITEM_COLUMNS
from bench.agreement.peers import NO_PLAYERS, NO_VOTES, pagerank, peer_weights
from bench.agreement.report import agreement_of
from tests.agreement.simulated import panel_of, sample

pytestmark = pytest.mark.filterwarnings("error")


def items(n: int, players: int = 5) -> pd.DataFrame:
    rows = [(f"i{at:03d}", f"p{at % players}", None, None, 1) for at in range(n)]
    return pd.DataFrame(rows, columns=list(ITEM_COLUMNS), dtype="object")


def material(n: int = 100, seed: int = 0, **judges: list[float]) -> Material:
    about = items(n)
    index = pd.Index(about["item"], name="item")
    people, judged = sample(seed, n, missing=0.0)
    table = pd.DataFrame(judges, index=index) if judges else judged.set_axis(index)
    return Material(
        judges=table,
        people=people.mean(axis=1).set_axis(index),
        folds=folds_of(about, ["t"]),
        votes=pd.DataFrame(),
        own={},
    )


def scores(method: str, of: Material) -> pd.Series:
    made = ensemble(method, of).scores
    assert made is not None
    return made


def test_mean_median_and_normalised_by_hand() -> None:
    of = material(3, a=[1.0, 2.0, 3.0], b=[5.0, 5.0, 5.0], c=[2.0, 4.0, 6.0])
    assert scores("mean", of).tolist() == pytest.approx([8 / 3, 11 / 3, 14 / 3])
    assert scores("median", of).tolist() == [2.0, 4.0, 5.0]
    step = np.sqrt(1.5)  # b never changes and stays out; a and c both have standard scores -step, 0, step
    assert scores("normalised", of).tolist() == pytest.approx([-step, 0, step])


def test_normalised_does_not_exist_where_no_judge_tells_items_apart() -> None:
    made = ensemble("normalised", material(3, a=[2.0, 2.0, 2.0], b=[5.0, 5.0, 5.0]))
    assert (made.scores, made.reason) == (None, "every judge gives all items the same score")


def test_weights_of_a_fold_are_correlations_in_the_other_folds() -> None:
    of = material()
    made = ensemble("weighted", of)
    for fold, weights in zip(sorted(set(of.folds)), made.weights, strict=True):
        training = of.folds != fold
        found = {j: stats.spearmanr(of.judges[j][training], of.people[training]).statistic for j in of.judges}
        total = sum(max(value, 0) for value in found.values())
        assert weights == pytest.approx({j: max(value, 0) / total for j, value in found.items()})


def test_people_of_a_fold_never_change_that_folds_weights_or_scores() -> None:
    of = material()
    before = ensemble("weighted", of)
    for at, fold in enumerate(sorted(set(of.folds))):
        test = of.folds == fold
        lied = of.people.where(~test, -of.people)
        after = ensemble("weighted", Material(of.judges, lied, of.folds, of.votes, of.own))
        assert after.weights[at] == before.weights[at]
        assert before.scores is not None
        assert after.scores is not None
        pd.testing.assert_series_equal(after.scores[test], before.scores[test])


def test_judges_that_agree_equally_are_weighed_like_the_mean() -> None:
    """Folds must not reorder what the mean orders: with equal weights the order is its own, ties and all."""
    base = sample(3, 100)[1]["fair"].tolist()
    of = material(100, a=base, b=base)
    assert stats.rankdata(scores("weighted", of)).tolist() == stats.rankdata(scores("mean", of)).tolist()


def test_a_judge_against_people_weighs_nothing_and_if_all_are_all_weigh_the_same() -> None:
    of = material()
    against = Material(of.judges.assign(dull=-of.judges["sharp"]), of.people, of.folds, of.votes, of.own)
    assert {weights["dull"] for weights in ensemble("weighted", against).weights} == {0.0}
    hopeless = Material(-of.judges, of.people, of.folds, of.votes, of.own)
    assert all(set(w.values()) == {0.25} for w in ensemble("weighted", hopeless).weights)


def test_nothing_to_hold_out_means_no_weights() -> None:
    made = ensemble("weighted", material(1, a=[1.0], b=[2.0]))
    assert made.scores is None
    assert made.reason is not None
    assert "held out" in made.reason


def test_noise_does_not_gain_by_cross_validation() -> None:
    """Weights fitted on the test items would make judges of pure noise agree with people; these must not."""
    gains = []
    for seed in range(40):
        rng = np.random.default_rng([seed, 1])  # a stream that no item's quality comes from
        judges = {f"j{n}": rng.normal(size=60).tolist() for n in range(12)}
        of = material(60, seed, **judges)
        gains.append(stats.spearmanr(scores("weighted", of), of.people).statistic)
    assert abs(float(np.mean(gains))) < 3 * float(np.std(gains)) / np.sqrt(len(gains))


def test_folds_keep_players_whole_and_are_near_equal() -> None:
    about = items(103, players=12)
    folds = folds_of(about, ["t"])
    assert set(folds) == {0, 1, 2, 3, 4}
    assert (pd.Series(folds.to_numpy()).groupby(about["player"]).nunique() == 1).all()
    sizes = folds.value_counts()
    assert sizes.max() - sizes.min() <= 9  # one player's items
    assert folds.equals(folds_of(about, ["t"]))
    assert not folds.equals(folds_of(about, ["another seed"]))


def test_folds_are_of_conversations_where_players_are_too_few_or_unknown() -> None:
    for about in (items(50, players=2), items(50).assign(player=None)):
        assert sorted(folds_of(about, ["t"]).value_counts()) == [10] * 5


def test_pagerank_is_the_stationary_vector_of_the_walk() -> None:
    rng = np.random.default_rng(1)
    links = rng.random((7, 7)) * (rng.random((7, 7)) < 0.5)
    links[3] = 0
    start = np.array([0.5, 0.5, 0, 0, 0, 0, 0])
    made = pagerank(links, start)
    steps = np.vstack([row / row.sum() if row.sum() else start for row in links])
    google = 0.85 * steps + 0.15 * np.outer(np.ones(7), start)
    values, vectors = np.linalg.eig(google.T)
    lead = np.real(vectors[:, np.argmax(np.real(values))])
    assert made == pytest.approx(lead / lead.sum(), abs=1e-12)


def test_peer_weights_by_hand() -> None:
    """Judges a and b play; b is put above a by c, who only judges. All of c's votes but one go to b.

    c: lowest is p (1), so votes a 1, b 3. a: of b and p (itself left out) only b is above: all to b. b:
    likewise all to a. With s the start share 1/3 and d = 0.85:
    A = 0.05 + d(B + C/4) + dP/3, B = 0.05 + d(A + 3C/4) + dP/3, C = 0.05 + dP/3, P = 0: nobody votes for p.
    """
    votes = pd.DataFrame(
        [[5.0, 4.0, 1.0], [4.0, 5.0, 1.0], [2.0, 4.0, 1.0]], index=["a", "b", "c"], columns=["a", "b", "p"]
    )
    weights, reason = peer_weights(votes, {"a": ("a",), "b": ("b",)}, ["a", "b", "c"])
    c = 0.05
    matrix = np.array([[1, -0.85], [-0.85, 1]])
    a, b = np.linalg.solve(matrix, [0.05 + 0.85 * c / 4, 0.05 + 0.85 * 3 * c / 4])
    typical = (a + b) / 2  # c has not played
    total = a + b + typical
    assert reason is None
    assert weights == pytest.approx({"a": a / total, "b": b / total, "c": typical / total}, abs=1e-9)
    assert weights is not None
    assert weights["b"] > weights["c"] > weights["a"]


def test_leniency_and_votes_for_oneself_change_no_peer_weight() -> None:
    votes = pd.DataFrame([[3.0, 4.0, 1.0], [4.0, 2.0, 1.0]], index=["a", "b"], columns=["a", "b", "p"])
    own = {"a": ("a",), "b": ("b",)}
    plain, _ = peer_weights(votes, own, ["a", "b"])
    vain = votes.copy()
    vain.loc["a", "a"] = 5.0
    vain.loc["b"] += 0.5
    assert peer_weights(vain, own, ["a", "b"])[0] == pytest.approx(plain)


def test_no_peer_weights_where_no_judge_plays() -> None:
    votes = pd.DataFrame([[3.0, 4.0]], index=["a"], columns=["p", "q"])
    assert peer_weights(votes, {}, ["a"]) == (None, NO_PLAYERS)
    assert peer_weights(pd.DataFrame(), {}, ["a"]) == (None, NO_VOTES)


def best_of(judges: dict[str, float], seed: int = 2) -> Best:
    panel = panel_of(*sample(seed, 400, judges=judges))
    return agreement_of(panel, resamples=300).judged[0].best[0]


def test_one_good_judge_among_noise_makes_the_mean_cost_something() -> None:
    best = best_of({"good": 0.9, "n1": 0.0, "n2": 0.0, "n3": 0.0})
    assert best.method == "weighted"
    assert best.real is True
    assert best.low is not None
    assert best.low > 0.05


def test_equal_judges_make_the_mean_cost_nothing_that_is_real() -> None:
    best = best_of({"a": 0.7, "b": 0.7, "c": 0.7})
    assert not best.real


def test_ensembles_are_over_items_that_every_judge_scored() -> None:
    people, judges = sample(4, 100)
    judges.iloc[:10, 0] = np.nan
    judges.iloc[5:20, 1] = np.nan
    made = agreement_of(panel_of(people, judges), resamples=50).judged[0]
    assert {way.n for way in made.ensembles if way.value is not None} == {80}
    assert next(f for f in made.figures if f.members).n == 80
    assert next(f for f in made.figures if f.name == "sharp").n == 90


def test_one_judge_has_nothing_to_combine_and_says_so() -> None:
    people, judges = sample(4, 60)
    made = agreement_of(panel_of(people, judges[["fair"]]), resamples=50).judged[0]
    assert (made.ensembles, made.best, made.reason) == ((), (), "one judge: there is nothing to combine")


def test_judges_without_a_common_item_say_so() -> None:
    people, judges = sample(4, 60)
    judges.iloc[:30, 0] = np.nan
    judges.iloc[30:, 1] = np.nan
    made = agreement_of(panel_of(people, judges), resamples=50).judged[0]
    assert all(way.value is None for way in made.ensembles)
    assert made.best[0].method is None
    assert made.best[0].reason == "0 items were scored by people and by every judge"


def test_two_judges_have_their_mean_as_median() -> None:
    people, judges = sample(4, 60)
    made = agreement_of(panel_of(people, judges[["fair", "sharp"]]), resamples=50).judged[0]
    median = next(way for way in made.ensembles if way.method == "median")
    assert median.over_mean is not None
    assert (median.over_mean.value, median.over_mean.reason) == (0.0, "both order the items alike")
    assert (median.p_corrected, median.real) == (None, None)
