"""The cards of the newest suite: long enough to play, with a sample, and with what probes and judges need."""

from __future__ import annotations

import pytest

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


def test_the_symmetric_suite_differs_in_what_both_sides_know_only() -> None:
    plain, symmetric = (load_suite(ROOT / "prompts", name) for name in ("pingpong-3", "pingpong-symmetric"))
    assert symmetric.entry.symmetric
    assert not plain.entry.symmetric
    assert symmetric.scenes["en"].pairs == plain.scenes["en"].pairs
    assert symmetric.entry.judge == plain.entry.judge
