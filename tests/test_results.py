"""The results tree: where records lie, what is listed, and that what is there stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.errors import RecordError
from bench.records import Cell, Conversation, PlayerInfo, sealed
from bench.results import ResultsTree, read_record
from tests.scores.evidence import LANGUAGE, SUITE, Evidence
from tests.tiny import bytes_below


@pytest.fixture
def evidence(tmp_path: Path) -> Evidence:
    made = Evidence(tmp_path / "results")
    for player in ("zoe", "amy"):
        made.played(player, {"b/y": {"j2": [(1, 2, 3)], "j1": None}, "a/x": {"j1": [(5, 5, 5)]}})
    return made


@pytest.fixture
def tree(evidence: Evidence) -> ResultsTree:
    return evidence.tree


def cell(**changes: Any) -> Cell:
    fields: dict[str, Any] = {"suite": SUITE, "version": "1", "protocol": "p", "language": LANGUAGE}
    return Cell(**{**fields, "player": "amy", "character": "a", "situation": "x", **changes})


def test_records_lie_where_the_design_says(tree: ResultsTree) -> None:
    assert set(bytes_below(tree.root / SUITE / LANGUAGE / "amy")) == {
        "player.json",
        "conversations/a.x.json",
        "conversations/b.y.json",
        "judgements/j1/a.x.json",
        "judgements/j1/b.y.json",
        "judgements/j2/b.y.json",
    }


def test_ids_that_no_path_may_hold_stay_below_the_root(tree: ResultsTree) -> None:
    odd = cell(player="../../Evil", character="a/b", situation="..")
    for path in (tree.conversation_path(odd), tree.judgement_path(odd, "C:\\x")):
        assert path.resolve().is_relative_to(tree.root.resolve())
        assert ".." not in path.parts


def test_players_whose_ids_differ_in_case_lie_apart(tree: ResultsTree) -> None:
    assert tree.player_folder(SUITE, LANGUAGE, "Amy") != tree.player_folder(SUITE, LANGUAGE, "amy")


def test_boards_are_those_with_a_player(tree: ResultsTree) -> None:
    (tree.root / "empty" / "en").mkdir(parents=True)
    assert list(tree.boards()) == [(SUITE, LANGUAGE)]


@pytest.mark.parametrize("folder", ["external", "human", ".hidden"])
def test_folders_that_are_no_suites_are_no_boards(tree: ResultsTree, folder: str) -> None:
    path = tree.root / folder / "en" / "someone" / "player.json"
    path.parent.mkdir(parents=True)
    path.write_text("{}", encoding="utf-8")
    assert list(tree.boards()) == [(SUITE, LANGUAGE)]


def test_a_tree_that_is_not_there_is_empty(tmp_path: Path) -> None:
    tree = ResultsTree(tmp_path / "no")
    assert list(tree.boards()) == []
    assert tree.players(SUITE, LANGUAGE) == []
    assert list(tree.conversations(SUITE, LANGUAGE, "amy")) == []
    assert list(tree.judgements(SUITE, LANGUAGE, "amy")) == []
    assert tree.conversation(cell()) is None
    assert tree.judgement(cell(), "j1") is None


def test_players_are_sorted_by_id(tree: ResultsTree) -> None:
    assert [info.player for info in tree.players(SUITE, LANGUAGE)] == ["amy", "zoe"]


def test_records_are_listed_in_order(tree: ResultsTree) -> None:
    conversations = [c.character for c in tree.conversations(SUITE, LANGUAGE, "amy")]
    judgements = [(j.judge, j.character) for j in tree.judgements(SUITE, LANGUAGE, "amy")]
    assert conversations == ["a", "b"]
    assert judgements == [("j1", "a"), ("j1", "b"), ("j2", "b")]


def test_temporary_and_other_files_are_not_records(tree: ResultsTree) -> None:
    folder = tree.player_folder(SUITE, LANGUAGE, "amy") / "conversations"
    for name in (".tmp-h-1-0", ".x.json", "notes.txt"):
        (folder / name).write_text("{", encoding="utf-8")
    assert len(list(tree.conversations(SUITE, LANGUAGE, "amy"))) == 2


def test_a_record_is_found_by_its_coordinates(tree: ResultsTree) -> None:
    found = tree.conversation(cell())
    assert found is not None
    assert (found.player, found.character, found.situation) == ("amy", "a", "x")
    judgement = tree.judgement(cell(), "j1")
    assert judgement is not None
    assert judgement.turns[0].scores["fluency"] == 5
    assert tree.judgement(cell(), "j2") is None


def test_writing_a_record_again_changes_nothing(tree: ResultsTree) -> None:
    before = bytes_below(tree.root)
    conversation = tree.conversation(cell())
    judgement = tree.judgement(cell(), "j1")
    assert conversation is not None
    assert judgement is not None
    assert not tree.write_conversation(conversation, replace=True)
    assert not tree.write_judgement(judgement, replace=True)
    assert bytes_below(tree.root) == before


def test_a_record_that_is_there_stays_unless_it_is_to_be_replaced(tree: ResultsTree) -> None:
    old = tree.conversation(cell())
    assert old is not None
    new = sealed(old.model_copy(update={"fingerprint": "other"}))
    assert not tree.write_conversation(new)
    assert tree.conversation(cell()) == old
    assert tree.write_conversation(new, replace=True)
    assert tree.conversation(cell()) == new


def test_player_facts_are_brought_up_to_date(evidence: Evidence) -> None:
    evidence.player("amy", licence="GPL")
    (amy, _) = evidence.tree.players(SUITE, LANGUAGE)
    assert amy.licence == "GPL"


def test_a_damaged_record_stops_the_reading_with_its_place(tree: ResultsTree) -> None:
    path = tree.conversation_path(cell())
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(RecordError) as caught:
        list(tree.conversations(SUITE, LANGUAGE, "amy"))
    assert caught.value.where == str(path)


def test_a_record_with_a_wrong_type_is_named_by_its_key(tree: ResultsTree) -> None:
    path = tree.conversation_path(cell())
    data = json.loads(path.read_bytes())
    data["messages"][0]["content"] = 7
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(RecordError, match=r"messages\.0\.content"):
        read_record(Conversation, path)


def test_a_missing_record_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"no\.json: no such file"):
        read_record(PlayerInfo, tmp_path / "no.json")


def test_an_unreadable_record_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="cannot be read"):
        read_record(PlayerInfo, tmp_path)
