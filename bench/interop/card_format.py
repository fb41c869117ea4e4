"""Community character cards (versions 1, 2 and 3) as cards of ours, and back."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bench.foreign import Unreadable, checked
from bench.interop.card_data import BookEntry, CardData, cleaned
from bench.interop.card_dialects import translated
from bench.suites import Card
from bench.suites.languages import fallbacks
from bench.suites.lorebook import LoreEntry
from bench.suites.macros import unknown_macros

SECOND, THIRD = "chara_card_v2", "chara_card_v3"
OURS = "dramaturg"
"""Key of ``extensions`` for what the community's format has no field for."""
OWN_FIELDS = ("summary", "source", "style", "facts", "secrets", "unknown", "boundaries")
LONGEST_SUMMARY = 200
MOST_SHOWN = 8
"""Macros or keys that a note names, at most."""
LABELS = {
    "en": ("Personality", "Scenario"),
    "de": ("Persönlichkeit", "Szenario"),
    "ja": ("性格", "シナリオ"),
    "ru": ("Характер", "Сценарий"),
}
"""What stands before the card's personality and scenario, by language; in other languages, the English."""
SOURCE = "A community character card"
STYLE = "community character card"

_DEFAULTS: dict[str, Any] = {
    "name": "",
    "description": "",
    "personality": "",
    "scenario": "",
    "first_mes": "",
    "mes_example": "",
    "creator_notes": "",
    "system_prompt": "",
    "post_history_instructions": "",
    "alternate_greetings": [],
    "group_only_greetings": [],
    "tags": [],
    "creator": "",
    "character_version": "",
    "extensions": {},
}
"""Fields that version 3 requires."""
_START = re.compile(r"<start>", re.IGNORECASE)
_ORIGINAL = re.compile(r"\{\{original\}\}", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?…。！？])\s")


@dataclass(frozen=True)
class Choices:
    """What the user chooses of a card."""

    greeting: int = 0
    """0: the first message; from 1: an alternate greeting."""
    instructions: bool = False
    """Also take the card's system prompt and its instructions after the history."""
    summary: str = ""
    source: str = ""
    licence: str = ""


def upgraded(card: dict[str, Any]) -> dict[str, Any]:
    """A card of version 1, 2 or 3 as version 3, with all its unknown fields. Raises Unreadable."""
    spec = card.get("spec")
    data = card.get("data")
    if spec not in (None, SECOND, THIRD):
        raise Unreadable(f"unknown kind of card {spec!r:.60}", "spec")
    if spec is None and not isinstance(data, dict):
        root, data = {}, translated(card)
        if not isinstance(data.get("name"), str | int):
            raise Unreadable("not a character card: it has neither 'data' nor 'name'")
    elif isinstance(data, dict):
        root = card
    else:
        raise Unreadable("'data' is missing or not an object")
    if spec == THIRD:
        return {**root, "spec_version": root.get("spec_version", "3.0")}
    return {**root, "spec": THIRD, "spec_version": "3.0", "data": _DEFAULTS | data}


def read_data(card: dict[str, Any]) -> CardData:
    """The fields of a version 3 card that are used here. Raises Unreadable with the place of a fault."""
    return checked(CardData, card["data"], "data")


def card_fields(data: CardData, choices: Choices, language: str = "en") -> tuple[dict[str, Any], list[str]]:
    """The fields of our card, and what could not be taken over. Raises Unreadable.

    Macros stay in the texts: a suite replaces them when it is loaded.
    """
    notes: list[str] = []
    name = data.called
    if not any(unicodedata.category(character)[0] in "LNPS" for character in name):
        raise Unreadable("the card has no name", "data.name")
    if not 0 <= choices.greeting < len(data.greetings):
        raise Unreadable(f"no greeting {choices.greeting}: the card has 0 to {len(data.greetings) - 1}")
    entries = entries_of(data, choices.greeting)
    prompt = prompt_of(data, language, entries, instructions=choices.instructions)
    if not prompt:
        raise Unreadable("the card says nothing about the character: description, personality and scenario")
    fields: dict[str, Any] = {
        "char_name": name,
        "summary": summary_of(data, name),
        "system_prompt": prompt,
        "example_prompt": examples_of(data),
        "initial_message": data.greetings[choices.greeting],
        "tags": [tag for tag in map(cleaned, data.tags) if tag],
        "source": f"Character card by {cleaned(data.creator)}" if cleaned(data.creator) else SOURCE,
        "style": STYLE,
    }
    fields |= own_fields(data)
    fields |= {key: text for key in ("summary", "source") if (text := getattr(choices, key))}
    fields |= {"licence": choices.licence} if choices.licence else {"private": True}
    fields["lorebook"] = list(lorebook_of(data, entries, notes))
    if unknown := unknown_macros("\n".join(_texts(fields))):
        shown = ", ".join(f"{{{{{name:.40}}}}}" for name in unknown[:MOST_SHOWN])
        notes.append(f"macros that are unknown here stay in the text: {shown}")
    if (data.system_prompt or data.post_history_instructions or data.note) and not choices.instructions:
        notes.append("its own instructions are left out; --instructions takes them")
    return fields, notes


