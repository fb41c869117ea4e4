"""Every board.json against the board that the evidence gives, to the last digit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bench.audit.differences import differences, shown
from bench.audit.findings import Findings
from bench.audit.places import BoardFiles
from bench.boards.loading import load_board
from bench.errors import UserError
from bench.results import ResultsTree
from bench.scores.forms import to_json
from bench.suites import Suite

MOST = 40
"""Differing fields that are listed of one board."""


def audit_board(
    tree: ResultsTree, files: BoardFiles, suites: Mapping[str, Suite], findings: Findings
) -> None:
    """Compare one board.json with the board that is computed afresh."""
    if not any(player.info for player in files.players):
        if files.board:
            findings.add("board-orphan", files.board, "there are no players of this board")
        return
    try:
        due = to_json(load_board(tree, files.suite, files.language, prompts=suites).board)
    except UserError as error:
        findings.add("board-impossible", files.folder, error.what)
        return
    if files.board is None:
        findings.add("board-missing", files.folder, "`bench board SUITE --write` writes it")
        return
    _compare(files, due, findings)


def _compare(files: BoardFiles, due: str, findings: Findings) -> None:
    assert files.board is not None
    try:
        data = files.board.read_bytes()
    except OSError as error:
        findings.add("schema", files.board, f"cannot be read: {error.strerror}")
        return
    if data == due.encode():
        return
    try:
        stored = json.loads(data)
    except (ValueError, RecursionError):
        findings.add("schema", files.board, "is not JSON")
        return
    found = list(differences(_by_player(stored), _by_player(json.loads(due))))
    for field, there, computed in found[:MOST]:
        text = f"says {shown(there)}, the evidence gives {shown(computed)}"
        findings.add("board-differs", files.board, text, field)
    if len(found) > MOST:
        findings.add("board-differs", files.board, f"{len(found) - MOST} further fields differ", "rows")
    if not found:
        findings.add("not-canonical", files.board, "the right numbers, but not as the program writes them")


def _by_player(board: Any) -> Any:
    """The board with its rows under their players' names, so that a moved row is not a difference in all."""
    rows = board.get("rows") if isinstance(board, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "player" in row for row in rows):
        return board
    named = {str(row["player"]): row for row in rows}
    if len(named) != len(rows):
        return board
    return {**board, "rows": named, "order of rows": list(named)}
