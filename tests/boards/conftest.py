"""Results in a git repository, for tests of how boards change."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.boards.diff import BoardDiff, board_diff
from bench.boards.loading import load_board, write_board
from tests.conftest import git_as_test
from tests.scores.evidence import LANGUAGE, SUITE, Evidence, Turn


@pytest.fixture(scope="module")
def first_board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a board of two players and one judge, committed."""
    folder = tmp_path_factory.mktemp("first-board")
    with pytest.MonkeyPatch.context() as patch:
        git_as_test(patch)
        git(folder, "init", "--quiet", "--template=")
        made = Evidence(folder / "results")
        for player, score in (("anna", 4), ("boris", 3)):
            play(made, player, [score, score])
        commit(made, "First board")
    return folder


@pytest.fixture
def evidence(first_board: Path, tmp_path: Path, git_identity: None) -> Evidence:
    """A copy of ``first_board``."""
    shutil.copytree(first_board, tmp_path / "repo")
    return Evidence(tmp_path / "repo" / "results")


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def play(
    evidence: Evidence, player: str, scores: Sequence[int], judge: str = "strict", text: str = "x" * 100
) -> None:
    """Conversations of a player, one a scene, each with one verdict of the same score on all criteria."""
    cells: dict[str, dict[str, list[Turn]]] = {
        f"c/s{n}": {judge: [(score, score, score)]} for n, score in enumerate(scores)
    }
    evidence.played(player, cells, answers=[text])


def commit(evidence: Evidence, title: str) -> str:
    write_board(evidence.tree, load_board(evidence.tree, SUITE, LANGUAGE).board)
    folder = evidence.tree.root.parent
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", title)
    return git(folder, "rev-parse", "HEAD").strip()


def since(evidence: Evidence, name: str = "HEAD") -> BoardDiff:
    return board_diff(evidence.tree, SUITE, LANGUAGE, name)


def replay(evidence: Evidence, player: str, scores: Sequence[int], text: str) -> None:
    shutil.rmtree(evidence.tree.player_folder(SUITE, LANGUAGE, player))
    play(evidence, player, scores, text=text)
