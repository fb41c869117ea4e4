"""Two given players: whether they differ, and how many scenes would tell."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats
from statsmodels.stats.multitest import multipletests

from bench.boards.loading import LoadedBoard
from bench.cli import cli
from bench.errors import UserError
from bench.results import ResultsTree
from bench.scores.board import board_of
from bench.scores.frame import Frames, load
from bench.scores.robust import scenes_needed
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


@pytest.mark.parametrize("difference", [0.1, 0.15, 0.2, 0.4])
@pytest.mark.parametrize("df", [6.4, 9.0, 14.0])
def test_so_many_scenes_find_the_difference_and_one_fewer_does_not(difference: float, df: float) -> None:
    """Against the noncentral t distribution, the degrees of freedom growing with the number of clusters."""

    def power(n: int) -> float:
        freedom = int(df * np.sqrt(n / 64))
        shift = difference / (0.05 * np.sqrt(64 / n))
        critical = stats.t.ppf(0.975, freedom)
        return float(stats.nct.sf(critical, freedom, shift) + stats.nct.cdf(-critical, freedom, shift))

    needed = scenes_needed(difference, 0.05, 64, df)
    assert needed is not None
    assert power(needed) > 0.8 - 1e-4
    assert power(needed - 1) < 0.8 + 1e-4


def test_fewer_clusters_ask_for_more_scenes() -> None:
    found = [scenes_needed(0.1, 0.05, 64, df) or 0 for df in (5, 8, 12, 60)]
    assert found == sorted(found, reverse=True)
    assert found[0] > found[-1]


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
            told = made.difference, made.scenes, made.separated, made.scenes_needed
            assert (pair.difference, pair.scenes, pair.separated, pair.needed) == told


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
    assert f"over {made.scenes_needed} scenes" in text


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
