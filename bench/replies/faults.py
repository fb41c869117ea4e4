"""What can be wrong with a reply (:class:`ReplyFault`) and what may be put right (:data:`REPAIRS`)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

REPAIRS: Final[dict[str, str]] = {
    "reasoning_removed": "A reasoning block, or the channel markers around it, was taken away.",
    "fence_removed": "A Markdown code fence around the JSON was taken away.",
    "prose_removed": "Other text before or after the JSON was taken away.",
    "several_objects": "The reply holds several JSON values; the last one with the required keys was read.",
    "array_unwrapped": "The object was the only item of an array.",
    "bare_array": "The reply is the array of entries without the object around it.",
    "raw_control": "A string holds a raw line break or another unescaped control character.",
    "json_repaired": "The JSON was malformed (commas, quotes, comments, literals, brackets) and repaired.",
    "quotes_escaped": "Unescaped double quotes inside the only string of the object were escaped.",
    "truncated": "The JSON breaks off; what was complete before the break was read.",
    "duplicate_keys": "An object repeats a key; the last value was read.",
    "surrogate_replaced": "A lone surrogate, which is no character, was replaced by U+FFFD.",
    "extra_keys": "Keys that nobody asked for were ignored.",
    "turns_from_order": "No entry has a turn number; entries were numbered in their order.",
    "turns_reordered": "Entries were not in the order of their turns and were sorted.",
    "number_from_string": "An integer was written as a string.",
    "float_integral": "An integer was written with a decimal point or an exponent.",
    "boolean_from_string": "A boolean was written as a string.",
    "boolean_from_number": "A boolean was written as 0 or 1.",
    "reason_missing": "An explanation is missing; it was read as empty.",
    "final_from_prose": "The final score stands after the JSON and not in it.",
    "final_unmarked": "The final score is a bare number, without its words and double brackets.",
    "steps_after_stop": "Steps that come after the one at which the judge had to stop were ignored.",
}
"""Every deviation that is put right, by its slug: the one table; slugs are kept in records, so stable."""

KINDS: Final[dict[str, str]] = {
    "empty": "There is no text, or the text asked for is blank.",
    "no_json": "There is no JSON object outside reasoning.",
    "bad_json": "The JSON cannot be read, or not without guessing at a score.",
    "truncated": "The reply breaks off before it says all that was asked.",
    "missing_key": "A required key is missing.",
    "bad_type": "A value is of the wrong type.",
    "out_of_range": "A score lies outside its scale.",
    "wrong_turns": "The turns scored are not the turns of the conversation.",
    "duplicate_turn": "A turn is scored more than once.",
    "contradiction": "The reply says one thing twice, and differently.",
}
"""Every kind of fault, by its slug."""


class ReplyFault(Exception):
    """A reply that cannot be used: its ``kind`` (of :data:`KINDS`), and the ``fault`` as one sentence."""

    def __init__(self, kind: str, fault: str) -> None:
        self.kind = kind
        self.fault = fault
        super().__init__(fault)


def in_order(repairs: Iterable[str]) -> tuple[str, ...]:
    """The slugs of ``repairs``, each once, in the order of the table."""
    seen = set(repairs)
    return tuple(slug for slug in REPAIRS if slug in seen)


def shown(value: object) -> str:
    """``value`` as short, single-line text for a fault's sentence."""
    match value:
        case dict():
            return "an object"
        case list():
            return "a list"
        case str():
            short = value if len(value) <= 40 else value[:40] + "…"
            return json.dumps("".join(c if c.isprintable() else " " for c in short), ensure_ascii=False)
        case _:
            text = json.dumps(value, default=str)
            return text if len(text) <= 40 else text[:40] + "…"


def listed(items: Iterable[object], most: int = 30) -> str:
    """``items`` with commas between, cut after ``most``."""
    parts = [str(item) for item in items]
    return ", ".join(parts[:most]) + (", …" if len(parts) > most else "")