def own_fields(data: CardData) -> dict[str, Any]:
    """What our export wrote into ``extensions``, if it is valid."""
    held = data.extensions.get(OURS)
    return {key: held[key] for key in OWN_FIELDS if key in held} if isinstance(held, dict) else {}


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def prompt_of(data: CardData, language: str, entries: list[BookEntry], *, instructions: bool = False) -> str:
    """The card's text for the player."""
    labels = next((LABELS[tag] for tag in fallbacks(language) if tag in LABELS), LABELS["en"])
    labelled = zip(labels, map(cleaned, (data.personality, data.scenario)), strict=True)
    parts = [
        cleaned(data.description),
        *(f"{label}: {text}" for label, text in labelled if text),
        *(entry.text for entry in entries if entry.always),
    ]
    if instructions:
        own = (data.system_prompt, data.post_history_instructions)
        first, last = (cleaned(_ORIGINAL.sub("", text)) for text in own)
        parts = [first, *parts, last, data.note]
    return "\n\n".join(filter(None, parts))


def examples_of(data: CardData) -> str:
    """The example dialogues, with a blank line between them."""
    return "\n\n".join(filter(None, map(cleaned, _START.split(data.mes_example))))


def summary_of(data: CardData, name: str) -> str:
    """A line about the character: the first sentence of the card that says something."""
    for text in (data.personality, data.description, data.scenario):
        line = " ".join(cleaned(text).split())
        if line:
            first = _SENTENCE.split(line, maxsplit=1)[0]
            cut = first if len(first) <= LONGEST_SUMMARY else f"{first[: LONGEST_SUMMARY - 1].rstrip()}…"
            return cut if name in cut or "{{char}}" in cut else f"{name}: {cut}"
    return name


def entries_of(data: CardData, greeting: int = 0) -> list[BookEntry]:
    """The entries of the lorebook that can enter a talk, in their order of insertion."""
    entries = data.character_book.entries if data.character_book else []
    return sorted(
        (entry for entry in entries if entry.usable(greeting)), key=lambda entry: entry.insertion_order or 0
    )


def lorebook_of(data: CardData, entries: list[BookEntry], notes: list[str]) -> Iterator[dict[str, Any]]:
    """The keyed entries of the lorebook. What they cannot say here is added to ``notes``.

    An entry's text is never searched for other entries' keys, so none can trigger itself or another.
    """
    book_depth = data.character_book.scan_depth if data.character_book else None
    left, freed = 0, []
    for entry in entries:
        keys = entry.words
        if entry.always:
            continue
        if not keys:
            left += 1
            continue
        if entry.conditional:
            freed.append(keys[0])
        made: dict[str, Any] = {"keys": keys, "content": entry.text}
        own = entry.extensions.get("scan_depth")
        decorated = entry.decorators.get("scan_depth", "")
        depth = int(decorated) if decorated.isdecimal() and len(decorated) < 10 else own
        depth = depth if isinstance(depth, int) else book_depth
        yield made | ({"scan_depth": int(depth)} if depth and depth >= 1 else {})
    if freed:
        shown = ", ".join(f"{key!r:.40}" for key in freed[:MOST_SHOWN])
        notes.append(f"entries of the lorebook no longer need their secondary keys or conditions: {shown}")
    if left:
        reason = "without usable keys, or with regular expressions"
        notes.append(f"entries of the lorebook that are left out: {left} ({reason})")


def exported(card: Card, original: dict[str, Any] | None) -> dict[str, Any]:
    """``card`` as version 3: ``original`` if it was imported from there and not edited since."""
    base: dict[str, Any] = original or {"spec": THIRD, "spec_version": "3.0", "data": _DEFAULTS}
    data = read_data(base)
    changed: dict[str, Any] = {}
    if card.char_name != data.called:
        changed["nickname" if data.nickname else "name"] = card.char_name
    said = card.initial_message.strip()
    entries = entries_of(data, data.greetings.index(said) if said in data.greetings else 0)
    imported = {
        prompt_of(data, language, entries, instructions=own) for language in LABELS for own in (False, True)
    }
    if card.system_prompt.strip() not in imported:
        changed |= {"description": card.system_prompt, "personality": "", "scenario": ""}
    if said not in data.greetings:
        changed["first_mes"] = card.initial_message
    if card.example_prompt.strip() != examples_of(data):
        changed["mes_example"] = f"<START>\n{card.example_prompt.strip()}"
    if list(card.tags) != [tag for tag in map(cleaned, data.tags) if tag]:
        changed["tags"] = list(card.tags)
    implied = _implied(data)
    lorebook = [entry.model_dump(exclude_none=True) for entry in card.lorebook]
    if lorebook != [e | {"keys": tuple(e["keys"])} for e in lorebook_of(data, entries, [])]:
        changed["character_book"] = {"extensions": {}, "entries": list(map(_book_entry, card.lorebook))}
    dumped = card.model_dump(mode="json", include=set(OWN_FIELDS))
    own = {key: value for key, value in dumped.items() if value and value != implied.get(key)}
    if own:
        changed["extensions"] = data.extensions | {OURS: own}
    return base | {"data": base["data"] | changed}


def _book_entry(entry: LoreEntry) -> dict[str, Any]:
    extensions = {"scan_depth": entry.scan_depth} if entry.scan_depth else {}
    made = {"keys": list(entry.keys), "content": entry.content, "extensions": extensions}
    return made | {"enabled": True, "insertion_order": 0, "use_regex": False}


def _implied(data: CardData) -> dict[str, Any]:
    """What an import fills in where the card and the user say nothing."""
    try:
        fields, _ = card_fields(data, Choices())
    except Unreadable:
        return {}
    return fields
