"""Every board.json is held against the evidence, to the last digit."""

from __future__ import annotations

import json

import pytest

from tests.audit.conftest import Audited
from tests.tiny import edit, play_all


def test_an_edited_board_differs_in_the_edited_field(audited: Audited) -> None:
    path = audited.folder / "board.json"
    board = json.loads(path.read_bytes())
    board["rows"][0]["score"] = round(board["rows"][0]["score"] + 0.000001, 6)
    path.write_text(json.dumps(board, indent=2, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    player = board["rows"][0]["player"]
    assert audited.found("board-differs") == [("board.json", f"rows.{player}.score")]
    assert not audited.report().ok


def test_rows_in_another_order_differ(audited: Audited) -> None:
    path = audited.folder / "board.json"
    board = json.loads(path.read_bytes())
    board["rows"].reverse()
    path.write_text(json.dumps(board), encoding="utf-8")
    assert ("board.json", "order of rows.0") in audited.found("board-differs")


@pytest.mark.parametrize("text", ["{", "[" * 100_000, ""])
def test_a_damaged_board_is_named(audited: Audited, text: str) -> None:
    (audited.folder / "board.json").write_text(text, encoding="utf-8")
    assert audited.found("schema") == [("board.json", "")]


@pytest.mark.parametrize("text", ["[]", "null", '{"rows": 3}', '{"rows": [1]}'])
def test_a_board_that_is_none_differs(audited: Audited, text: str) -> None:
    (audited.folder / "board.json").write_text(text, encoding="utf-8")
    assert audited.found("board-differs") != []


def test_a_board_in_other_bytes_is_a_warning(audited: Audited) -> None:
    path = audited.folder / "board.json"
    path.write_text(json.dumps(json.loads(path.read_bytes())), encoding="utf-8")
    assert audited.found("not-canonical") == [("board.json", "")]
    assert audited.report().ok


def test_players_without_a_board_are_a_warning(audited: Audited) -> None:
    (audited.folder / "board.json").unlink()
    assert audited.found("board-missing") == [("tiny/en", "")]
    assert audited.report().ok


def test_a_board_without_players_is_an_error(audited: Audited) -> None:
    folder = audited.tree.board_folder("tiny", "ru")
    folder.mkdir()
    (folder / "board.json").write_bytes((audited.folder / "board.json").read_bytes())
    assert audited.found("board-orphan") == [("tiny/ru/board.json", "")]


def test_the_board_of_a_suite_with_a_new_scene_differs(audited: Audited) -> None:
    new = audited.tiny.card_file.with_stem("carla")
    new.write_bytes(audited.tiny.card_file.read_bytes())
    edit(new, "Anna", "Carla")
    assert audited.found("board-differs") == []
    play_all(audited.tiny)
    assert ("board.json", "rows.bard.conversations_missing") in audited.found("board-differs")
