"""Two given players: whether they differ, and how many scenes would tell."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

from bench.boards.loading import LoadedBoard, load_board
from bench.cli import cli
from bench.errors import UserError
from bench.results import ResultsTree
from bench.scores.board import board_of
from bench.scores.bootstrap import Array
from bench.scores.clusters import clustered
from bench.scores.frame import Frames, load
from bench.scores.planning import PairComponents, pair_components, scenes_needed, size_needed
from bench.scores.separate import separation
from bench.site.evidence import evidence_of
from tests.scores.evidence import Evidence
from tests.synthetic import make_tree


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("results")
    make_tree(root, players=5, characters=4, situations=4)
    return root


@pytest.fixture(scope="module")
def frames(root: Path) -> Frames:
    return load(ResultsTree(root), "synthetic", "en")


def effects(seed: int, side: int) -> Array:
    """Differences with effects of characters and situations on ``side`` x ``side`` scenes, mean 0."""
    rng = np.random.default_rng(seed)
    made: Array = rng.normal(0, 0.25, (side, 1)) + rng.normal(0, 0.25, (1, side))
    return made + rng.normal(0, 0.5, (side, side))


TRUE = PairComponents(0.25**2, 0.25**2, 0.5**2)


@pytest.mark.parametrize("difference", [0.3, 0.2])
def test_the_size_needed_has_the_power_it_promises(difference: float) -> None:
    """Simulated with known variances: the power at that size is near 80%, and clearly less at two thirds."""
    side = size_needed(difference, TRUE)
    assert side is not None

    def power(side: int) -> float:
        made = clustered(np.stack([effects(seed, side) for seed in range(600)]) + difference)
        p = 2 * stats.t.sf(np.abs(made.mean) / made.error, made.df)
        return float(np.mean(p < 0.05))

    assert 0.74 < power(side) < 0.88
    assert power(side * 2 // 3) < 0.72


def test_independent_scenes_need_those_of_statsmodels() -> None:
    scores = np.random.default_rng(2).normal(0.2, 0.5, 64)
    table = np.full((64, 64), np.nan)
    np.fill_diagonal(table, scores)
    made = pair_components(table)
    assert made is not None
    assert made.nested
    assert made.rest == pytest.approx(scores.var(ddof=1))
    needed = TTestPower().solve_power(effect_size=0.1 / scores.std(ddof=1), alpha=0.05, power=0.8)
    assert size_needed(0.1, made) == math.ceil(needed)
    found = scenes_needed(0.1, made)
    assert found is not None
    assert found.low < found.scenes == math.ceil(needed)


def test_variances_behind_a_pair_are_found_again() -> None:
    """By expected mean squares, on average over many grids."""
    made = [pair_components(effects(seed, 12)) for seed in range(300)]
    found = np.mean([[one.character, one.situation, one.rest] for one in made if one], axis=0)
    assert found == pytest.approx([TRUE.character, TRUE.situation, TRUE.rest], rel=0.1)


def test_the_range_holds_the_estimate() -> None:
    needed = scenes_needed(0.2, pair_components(effects(1, 8)))
    assert needed is not None
    assert needed.low <= needed.scenes
    assert needed.high is None or needed.scenes <= needed.high
    assert scenes_needed(0.0, pair_components(effects(1, 8))) is None


def test_the_comparison_is_the_paired_one_of_the_board(frames: Frames) -> None:
    """Differences by hand from the scores; the correction by statsmodels."""
    grids = {}
    for name in (info.player for info in frames.players):
        mine = frames.scores[frames.scores["player"] == name]
        by_judge = mine.groupby(["character", "situation", "judge"], observed=True)["score"].mean()
        grids[name] = by_judge.groupby(level=[0, 1]).mean()
    made = separation(frames, "player-01", "player-02")
    factors = {row.player: row.length_factor or 0 for row in board_of(frames).rows}
    difference = grids["player-01"] * factors["player-01"] - grids["player-02"] * factors["player-02"]
    assert made.scenes == len(difference) == 16
    assert made.difference == pytest.approx(difference.mean(), abs=1e-6)
    names = list(grids)
    every = [separation(frames, a, b) for n, a in enumerate(names) for b in names[n + 1 :]]
    assert made.pairs == len(every) == 10
    rejected, corrected, *_ = multipletests([one.p for one in every], method="fdr_bh")
    assert [one.p_adjusted for one in every] == pytest.approx(corrected.tolist(), abs=1e-5)
    assert [one.separated for one in every] == rejected.tolist()


def test_the_other_way_round_only_the_sign_changes(frames: Frames) -> None:
    one, two = separation(frames, "player-01", "player-03"), separation(frames, "player-03", "player-01")
    assert one.difference is not None
    assert two.difference is not None
    assert two.high is not None
    assert (one.difference, one.low) == (-two.difference, -two.high)
    assert (one.p, one.scenes_needed) == (two.p, two.scenes_needed)


def test_the_site_compares_with_the_same_numbers(frames: Frames) -> None:
    pairs = evidence_of(LoadedBoard(frames, None, None)).pairs
    for player, others in pairs.items():
        for other, pair in others.items():
            made = separation(frames, player, other)
            assert (pair.difference, pair.scenes, pair.separated) == (
                made.difference,
                made.scenes,
                made.separated,
            )
            if pair.needed is not None:
                assert not made.separated
                assert pair.needed.scenes == made.scenes_needed


def scenes(scores: Sequence[int]) -> dict[str, dict[str, list[tuple[int, ...]]]]:
    names = ("c/s", "c/t", "d/s", "d/t")
    return {name: {"a": [(n, n, n)]} for name, n in zip(names, scores, strict=False)}


def test_what_cannot_be_told_is_null_and_says_why(tmp_path: Path) -> None:
    evidence = Evidence(tmp_path)
    evidence.played("ann", scenes((5, 4, 5, 4)))
    evidence.played("ben", scenes((4, 3, 4, 3)))
    evidence.played("cat", scenes((5, 4, 5, 4)))
    evidence.played("dan", scenes((5,)))
    frames = load(evidence.tree, "tiny", "en")
    always = separation(frames, "ann", "ben")
    assert (always.difference, always.scenes_needed) == (1, None)
    assert "same in every scene" in str(always.reason)
    alike = separation(frames, "ann", "cat")
    assert (alike.difference, alike.scenes_needed, alike.separated) == (0, None, False)
    once = separation(frames, "ann", "dan")
    assert (once.scenes, once.difference, once.low, once.p) == (1, None, None, None)
    assert once.reason == "fewer than two scenes in common"


def bench(root: Path, *words: str) -> str:
    result = CliRunner().invoke(cli, [*words, "--results", str(root)])
    if result.exception:
        raise result.exception
    return result.output


def test_the_command_prints_the_same_in_sentences_and_as_json(root: Path, frames: Frames) -> None:
    words = ("board", "synthetic", "--separate", "player-02", "player-04")
    made = separation(frames, "player-02", "player-04")
    assert json.loads(bench(root, *words, "--format", "json")) == made.model_dump(mode="json")
    text = bench(root, *words)
    assert f"{made.difference:+.3f}" in text
    assert f"over about {made.scenes_needed} scenes" in text


@pytest.mark.parametrize(
    "words",
    [
        ("--separate", "player-02", "nobody"),
        ("--separate", "player-02", "player-02"),
        ("--separate", "player-02", "player-03", "--compare-methods"),
        ("--separate", "player-02", "player-03", "--write"),
        ("--separate", "player-02", "player-03", "--format", "csv"),
    ],
)
def test_what_does_not_go_together_is_refused(root: Path, words: tuple[str, ...]) -> None:
    with pytest.raises(UserError):
        bench(root, "board", "synthetic", *words)


def test_a_board_of_constant_scores_claims_no_certainty(tmp_path: Path) -> None:
    """Two scenes with the same scores: no interval, no p, no separation, and every rank is possible."""
    evidence = Evidence(tmp_path)
    evidence.played("ann", scenes((5, 5)))
    evidence.played("ben", scenes((4, 4)))
    made = load_board(evidence.tree, "tiny", "en", prompts={}).board
    assert made.robust is not None
    assert (made.robust.separability, made.robust.standard_error, made.robust.detectable_difference) == (
        None,
        None,
        None,
    )
    for row in made.rows:
        assert row.score is not None
        assert (row.score_ci, row.length_norm_ci) == (None, None)
        assert row.robust is not None
        assert (row.robust.low, row.robust.high) == (None, None)
        assert (row.robust.rank_low, row.robust.rank_high) == (1, 2)
