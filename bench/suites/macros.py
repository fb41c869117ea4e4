"""Macros of the community's character cards, such as ``{{char}}`` and ``{{random:a,b}}``, made fixed text.

A suite replaces them when it is loaded. What ``{{random}}``, ``{{pick}}`` and ``{{roll}}`` give depends only
on the suite, the card and the place in the card, so every player meets the same character.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from typing import Any

from bench.toml_entries import E, entry_from

USER = "User"
"""What stands for ``{{user}}``: in a benchmark the user is anybody."""
DEEPEST = 8
"""Macros nested deeper stay as they are."""
MOST_MACROS = 2_000
"""Macros that are replaced in one text; the rest stays as it is."""
MOST_SIDES = 1_000_000
LONGEST_NAME = 200

MOST_DICE = 100

_OLD = {"<char>": "char", "<bot>": "char", "<charifnotgroup>": "char", "<group>": "char", "<user>": "user"}
_OLD_STYLE = re.compile("|".join(_OLD), re.IGNORECASE)
_BRACES = re.compile(r"\{\{(?!\{)|\}\}")
"""Of three braces the last two begin a macro."""
_NAME = re.compile(r"\s*(//|[^\s:]*)\s*(:?)(.*)", re.DOTALL)
_ROLL = re.compile(r"(?:(\d{0,3})d)?(\d{1,7})([+-]\d{1,6})?", re.IGNORECASE)
_COMMA = re.compile(r"(?<!\\),")

Draw = Callable[[int], int]
"""Draws a number from 0 up to, but not including, its argument."""


def drawing(*parts: str) -> Draw:
    """Draws that depend on ``parts`` alone: the n-th draw is the same on every machine."""
    count = 0

    def draw(choices: int) -> int:
        nonlocal count
        count += 1
        digest = hashlib.sha256("\0".join([*parts, str(count)]).encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8], "big") % choices

    return draw


def expanded(text: str, name: str, draw: Draw) -> str:
    """``text`` with its macros replaced; ``name`` is the character's. Unknown macros stay.

    What a macro gives is not searched for macros again, so a name or an option that looks like a macro ends
    there.
    """
    name = name[:LONGEST_NAME]
    text = _OLD_STYLE.sub(lambda match: f"{{{{{_OLD[match[0].lower()]}}}}}", text)
    return _Expansion(name, draw).of(text) if "{{" in text else text


class _Expansion:
    def __init__(self, name: str, draw: Draw) -> None:
        self._name = name
        self._draw = draw
        self._left = MOST_MACROS

    def of(self, text: str, depth: int = 0) -> str:
        """``text`` with its macros replaced, the inner ones of each first."""
        parts: list[str] = []
        at = 0
        for start, end in _macros(text):
            if start < at:  # inside the last one
                continue
            if self._left <= 0:
                break
            self._left -= 1
            inner = text[start + 2 : end - 2]
            inner = self.of(inner, depth + 1) if depth < DEEPEST else inner
            given = self._value(inner)
            parts += [text[at:start], f"{{{{{inner}}}}}" if given is None else given]
            at = end
        return "".join(parts) + text[at:]

    def _value(self, inner: str) -> str | None:
        """What stands for ``{{inner}}``; None for an unknown macro."""
        name, rest = _named(inner)
        match name:
            case "char" | "bot" | "charifnotgroup" | "group":
                return self._name
            case "user":
                return USER
            case "random" | "pick":
                options = _options(rest)
                return options[self._draw(len(options))]
            case "roll":
                return self._rolled(rest.lstrip(":"))
            case "reverse":
                return rest.lstrip(":")[::-1]
            case "newline":
                return "\n"
            case _:
                return "" if name in _EMPTY else None

    def _rolled(self, dice: str) -> str | None:
        """The sum of ``dice`` such as ``20``, ``d20`` or ``2d6+1``; None if they are no dice."""
        roll = _ROLL.fullmatch("".join(dice.split()))
        count, sides = (int(roll[1] or 1), min(int(roll[2]), MOST_SIDES)) if roll else (0, 0)
        if roll is None or not sides or not 0 < count <= MOST_DICE:
            return None
        return str(sum(1 + self._draw(sides) for _ in range(count)) + int(roll[3] or 0))


_EMPTY = ("//", "comment", "hidden_key", "noop", "original", "trim")
"""Macros that give nothing. A benchmark has no prompt of its own that ``{{original}}`` could repeat."""
_SPACED = ("//", "comment", "random", "pick", "roll", "reverse")
"""Macros whose argument may follow a space."""
KNOWN = {"char", "bot", "charifnotgroup", "group", "user", "newline", "hidden_key", *_SPACED, *_EMPTY}


def _named(inner: str) -> tuple[str, str]:
    """The name of a macro, and its argument."""
    named = _NAME.match(inner)
    name, colon, rest = named.groups() if named else ("", "", inner)
    name = name.lower()
    return (name, rest) if colon or name in _SPACED or not rest.strip() else (inner, "")


def unknown_macros(text: str) -> list[str]:
    """The macros in ``text`` that stay as they are, without their arguments."""
    inner = (text[start + 2 : end - 2].partition("{{")[0] for start, end in _macros(text))
    names = (_named(said)[0].strip() for said in inner)
    return list(dict.fromkeys(name for name in names if name and name not in KNOWN))


def _macros(text: str) -> list[tuple[int, int]]:
    """Where each macro begins and ends, in order. Braces that are never closed are text."""
    opened: list[int] = []
    found: list[tuple[int, int]] = []
    for match in _BRACES.finditer(text):
        if match[0] == "{{":
            opened.append(match.start())
        elif opened:
            found.append((opened.pop(), match.end()))
    return sorted(found)


def _options(rest: str) -> list[str]:
    """The options of a draw: separated by ``::``, else by commas that no backslash precedes."""
    rest = rest.removeprefix(":")
    if "::" in rest:
        return rest.split("::")
    return [option.replace("\\,", ",").strip() for option in _COMMA.split(rest)]


def expanded_data(data: Any, name: str, draw: Draw) -> Any:
    """``data`` with the macros of every text in it replaced, in order."""
    match data:
        case str():
            return expanded(data, name, draw)
        case list() | tuple():
            return [expanded_data(item, name, draw) for item in data]
        case dict():
            return {key: expanded_data(item, name, draw) for key, item in data.items()}
        case _:
            return data


def settled(card: E, where: str, *seed: str) -> E:
    """``card`` with its macros replaced, the same way for the same ``seed``.

    Entries of a lorebook that say nothing then, or have no key, are left out. Raises CatalogError that names
    ``where`` if the card is incomplete then.
    """
    text = card.model_dump_json()
    if "{{" not in text and not _OLD_STYLE.search(text):
        return card
    data = card.model_dump()
    name = str(data.pop("char_name"))
    made = {key: expanded_data(value, name, drawing(*seed, key)) for key, value in data.items()}
    made["lorebook"] = list(_speaking(made.get("lorebook", [])))
    fresh = entry_from(type(card), {"char_name": name, **made}, where)
    return card if fresh == card else fresh


def _speaking(lorebook: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for entry in lorebook:
        keys = [key for key in entry["keys"] if key.strip()]
        if keys and entry["content"].strip():
            yield entry | {"keys": keys}
