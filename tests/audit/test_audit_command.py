"""`bench audit`: exit status, forms, choice of a suite."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from bench.cli import cli
from bench.errors import UserError
from tests.audit.conftest import Audited
from tests.tiny import edit


def _bench(audited: Audited, *words: str) -> Result:
    return CliRunner().invoke(cli, ["audit", *words, *audited.tiny.options()])


def _spoil(audited: Audited) -> None:
    edit(audited.conversation_file, audited.conversation.messages[0].content, "Something else.")


def test_the_status_is_0_where_nothing_is_wrong(audited: Audited) -> None:
    done = _bench(audited)
    assert done.exit_code == 0
    assert done.output == "19 files: 0 errors, 0 warnings, 0 notes\n"


def test_the_status_is_1_where_there_is_an_error(audited: Audited) -> None:
    _spoil(audited)
    done = _bench(audited)
    assert done.exit_code == 1
    assert "error [digest] tiny/en/bard/conversations/anna.hello.json: digest: " in done.output


def test_warnings_are_errors_if_strict(audited: Audited) -> None:
    edit(audited.tiny.suite_file, '"hello", "storm"', '"hello"')
    audited.write_board()
    assert _bench(audited).exit_code == 0
    assert _bench(audited, "--strict").exit_code == 1


def test_json_holds_every_finding_and_is_the_same_every_time(audited: Audited) -> None:
    _spoil(audited)
    done = _bench(audited, "--format", "json")
    data = json.loads(done.output)
    assert done.exit_code == 1
    assert data["files"] == 19
    assert data["counts"] == {"error": len(data["findings"]), "note": 0, "warning": 0}
    assert {f["code"] for f in data["findings"]} == {"digest", "conversation-changed", "board-differs"}
    assert _bench(audited, "--format", "json").output == done.output


def test_long_lists_are_cut_in_text_and_whole_in_json(audited: Audited) -> None:
    for n in range(30):
        (audited.folder / f"bard/conversations/{n}.txt").write_bytes(b"")
    text = _bench(audited).output
    assert text.count("[unknown-file] tiny/") == 20
    assert "10 more of [unknown-file]" in text
    assert len(json.loads(_bench(audited, "--format", "json").output)["findings"]) == 30


def test_one_suite_can_be_audited_alone(audited: Audited) -> None:
    other = audited.tree.root / "other" / "en" / "x.txt"
    other.parent.mkdir(parents=True)
    other.write_bytes(b"")
    assert _bench(audited).exit_code == 1
    assert _bench(audited, "tiny").exit_code == 0


def test_a_suite_without_results_is_the_users_mistake(audited: Audited) -> None:
    for name in ("tony", "..", "external"):
        with pytest.raises(UserError, match=f"no results of suite '{name}'"):
            audited.report(suite=name)


def test_an_audit_changes_nothing(audited: Audited) -> None:
    before = {p: p.read_bytes() for p in audited.tree.root.rglob("*") if p.is_file()}
    _bench(audited, "--strict")
    assert {p: p.read_bytes() for p in audited.tree.root.rglob("*") if p.is_file()} == before


def test_control_characters_of_file_names_do_not_reach_the_terminal(audited: Audited) -> None:
    (audited.folder / "bard" / "a\x1b[2Jb.txt").write_bytes(b"")
    assert "\x1b" not in _bench(audited).output
