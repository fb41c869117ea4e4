"""Suites whose user messages are fixed, so that all players answer the same ones."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from bench.errors import CatalogError
from bench.protocols.comparing import Comparer
from bench.suites import load_suite
from tests.tiny import ROOT, Script, Tiny, edit, make_tiny

MESSAGES = ("Hello?", "Is the lamp lit?", "Good night.")


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    made = make_tiny(tmp_path)
    text = made.suite_file.read_text(encoding="utf-8")
    start, end = text.index("[interrogator]"), text.index("[judge]")
    made.suite_file.write_text(f"{text[:start]}[options]\nscripted = true\n\n{text[end:]}", encoding="utf-8")
    for path in made.situation_file.parent.glob("*.toml"):
        lines = ", ".join(f'"{message}"' for message in MESSAGES)
        path.write_text(f"{path.read_text(encoding='utf-8')}messages = [{lines}]\n", encoding="utf-8")
    return made


def test_players_answer_the_listed_messages_and_no_interrogator_is_asked(tiny: Tiny) -> None:
    protocol, script = tiny.protocol(), Script()
    said = []
    for player in ("bard", "actor"):
        talk = asyncio.run(protocol.converse(tiny.cell("anna", "storm", player), script))
        assert talk.status == "complete"
        said.append([message.content for message in talk.messages if message.role == "user"])
    assert said == [list(MESSAGES)] * 2
    assert {request.role for request in script.asked} == {"player"}
    assert protocol.talk_calls(tiny.cell("anna", "storm")) == 3


def test_judges_are_told_that_both_users_are_the_same(tiny: Tiny) -> None:
    protocol = tiny.protocol()
    shutil.copytree(ROOT / "prompts" / "comparison", tiny.prompts / "comparison")
    cells = [tiny.cell("anna", "hello", player) for player in ("bard", "actor")]
    talks = [asyncio.run(protocol.converse(cell, Script())) for cell in cells]
    assert "wrote the same messages" in Comparer(protocol).prompt(*talks)


def test_a_changed_message_makes_conversations_stale_and_the_text_does_not(tiny: Tiny) -> None:
    before = tiny.protocol().conversation_fingerprint(tiny.cell())
    edit(tiny.situation_file, "ask about the lamp", "ask about anything")
    assert tiny.protocol().conversation_fingerprint(tiny.cell()) == before
    edit(tiny.situation_file, "Hello?", "Hi?")
    assert tiny.protocol().conversation_fingerprint(tiny.cell()) != before


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("scripted = true", "scripted = false", "'interrogator' is missing"),
        ("[judge]", '[interrogator]\nmodels = ["asker"]\n\n[judge]', "there is no interrogator"),
    ],
)
def test_an_interrogator_and_fixed_messages_exclude_each_other(
    tiny: Tiny, old: str, new: str, fault: str
) -> None:
    edit(tiny.suite_file, old, new)
    with pytest.raises(CatalogError, match=fault):
        tiny.protocol()


def test_too_few_messages_are_named(tiny: Tiny) -> None:
    edit(tiny.situation_file, '"Hello?", "Is the lamp lit?", ', "")
    with pytest.raises(CatalogError, match="hello has 1 message for 2 turns"):
        tiny.protocol()


def test_the_demonstration_has_a_message_for_every_turn() -> None:
    suite = load_suite(ROOT / "prompts", "demo-scripted")
    for situation in suite.language("en").situations.values():
        assert len(situation.messages) >= suite.turns_of(situation)
