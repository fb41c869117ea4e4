"""The history of a board from its commits."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from bench.boards.history import BoardChange, board_history, history_of
from bench.boards.life import rename_player
from bench.results import ResultsTree
from bench.site.change_pages import lines
from tests.boards.conftest import commit, git, play, replay
from tests.scores.evidence import LANGUAGE, SUITE, Evidence


def history(evidence: Evidence) -> list[BoardChange]:
    changes = board_history(history_of(evidence.tree), SUITE, LANGUAGE)
    assert changes is not None
    return changes


def test_history_names_what_each_commit_did(evidence: Evidence) -> None:
    play(evidence, "clara", [5, 5])
    commit(evidence, "Clara")
    replay(evidence, "boris", [5, 5], text="y" * 200)
    commit(evidence, "Boris again")
    shutil.rmtree(evidence.tree.player_folder(SUITE, LANGUAGE, "anna"))
    commit(evidence, "Anna left")
    git(evidence.tree.root, "commit", "--quiet", "--allow-empty", "-m", "Nothing")
    left, again, came, first = history(evidence)
    assert [name for name, _ in first.added] == ["Anna", "Boris"]
    assert (first.first, first.moved, first.judges) == (True, (), ())
    ((name, place),) = came.added
    assert (name, place.rank, came.causes) == ("Clara", 1, ["players came or left"])
    assert again.rerun == (("Boris", 2, 2),)
    assert again.causes == ["players were rerun"]
    assert left.removed == ("Anna",)
    assert left.commit.title == "Anna left"


def test_history_says_that_a_player_was_renamed(evidence: Evidence) -> None:
    rename_player(evidence.tree, SUITE, "anna", "anna-2", "A version came.")
    commit(evidence, "Anna renamed")
    play(evidence, "clara", [5, 5])
    commit(evidence, "Clara")
    came, renamed, _ = history(evidence)
    assert (renamed.renamed, renamed.added, renamed.removed) == ((("anna", "anna-2"),), (), ())
    assert (renamed.rerun, renamed.moved) == ((), ())
    assert lines(renamed) == ["anna renamed: now anna-2"]
    assert (came.renamed, [name for name, _ in came.added]) == ((), ["Clara"])


def test_history_does_not_name_a_player_that_has_its_old_id_again(evidence: Evidence) -> None:
    for player, to in (("anna", "bea"), ("bea", "anna")):
        rename_player(evidence.tree, SUITE, player, to, "A mistake.")
    play(evidence, "clara", [5, 5])
    commit(evidence, "Clara")
    came, _ = history(evidence)
    assert (came.renamed, [name for name, _ in came.added]) == ((), ["Clara"])


def test_history_does_not_compare_versions_and_names_judges(evidence: Evidence) -> None:
    path = evidence.tree.board_folder(SUITE, LANGUAGE) / "board.json"
    board = json.loads(path.read_text())
    path.write_text(json.dumps(board | {"judges": ["mild"], "version": "2"}))
    git(evidence.tree.root, "commit", "--quiet", "--all", "-m", "Version 2")
    change = history(evidence)[0]
    assert (change.versions, change.judges_added, change.judges_removed, change.moved) == (
        ("1", "2"),
        ("mild",),
        ("strict",),
        (),
    )


@pytest.mark.parametrize("content", ["", "[]", '{"rows": 1}', '{"version": "1", "judges": [], "rows": [[]]}'])
def test_history_survives_a_damaged_board(evidence: Evidence, content: str) -> None:
    path = evidence.tree.board_folder(SUITE, LANGUAGE) / "board.json"
    path.write_text(content)
    git(evidence.tree.root, "commit", "--quiet", "--all", "-m", "Damaged")
    commit(evidence, "Repaired")
    assert [change.commit.title for change in history(evidence)] == ["First board"]


def test_history_that_is_cut_off_begins_with_a_known_board(
    evidence: Evidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("clara", "dora", "emil"):
        play(evidence, name, [5, 5])
        commit(evidence, name)
    monkeypatch.setattr("bench.boards.history.MOST_COMMITS", 2)
    assert [change.commit.title for change in history(evidence)] == ["emil", "dora"]
    assert not any(change.first for change in history(evidence))


def test_history_is_unknown_outside_a_repository_and_in_a_shallow_clone(
    evidence: Evidence, tmp_path: Path
) -> None:
    assert history_of(ResultsTree(tmp_path)) is None
    play(evidence, "clara", [5, 5])
    commit(evidence, "Second board")
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{evidence.tree.root.parent}", "clone")
    assert history_of(ResultsTree(tmp_path / "clone" / "results")) is None
