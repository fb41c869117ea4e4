"""What can be wrong with a reply (:class:`ReplyFault`) and what can be repaired (:data:`REPAIRS`)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final, Literal

REPAIRS: Final[dict[str, str]] = {
    "reasoning_removed": "A reasoning block, or the channel markers around it, was removed.",
    "fence_removed": "A Markdown code fence around the JSON was removed.",
    "prose_removed": "Other text before or after the JSON was removed.",
    "several_objects": "The reply holds several JSON values; the last one with the required keys was read.",
    "array_unwrapped": "The object was the only item of an array.",
    "bare_array": "The reply is the array of entries without the object around it.",
    "raw_control": "A string holds a raw line break or another unescaped control character.",
    "json_repaired": "Malformed JSON (commas, quotes, comments, literals, brackets) was repaired.",
    "quotes_escaped": "Unescaped double quotes inside the only string of the object were escaped.",
    "truncated": "The JSON breaks off; the part that was complete was read.",
    "duplicate_keys": "An object repeats a key; the last value was read.",
    "surrogate_replaced": "A lone surrogate, which is not a character, was replaced by U+FFFD.",
    "extra_keys": "Keys that were not asked for were ignored.",
    "turns_from_order": "No entry has a turn number; entries were numbered in order.",
    "turns_reordered": "Entries were not in turn order and were sorted.",
    "number_from_string": "An integer was written as a string.",
    "float_integral": "An integer was written with a decimal point or an exponent.",
    "boolean_from_string": "A boolean was written as a string.",
    "boolean_from_number": "A boolean was written as 0 or 1.",
    "reason_missing": "An explanation is missing; it was read as empty.",
    "summary_missing": "The summary of this part is missing; the next part is judged without it.",
    "flaws_missing": "A turn's list of flaws is missing; the turn counts in no figure of flaws.",
    "final_from_prose": "The final score was read after the JSON instead of in it.",
    "final_unmarked": "The final score is a bare number, without its words and double brackets.",
    "steps_after_stop": "Steps after the one at which the judge had to stop were ignored.",
}
"""Every deviation that is repaired, by slug. Records hold the slugs, so they never change."""

FaultKind = Literal[
    "empty",
    "no_json",
    "bad_json",
    "truncated",
    "missing_key",
    "bad_type",
    "out_of_range",
    "wrong_turns",
    "duplicate_turn",
    "contradiction",
    "not_quoted",
    "off_script",
]
"""``bad_json``: unreadable, or readable only by guessing at a score. ``wrong_turns``, ``duplicate_turn``: the
turns scored are not those of the conversation. ``contradiction``: a value is given twice, differently.
``not_quoted``: a quotation is not in the text that it is from. ``off_script``: a user's message leaves out
what it had to say, or gives away what it asks for."""


class ReplyFault(Exception):
    """A reply that cannot be used: its ``kind``, and the ``fault`` in one sentence."""

    def __init__(self, kind: FaultKind, fault: str) -> None:
        self.kind = kind
        self.fault = fault
        super().__init__(fault)


def in_order(repairs: Iterable[str]) -> tuple[str, ...]:
    """The slugs of ``repairs`` without duplicates, in the order of the table."""
    seen = set(repairs)
    return tuple(slug for slug in REPAIRS if slug in seen)


def shown(value: object) -> str:
    """``value`` as short text on one line, for a fault's sentence."""
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
    """``items`` separated by commas, cut after ``most``."""
    parts = [str(item) for item in items]
    return ", ".join(parts[:most]) + (", …" if len(parts) > most else "")
