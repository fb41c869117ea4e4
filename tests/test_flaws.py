"""Flaws as a mode of any suite of version 2: asked for, read, re-read and refused without evidence."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.errors import CatalogError
from bench.protocols import reread
from bench.records import Conversation, Judgement
from tests.other_benches import Other, make_likeness, make_v1
from tests.scripted_server import verdict
from tests.tiny import Script, Tiny, edit, make_tiny


def played(tiny: Tiny) -> Conversation:
    return asyncio.run(tiny.protocol().converse(tiny.cell(), Script({"player": ["You nod.", "Aye."]})))


def judged(tiny: Tiny, talk: Conversation, script: Script) -> Judgement:
    return asyncio.run(tiny.protocol().judge(talk, "strict", script))


def reply(quote: str) -> str:
    entries = verdict("", 0, turns=2)["scores"]
    flaws: tuple[list[dict[str, str]], ...] = ([{"flaw": "speaks_for_user", "quote": quote}], [])
    return json.dumps({"scores": [e | {"flaws": f} for e, f in zip(entries, flaws, strict=True)]})


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    return make_tiny(tmp_path)


def test_a_misquoted_flaw_is_asked_for_again_and_the_second_reply_counts(tiny: Tiny) -> None:
    talk = played(tiny)
    plain = judged(tiny, talk, Script())
    edit(tiny.suite_file, 'models = ["strict"]', 'models = ["strict"]\nflaws = true')
    script = Script({"judge": [reply("you shake"), reply("“You  nod”")]})
    record = judged(tiny, talk, script)
    assert record.fingerprint != plain.fingerprint
    assert "- speaks_for_user: " in script.prompts("judge")[0]
    assert 'quotes "you shake"' in script.prompts("judge")[1]
    assert [[flaw.flaw for flaw in turn.flaws or ()] for turn in record.turns] == [["speaks_for_user"], []]
    assert reread(record, talk) == record
    assert plain.mode is None
    assert "flaws" not in json.dumps(plain.plain())


def test_a_judge_that_never_quotes_fails_and_gives_no_score(tiny: Tiny) -> None:
    talk = played(tiny)
    edit(tiny.suite_file, 'models = ["strict"]', 'models = ["strict"]\nflaws = true')
    record = judged(tiny, talk, Script({"judge": [reply("no such words")] * 3}))
    assert (record.status, record.turns, len(record.raw)) == ("failed", (), 3)
    assert record.failure is not None
    assert "does not say" in record.failure.reason


@pytest.mark.parametrize("make", [make_v1, make_likeness])
def test_other_protocols_refuse_the_mode(make: Callable[[Path], Other], tmp_path: Path) -> None:
    other = make(tmp_path)
    edit(other.suite_file, "[judge]\n", "[judge]\nflaws = true\n")
    with pytest.raises(CatalogError, match="cannot list flaws"):
        other.made()
