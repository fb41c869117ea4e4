"""Check every board.json against the board that its evidence gives, to the last digit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bench.audit.differences import differences, shown
from bench.audit.files import content
from bench.audit.findings import Findings
from bench.audit.places import BoardFiles
from bench.boards.loading import load_board, stored_json
from bench.errors import UserError
from bench.results import ResultsTree
from bench.suites import Suite

MOST_DIFFERENCES = 40
"""Differing fields that are listed for one board."""


def audit_board(
    tree: ResultsTree, files: BoardFiles, suites: Mapping[str, Suite], findings: Findings
) -> None:
    """Compute the board and compare it with board.json."""
    path = files.board
    if not any(player.info for player in files.players):
        if path:
            findings.add("board-orphan", path, "there are no players of this board")
        return
    try:
        due = stored_json(load_board(tree, files.suite, files.language, prompts=suites).board)
    except UserError as error:
        findings.add("board-impossible", files.folder, error.what)
        return
    if path is None:
        findings.add("board-missing", files.folder, "write it with `bench board SUITE --write`")
        return
    data = content(path, findings)
    if data is None or data == due.encode():
        return
    try:
        stored = json.loads(data)
    except (ValueError, RecursionError):
        findings.add("schema", path, "is not JSON")
        return
    different = list(differences(_by_player(stored), _by_player(json.loads(due))))
    for field, stated, computed in different[:MOST_DIFFERENCES]:
        text = f"says {shown(stated)}, the evidence gives {shown(computed)}"
        findings.add("board-differs", path, text, field)
    if len(different) > MOST_DIFFERENCES:
        more = len(different) - MOST_DIFFERENCES
        findings.add("board-differs", path, f"{more} more fields differ", "rows")
    if not different:
        findings.add("not-canonical", path, "right numbers, but its bytes differ from the canonical form")


def _by_player(board: Any) -> Any:
    """The board with its rows keyed by player, so that a row that moved does not differ in every field."""
    rows = board.get("rows") if isinstance(board, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "player" in row for row in rows):
        return board
    named = {str(row["player"]): row for row in rows}
    if len(named) != len(rows):
        return board
    return {**board, "rows": named, "order of rows": list(named)}
