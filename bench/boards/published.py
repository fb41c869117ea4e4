"""The board that a suite publishes: scored by the suite's own judges over the suite's own scenes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bench.boards.evidence import board_evidence
from bench.files import write_atomically
from bench.results import ResultsTree
from bench.scores.board import Board, board_of
from bench.scores.forms import to_json
from bench.suites import Suite, load_suite, suite_files


def published_board(tree: ResultsTree, suite_name: str, language: str, suites: Mapping[str, Suite]) -> Board:
    """The board of what is in ``tree``.

    Of a suite that ``suites`` knows, judges added to some players only are left out, since they would tilt
    the comparison, and players are measured against all scenes of the suite. Of any other (imported, say),
    all judges and all scenes that are there count.
    """
    frames, scenes = board_evidence(tree, suite_name, language, suites)
    return board_of(frames, scenes=scenes)


def write_board(tree: ResultsTree, board: Board) -> bool:
    """Write board.json beside the evidence that it is made of; returns whether it changed."""
    path = tree.board_folder(board.suite, board.language) / "board.json"
    return write_atomically(path, to_json(board).encode())


def all_suites(prompts: Path) -> dict[str, Suite]:
    """Every suite below ``prompts``, by id; none where the folder is missing: results explain themselves."""
    if not prompts.is_dir():
        return {}
    return {name: load_suite(prompts, name) for name in suite_files(prompts)}
