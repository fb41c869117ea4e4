"""Published scores as the evidence of a board: what is known of them, and the figures of a real table.

The reference figures of Japanese-RP-Bench come from an independent implementation.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bench.boards.loading import load_board
from bench.protocol_facts import facts_of, published_protocol
from bench.results import ResultsTree
from bench.results.score_lines import ScoreLine
from bench.results.score_tables import ScoreTable, source_of, table_files
from bench.scores.board import Board
from bench.scores.compare import rank_moves
from bench.scores.frame import Frames, load
from bench.scores.robust import paired_differences, robust_board, separability
from bench.scores.weights import EQUAL, standard_weightings

ROOT = Path(__file__).resolve().parents[2]
NAME = "japanese-rp-bench"
REFERENCE = ROOT.parent / "shared" / "published" / NAME / "reference.json"

ABOUT = {
    "title": "Other bench",
    "description": "Made for a test.",
    "language": "ja",
    "url": "https://example.org/bench",
    "commit": "1234567",
    "licence": "MIT",
    "changes": "None.",
    "conversations": "https://example.org/bench/talks",
    "scale": [1, 10],
}


def lines_of(players: int, scenes: int, judges: int, *, grid: bool = False) -> list[ScoreLine]:
    """A complete table of random scores on 1 to 10, with two criteria."""
    rng = np.random.default_rng(1)
    return [
        ScoreLine(
            f"p{p}",
            f"c{s % 3}" if grid else "",
            f"s{s // 3}" if grid else f"s{s}",
            f"j{j}",
            criterion,
            int(rng.integers(1, 11)),
        )
        for p in range(players)
        for s in range(scenes)
        for j in range(judges)
        for criterion in ("Naturalness of Japanese", "wit")
    ]


def tree_with(root: Path, lines: list[ScoreLine], name: str = "other") -> ResultsTree:
    """A results tree that holds one published table."""
    folder = root / "published" / name
    folder.mkdir(parents=True)
    table = ScoreTable(name, source_of(lines, ABOUT, "test"), tuple(lines))
    for file, data in table_files(table, "Licence text\n").items():
        (folder / file).write_bytes(data)
    return ResultsTree(root)


def board_with(root: Path, lines: list[ScoreLine]) -> Board:
    return load_board(tree_with(root, lines), "other", "ja").board


@pytest.fixture(scope="module")
def frames() -> Frames:
    return load(ResultsTree(ROOT / "results"), NAME, "ja")


def test_every_score_of_the_table_is_in_the_frame_once(frames: Frames) -> None:
    assert len(frames.scores) == 32 * 30 * 4 * 8
    assert len(frames.counting) == 32 * 30 * 4
    assert len(frames.conversations) == 32 * 30
    assert frames.scores["score"].dtype == np.int64
    assert facts_of(frames.protocol).scale == (1, 5)


def test_separated_pairs_and_errors_of_the_real_board_are_those_of_the_reference(frames: Frames) -> None:
    pairs = paired_differences(robust_board(frames, standard_weightings(frames.criteria)[EQUAL]).grid)
    assert (len(pairs), int(pairs["separated"].sum())) == (496, 317)
    assert separability(pairs) == pytest.approx(0.6391, abs=5e-5)
    assert float(pairs["standard_error"].median()) == pytest.approx(0.0958, abs=5e-5)


def test_scenes_without_character_are_independent(frames: Frames) -> None:
    """One-way: the standard error is that of a paired t test (scipy-free, by hand) with n - 1 degrees."""
    grid = robust_board(frames, standard_weightings(frames.criteria)[EQUAL]).grid
    pairs = paired_differences(grid)
    assert set(pairs["df"]) == {29.0}
    a, b = (grid.values[n].ravel() for n in (0, 1))
    by_hand = float((a - b).std(ddof=1)) / math.sqrt(30)
    assert float(pairs["standard_error"].iloc[0]) == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.skipif(not REFERENCE.is_file(), reason="the reference figures are not on this machine")
def test_grand_mean_of_the_real_board_is_that_of_the_reference(frames: Frames) -> None:
    expected = json.loads(REFERENCE.read_text(encoding="utf-8"))["all_8"]["mean"]
    assert float(frames.scores["score"].mean()) == pytest.approx(expected, rel=1e-12)


def test_what_a_table_does_not_say_is_unknown(tmp_path: Path) -> None:
    for row in board_with(tmp_path, lines_of(3, 6, 2)).rows:
        unknown = (row.refusal_ratio, row.avg_length, row.length_factor, row.cost)
        assert unknown == (None, None, None, None)
        assert row.score == row.length_norm_score
        assert (row.conversations, row.judgements_ok, row.judgements_missing) == (6, 12, 0)


def test_scenes_with_characters_and_situations_are_clustered_by_both(tmp_path: Path) -> None:
    tree = tree_with(tmp_path, lines_of(3, 12, 2, grid=True))
    frames = load(tree, "other", "ja")
    assert set(frames.conversations["character"]) == {"c0", "c1", "c2"}
    assert set(frames.conversations["situation"]) == {"s0", "s1", "s2", "s3"}
    grid = robust_board(frames, standard_weightings(frames.criteria)[EQUAL]).grid
    assert grid.values.shape == (3, 3, 4)


def test_missing_verdicts_are_counted_and_one_without_a_criterion_does_not_count(tmp_path: Path) -> None:
    lines = lines_of(2, 4, 2)
    lines = [
        line
        for line in lines
        if (line.player, line.situation, line.judge) != ("p0", "s0", "j0")
        and (line.player, line.situation, line.judge, line.criterion) != ("p0", "s1", "j0", "wit")
        and (line.player, line.situation) != ("p0", "s2")
    ]
    row = next(row for row in board_with(tmp_path, lines).rows if row.player == "p0")
    assert (row.conversations, row.conversations_missing) == (3, 1)
    assert (row.judgements_ok, row.judgements_failed, row.judgements_missing) == (4, 1, 3)
    kept = [line for line in lines if line.player == "p0" and (line.situation, line.judge) != ("s1", "j0")]
    by_judge = pd.DataFrame(kept).groupby(["situation", "judge"])["score"].mean()
    assert row.score == pytest.approx(float(by_judge.groupby("situation").mean().mean()), abs=1e-6)


def test_one_judge_is_enough_for_a_board(tmp_path: Path) -> None:
    board = board_with(tmp_path, lines_of(3, 6, 1))
    assert board.judges == ("j0",)
    assert all(row.rank is not None for row in board.rows)


def test_decimals_are_kept(tmp_path: Path) -> None:
    lines = [line._replace(score=line.score - 0.5 if line.score > 1 else 1) for line in lines_of(2, 3, 1)]
    frames = load(tree_with(tmp_path, lines), "other", "ja")
    assert sorted(frames.scores["score"]) == sorted(line.score for line in lines)


def test_no_policy_on_refusals_moves_a_rank(tmp_path: Path) -> None:
    frames = load(tree_with(tmp_path, lines_of(4, 9, 2)), "other", "ja")
    moves = rank_moves(frames)
    assert not moves["method"].str.startswith("refusals").any()


@pytest.mark.parametrize("scale", [(1, 5), (0, 1), (-3, 3), (0, 100)])
def test_the_protocol_of_a_table_holds_its_scale(scale: tuple[int, int]) -> None:
    facts = facts_of(published_protocol(*scale))
    assert facts.scale == scale
    assert facts.length_rule == "none"
