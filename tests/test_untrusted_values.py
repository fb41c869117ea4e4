"""Values that others wrote: names no file can have, numbers no JSON has, and text that steers a terminal."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import sys
from pathlib import Path

import pytest

from bench import cli
from bench.audit import audit_tree
from bench.boards.loading import all_suites, load_board
from bench.errors import UserError
from bench.run.plan import make_plan
from bench.run.runner import run_plan
from tests.tiny import FakeChat, Tiny, edit, make_tiny


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make_tiny(tmp_path_factory.mktemp("played") / "tiny")
    plan = make_plan(made.protocol(), made.tree, ["bard"], ["strict"])
    asyncio.run(run_plan(made.protocol(), plan, made.tree, FakeChat().ask))
    return made.root


@pytest.fixture
def tiny(played: Path, tmp_path: Path) -> Tiny:
    """The bench in miniature with the results of one player."""
    shutil.copytree(played, tmp_path / "tiny")
    return Tiny(tmp_path / "tiny")


def said(words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints. It may fail, but not without a message of its own."""
    monkeypatch.setattr(sys, "argv", ["bench", *words])
    with contextlib.suppress(SystemExit):
        cli.main()
    output = capsys.readouterr()
    return output.out + output.err


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('title = "Tiny"', "title = " + "9" * 5000, "malformed TOML"),
        ("characters =", 'items = "a\\u0000b"\ncharacters =', "NUL"),
        ("characters =", f'items = "{"x" * 5000}"\ncharacters =', "too long"),
        ('version = "1"', f'version = "1"\ntemplates = "{"x" * 5000}"', "templates"),
        ("[languages.en]", f"[languages.{'x' * 5000}]", "cannot name a language"),
        ("[languages.en]", '[languages."../../x"]', "cannot name a language"),
    ],
    ids=["number", "NUL", "items", "templates", "language", "folder"],
)
def test_a_suite_with_an_impossible_value_is_named_and_stops_no_other(
    tiny: Tiny,
    old: str,
    new: str,
    fault: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copy(tiny.suite_file, tiny.suite_file.with_stem("odd"))
    edit(tiny.suite_file.with_stem("odd"), old, new)
    for command in (["suites"], ["check"]):
        text = said([*command, *tiny.options()], monkeypatch, capsys)
        assert fault in text
        assert command == ["check"] or "Tiny" in text
    assert load_board(tiny.tree, "tiny", "en", prompts=tiny.prompts).board.rows


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("calls", 0, "parameters", "temperature"), "NaN"),
        (("calls", 0, "parameters", "temperature"), "1e999"),
        (("calls", 0, "parameters", "temperature"), '[{"a": -Infinity}]'),
        (("calls", 0, "usage", "completion_tokens"), "1" + "0" * 400),
        (("calls", 0, "turn"), str(2**63)),
        *((("calls", 0, "cost"), f'"{cost}"') for cost in ("free", "NaN", "Infinity", "-1", "1E999999", "")),
    ],
)
def test_a_number_that_is_none_is_a_fault_of_its_file(
    tiny: Tiny, place: tuple[str | int, ...], value: str
) -> None:
    path = tiny.tree.conversation_path(tiny.cell())
    data = json.loads(path.read_bytes())
    inner = data
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = "@"
    path.write_text(json.dumps(data).replace('"@"', value), encoding="utf-8")
    with pytest.raises(UserError, match=r"anna\.hello\.json"):
        load_board(tiny.tree, "tiny", "en", prompts=tiny.prompts)
    report = audit_tree(tiny.tree, all_suites(tiny.prompts), tiny.catalog())
    assert any(finding.code == "schema" and "anna.hello" in finding.path for finding in report.findings)


def test_nothing_is_made_of_a_record_in_the_place_of_another(tiny: Tiny) -> None:
    cell, other = tiny.cell(), tiny.cell("bruno", "storm")
    shutil.copy(tiny.tree.conversation_path(other), tiny.tree.conversation_path(cell))
    shutil.copy(tiny.tree.judgement_path(other, "strict"), tiny.tree.judgement_path(cell, "strict"))
    with pytest.raises(UserError, match="holds the record of"):
        tiny.tree.conversation(cell)
    with pytest.raises(UserError, match="holds the record of"):
        tiny.tree.judgement(cell, "strict")


STEERING = "\x1b[31m\x1b]0;title\x07\x9b1m\u202e[/b]"


def test_names_do_not_steer_the_terminal(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    quoted = json.dumps(STEERING)[1:-1]
    edit(tiny.suite_file, 'title = "Tiny"', f'title = "Tiny{quoted}"')
    edit(tiny.models, 'name = "Bard"', f'name = "Bard{quoted}"')
    for path in tiny.tree.root.rglob("*.json"):
        text = path.read_text(encoding="utf-8")
        for name in ('"name": "Bard', '"model": "bard-1', '"finish_reason": "stop'):
            text = text.replace(name, f"{name}{quoted}")
        path.write_text(text.replace('"judge": "strict', f'"judge": "strict{quoted}'), encoding="utf-8")
    tree = tiny.tree
    for path in list(tree.root.rglob("judgements/*")):
        path.rename(path.with_name(Path(tree.judgement_path(tiny.cell(), f"strict{STEERING}")).parent.name))
    reads = ["suites", "models", "board tiny", "cost tiny", "audit tiny", "analyse tiny -l en", "plan tiny"]
    for words in [*reads, "remove tiny bard --reason old"]:
        text = said([*words.split(), *tiny.options()], monkeypatch, capsys)
        assert not set(text) & {"\x1b", "\x07", "\x9b", "\u202e"}, words
