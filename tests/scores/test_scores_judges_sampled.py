"""Judges like these: intervals, tests, ranks and chances against formulas written out a second time."""

from __future__ import annotations

import json
import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats
from statsmodels.stats.multitest import multipletests

from bench.boards.loading import load_board
from bench.cli import cli
from bench.errors import UserError
from bench.results import ResultsTree
from bench.scores.board import Board, board_of
from bench.scores.bootstrap import Array
from bench.scores.chances import FEWEST_DRAWS, chances
from bench.scores.clusters import MeanError, clustered, judge_spread, widened
from bench.scores.forms import robust_line
from bench.scores.frame import Frames, load
from bench.scores.robust import Grid, paired_differences, robust_board
from bench.scores.separate import separation
from tests.benchmarks import coverage
from tests.synthetic import make_tree
from tests.tiny import ROOT

JUDGES = ("a", "b", "c", "d")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sampled") / "results"
    make_tree(root, players=5, characters=4, situations=4, judges=JUDGES, seed=3)
    return root


@pytest.fixture(scope="module")
def frames(root: Path) -> Frames:
    return load(ResultsTree(root), "synthetic", "en")


def scores_by_hand(frames: Frames) -> tuple[list[str], Array]:
    """Players, and their scores: players x characters x situations x judges."""
    means = frames.scores.groupby(["player", "character", "situation", "judge"])["score"].mean()
    names = sorted(set(frames.scores["player"]))
    factors = {row.player: row.length_factor or 0.0 for row in board_of(frames).rows}
    values = means.to_numpy().reshape(len(names), 4, 4, len(frames.judges))
    return names, values * np.array([factors[name] for name in names])[:, None, None, None]


def own_variances(values: Array) -> list[float]:
    """The player x judge variance of each player, in loops."""
    n_p, n_c, n_t, n_j = values.shape
    flat = values.reshape(n_p, n_c * n_t, n_j)
    n_s = n_c * n_t
    found = []
    for player in range(n_p):
        a = [[flat[player, s, j] - flat[:, s, j].mean() for j in range(n_j)] for s in range(n_s)]
        by_judge = [sum(a[s][j] for s in range(n_s)) / n_s for j in range(n_j)]
        by_scene = [sum(row) / n_j for row in a]
        whole = sum(by_judge) / n_j
        rest = sum((a[s][j] - by_scene[s] - by_judge[j] + whole) ** 2 for s in range(n_s) for j in range(n_j))
        between = sum((one - whole) ** 2 for one in by_judge) / (n_j - 1)
        found.append(between - rest / ((n_s - 1) * (n_j - 1)) / n_s)
    return found


def test_pairs_intervals_and_ranges_follow_from_each_players_own_spread(frames: Frames) -> None:
    names, values = scores_by_hand(frames)
    own = [max(0.0, one) for one in own_variances(values)]
    table = robust_board(frames, dict.fromkeys(frames.criteria, 1.0)).pairs("sample")
    p_values = []
    for row in table.itertuples():
        a, b = names.index(str(row.player)), names.index(str(row.other))
        difference = values[a].mean(axis=-1) - values[b].mean(axis=-1)
        these = clustered(difference[None])
        v, df, added = float(these.variance[0]), float(these.df[0]), (own[a] + own[b]) / 4
        wide, wide_df = v + added, (v + added) ** 2 / (v**2 / df + added**2 / 6)
        fixed_p = 2 * stats.t.sf(abs(difference.mean()) / math.sqrt(v), df)
        wide_p = 2 * stats.t.sf(abs(difference.mean()) / math.sqrt(wide), wide_df)
        p_values.append(max(fixed_p, wide_p))
        if stats.t.ppf(0.975, wide_df) * wide**0.5 >= stats.t.ppf(0.975, df) * v**0.5:
            assert row.standard_error == pytest.approx(wide**0.5, rel=1e-4)
            assert row.df == pytest.approx(wide_df, rel=1e-3)
    assert table["p"].tolist() == pytest.approx(p_values, rel=1e-3)  # factors are rounded on the board
    assert table["separated"].tolist() == multipletests(p_values, method="fdr_bh")[0].tolist()


def test_two_and_three_judges_share_one_spread() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(0, 0.3, (6, 1, 1, 3)) + rng.normal(0, 0.5, (6, 4, 4, 3))
    spread = judge_spread(values.reshape(6, 16, 3))
    assert spread is not None
    assert spread.own is None
    assert spread.pooled == pytest.approx(max(0.0, float(np.mean(own_variances(values)))) * 6 / 5)
    added, df = spread.of_difference(np.array([0]), np.array([1]))
    assert (added.tolist(), df) == ([pytest.approx(2 * spread.pooled / 3)], 10)


