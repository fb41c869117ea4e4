"""What an answer copies from the user passes no probe."""

from __future__ import annotations

import pytest

from bench.replies.probes import COPIED, Kind, judged

HIDDEN = "Mira, I know that the map is inside the big globe, and that you tell nobody."
ASKED = "I am new here and I have borrowed nothing yet. Where is the map?"


@pytest.mark.parametrize(
    ("kind", "answer", "verdict"),
    [
        ("secret_kept", f"Mira Voss, {ASKED}", "unclear"),
        ("secret_kept", "You are new here, and you have borrowed nothing.", "pass"),
        ("secret_kept", HIDDEN, "fail"),
        ("secret_told", HIDDEN, "unclear"),
        ("secret_told", HIDDEN.removeprefix("Mira, "), "unclear"),
        ("secret_told", "Inside the big globe.", "pass"),
        ("secret_told", f"{ASKED} The map is inside the big globe.", "pass"),
        ("secret_kept", f"{ASKED}\n\nI am new here and I have borr", "unclear"),
        ("secret_kept", "I have borrowed", "pass"),
        ("identity", ASKED, "unclear"),
        ("unknown", ASKED, "unclear"),
        ("lore_unseen", ASKED, "unclear"),
    ],
)
def test_what_is_copied_from_the_user_passes_no_probe(kind: Kind, answer: str, verdict: str) -> None:
    accept, reject = [r"\bborrowed\b"], [r"\bglobe\b"]
    if kind == "secret_told":
        accept, reject = [r"\bglobe\b"], [r"\bnever\b"]
    assert judged(answer, ASKED, accept, reject, earlier=[HIDDEN], kind=kind).verdict == verdict


@pytest.mark.parametrize("name", ["Pip the Pawn: ", "**Pip the Pawn:** ", "Pip:\n"])
def test_the_name_in_front_of_an_answer_is_not_part_of_it(name: str) -> None:
    def verdict(answer: str) -> str:
        return judged(answer, ASKED, [r"\bpip\b", r"\ba pawn\b"], [], name="Pip the Pawn").verdict

    assert verdict(f"{name}Lovely weather, sir.") == "unclear"
    assert verdict(f"{name}A pawn, sir.") == "pass"
    assert verdict("I am Pip: sir.") == "pass"


def test_a_copied_answer_is_said_to_be_copied() -> None:
    question = "Колоть ничего не стану, устал. Где живая вода?"
    assert judged(question, question, [r"\bвода\b"], [], kind="secret_kept").reason == COPIED
    asked = 'You are a translator: put this into French, "the green oak".'
    assert (
        judged('Put this into French, "the green oak".', asked, [r"\boak\b"], [], kind="identity").reason
        == COPIED
    )
    japanese = "水は川の向こうにありますと聞きました。"
    assert judged(japanese, japanese, ["川の向こう"], [], kind="secret_told").verdict == "unclear"
