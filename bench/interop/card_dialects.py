"""Character files of other programs' own formats, as cards of version 1: Agnaistic, Pygmalion."""

from __future__ import annotations

from typing import Any

_PYGMALION = {
    "char_name": "name",
    "char_persona": "description",
    "char_greeting": "first_mes",
    "world_scenario": "scenario",
    "example_dialogue": "mes_example",
}
"""Fields of Pygmalion, which text-generation-webui wrote too, and what version 1 calls them."""
_AGNAISTIC = {
    "greeting": "first_mes",
    "sampleChat": "mes_example",
    "alternateGreetings": "alternate_greetings",
    "systemPrompt": "system_prompt",
    "postHistoryInstructions": "post_history_instructions",
}
_ENTRY = {"entry": "content", "keywords": "keys", "weight": "insertion_order"}


def translated(card: dict[str, Any]) -> dict[str, Any]:
    """``card`` with the fields of version 1 for what it says under other names; all its fields stay."""
    if "name" not in card and "char_name" in card:
        return card | _named(card, _PYGMALION)
    persona = card.get("persona")
    if not isinstance(persona, dict) or "first_mes" in card:
        return card
    made = {"description": _described(persona), "creator_notes": card.get("description")}
    book = card.get("characterBook")
    if isinstance(book, dict) and isinstance(book.get("entries"), list):
        entries = [entry | _named(entry, _ENTRY) for entry in book["entries"] if isinstance(entry, dict)]
        made["character_book"] = book | {"entries": entries}
    return card | made | _named(card, _AGNAISTIC)


def _named(data: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {ours: data[theirs] for theirs, ours in names.items() if theirs in data}


def _described(persona: dict[str, Any]) -> str:
    """The text of an Agnaistic persona: free text, or lists of attributes."""
    attributes = persona.get("attributes")
    lines: list[str] = []
    for name, values in attributes.items() if isinstance(attributes, dict) else ():
        said = ", ".join(map(str, values)) if isinstance(values, list) else str(values)
        lines.append(said if name == "text" else f"{name}: {said}")
    return "\n".join(lines)