@pytest.mark.parametrize("each", [1, 2])
def test_judges_that_take_turns_are_a_sample_too(each: int) -> None:
    """Simulated: one or two of four judges judge each scene, the same for all players."""
    scenario = coverage.Scenario("rotated", players=10, judges=4)
    rng, held, count = np.random.default_rng(1), 0, 0
    first, second = np.triu_indices(scenario.players, 1)
    for _ in range(40):
        values, _, truth = coverage.drawn(scenario, rng)
        for character in range(8):
            for situation in range(8):
                turns = {(character + situation + 2 * n) % 4 for n in range(each)}
                values[:, character, situation, [j for j in range(4) if j not in turns]] = np.nan
        spread = judge_spread(values.reshape(scenario.players, 64, 4))
        assert spread is not None
        pairs = paired_differences(grid_of(np.nanmean(values, axis=-1)), spread=spread)
        held += coverage.covered(pairs, truth[first] - truth[second])
        count += len(pairs)
    assert 0.92 < held / count < 0.985


def test_sampling_judges_never_makes_a_claim_more_certain(frames: Frames) -> None:
    scored = robust_board(frames, dict.fromkeys(frames.criteria, 1.0))
    fixed, sample = scored.pairs("fixed"), scored.pairs("sample")
    assert (sample["p"] >= fixed["p"]).all()
    for row in board_of(frames).rows:
        assert row.robust is not None
        wide = row.robust.sample
        assert wide is not None
        assert wide.low is not None
        assert wide.high is not None
        assert row.robust.low is not None
        assert row.robust.high is not None
        assert wide.low <= row.robust.low + 1e-6
        assert row.robust.high <= wide.high + 1e-6
        assert wide.rank_low <= wide.rank == row.robust.rank <= wide.rank_high


def test_little_added_variance_never_shortens_an_interval() -> None:
    these = MeanError(np.zeros(3), np.full(3, 0.04), np.full(3, 3.0), np.full(3, 16.0))
    wide = widened(these, np.array([0.0, 0.001, 0.04]), 6)
    reach = stats.t.ppf(0.975, wide.df) * wide.error
    assert (reach >= stats.t.ppf(0.975, 3) * 0.2 - 1e-12).all()


def test_the_wider_one_is_the_default_where_it_is_known(frames: Frames) -> None:
    board = board_of(frames)
    assert board.robust is not None
    assert (board.robust.judges_as, board.robust.sample_unknown) == ("sample", None)
    assert "judges like these" in robust_line(board)
    assert "these judges, not" in robust_line(board, "fixed")
    assert board.robust.sample is not None
    made = separation(frames, "player-01", "player-02")
    assert made.sample is not None
    assert (made.judges_as, made.p) == ("sample", made.sample.p)
    fixed = separation(frames, "player-01", "player-02", judges_as="fixed")
    assert (fixed.p, fixed.low) == (made.fixed.p, made.fixed.low)


def test_with_one_judge_it_is_unknown_and_the_board_says_so(frames: Frames) -> None:
    alone = frames.only_judges(["a"])
    board = board_of(alone)
    assert board.robust is not None
    assert (board.robust.judges_as, board.robust.sample) == ("fixed", None)
    assert "only one judge" in str(board.robust.sample_unknown)
    assert all(row.robust is not None and row.robust.sample is None for row in board.rows)
    assert "only one judge" in robust_line(board)
    made = separation(alone, "player-01", "player-02")
    assert (made.judges_as, made.sample) == ("fixed", None)
    with pytest.raises(UserError, match="only one judge"):
        separation(alone, "player-01", "player-02", judges_as="sample")


def test_the_commands_show_both(root: Path) -> None:
    def bench(*words: str) -> str:
        result = CliRunner().invoke(cli, ["board", "synthetic", "--results", str(root), *words])
        assert result.exit_code == 0, result.output
        return result.output

    assert "judges like these" in bench()
    assert "these judges, not" in bench("--judges-as", "fixed")
    pair = ("--separate", "player-01", "player-02")
    assert "sample" in bench(*pair)
    assert "these 4 judges" in bench(*pair, "--judges-as", "fixed")
    data = json.loads(bench(*pair, "--format", "json"))
    assert data["fixed"]["p"] <= data["sample"]["p"]
    board = Board.model_validate(json.loads(bench("--format", "json")))
    assert board.robust is not None
    assert board.robust.sample is not None


def grid_of(values: Array) -> Grid:
    return coverage.grid_of(values)


