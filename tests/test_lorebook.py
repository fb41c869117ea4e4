"""Lorebooks: which entries the talk brings in, at which turns, and who sees them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bench.errors import CatalogError
from bench.prompts import shown_card
from bench.protocols.cards import card_facts
from bench.records import Conversation, Lore, sealed
from bench.suites import load_suite
from bench.suites.lorebook import LoreEntry, entered, lore_of
from tests.tiny import Script, edit, make_tiny, said


@pytest.mark.parametrize(
    ("key", "text", "found"),
    [
        ("gate", "Open the GATES!", True),
        ("gate", "We irrigate the fields.", False),
        ("salt gate", "the salt\n gate", True),
        ("маяк", "Что с Маяком?", True),
        ("елк", "Ёлки-палки", True),
        ("塔", "古い塔の上", True),
        ("a.b", "axb", False),
        ("ﬁsh", "Fish today", True),
    ],
)
def test_a_key_is_found_at_the_start_of_a_word_in_any_case(key: str, text: str, found: bool) -> None:
    assert bool(entered([LoreEntry(keys=(key,), content="x")], said(text))) is found


def test_an_entry_stays_as_long_as_its_depth_reaches() -> None:
    book = [
        LoreEntry(keys=("gate",), content="all", scan_depth=None),
        LoreEntry(keys=("gate",), content="newest", scan_depth=1),
        LoreEntry(keys=("gate",), content="three", scan_depth=3),
        LoreEntry(keys=("never",), content="never"),
        LoreEntry(keys=("tower",), content="said by the character"),
    ]
    talk = said("Hello", "Welcome", "The gate?", "It has a tower", "And?", "Yes", "So", "Bye")
    assert lore_of(book, talk) == (
        Lore(content="all", turns=(2, 3, 4)),
        Lore(content="newest", turns=(2,)),
        Lore(content="three", turns=(2, 3)),
        Lore(content="said by the character", turns=(3, 4)),
    )
    assert lore_of((), talk) == ()


LOREBOOK = """
[[lorebook]]
keys = ["storm"]
content = "LORE of the storm."
[[lorebook]]
keys = ["whale"]
content = "LORE of the whale."
"""


def test_player_record_and_judge_have_what_the_talk_mentions_and_no_more(tmp_path: Path) -> None:
    made = make_tiny(tmp_path)
    bare = made.protocol()
    made.card_file.write_text(made.card_file.read_text(encoding="utf-8") + LOREBOOK, encoding="utf-8")
    protocol, cell = made.protocol(), made.cell()
    assert bare.conversation_fingerprint(cell) != protocol.conversation_fingerprint(cell)
    script = Script({"interrogator": ['{"next_utterance": "Hello."}', '{"next_utterance": "A STORM!"}']})
    talk = asyncio.run(protocol.converse(cell, script))
    first, second = (request.messages[0].content for request in script.of("player"))
    assert "LORE" not in first
    assert "LORE of the storm." in second
    assert "whale" not in second
    assert talk.scene.lore == (Lore(content="LORE of the storm.", turns=(2,)),)
    assert "LORE" not in talk.scene.card
    prompt = protocol.judge_prompt(talk, 1)
    assert "at turn 2" in prompt
    assert "| LORE of the storm." in prompt
    assert "whale" not in prompt
    assert sealed(Conversation.model_validate(talk.plain())) == talk


def test_a_judge_of_a_part_or_of_two_talks_sees_at_which_turns_the_players_had_an_entry(
    tmp_path: Path,
) -> None:
    made = make_tiny(tmp_path)
    made.card_file.write_text(made.card_file.read_text(encoding="utf-8") + LOREBOOK, encoding="utf-8")
    protocol = made.protocol()
    card, _ = protocol.scene(made.cell())
    talk = said("A storm!", "So it is", "And then?", "The lamp", "Bye", "Bye")
    part = protocol.prompts.judge(card, talk[4:], before=talk[:4])
    assert "the bot had it at turns 1, 2, 3." in part
    both = shown_card(card, talk, said("A whale!", "Where?"))["char_description"]
    assert "turns 1, 2, 3 of conversation 1.)\n\nLORE of the storm." in both
    assert "turn 1 of conversation 2.)\n\nLORE of the whale." in both


def test_a_card_without_a_lorebook_is_what_it_was(tmp_path: Path) -> None:
    made = make_tiny(tmp_path)
    card, _ = made.protocol().scene(made.cell())
    assert set(card_facts(card)) == {
        "char_name",
        "summary",
        "system_prompt",
        "example_prompt",
        "initial_message",
    }
    talk = asyncio.run(made.protocol().converse(made.cell(), Script()))
    assert "lore" not in talk.plain()["scene"]
    assert shown_card(card, talk.messages) == shown_card(card)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('keys = ["whale"]', 'keys = ["whale"]\nkeyz = 1', "lorebook.1.keyz"),
        ('keys = ["whale"]', "keys = []", "lorebook.1.keys"),
        ('content = "LORE of the whale."', 'content = ""', "lorebook.1.content"),
        ('keys = ["whale"]', 'keys = ["whale"]\nscan_depth = 0', "lorebook.1.scan_depth"),
    ],
)
def test_a_mistake_in_an_entry_is_named_with_file_and_line(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    made = make_tiny(tmp_path)
    made.card_file.write_text(made.card_file.read_text(encoding="utf-8") + LOREBOOK, encoding="utf-8")
    edit(made.card_file, old, new)
    lines = made.card_file.read_text(encoding="utf-8").split("\n")
    due = next(n for n, line in enumerate(lines, 1) if line.startswith(new.split("\n")[-1][:8]) and n > 15)
    with pytest.raises(CatalogError) as caught:
        load_suite(made.prompts, "tiny")
    assert said in caught.value.line()
    assert f"anna.toml:{due}" in caught.value.line()


def test_both_sides_of_a_symmetric_suite_have_the_same_entries(tmp_path: Path) -> None:
    made = make_tiny(tmp_path)
    made.card_file.write_text(made.card_file.read_text(encoding="utf-8") + LOREBOOK, encoding="utf-8")
    edit(made.suite_file, 'version = "1"', 'version = "1"\nsymmetric = true')
    script = Script({"interrogator": ['{"next_utterance": "A STORM!"}'], "player": ["Hold fast."]})
    asyncio.run(made.protocol().converse(made.cell(), script))
    first, second = script.prompts("interrogator")
    assert "LORE" not in first
    assert "| LORE of the storm." in second
    assert "whale" not in second
    assert "SITUATION hello" in script.of("player")[0].messages[0].content
