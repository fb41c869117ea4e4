"""Ratings from pairwise judgements: statsmodels, scipy, hand-worked cases and a judge with known truth."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy import linalg, optimize, special, stats

from bench.scores.bootstrap import Array
from bench.scores.pairwise import Comparisons, Fit, fit, standardised_lengths
from bench.scores.pairwise_errors import Scenes, errors
from bench.scores.pairwise_ratings import cycles, habits, judges_spread, pairwise_numbers
from tests.scores.pairwise_judge import Script, made

TRUTH = np.linspace(-1.0, 1.0, 6)


def data(*verdicts: tuple[int, int, float], scenes: int = 1, judges: int = 1) -> Comparisons:
    """Verdicts (first, second, margin), scene after scene, by judges in turn."""
    first, second, margin = (np.array(part) for part in zip(*verdicts, strict=True))
    count = len(verdicts)
    return Comparisons(
        players=tuple("abcdef"[: int(max(first.max(), second.max())) + 1]),
        scenes=tuple((f"scene-{n}", "") for n in range(scenes)),
        judges=tuple(f"judge-{n}" for n in range(judges)),
        first=first,
        second=second,
        scene=np.arange(count) % scenes,
        judge=np.arange(count) % judges,
        margin=margin.astype(np.float64),
        longer=np.zeros(count),
        same=np.zeros(count),
    )


def effects(found: Fit) -> dict[str, float]:
    return dict(zip(found.names, found.effects, strict=True))


def influences(found: Fit) -> Array:
    """How far each verdict moves the estimates."""
    information = found.scenes.information.sum(axis=0) + np.diag(found.penalty)
    moved: Array = found.scores @ np.linalg.inv(information)
    return moved


def test_without_ties_and_sizes_it_is_the_logit_of_statsmodels() -> None:
    statsmodels = pytest.importorskip("statsmodels.api")
    script = Script(TRUTH, position=(0.4,), cuts=(0.0,))
    verdicts = made(script, np.random.default_rng(5))
    found = fit(verdicts, ridge=1e-8)
    assert found.names == ("position:judge-0", "length")  # one judge: self-preference cannot be known
    players = np.zeros((len(verdicts.margin), 6))
    players[np.arange(len(players)), verdicts.first] = 1
    players[np.arange(len(players)), verdicts.second] = -1
    columns = np.column_stack([players[:, 1:], np.ones(len(players)), verdicts.longer])
    model = statsmodels.Logit(verdicts.margin > 0, columns).fit(disp=False)
    theta = np.concatenate([[0.0], model.params[:5]])
    assert found.theta == pytest.approx(theta - theta.mean(), abs=1e-5)
    assert list(effects(found).values()) == pytest.approx(model.params[5:], abs=1e-5)
    clustered = statsmodels.Logit(verdicts.margin > 0, columns).fit(
        disp=False, cov_type="cluster", cov_kwds={"groups": verdicts.scene, "use_correction": False}
    )
    influence = influences(found)
    plain = np.array([influence[verdicts.scene == n].sum(axis=0) for n in range(16)])
    assert np.sqrt(((plain[:, 1] - plain[:, 0]) ** 2).sum()) == pytest.approx(clustered.bse[0], rel=1e-4)


def test_without_other_effects_it_is_the_bradley_terry_of_evalica() -> None:
    evalica = pytest.importorskip("evalica", reason="evalica is not installed: `make dev` installs it")
    script = Script(TRUTH, position=(0.0,), length=0.0, own_family=0.0, cuts=(0.0,))
    verdicts = made(script, np.random.default_rng(10))
    first, second = ([verdicts.players[n] for n in side] for side in (verdicts.first, verdicts.second))
    winners = [evalica.Winner.X if margin > 0 else evalica.Winner.Y for margin in verdicts.margin]
    scores = evalica.bradley_terry(first, second, winners, tolerance=1e-12, limit=10_000).scores
    theirs = np.log(scores.reindex(list(verdicts.players)).to_numpy())
    bare = dataclasses.replace(verdicts, longer=verdicts.longer * 0, judge=verdicts.judge * 0)
    # each verdict once more in the other order, so that position has no effect at all
    both: dict[str, Any] = {
        name: np.concatenate([getattr(bare, name), sign * getattr(bare, other)])
        for name, other, sign in (
            ("first", "second", 1),
            ("second", "first", 1),
            ("margin", "margin", -1),
            ("scene", "scene", 1),
            ("judge", "judge", 1),
            ("longer", "longer", 1),
            ("same", "same", 1),
        )
    }
    mirrored = dataclasses.replace(bare, **both)
    assert fit(mirrored, ridge=1e-8).theta == pytest.approx(theirs - theirs.mean(), abs=1e-4)


def likelihood(at: Array, verdicts: Comparisons) -> float:
    """Minus the log-likelihood of margins -2..2, written out. Thresholds, then strengths, then position."""
    t_1, t_2, *rest = at
    theta, position = np.concatenate([[0.0], rest[:-1]]), rest[-1]
    eta = theta[verdicts.first] - theta[verdicts.second] + position
    above = {k: special.expit(eta - t) for k, t in ((1, t_1), (2, t_2))}
    below = {k: special.expit(-eta - t) for k, t in ((1, t_1), (2, t_2))}
    shares = np.stack(
        [below[2], below[1] - below[2], 1 - below[1] - above[1], above[1] - above[2], above[2]], axis=1
    )
    return -float(np.log(shares[np.arange(len(eta)), verdicts.margin.astype(int) + 2]).sum())


def test_margins_and_ties_reach_the_largest_likelihood_that_scipy_finds() -> None:
    script = Script(TRUTH[:4], position=(0.4,), length=0.0, own_family=0.0, cuts=(0.5, 1.5))
    verdicts = made(script, np.random.default_rng(6))
    verdicts = dataclasses.replace(verdicts, longer=verdicts.longer * 0, same=verdicts.same * 0)
    found = fit(verdicts, ridge=1e-8)

    def loss(at: Array) -> float:
        return likelihood(at, verdicts)

    start = np.array([0.4, 1.2, 0.0, 0.0, 0.0, 0.0])
    best = optimize.fmin(loss, start, xtol=1e-7, ftol=1e-9, maxiter=20000, maxfun=20000, disp=False)
    theta = np.concatenate([[0.0], best[2:5]])
    assert found.theta == pytest.approx(theta - theta.mean(), abs=1e-4)
    assert found.thresholds == pytest.approx(best[:2], abs=1e-4)
    assert effects(found)["position:judge-0"] == pytest.approx(best[5], abs=1e-4)


def test_davidson_hand_worked() -> None:
    """9 wins, 1 loss, 6 ties: nu is 6 / sqrt(9 * 1) = 2 and the difference log(9 / 1), in Davidson (1970).

    In one order only, position cannot be told from strength, and is left out.
    """
    verdicts = data(*[(0, 1, 1.0)] * 9, (0, 1, -1.0), *[(0, 1, 0.0)] * 6)
    found = fit(verdicts, "davidson", ridge=1e-4)
    assert found.names == ()
    assert found.theta[0] - found.theta[1] == pytest.approx(np.log(9), abs=1e-3)
    assert found.thresholds[0] == pytest.approx(np.log(2), abs=1e-3)


def test_strengths_of_a_sparse_set_of_pairs_stay_finite() -> None:
    found = fit(data((0, 1, 3.0), (1, 0, -3.0), (2, 3, 1.0), (3, 2, -1.0), scenes=2))
    assert np.isfinite(found.theta).all()
    assert found.theta[0] > found.theta[1]
    assert found.theta[2] > found.theta[3]


def test_a_player_without_a_verdict_is_unknown() -> None:
    verdicts = dataclasses.replace(
        data((0, 1, 1.0), (1, 0, -1.0), (0, 1, -2.0), scenes=3), players=("a", "b", "c")
    )
    players, pairs = pairwise_numbers(fit(verdicts))
    assert set(players.index) == {"a", "b"}
    assert np.isnan(fit(verdicts).theta[2])
    assert not pairs[pairs["other"] == "c"]["separated"].any()


def test_nothing_but_ties_is_no_rating() -> None:
    with pytest.raises(ValueError, match="prefers"):
        fit(data((0, 1, 0.0), (1, 0, 0.0)))


def test_one_scene_gives_no_interval() -> None:
    players, pairs = pairwise_numbers(fit(data((0, 1, 1.0), (1, 0, -1.0), (0, 1, 1.0))))
    assert players[["low", "high"]].isna().all(axis=None)
    assert not pairs["separated"].any()


def coverage(script: Script, runs: int, seed: int, scenes: int) -> tuple[float, dict[str, float]]:
    rng = np.random.default_rng(seed)
    first, second = np.triu_indices(len(script.strengths), 1)
    truth = script.strengths[first] - script.strengths[second]
    due = {"position:judge-0": script.position[0], "length": script.length, "self": script.own_family}
    inside, held = [], dict.fromkeys(due, 0)
    for _ in range(runs):
        found = fit(made(script, rng, scenes, 1))
        error = found.differences(first, second)
        reach = stats.t.ppf(0.975, error.df) * error.error
        inside.append(np.abs(error.mean - truth) <= reach)
        for name, value in due.items():
            effect = found.effect(name)
            assert effect is not None
            held[name] += abs(effect[0] - value) <= stats.t.ppf(0.975, effect[2]) * effect[1]
    return float(np.mean(inside)), {name: count / runs for name, count in held.items()}


def test_errors_are_those_of_bell_and_mccaffrey() -> None:
    """Least squares, defined by rows: the residuals of a cluster times (1 - H_gg)^(-1/2)."""
    rng = np.random.default_rng(11)
    groups = np.repeat(np.arange(5), [2, 3, 4, 6, 9])
    x = np.column_stack([np.ones(24), rng.normal(size=24) + groups, rng.normal(size=24)])
    bread = np.linalg.inv(x.T @ x)
    rest = np.eye(24) - x @ bread @ x.T
    residuals = rest @ rng.normal(size=24)
    rows = [np.flatnonzero(groups == n) for n in range(5)]
    weights = []
    for members in rows:
        adjusted = np.linalg.inv(linalg.sqrtm(rest[np.ix_(members, members)]))
        weights.append(rest[:, members] @ adjusted @ x[members] @ bread)
    scenes = Scenes(
        scores=np.array([x[members].T @ residuals[members] for members in rows]),
        information=np.array([x[members].T @ x[members] for members in rows]),
        character=np.arange(5),
        situation=np.zeros(5, dtype=np.int64),
    )
    found = errors(scenes, np.zeros(3), np.eye(3))
    for n in range(3):
        each = np.array([weight[:, n] for weight in weights])
        assert found.variance[n] == pytest.approx(((each @ residuals) ** 2).sum())
        products = each @ each.T
        assert found.df[n] == pytest.approx(np.trace(products) ** 2 / (products**2).sum())
    alone = dataclasses.replace(scenes, information=scenes.information * (np.arange(5) == 2)[:, None, None])
    assert np.isnan(errors(alone, np.full(3, 0.01), np.eye(3)).variance).all()


def test_intervals_cover_the_truth_and_biases_are_recovered() -> None:
    """60 runs x 15 pairs; full table: tests/benchmarks/pairwise_coverage.py."""
    covered, held = coverage(Script(TRUTH), 60, seed=7, scenes=12)
    assert 0.92 <= covered <= 0.98
    assert all(share >= 0.85 for share in held.values()), held


def test_a_margin_counted_as_several_wins_would_fail() -> None:
    """The test of the test: the same verdicts, each repeated by the size of its margin and taken as
    independent, give intervals that miss the truth far too often."""
    script = Script(TRUTH, position=(0.0,), length=0.0, own_family=0.0, cuts=(0.0, 0.4, 0.8), by_scene=0.6)
    rng = np.random.default_rng(8)
    first, second = np.triu_indices(len(TRUTH), 1)
    inside = []
    truth = np.mean([fit(won(made(script, rng, 200, 1))).theta for _ in range(4)], axis=0)
    for _ in range(30):
        verdicts = won(made(script, rng, 16, 1))
        found = fit(verdicts)
        independent = np.cov((influences(found))[:, : len(TRUTH)].T) * len(verdicts.margin)
        contrast = np.eye(len(TRUTH))[first] - np.eye(len(TRUTH))[second]
        error = np.sqrt(np.einsum("ij,jk,ik->i", contrast, independent, contrast))
        estimate = found.theta[first] - found.theta[second]
        inside.append(np.abs(estimate - (truth[first] - truth[second])) <= 1.96 * error)
    assert np.mean(inside) < 0.85


def won(verdicts: Comparisons) -> Comparisons:
    """Every margin as that many wins."""
    times = np.abs(verdicts.margin).astype(int)
    parts: dict[str, Any] = {
        name: np.repeat(getattr(verdicts, name), times)
        for name in ("first", "second", "scene", "judge", "longer", "same")
    }
    return dataclasses.replace(verdicts, margin=np.repeat(np.sign(verdicts.margin), times), **parts)


def test_judges_as_a_sample_widen_intervals_from_four_judges() -> None:
    script = Script(TRUTH, position=(0.2, -0.2, 0.0, 0.1), by_judge=0.5)
    verdicts = made(script, np.random.default_rng(9))
    spread = judges_spread(verdicts)
    assert spread is not None
    assert spread.own is not None
    assert 0.05 < spread.pooled < 0.9
    these, _ = pairwise_numbers(fit(verdicts))
    like, _ = pairwise_numbers(fit(verdicts), spread)
    assert ((like["high"] - like["low"]) > (these["high"] - these["low"])).mean() > 0.5
    assert judges_spread(verdicts.where(verdicts.judge < 3)) is None


def test_habits_hand_worked() -> None:
    """Judge 0 always prefers what is shown first, judge 1 always ties."""
    shown_first = [(0, 1, 1.0), (1, 0, 2.0), (0, 2, 1.0), (2, 0, 1.0)]
    both = [
        pair
        for first, second, margin in shown_first
        for pair in ((first, second, margin), (first, second, 0.0))
    ]
    position, ties = habits(data(*both, judges=2))
    assert (position.first, position.flipped, position.by_position, position.ties) == (1.0, 1.0, 1.0, 0.0)
    assert (ties.first, ties.flipped, ties.by_position, ties.ties) == (None, 0.0, 0.0, 1.0)


def test_cycles_hand_worked() -> None:
    circle = [(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0)]
    assert cycles(data(*circle)) == 1.0
    assert cycles(data((0, 1, 1.0), (1, 2, 1.0), (0, 2, 1.0))) == 0.0
    # a fourth player who beats all: of the triples abc, abd, acd, bcd only the first is a circle
    assert cycles(data(*circle, (3, 0, 1.0), (3, 1, 1.0), (3, 2, 1.0))) == 0.25
    assert cycles(data((0, 1, 1.0))) is None


def test_relative_lengths_have_unit_spread_and_unknown_ones_are_0() -> None:
    found = standardised_lengths([100, 300, np.nan], [300, 100, 100])
    assert found.tolist() == [-1.0, 1.0, 0.0]
