"""The card, lorebook, probe and situation that CONTRIBUTING.md shows are accepted as they stand there."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from bench.protocols.card_probes import Probe
from bench.suites import Card, Situation
from bench.suites.lorebook import entered
from bench.toml_entries import entry_from
from tests.replies.reading import read
from tests.tiny import ROOT, said


def shown() -> list[dict[str, Any]]:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    part = text.partition("## Write a character")[2].partition("## Add a protocol")[0]
    return [tomllib.loads(block) for block in re.findall(r"^```toml\n(.*?)^```$", part, re.M | re.S)]


def test_the_card_declares_what_a_card_of_ours_must() -> None:
    card = entry_from(Card, shown()[0], "CONTRIBUTING.md")
    assert len(card.facts) >= 6
    assert card.secrets
    assert card.unknown
    assert card.boundaries


def test_the_lorebook_belongs_to_the_card() -> None:
    card, lore, *_ = shown()
    given = entered(entry_from(Card, card | lore, "CONTRIBUTING.md").lorebook, said("Do the lifts work?"))
    assert len(given) == 1


def test_the_probe_reads_its_own_answers_as_declared() -> None:
    (table,) = shown()[2]["probe"]
    name = table.pop("id")
    probe = entry_from(Probe, table, "CONTRIBUTING.md")
    assert name == "cat"
    for due, answers in (("pass", probe.right), ("fail", probe.wrong)):
        for answer in answers:
            assert read(probe, answer, "en").verdict == due, answer


def test_the_situation_names_no_character() -> None:
    situation = entry_from(Situation, shown()[3], "CONTRIBUTING.md")
    assert situation.num_turns == 4
    assert "Quill" not in situation.text