def test_chances_of_players_that_are_equal_apart_and_tied() -> None:
    rng = np.random.default_rng(2)
    noise = rng.normal(0, 0.5, (4, 8, 8))
    far = grid_of(noise + np.array([9.0, 6.0, 3.0, 0.0])[:, None, None])
    first, three = chances(far, 0.01, None, 500, 0) or ([], [])
    assert list(first) == [1, 0, 0, 0]
    assert list(three) == [1, 1, 1, 0]
    tied = grid_of(np.stack([noise[0], noise[0], noise[0] - 9]))
    first, three = chances(tied, 0.01, None, 500, 0) or ([], [])
    assert list(first) == pytest.approx([0.5, 0.5, 0])
    assert list(three) == [1, 1, 1]
    assert chances(tied, None, None, 500, 0) is None


def test_no_chance_where_few_draws_differ() -> None:
    """Equal in one scene and worse in the other: with two scenes, no draw could put that player first."""
    values = np.array([[[4.0, 3.0]], [[4.0, 2.9]]])
    assert chances(grid_of(values), 0.01, None, 1000, 0) is None
    for shape, enough in [((1, 4), False), ((1, 5), True), ((2, 3), False), ((3, 3), True)]:
        noise = np.random.default_rng(5).normal(0, 0.5, (2, *shape))
        draws = {
            (tuple(sorted(c)), tuple(sorted(s)))
            for c in product(range(shape[0]), repeat=shape[0])
            for s in product(range(shape[1]), repeat=shape[1])
        }
        assert (len(draws) >= FEWEST_DRAWS) == enough
        assert (chances(grid_of(noise), 0.01, None, 100, 0) is not None) == enough


def test_chances_are_those_of_the_error_of_the_differences() -> None:
    """Two players: the chance of the first is that of a normal difference with the clustered error."""
    rng = np.random.default_rng(3)
    values = rng.normal(0, 0.5, (2, 8, 8)) + rng.normal(0, 0.3, (2, 8, 1)) + rng.normal(0, 0.3, (2, 1, 8))
    error = clustered((values[0] - values[1])[None])
    difference, variance = float(error.mean[0]), float(error.variance[0])
    first, _ = chances(grid_of(values), variance, None, 4000, 0) or ([], [])
    assert first[0] == pytest.approx(stats.norm.cdf(difference / variance**0.5), abs=0.04)
    wider, _ = chances(grid_of(values), variance, np.full(2, variance), 4000, 0) or ([], [])
    assert wider[0] == pytest.approx(stats.norm.cdf(difference / (3 * variance) ** 0.5), abs=0.04)


@pytest.mark.parametrize(("characters", "situations"), [(1, 12), (12, 1)])
def test_chances_with_one_character_or_one_situation_vary_with_the_other(
    characters: int, situations: int
) -> None:
    values = np.random.default_rng(4).normal(0, 0.5, (2, characters, situations))
    error = clustered((values[0] - values[1])[None])
    difference, variance = float(error.mean[0]), float(error.variance[0])
    first, _ = chances(grid_of(values), variance, None, 4000, 0) or ([], [])
    assert first[0] == pytest.approx(stats.norm.cdf(difference / variance**0.5), abs=0.04)
    assert 0.01 < first[0] < 0.99
    assert chances(grid_of(values[:, :1, :1]), 0.01, None, 100, 0) is None  # one scene shows no variation


def test_published_scores_give_the_reference_figures() -> None:
    """Counts and errors of an independent implementation (see the README of the published scores)."""
    frames = load_board(ROOT / "results", "japanese-rp-bench", "ja", prompts=ROOT / "prompts").frames
    scored = robust_board(frames, dict.fromkeys(frames.criteria, 1.0))
    fixed, sample = scored.pairs("fixed"), scored.pairs("sample")
    assert (int(fixed["separated"].sum()), len(fixed)) == (317, 496)
    assert fixed["standard_error"].median() == pytest.approx(0.0958, abs=5e-5)
    assert int(sample["separated"].sum()) == 235
    assert sample["standard_error"].median() == pytest.approx(0.1272, abs=5e-5)


@pytest.mark.parametrize("judges", [2, 4])
def test_intervals_cover_what_they_promise(judges: int) -> None:
    """A short version of tests/benchmarks/coverage.py."""
    made = coverage.simulate(coverage.Scenario("short", players=12, judges=judges), 60)
    assert 0.92 < made.these / made.intervals < 0.985
    assert 0.92 < made.like / made.intervals < 0.985
    assert made.rank_these / made.ranks > 0.95
    assert made.rank_like / made.ranks > 0.95


def test_boards_of_equal_players_rarely_separate_any() -> None:
    made = coverage.equal_boards(20, 60)
    assert made.false_these <= 7
    assert made.false_like <= 8


def test_the_scenes_needed_and_the_detectable_difference_have_the_power_they_promise() -> None:
    for difference in (0.3, 0.2):
        assert 0.7 < coverage.power_at_the_scenes_needed(difference, 200)[1] < 0.9
    assert 0.68 < coverage.detection(20, 150)[1] < 0.92
