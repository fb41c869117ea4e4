"""Reads malformed JSON if only one reading is possible, and nothing if there is doubt.

Every value is taken from the text unchanged. No value is cut, completed or chosen among several.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any, Final, Literal

from bench.replies.decode import MAX_DEPTH, Decoded
from bench.replies.later import Later

_CLOSERS: Final = {'"': '"', "'": "'", "“": '”"', "”": "”", "‘": "’'"}
_QUOTED_KEY = r"""(?:"[\w .-]{1,60}"|'[\w .-]{1,60}'|“[\w .-]{1,60}[”"])\s*+:"""
_KEY = rf"(?:{_QUOTED_KEY}|[A-Za-z_]\w{{0,60}}\s*+:)"
_COMMENT: Final = Later(r"//[^\n]{0,300}+(?=\n|\Z)|\#[^\n]{0,300}+(?=\n|\Z)|/\*[^*]{0,300}+\*/")
_NEXT_KEY: Final = Later(_KEY)
_NEXT_OBJECT: Final = Later(r"\{")
_SPACE: Final = Later(r"\s*+")
_BARE_KEY: Final = Later(r"[A-Za-z_]\w{0,60}")
_LITERAL: Final = Later(
    r"-?(?:0|[1-9][0-9]{0,30})(?:\.[0-9]{1,30})?(?:e[+-]?[0-9]{1,3})?(?!\w)|(?:true|false|null|none)\b",
    re.IGNORECASE,
)
_WORDS: Final = {"true": True, "false": False, "null": None, "none": None}
_DOUBTFUL: Final = Later(r"[0-9]|\b(?:true|false|or)\b", re.IGNORECASE)
"""In a comment: perhaps another value."""
_PAIR: Final = Later(r"""["'“][\w ]{1,60}["'”]\s*+:""")
"""In a string with quotes that are not escaped: perhaps the rest of the object."""
_NO_QUOTE: Final = Later(r"(?<=[^\W_])['’](?=[^\W_])|(?<=[0-9])[\"”'](?=[ -]\w)")
"""An apostrophe or an inch mark."""
_OPENS: Final = Later(r"(?<![^\s(\[{*_/—–\-\u3000-\u9fff\uff00-\uff65])\S\S")
"""A quote that can begin a quotation."""
_ESCAPED: Final = Later(r'\\(.)|"', re.DOTALL)
_ENDS: Final = {
    "key": re.compile(r"\s*+:"),
    "value": re.compile(
        rf"\s*+(?://[^\n\"]{{0,300}}+\n\s*+[}}\]]|,[\s,]*+(?:{_KEY}|[}}\]]|//|/\*|\#)|{_QUOTED_KEY}|"
        rf"[}}\]](?:\s*+[}}\]])*+\s*+(?:\Z|,[\s,]*+(?:[{{\[}}\]]|{_KEY}|\Z)|\{{))"
    ),
    "item": re.compile(r"\s*+(?:\]|,[\s,]*+(?:[\"'“\[{\]]|-?[0-9]|true|false|null))"),
}
"""What follows a quote that ends a string in each place."""


class _Doubt(Exception):
    """The text can be read in several ways, or in none."""


def mended(raw: str, known: Collection[str], *, whole: bool = True) -> Decoded | None:
    """Read the malformed JSON value ``raw``; None in doubt.

    Args:
        known: The keys that the value may have. Only they show where a string ends that has unescaped quotes.
        whole: Whether the reply closed the value; in a value that broke off, such a string is a doubt.
    """
    mender = _Mender(raw, known)
    try:
        data = mender.read()
    except (_Doubt, IndexError, ValueError, RecursionError):
        return None
    if mender.unescaped and not (whole and mender.certain):
        return None
    lone = isinstance(data, dict) and len(data) == 1 and isinstance(next(iter(data.values())), str)
    repairs = {"quotes_escaped"} if mender.unescaped and lone else set()
    if mender.deviates or not repairs:
        repairs.add("json_repaired")
    return Decoded(data, frozenset(repairs), mended=True)


class _Mender:
    """One reading of a text."""

    def __init__(self, text: str, known: Collection[str]) -> None:
        self.text = text
        self.known = known
        self.pos = 0
        self.deviates = False
        """Whether something else than quotes was malformed."""
        self.unescaped = False
        """Whether a string holds quotes that are not escaped."""
        self.certain = True
        """Whether such a string can only end where it was ended."""

    def read(self) -> Any:
        value = self._value(0, "value")
        self._skip()
        if self.pos < len(self.text):
            raise _Doubt
        return value

    def _value(self, depth: int, place: Literal["value", "item"]) -> Any:
        self._skip()
        char = self.text[self.pos]
        if depth > MAX_DEPTH:
            raise _Doubt
        if char == "{":
            return self._object(depth)
        if char == "[":
            return self._array(depth)
        if char in _CLOSERS:
            return self._string(place)
        literal = _LITERAL.match(self.text, self.pos)
        if literal is None:
            raise _Doubt
        self.pos = literal.end()
        word = literal[0].lower()
        self.deviates |= literal[0] not in ("true", "false", "null") and word in _WORDS
        return _WORDS[word] if word in _WORDS else json.loads(word)

    def _object(self, depth: int) -> dict[str, Any]:
        self.pos += 1
        data: dict[str, Any] = {}
        value: Any = 0
        while not self._closes("}", depth):
            key = self._key()
            if key in data:
                raise _Doubt
            if key not in self.known and isinstance(value, (str, dict, list)):
                self.certain = False  # the key may be part of the string before it
            value = data[key] = self._value(depth + 1, "value")
            self._separate(_NEXT_KEY)
        return data

    def _array(self, depth: int) -> list[Any]:
        self.pos += 1
        items: list[Any] = []
        while not self._closes("]", depth):
            before = self.unescaped
            items.append(self._value(depth + 1, "item"))
            if isinstance(items[-1], str) and self.unescaped != before:
                raise _Doubt
            self._separate(_NEXT_OBJECT)
        return items

    def _closes(self, bracket: str, depth: int) -> bool:
        """Whether the object or array ends here; one inside another may end with it."""
        self._skip()
        char = self.text[self.pos]
        if char == bracket:
            self.pos += 1
        elif char in "}]" and depth:
            self.deviates = True
        else:
            return False
        return True

    def _separate(self, follows: Later) -> None:
        """Pass the comma before the next entry; it may be missing, or stand before the end."""
        self._skip()
        char = self.text[self.pos]
        if char == ",":
            commas = 0
            while self.text[self.pos] == ",":
                self.pos, commas = self.pos + 1, commas + 1
                self._skip()
            if commas > 1 or self.text[self.pos] in "}]":
                self.deviates = True
        elif char not in "}]":
            self.deviates, self.certain = True, False
            if not follows.match(self.text, self.pos):
                raise _Doubt

    def _key(self) -> str:
        if self.text[self.pos] in _CLOSERS:
            key = self._string("key")
        else:
            bare = _BARE_KEY.match(self.text, self.pos)
            if bare is None:
                raise _Doubt
            key, self.pos, self.deviates = bare[0], bare.end(), True
        self._skip()
        if self.text[self.pos] != ":":
            raise _Doubt
        self.pos += 1
        return key

    def _string(self, place: Literal["key", "value", "item"]) -> str:
        """The string here, up to the first quote that something follows which may follow a string."""
        quote = self.text[self.pos]
        self.deviates |= quote != '"'
        start = self.pos + 1
        inner, plain = 0, True
        for mark in re.compile(rf"\\.|[{_CLOSERS[quote]}]", re.DOTALL).finditer(self.text, start):
            if mark[0][0] == "\\":
                continue
            if _ENDS[place].match(self.text, mark.end()):
                break
            self.unescaped, plain = True, False
            if not _NO_QUOTE.match(self.text, mark.start()):
                inner += 1
                if not (self._begins(start, mark.start()) if inner % 2 else self._ends(mark.start())):
                    raise _Doubt
        else:
            raise _Doubt
        content = self.text[start : mark.start()]
        if not plain and not self._ends(mark.start()):
            raise _Doubt
        if inner % 2 or (inner and (place == "key" or _PAIR.search(content))):
            raise _Doubt  # a quote is missing, or the string holds the rest of the object
        self.pos = mark.end()
        text: str = json.loads(f'"{_ESCAPED.sub(_escaped, content)}"', strict=False)
        return text

    def _begins(self, start: int, at: int) -> bool:
        """Whether the quote can begin a quotation in the string that begins at ``start``."""
        return at == start or bool(_OPENS.match(self.text, at))

    def _ends(self, at: int) -> bool:
        """Whether the quote can end a quotation."""
        return not self.text[at - 1].isspace()

    def _skip(self) -> None:
        """Pass whitespace and comments."""
        while True:
            space = _SPACE.match(self.text, self.pos)
            self.pos = space.end() if space else self.pos
            comment = _COMMENT.match(self.text, self.pos)
            if comment is None:
                return
            if _DOUBTFUL.search(comment[0]):
                raise _Doubt
            self.pos, self.deviates, self.certain = comment.end(), True, False


def _escaped(match: re.Match[str]) -> str:
    """A quote or an escape as JSON has it."""
    if match[1] is None:
        return '\\"'
    return "'" if match[1] == "'" else match[0]
