"""Flaws with evidence: a quotation has to be in the answer, whatever its spaces and quotation marks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench.prompts.flaws import MEANINGS, REQUEST
from bench.protocol_facts import facts_of
from bench.replies import ReplyFault, verdict
from bench.replies.flaws import FLAWS, flaws_in, quotes

ANSWER = "She said, “Mind the *lamp*,”\nand — well… don’t touch «it».  You nod."


@pytest.mark.parametrize(
    "quotation",
    [
        'She said, "Mind the *lamp*,"',
        "and — well… don't touch 'it'",
        "«Mind   the\n*lamp*»",
        "“You nod.”",
        "dont touch",
    ],
)
def test_a_quotation_may_differ_in_spaces_and_quotation_marks(quotation: str) -> None:
    assert quotes(ANSWER, quotation)


@pytest.mark.parametrize(
    "quotation",
    ["", "  ", "“”", "…", "Mind the lantern", "You nod. She said", "ou nod", "You no", "you shake your head"],
)
def test_other_words_or_parts_of_words_are_no_quotation(quotation: str) -> None:
    assert not quotes(ANSWER, quotation)


def test_names_are_fixed_but_not_their_spelling() -> None:
    found = flaws_in({"flaws": [{"flaw": "Speaks for-user ", "quote": "You nod"}]}, 1, ANSWER, set())
    assert [flaw.flaw for flaw in found or ()] == ["speaks_for_user"]
    found = flaws_in({"flaws": [{"flaw": "Cliché", "quote": "You nod"}]}, 1, ANSWER, set())
    assert [flaw.flaw for flaw in found or ()] == ["cliche"]


def test_a_missing_list_is_unknown_and_not_empty() -> None:
    repairs: set[str] = set()
    assert flaws_in({}, 1, ANSWER, repairs) is None
    assert repairs == {"flaws_missing"}
    assert flaws_in({"flaws": []}, 1, ANSWER, set()) == ()


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        ({"flaws": "none"}, "bad_type"),
        ({"flaws": ["cliche"]}, "bad_type"),
        ({"flaws": [{"flaw": "cliche"}]}, "bad_type"),
        ({"flaws": [{"flaw": "dull", "quote": "You nod"}]}, "out_of_range"),
        ({"flaws": [{"flaw": "cliche", "quote": "Once upon a time"}]}, "not_quoted"),
        ({"flaws": [{"flaw": "cliche", "quote": ""}]}, "not_quoted"),
    ],
)
def test_a_flaw_without_evidence_cannot_be_used(entry: dict[str, Any], kind: str) -> None:
    with pytest.raises(ReplyFault) as fault:
        flaws_in(entry, 3, ANSWER, set())
    assert fault.value.kind == kind
    assert "urn 3" in fault.value.fault


def test_a_quotation_from_another_turn_is_refused() -> None:
    criteria = facts_of("pingpong_v2").criteria
    scores = {
        f"{c.name}_{key}": value for c in criteria for key, value in (("score", 3), ("explanation", ""))
    }
    entries = [
        {"turn": n, "is_refusal": False, "is_refusal_explanation": "", **scores, "flaws": flaws}
        for n, flaws in ((1, []), (2, [{"flaw": "repeats", "quote": "first words"}]))
    ]
    text = json.dumps({"scores": entries})
    with pytest.raises(ReplyFault, match="Turn 2 quotes"):
        verdict(text, turns=2, criteria=criteria, answers=["first words", "second"])
    read = verdict(text, turns=2, criteria=criteria, answers=["other", "these first words again"])
    assert [turn.flaws and turn.flaws[0].quote for turn in read.turns] == [(), "first words"]
    assert read.repairs == ()


def test_the_judge_is_told_every_name() -> None:
    assert list(MEANINGS) == list(FLAWS)
    assert all(f"- {name}: {meaning}" in REQUEST for name, meaning in MEANINGS.items())
