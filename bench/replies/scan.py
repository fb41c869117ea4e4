"""Finds the JSON values at the top level of a text in one pass, in linear time.

The scanner skips strings, so brackets in them do not count. It keeps a stack instead of recursing, so depth
costs nothing, and it never backtracks. It decides where values are, not whether they are valid.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from bench.replies.later import Later
from bench.replies.reasoning import CLOSING, MAY_MARK, OPENING, among_words, closing_after, mentioned

_CLOSER: Final = {"{": "}", "[": "]"}
_OPENER: Final = {"}": "{", "]": "["}
_START = r"(?:\[\s*+)?\{\s*+"
_QUOTED = _START + r"(?:[\"'“”‘’}]|//|/\*|#|\Z)"
_NAMED = _START + r"\w++\s*+:"
_JSON = rf"(?P<quoted>{_QUOTED})|(?P<named>{_NAMED})|(?P<stray>[}}\]])"
_TOP: Final = Later(
    rf"(?P<open>{OPENING.pattern})|(?P<close>{CLOSING.pattern})|{_JSON}",
    re.IGNORECASE,
)
_TOP_WITHOUT_MARKS: Final = Later(rf"(?P<open>(?!))|(?P<close>(?!))|{_JSON}", re.IGNORECASE)
_INSIDE: Final = Later(r"[\"'{}\[\]]")
_QUOTED_START: Final = Later(_QUOTED)
_STRING_REST: Final = {
    '"': re.compile(r'(?:[^"\\]++|\\.)*+"', re.DOTALL),
    "'": re.compile(r"(?:[^'\\]++|\\.)*+'", re.DOTALL),
}
_AFTER_STRING: Final = Later(r"\s*+(?:[,:}\]]|\Z)")
_KEPT_RANGES = 10_000
_KEPT_KIDS = 20
_MAX_STACK = 1_000
"""At this depth the scan gives up; the current value then counts as not closed."""


class Span(NamedTuple):
    """One value at the top level: its position, whether it closes, and its depth.

    If it does not close, ``cut`` is where its last complete entry ends, and ``tail`` holds the brackets that
    are missing there. An entry is an item of the root, or of an array directly under the root.
    """

    start: int
    end: int
    closed: bool = True
    height: int = 1
    cut: int = -1
    tail: str = ""


@dataclass(slots=True)
class Scan:
    """The values in a text, the reasoning removed from it, and the end of the last stray closing bracket."""

    spans: list[Span] = field(default_factory=list)
    removed: list[tuple[int, int]] = field(default_factory=list)
    stray: int = 0

    @property
    def closed(self) -> bool:
        """Whether the last value, if any, closes."""
        return not self.spans or self.spans[-1].closed


@dataclass(slots=True)
class _Open:
    """An open bracket. If it is ``prose``, it may not be JSON and is ignored if it never closes."""

    start: int
    bracket: str
    prose: bool
    height: int = 1
    cut: int = -1
    tail: str = ""
    kids: list[Span] | None = None


def scan(text: str, start: int = 0, *, lenient: bool = False) -> Scan:
    """Find the values at the top level of ``text`` from ``start`` on.

    With ``lenient``, a string ends only at a quote followed by punctuation, for text whose inner quotes are
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
        self.result = Scan()
        self.endless = False
        """Whether no mark that ends reasoning follows."""
        self.top = _TOP if MAY_MARK.search(text, start) else _TOP_WITHOUT_MARKS

    def run(self) -> Scan:
        while self.pos < len(self.text):
            if not (self._inside() if self.stack else self._top()):
                break
        self._finish()
        return self.result

    def _top(self) -> bool:
        """Advance to the next mark outside values; False at the end."""
        mark = self.top.search(self.text, self.pos)
        if mark is None:
            return False
        self.pos = mark.end()
        if (mark["open"] or mark["close"]) and mentioned(self.text, mark):
            return True
        if mark["open"]:
            named = not mark["channel"] and among_words(self.text, mark)
            end = None if named and self.endless else closing_after(self.text, mark)
            if end is None and named:
                self.endless = True
                return True
            self.floor = mark.start()
            self.pos = len(self.text) if end is None else end
            self.result.removed.append((mark.start(), self.pos))
        elif mark["close"]:
            self._forget(self.floor)
            self.result.removed.append((self.floor, mark.end()))
        elif mark["stray"]:
            self.result.stray = self.pos
        else:
            self._push(mark.start(), prose=bool(mark["named"]))
            self.pos = mark.start() + 1
        return True

    def _forget(self, floor: int) -> None:
        """Discard everything from ``floor`` on: a lone closing mark shows that it was reasoning."""
        result = self.result
        while result.spans and result.spans[-1].start >= floor:
            result.spans.pop()
        while result.removed and result.removed[-1][0] >= floor:
            result.removed.pop()
        result.stray = 0

    def _inside(self) -> bool:
        """Advance to the next mark inside a value; False at the end."""
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
        """Whether a single quote is where a key or value starts; otherwise it is an apostrophe."""
        before = at - 1
        while before >= 0 and self.text[before].isspace():
            before -= 1
        return before >= 0 and self.text[before] in "{[,:"

    def _string_end(self, quote: str) -> int | None:
        """Where the string that starts before the current position ends; None if it does not."""
        rest = _STRING_REST[quote].match(self.text, self.pos)
        while rest and (self.lenient or quote == "'") and not _AFTER_STRING.match(self.text, rest.end()):
            rest = _STRING_REST[quote].match(self.text, rest.end())
        return rest.end() if rest else None

    def _push(self, start: int, *, prose: bool) -> None:
        bracket = self.text[start]
        self.stack.append(_Open(start, bracket, prose))
        self.count[bracket] += 1

    def _close(self, bracket: str, end: int) -> None:
        """Close the innermost ``bracket`` and everything left open inside it; ignore a stray one."""
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
            self.result.spans.append(span)
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
        """At the end: the outermost open bracket that is JSON starts a truncated value."""
        end = len(self.text)
        for at, node in enumerate(self.stack):
            if node.prose:
                self.result.spans.extend(node.kids or ())
                continue
            height = max(node.height, len(self.stack) - at)
            self.result.spans.append(Span(node.start, end, False, height, node.cut, node.tail))
            break


def outside(text: str, scanned: Scan, start: int = 0) -> str:
    """The text that is neither a value nor reasoning, considering the last few thousand pieces."""
    taken = [(s.start, s.end) for s in scanned.spans[-_KEPT_RANGES:]] + scanned.removed[-_KEPT_RANGES:]
    pieces, at = [], start
    for first, last in sorted(taken):
        if first > at:
            pieces.append(text[at:first])
        at = max(at, last)
    pieces.append(text[at:])
    return "\n".join(pieces)
