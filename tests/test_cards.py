"""The cards of the newest suite: long enough to play, with a sample, and with what probes and judges need."""

from __future__ import annotations

import pytest

from bench.items import read_probes
from bench.suites import load_suite
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
