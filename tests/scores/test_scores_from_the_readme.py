"""A short script that follows only the README reproduces every score of board.json."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.boards.loading import load_board, write_board
from tests.scores import recompute_board
from tests.synthetic import make_tree
from tests.tiny import ROOT

COMMITTED = sorted(path.parent for path in (ROOT / "results").glob("*/*/board.json"))
WEIGHTED = ("rank", "length_norm_score", "score")


def recomputed(folder: Path, board: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Rows by player, with the numbers that the script recomputes."""
    rows: dict[str, dict[str, Any]] = {}
    for info in folder.glob("*/player.json"):
        player = json.loads(info.read_text(encoding="utf-8"))["player"]
        means, ratio, length, talks, scored = recompute_board.player_numbers(info.parent, board)
        rows[player] = {
            "criteria": dict(zip(board["criteria"], map(published, means), strict=False)),
            "refusal_ratio": None if ratio is None else published(ratio),
            "avg_length": length,
            "conversations": talks,
            "conversations_scored": scored,
            "means": means,
            "weightings": {name: dict.fromkeys(WEIGHTED) for name in board["weightings"]},
            **dict.fromkeys(WEIGHTED),  # a player whose conversations were all refused has none of them
        }
    means = {player: row.pop("means") for player, row in rows.items()}
    lengths = {player: row["avg_length"] for player, row in rows.items()}
    for name, weights in {"": board["weights"], **board["weightings"]}.items():
        for player, numbers in recompute_board.ranking(means, lengths, board, weights).items():
            if name:
                rows[player]["weightings"][name] = numbers
            else:
                rows[player] |= numbers
    return rows


def published(value: float) -> float:
    return round(round(value, 12), 6)


def stored(board: dict[str, Any], names: set[str]) -> dict[str, dict[str, Any]]:
    rows = {}
    for row in board["rows"]:
        weightings = {
            name: {field: numbers[field] for field in WEIGHTED} for name, numbers in row["weightings"].items()
        }
        rows[row["player"]] = {name: row[name] for name in names} | {"weightings": weightings}
    return rows


def compare(folder: Path) -> None:
    board = json.loads((folder / "board.json").read_text(encoding="utf-8"))
    rows = recomputed(folder, board)
    assert rows == stored(board, set(next(iter(rows.values()))))


@pytest.mark.parametrize("folder", COMMITTED, ids=lambda folder: "-".join(folder.parts[-2:]))
def test_the_script_reproduces_the_committed_board(folder: Path) -> None:
    compare(folder)


def test_the_script_reproduces_a_board_with_refusals_and_failures(tmp_path: Path) -> None:
    made = make_tree(tmp_path, players=6, characters=3, situations=3, failure_rate=0.1, refusal_rate=0.2)
    write_board(made.tree, load_board(made.tree, made.suite, "en", prompts={}, resamples=20).board)
    compare(made.tree.board_folder(made.suite, "en"))


def test_the_script_is_short_and_needs_the_standard_library_only() -> None:
    source = Path(recompute_board.__file__).read_text(encoding="utf-8")
    imports = [node for node in ast.walk(ast.parse(source)) if isinstance(node, (ast.Import, ast.ImportFrom))]
    modules = {name.name for node in imports if isinstance(node, ast.Import) for name in node.names}
    modules |= {str(node.module) for node in imports if isinstance(node, ast.ImportFrom)}
    assert modules <= sys.stdlib_module_names
    code = [
        line for line in source.splitlines() if line.strip() and "import" not in line and '"""' not in line
    ]
    assert len(code) <= 40
