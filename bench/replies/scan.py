"""Find the JSON values at the top level of a text in one pass, linear in its length.

The scanner knows strings, so brackets inside them do not count; it keeps a stack instead of recursing, so
depth costs nothing; and it never goes back. It decides where values lie, not whether they are valid.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from bench.replies.reasoning import CLOSING, OPENING, closing_after

_CLOSER: Final = {"{": "}", "[": "]"}
_OPENER: Final = {"}": "{", "]": "["}
_START = r"(?:\[\s*+)?\{\s*+"
_QUOTED = _START + r"(?:[\"'“”‘’}]|//|/\*|#|\Z)"
_NAMED = _START + r"\w++\s*+:"
_TOP: Final = re.compile(
    rf"(?P<open>{OPENING.pattern})|(?P<close>{CLOSING.pattern})"
    rf"|(?P<quoted>{_QUOTED})|(?P<named>{_NAMED})|(?P<stray>[}}\]])",
    re.IGNORECASE,
)
_INSIDE: Final = re.compile(r"[\"'{}\[\]]")
_QUOTED_START: Final = re.compile(_QUOTED)
_STRING_REST: Final = {
    '"': re.compile(r'(?:[^"\\]++|\\.)*+"', re.DOTALL),
    "'": re.compile(r"(?:[^'\\]++|\\.)*+'", re.DOTALL),
}
_AFTER_STRING: Final = re.compile(r"\s*+(?:[,:}\]]|\Z)")
_KEPT_RANGES = 10_000
_KEPT_KIDS = 20
_MAX_STACK = 1_000
"""At this depth the scan gives up: what it is in then counts as not closed."""


class Span(NamedTuple):
    """One value at the top level: where it is, whether it closes, how deep it goes.

    For one that does not close, ``cut`` is where its last complete entry ends and ``tail`` the brackets
    that are missing there; an entry is an item of the root, or of an array directly under the root.
    """

    start: int
    end: int
    closed: bool = True
    height: int = 1
    cut: int = -1
    tail: str = ""


@dataclass(slots=True)
class Scan:
    """What a text holds: its values, the reasoning taken out, and whether closing brackets are left over."""

    spans: list[Span] = field(default_factory=list)
    removed: list[tuple[int, int]] = field(default_factory=list)
    strays: bool = False

    @property
    def closed(self) -> bool:
        """Whether the last value, if any, closes."""
        return not self.spans or self.spans[-1].closed


@dataclass(slots=True)
class _Open:
    """A bracket not yet closed; if it is ``prose``, it may be no JSON and is ignored if it never closes."""

    start: int
    bracket: str
    prose: bool
    height: int = 1
    cut: int = -1
    tail: str = ""
    kids: list[Span] | None = None


def scan(text: str, start: int = 0, *, lenient: bool = False) -> Scan:
    """The values at the top level of ``text`` from ``start`` on.

    ``lenient`` ends a string only at a quote that punctuation follows: for text whose inner quotes are
    not escaped and do not come in pairs.
    """
    return _Scanner(text, start, lenient).run()


class _Scanner:
    """State of one pass."""

    def __init__(self, text: str, start: int, lenient: bool) -> None:
        self.text = text
        self.pos = start
        self.floor = start
        self.lenient = lenient
        self.stack: list[_Open] = []
        self.count = {"{": 0, "[": 0}
        self.found = Scan()

    def run(self) -> Scan:
        while self.pos < len(self.text):
            if not (self._inside() if self.stack else self._top()):
                break
        self._finish()
        return self.found

    def _top(self) -> bool:
        """Go on to the next mark outside values; False at the end."""
        mark = _TOP.search(self.text, self.pos)
        if mark is None:
            return False
        self.pos = mark.end()
        if mark["open"]:
            self.floor = mark.start()
            end = closing_after(self.text, mark)
            self.pos = len(self.text) if end is None else end
            self.found.removed.append((mark.start(), self.pos))
        elif mark["close"]:
            self._forget(self.floor)
            self.found.removed.append((self.floor, mark.end()))
        elif mark["stray"]:
            self.found.strays = True
        else:
            self._push(mark.start(), prose=bool(mark["named"]))
            self.pos = mark.start() + 1
        return True

    def _forget(self, floor: int) -> None:
        """Take back what was found from ``floor`` on: a lone closing mark says it was reasoning."""
        found = self.found
        while found.spans and found.spans[-1].start >= floor:
            found.spans.pop()
        while found.removed and found.removed[-1][0] >= floor:
            found.removed.pop()
        found.strays = False

    def _inside(self) -> bool:
        """Go on to the next mark inside a value; False at the end."""
        mark = _INSIDE.search(self.text, self.pos)
        if mark is None:
            return False
        self.pos = mark.end()
        char = mark[0]
        if char == '"' or (char == "'" and self._starts_string(mark.start())):
            end = self._string_end(char)
            if end is None:
                return False
            self.pos = end
        elif char in _CLOSER:
            prose = self.stack[-1].prose and char == "{"
            self._push(mark.start(), prose=prose and not _QUOTED_START.match(self.text, mark.start()))
            return len(self.stack) < _MAX_STACK
        elif char in _OPENER:
            self._close(_OPENER[char], mark.end())
        return True

    def _starts_string(self, at: int) -> bool:
        """Whether a single quote stands where a key or value starts; otherwise it is an apostrophe."""
        before = at - 1
        while before >= 0 and self.text[before].isspace():
            before -= 1
        return before >= 0 and self.text[before] in "{[,:"

    def _string_end(self, quote: str) -> int | None:
        """Where the string that starts before the current place ends, or None."""
        rest = _STRING_REST[quote].match(self.text, self.pos)
        while rest and (self.lenient or quote == "'") and not _AFTER_STRING.match(self.text, rest.end()):
            rest = _STRING_REST[quote].match(self.text, rest.end())
        return rest.end() if rest else None

    def _push(self, start: int, *, prose: bool) -> None:
        bracket = self.text[start]
        self.stack.append(_Open(start, bracket, prose))
        self.count[bracket] += 1

    def _close(self, bracket: str, end: int) -> None:
        """Close the innermost ``bracket``, and with it whatever was left open inside; ignore a stray."""
        if not self.count[bracket]:
            return
        height = 0
        while True:
            node = self.stack.pop()
            self.count[node.bracket] -= 1
            height = max(node.height, height + 1)
            if node.bracket == bracket:
                break
        span = Span(node.start, end, height=height)
        if not self.stack:
            self.found.spans.append(span)
            return
        parent = self.stack[-1]
        parent.height = max(parent.height, height + 1)
        parent.cut, parent.tail = end, _CLOSER[parent.bracket]
        if len(self.stack) > 1 and parent.bracket == "[":
            above = self.stack[-2]
            above.cut, above.tail = end, parent.tail + _CLOSER[above.bracket]
        if parent.prose:
            parent.kids = [*(parent.kids or ())[-_KEPT_KIDS:], span]

    def _finish(self) -> None:
        """At the end: the outermost open bracket that is JSON is a value cut off; prose before it is not."""
        end = len(self.text)
        for at, node in enumerate(self.stack):
            if node.prose:
                self.found.spans.extend(node.kids or ())
                continue
            height = max(node.height, len(self.stack) - at)
            self.found.spans.append(Span(node.start, end, False, height, node.cut, node.tail))
            break


def outside(text: str, found: Scan, start: int = 0) -> str:
    """What of ``text`` is neither a value nor reasoning (of the last few thousand pieces)."""
    taken = [(s.start, s.end) for s in found.spans[-_KEPT_RANGES:]] + found.removed[-_KEPT_RANGES:]
    pieces, at = [], start
    for first, last in sorted(taken):
        if first > at:
            pieces.append(text[at:first])
        at = max(at, last)
    pieces.append(text[at:])
    return "\n".join(pieces)
