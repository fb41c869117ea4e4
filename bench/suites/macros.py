"""Macros of the community's character cards, such as ``{{char}}`` and ``{{random:a,b}}``, made fixed text.

A suite replaces them when it is loaded. What ``{{random}}``, ``{{pick}}`` and ``{{roll}}`` give depends only
on the suite, the card and the place in the card, so every player meets the same character.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import BaseModel

M = TypeVar("M", bound=BaseModel)

USER = "User"
"""What stands for ``{{user}}``: in a benchmark the user is anybody."""
DEEPEST = 8
"""Macros nested deeper stay as they are."""
MOST_MACROS = 2_000
"""Macros that are replaced in one text; the rest stays as it is."""
MOST_SIDES = 1_000_000
LONGEST_NAME = 200

_OLD = {"<char>": "char", "<bot>": "char", "<user>": "user"}
_OLD_STYLE = re.compile("|".join(_OLD), re.IGNORECASE)
_ROLL = re.compile(r"\s*d?\s*(\d{1,7})\s*", re.IGNORECASE)
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
        while (start := text.find("{{", at)) >= 0:
            end = _end(text, start)
            if end < 0 or self._left <= 0:
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
        name, _, rest = inner.strip().partition(":")
        match name.strip().lower():
            case "char":
                return self._name
            case "user":
                return USER
            case "random" | "pick":
                options = _options(rest)
                return options[self._draw(len(options))]
            case "roll":
                sides = _ROLL.fullmatch(rest.lstrip(":"))
                most = min(int(sides[1]), MOST_SIDES) if sides else 0
                return str(1 + self._draw(most)) if most else None
            case "reverse":
                return rest.lstrip(":")[::-1]
            case "comment" | "hidden_key" | "noop":
                return ""
            case other:
                return "" if other.startswith("//") else None


def _end(text: str, start: int) -> int:
    """Where the macro that begins at ``start`` ends; -1 if it does not."""
    depth, at = 0, start
    for match in _BRACES.finditer(text, start):
        depth += 1 if match[0] == "{{" else -1
        at = match.end()
        if depth == 0:
            return at
    return -1


_BRACES = re.compile(r"\{\{|\}\}")


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


def settled(card: M, *seed: str) -> M:
    """``card`` with its macros replaced, the same way for the same ``seed``."""
    text = card.model_dump_json()
    if "{{" not in text and not _OLD_STYLE.search(text):
        return card
    data = card.model_dump()
    name = str(data.pop("char_name"))
    made = {key: expanded_data(value, name, drawing(*seed, key)) for key, value in data.items()}
    fresh = type(card).model_validate({"char_name": name, **made})
    return card if fresh == card else fresh
