"""The JSON object of a reply: of several, the last one that has the required keys binds."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final

from bench.replies.decode import MAX_DEPTH, Decoded, cleaned, repairable, repaired, strictly
from bench.replies.faults import ReplyFault, in_order, shown
from bench.replies.reasoning import MARKERS, answer_start, last_closing
from bench.replies.scan import Scan, Span, outside, scan

MAX_TRIED: Final = 1_000
"""Values tried from the end of a reply; what lies before them is not looked at."""

_FENCE: Final = re.compile(r"(?:```|~~~)[ \t]*+\w*")
_INVISIBLE = "\ufeff\u200b\u2060"

Accept = Callable[[Any], tuple[dict[str, Any], str | None] | None]
"""Decides whether a value is the one asked for: its object and a repair slug, or None."""

Salvage = Callable[[str], Decoded | None]
"""A way of reading malformed text that is tried before json-repair."""


@dataclass(frozen=True)
class Parsed:
    """A JSON object out of a reply, and what had to be repaired on the way (slugs of ``REPAIRS``)."""

    data: dict[str, Any]
    repairs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked for: the test, ``hints`` (words that such a value holds), what to say if none does."""

    accept: Accept
    hints: tuple[str, ...]
    missing: str
    salvage: Salvage | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The object that binds, its repairs, the text it was read from, whether json-repair had to guess."""

    data: dict[str, Any]
    repairs: frozenset[str]
    source: str
    start: int
    guessed: bool

    @property
    def sound(self) -> bool:
        """Whether the standard decoder read it whole."""
        return not self.guessed and "truncated" not in self.repairs


def json_object(text: str, *, required: Collection[str]) -> Parsed:
    """The last object at the top level of ``text`` that has the ``required`` keys."""
    found = find(text, wanted_object(required))
    return Parsed(found.data, in_order(found.repairs))


def wanted_object(required: Collection[str], salvage: Salvage | None = None) -> Wanted:
    """A plain object with the ``required`` keys, also as the only item of an array."""

    def accept(value: Any) -> tuple[dict[str, Any], str | None] | None:
        slug = None
        if isinstance(value, list) and len(value) == 1:
            value, slug = value[0], "array_unwrapped"
        if isinstance(value, dict) and all(key in value for key in required):
            return value, slug
        return None

    keys = sorted(required)
    names = " and ".join(shown(key) for key in keys)
    missing = f"The reply must hold one JSON object with the key{'s' * (len(keys) > 1)} {names}."
    return Wanted(accept, tuple(keys) or ("",), missing, salvage)


def find(text: str, wanted: Wanted) -> Found:
    """The value that ``wanted`` accepts and that binds; a fault where there is none."""
    if not text.strip():
        raise ReplyFault("empty", "The reply is empty.")
    start = answer_start(text)
    whole = scan(text, start)
    fault: ReplyFault | None = None
    found: Found | None = None
    try:
        found = _bind(text, whole, start, wanted)
    except ReplyFault as exc:
        fault = exc
    if found is None or not found.sound:
        found = _after_reasoning(text, whole, wanted) or found
    if found is None and not whole.closed:
        found = _leniently(text, start, wanted)
    if found is None:
        raise fault or ReplyFault("no_json", wanted.missing)
    repairs = set(found.repairs)
    data = cleaned(found.data, repairs)
    return Found(data, frozenset(repairs), found.source, found.start, found.guessed)


def _after_reasoning(text: str, whole: Scan, wanted: Wanted) -> Found | None:
    """A sound value after the last closing mark, where loose brackets in the reasoning swallowed both.

    A value that is quoted in an answer, mark and all, cannot pass for it: what swallowed it would hold a
    hint before the mark, or brackets of the answer would be left over after it.
    """
    place = last_closing(text)
    if place is None:
        return None
    swallowing = next((s for s in reversed(whole.spans) if s.start < place <= s.end), None)
    if swallowing is None or _hinted(text[swallowing.start : place], wanted):
        return None
    tail = scan(text, place)
    if tail.strays or not tail.spans or not tail.closed:
        return None
    try:
        found = _bind(text, tail, place, wanted)
    except ReplyFault:
        return None
    repairs = found.repairs | {"reasoning_removed"}
    return Found(found.data, repairs, found.source, found.start, found.guessed) if found.sound else None


def _leniently(text: str, start: int, wanted: Wanted) -> Found | None:
    """A value that closes, at the very end of the reply, if odd inner quotes are forgiven."""
    found = scan(text, start, lenient=True)
    if not found.closed or not found.spans or _FENCE.sub("", text[found.spans[-1].end :]).strip():
        return None
    try:
        return _bind(text, found, start, wanted)
    except ReplyFault:
        return None


def _bind(text: str, found: Scan, start: int, wanted: Wanted) -> Found:
    """The last span that is accepted; a fault where a later one may have been meant and cannot be read."""
    for span in found.spans[: -MAX_TRIED - 1 : -1]:
        raw = text[span.start : span.end]
        if not span.closed:
            raw = _complete_part(raw, span)
        decoded = _read(raw, span, wanted)
        accepted = wanted.accept(decoded.data) if decoded else None
        if decoded and accepted:
            data, slug = accepted
            repairs = decoded.repairs | _around(text, found, start)
            if slug:
                repairs |= {slug}
            if not span.closed:
                repairs |= {"truncated"}
            return Found(data, repairs, raw, span.start, decoded.guessed)
        if not span.closed and span.height > MAX_DEPTH:
            raise ReplyFault("bad_json", "The JSON in the reply is nested too deeply.")
        if not span.closed:
            raise ReplyFault("truncated", "The reply breaks off before its JSON is complete.")
        if (decoded is None or decoded.guessed) and _hinted(raw, wanted):
            raise ReplyFault("bad_json", "The JSON in the reply is malformed and cannot be read.")
    if found.spans:
        raise ReplyFault("missing_key", wanted.missing)
    if found.removed:
        raise ReplyFault("no_json", "The reply holds reasoning only; the JSON must follow after it.")
    raise ReplyFault("no_json", f"The reply holds no JSON object. {wanted.missing}")


def _complete_part(raw: str, span: Span) -> str:
    """The part of a value cut off that was complete before the break, closed; empty where nothing was."""
    return "" if span.cut < 0 else raw[: span.cut - span.start] + span.tail


def _hinted(raw: str, wanted: Wanted) -> bool:
    return any(hint in raw for hint in wanted.hints)


def _read(raw: str, span: Span, wanted: Wanted) -> Decoded | None:
    if not raw or span.height > MAX_DEPTH:
        return None
    decoded = strictly(raw)
    if decoded or not _hinted(raw, wanted) or not repairable(raw):
        return decoded
    return (wanted.salvage(raw) if wanted.salvage else None) or repaired(raw)


def _around(text: str, found: Scan, start: int) -> set[str]:
    """Repairs for what stands around the values of ``found``."""
    repairs = set()
    rest, markers = MARKERS.subn("", outside(text, found, start))
    if found.removed or markers or answer_start(text):
        repairs.add("reasoning_removed")
    rest, fences = _FENCE.subn("", rest)
    if fences:
        repairs.add("fence_removed")
    if rest.strip().strip(_INVISIBLE).strip():
        repairs.add("prose_removed")
    if len(found.spans) > 1:
        repairs.add("several_objects")
    return repairs
