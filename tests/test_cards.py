"""The cards of the newest suite: long enough to play, with a sample, and with what probes and judges need."""

from __future__ import annotations

import re

import pytest

from bench.catalog import load_catalog
from bench.items import read_probes
from bench.protocols import protocol_for
from bench.protocols.card_probes import CardProbes
from bench.replies.probes import judged, mentions
from bench.suites import Card, load_suite
from tests.tiny import ROOT


@pytest.mark.parametrize("language", ["en", "ru"])
def test_the_cards_are_deep(language: str) -> None:
    cards = load_suite(ROOT / "prompts", "pingpong-3").language(language).cards
    assert len(cards) == 8
    for name, card in cards.items():
        assert 250 <= len(card.system_prompt.split()) <= 450, name
        assert card.example_prompt.strip(), name
        assert len(card.facts) >= 6, name
        assert card.secrets, name
        assert card.unknown, name
        assert card.boundaries, name
    assert len({card.style for card in cards.values()}) >= 7


@pytest.mark.parametrize("language", ["en", "ru"])
def test_four_cards_are_long_and_the_others_of_a_usual_length(language: str) -> None:
    cards = load_suite(ROOT / "prompts", "pingpong-deep").language(language).cards
    words = {name: len(card.system_prompt.split()) for name, card in cards.items()}
    long = {name for name, card in cards.items() if "long" in card.tags}
    assert len(long) == 4
    assert all(800 <= words[name] <= 1500 for name in long), words
    assert all(250 <= words[name] <= 450 for name in words.keys() - long), words
    assert sum("villain" in card.tags for card in cards.values()) == 2
    assert sum("anime" in card.tags for card in cards.values()) == 1
    assert any("relationships" in card.tags for card in cards.values())


@pytest.mark.parametrize("language", ["en", "ru"])
def test_one_card_in_three_lengths_has_the_same_facts_and_probes(language: str) -> None:
    cards = load_suite(ROOT / "prompts", "pingpong-length").language(language).cards
    for name, card in cards.items():
        length = int(name.rpartition("-")[2])
        assert abs(len(card.system_prompt.split()) - length) <= 0.1 * length, name
    short, middle, long = cards.values()
    assert short.facts == middle.facts == long.facts[: len(short.facts)]
    assert short.secrets == middle.secrets == long.secrets
    folder = ROOT / "prompts" / "card_probes" / language
    probes = [list(read_probes(folder, name, ROOT / "prompts")) for name in cards]
    assert [item.data for item in probes[0]] == [item.data for item in probes[1]]
    assert [item.data for item in probes[0]] == [item.data for item in probes[2]]


def test_half_of_the_new_cards_exist_in_both_languages() -> None:
    suite = load_suite(ROOT / "prompts", "card-probes-2")
    english, russian = (set(suite.entry.languages[name].characters) for name in ("en", "ru"))
    new = {name for name in english | russian if not name.endswith("-3")}
    assert len(english & russian & new) >= len(new) / 2


@pytest.mark.parametrize(("language", "least"), [("de", 1_700), ("ja", 700)])
def test_the_starter_sets_have_four_cards_and_the_eight_hard_situations(language: str, least: int) -> None:
    """The same situations as in English, in the same order; a kanji says more than a letter."""
    scenes = load_suite(ROOT / "prompts", "pingpong-hard-starter").language(language)
    english = load_suite(ROOT / "prompts", "pingpong-hard").language("en").situations.values()
    facts = [(situation.kind, situation.num_turns, situation.tags) for situation in english]
    assert [(s.kind, s.num_turns, s.tags) for s in scenes.situations.values()] == facts
    assert len({card.style for card in scenes.cards.values()}) == len(scenes.cards) == 4
    for name, card in scenes.cards.items():
        assert len(card.system_prompt) >= least, name
        assert card.example_prompt.strip(), name
        assert card.initial_message.strip(), name


def test_the_symmetric_suite_differs_in_what_both_sides_know_only() -> None:
    plain, symmetric = (load_suite(ROOT / "prompts", name) for name in ("pingpong-3", "pingpong-symmetric"))
    assert symmetric.entry.symmetric
    assert not plain.entry.symmetric
    assert symmetric.scenes["en"].pairs == plain.scenes["en"].pairs
    assert symmetric.entry.judge == plain.entry.judge


USERS = {"гость", "гостья", "студент", "пассажир", "путник", "客", "村人", "mieter", "publikum", "gast"}


def own_lines(card: Card) -> list[str]:
    """What the character says in its own card."""
    told = card.system_prompt if card.style.startswith("few-shot") else ""
    lines = "\n".join((card.example_prompt, told)).splitlines()
    named = [re.fullmatch(r"\s*([^:\uff1a]{1,30})[:\uff1a]\s*(.+)", line) for line in lines]
    said = [line[2] for line in named if line is not None and line[1].casefold() not in USERS]
    return [*said, *filter(None, card.initial_message.splitlines())]


@pytest.mark.parametrize(
    ("suite", "language"),
    [("card-probes-2", "ru"), ("card-probes-starter", "de"), ("card-probes-starter", "ja")],
)
def test_no_line_of_a_card_fails_its_own_probes_unless_it_tells_the_secret(suite: str, language: str) -> None:
    catalog = load_catalog(ROOT / "models.toml")
    protocol = protocol_for(load_suite(ROOT / "prompts", suite), language, catalog)
    assert isinstance(protocol, CardProbes)
    probes = [(cell, protocol.item(cell)) for cell in protocol.cells("smollm2-135m")]
    told = {cell.character: probe.accept for cell, probe in probes if probe.expects == "told"}
    checked = 0
    for cell, probe in probes:
        if probe.read_as not in ("secret_kept", "identity", "agency", "language"):
            continue
        for line in own_lines(protocol.scenes.cards[cell.character]):
            if mentions(line, told.get(cell.character, ())):
                continue
            found = judged(
                line, probe.messages[-1], probe.accept, probe.reject, kind=probe.read_as, language=language
            )
            assert found.verdict != "fail", (cell.character, cell.situation, line, found)
            checked += 1
    assert checked > 50
