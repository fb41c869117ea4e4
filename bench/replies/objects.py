"""Finds the JSON object in a reply. If there are several, the last one with the required keys counts."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from bench.replies.decode import MAX_DEPTH, MAY_HOLD_SURROGATES, Decoded, cleaned, strictly
from bench.replies.faults import FaultKind, ReplyFault, shown
from bench.replies.later import Later
from bench.replies.mending import mended
from bench.replies.reasoning import MARKERS, QUOTES, Separated, answer_start, bare, last_closing
from bench.replies.revisions import differs, numbers_in, revised_inside, takes_back
from bench.replies.scan import Scan, Span, outside, scan

MAX_TRIED: Final = 1_000
"""Values tried, counted from the end of a reply; earlier ones are ignored."""

_FENCE: Final = Later(r"(?:```|~~~)[ \t]*+\w*")
_LAST_FENCE: Final = Later(r"\s*+(?:`{1,3}|~{1,3})?\s*+\Z")
"""All that may follow a value in a reply that was cut off: at most the end of its fence."""
_NOT_MEANT: Final = Later(
    r"\b(?:for (?:comparison|example|reference)|example (?:of|verdict)|earlier (?:draft|version)"
    r"|would look like|(?:bot|user|character|player) (?:wrote|sent|said|gave|replied))\b",
    re.IGNORECASE,
)
"""Before a value: it is not the one that is meant."""
_MALFORMED: Final = (
    "The JSON in the reply is malformed. Escape quotation marks inside strings, and write numbers, true and"
    " false plainly."
)
_INVISIBLE = "\ufeff\u200b\u2060"

Accept = Callable[[Any], tuple[dict[str, Any], str | None] | None]
"""Decides whether a value is the expected one: returns its object and a repair slug, or None."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to look for: the test, ``hints`` (words in such a value), what to say if it is missing, and the
    keys that it may have."""

    accept: Accept
    hints: tuple[str, ...]
    missing: str
    known: Collection[str]


@dataclass(slots=True)
class JsonReply:
    """The object in a reply, and how it was read."""

    data: dict[str, Any]
    repairs: set[str]
    """Slugs of ``REPAIRS``; the readers of single replies add their own."""
    source: str
    """The text it was read from."""
    start: int
    """Where ``source`` starts in the reply."""
    rest: str = ""
    """What had begun after the part that was read, if the value breaks off."""
    mended: bool = False
    """Whether the standard decoder could not read it."""
    clashes: bool = False
    """Whether a key occurs twice, and one of its values may be part of a string."""
    known: Collection[str] = ()
    """The keys that it may have."""

    @property
    def sound(self) -> bool:
        """Whether the standard decoder read it completely."""
        return not self.mended and "truncated" not in self.repairs


def json_object(text: str, *, required: Collection[str], known: Collection[str] = ()) -> JsonReply:
    """Find the last object at the top level of ``text`` that has the ``required`` keys.

    ``known`` are further keys that it may have; they help to read it if it is malformed.

    Raises:
        ReplyFault: There is no such object, or it cannot be read.
    """
    return find(text, wanted_object(tuple(required), frozenset(known)))


@lru_cache(maxsize=64)
def wanted_object(required: tuple[str, ...], known: frozenset[str] = frozenset()) -> Wanted:
    """An object with the ``required`` keys, also as the only item of an array."""

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
    return Wanted(accept, tuple(keys) or ("",), missing, frozenset({*required, *known}))


def settled(reply: JsonReply) -> JsonReply:
    """``reply``, if it neither breaks off in something further nor says a thing twice. Raises ReplyFault."""
    once(reply)
    ended(reply)
    return reply


def ended(reply: JsonReply) -> None:
    """Raise ReplyFault if ``reply`` breaks off in something that follows what was read."""
    if reply.rest.strip(" \t\r\n,]}"):
        raise ReplyFault("truncated", "The reply breaks off in something that follows its values.")


def once(reply: JsonReply) -> None:
    """Raise ReplyFault if a key in ``reply`` has two values and one of them may be part of a string, or if
    further keys change what it says."""
    if reply.clashes:
        raise ReplyFault("contradiction", "The JSON gives a key twice; each key must occur once.")
    if revised_inside(reply.data, reply.known):
        raise ReplyFault("contradiction", "The JSON has further keys that give other values.")


def find(text: str, wanted: Wanted) -> JsonReply:
    """Find the last value that ``wanted`` accepts. Raises ReplyFault without one."""
    if not text.strip():
        raise ReplyFault("empty", "The reply is empty.")
    if (plain := _alone(text, wanted)) is not None:
        return plain
    start = answer_start(text)
    whole = scan(text, start)
    fault: ReplyFault | None = None
    reply: JsonReply | None = None
    try:
        reply = _bind(text, whole, start, wanted)
    except ReplyFault as error:
        fault = error
    if reply is None or not reply.sound:
        reply = _after_reasoning(text, whole, wanted) or reply
    if reply is None and not whole.closed:
        reply = _leniently(text, start, wanted)
    if reply is None:
        raise fault or ReplyFault("no_json", wanted.missing)
    reply.data = cleaned(reply.data, reply.repairs)
    return reply


def _alone(text: str, wanted: Wanted) -> JsonReply | None:
    """The reply, if it is nothing but the expected object without a fault, as most replies are."""
    raw = text.strip(" \t\r\n")
    if not (raw.startswith("{") and raw.endswith("}")) or raw.count("{") + raw.count("[") > MAX_DEPTH:
        return None
    decoded = strictly(raw)
    accepted = wanted.accept(decoded.data) if decoded and not decoded.repairs else None
    if accepted is None:
        return None
    reply = JsonReply(accepted[0], set(), raw, text.index("{"), known=wanted.known)
    if MAY_HOLD_SURROGATES.search(raw):
        reply.data = cleaned(reply.data, reply.repairs)
    return reply


def reasoning_around(text: str) -> Separated:
    """What a reply in JSON is without its reasoning; marks inside its strings are not reasoning."""
    start = answer_start(text)
    scanned = scan(text, start)
    blocks = [text[:start], *(text[first:last] for first, last in scanned.removed)]
    if not any(blocks):
        return Separated(text)
    values = "".join(text[span.start : span.end] for span in scanned.spans)
    return Separated(MARKERS.sub("", outside(text, scanned, start)).strip() + values, bare(blocks))


def goes_on(text: str) -> bool:
    """Whether more than a fence follows the last value in ``text``, from which a value was read."""
    scanned = scan(text, answer_start(text))
    ends = [max(text.rfind("}"), text.rfind("]")) + 1]
    if scanned.spans and scanned.closed:
        ends.append(scanned.spans[-1].end)
    return any(not _LAST_FENCE.match(MARKERS.sub("", text[end:])) for end in ends)


def _after_reasoning(text: str, whole: Scan, wanted: Wanted) -> JsonReply | None:
    """A sound value after the last closing mark, if loose brackets in the reasoning swallowed both.

    A value that an answer quotes together with the mark is not mistaken for it: whatever swallowed it would
    hold a hint before the mark, or brackets of the answer would be left over after it.
    """
    place = last_closing(text)
    if place is None:
        return None
    swallowing = next((s for s in reversed(whole.spans) if s.start < place <= s.end), None)
    if swallowing is None or _hinted(text[swallowing.start : place], wanted):
        return None
    tail = scan(text, place)
    if tail.stray or not tail.spans or not tail.closed:
        return None
    try:
        reply = _bind(text, tail, place, wanted)
    except ReplyFault:
        return None
    reply.repairs.add("reasoning_removed")
    return reply if reply.sound else None


def _leniently(text: str, start: int, wanted: Wanted) -> JsonReply | None:
    """The only value, at the reply's end, that closes if an odd number of inner quotes is forgiven."""
    lenient = scan(text, start, lenient=True)
    if not lenient.closed or len(lenient.spans) != 1 or _FENCE.sub("", text[lenient.spans[-1].end :]).strip():
        return None
    try:
        return _bind(text, lenient, start, wanted)
    except ReplyFault:
        return None


def _bind(text: str, scanned: Scan, start: int, wanted: Wanted) -> JsonReply:
    """Read the last accepted span. Raises if a later span may have been meant but cannot be read."""
    broken = False
    for span in scanned.spans[: -MAX_TRIED - 1 : -1]:
        raw, rest = text[span.start : span.end], ""
        if not span.closed:  # only what was complete before the break, closed
            rest = raw if span.cut < 0 else text[span.cut : span.end]
            raw = "" if span.cut < 0 else raw[: span.cut - span.start] + span.tail
        decoded = _read(raw, span, wanted)
        accepted = wanted.accept(decoded.data) if decoded else None
        if decoded and accepted:
            if broken or _continues(
                outside(text, scanned, span.end), outside(text[: scanned.stray], scanned, span.end)
            ):
                raise ReplyFault("bad_json", "The reply goes on after the JSON with more of it.")
            data, slug = accepted
            if doubt := _in_doubt(text, scanned, span, wanted, data):
                raise ReplyFault(doubt, "The reply changes or quotes its JSON in what follows.")
            repairs = {*decoded.repairs, *_repairs_around(text, scanned, start)}
            if slug:
                repairs.add(slug)
            if not span.closed:
                repairs.add("truncated")
            return JsonReply(
                data, repairs, raw, span.start, rest, decoded.mended, decoded.clashes, wanted.known
            )
        if not span.closed and span.height > MAX_DEPTH:
            raise ReplyFault("bad_json", "The JSON in the reply is nested too deeply.")
        if not span.closed:
            raise ReplyFault("truncated", "The reply breaks off before its JSON is complete.")
        if (decoded is None or decoded.mended) and _hinted(raw, wanted):
            raise ReplyFault("bad_json", _MALFORMED)
        broken |= decoded is None
    if scanned.spans:
        raise ReplyFault("missing_key", wanted.missing)
    if scanned.removed:
        raise ReplyFault("no_json", "The reply holds reasoning only; the JSON must follow after it.")
    raise ReplyFault("no_json", f"The reply holds no JSON object. {wanted.missing}")


def _in_doubt(text: str, scanned: Scan, span: Span, wanted: Wanted, data: dict[str, Any]) -> FaultKind | None:
    """Why something else than ``data`` may be meant: what follows changes one of its numbers, or an earlier
    value would do and this one is a quotation in a sentence."""
    readable = [s for s in scanned.spans[-MAX_TRIED:] if s.closed and s.height <= MAX_DEPTH]
    if any(map(str.isalnum, text[span.end :])):
        given = numbers_in(data, wanted.known)
        if given and takes_back(outside(text, scanned, span.end), given, wanted.known):
            return "contradiction"
        for other in (s for s in readable if given and s.start >= span.end):
            decoded = strictly(text[other.start : other.end])
            if decoded and differs(decoded.data, given, wanted.known):
                return "contradiction"
    before, after = text[span.start - 1 : span.start], text[span.end : span.end + 1]
    line = text[: span.start].rpartition("\n")[2].strip(), text[span.end :].partition("\n")[0]
    quoted: object = (before + after in QUOTES and text[span.start - 2 : span.start] != "``") or (
        line[0] and any(map(str.isalnum, line[1]))
    )
    quoted = quoted or _NOT_MEANT.search(text[max(0, span.start - 200) : span.start].rpartition("}")[2])
    earlier = (strictly(text[s.start : s.end]) for s in readable if quoted and s.end <= span.start)
    return "bad_json" if any(found and wanted.accept(found.data) for found in earlier) else None


def _continues(rest: str, until_stray: str) -> bool:
    """Whether the ``rest`` of a reply may belong to a string whose last bracket seems to end the value."""
    return '"' in rest.partition("\n")[0] or '"' in until_stray


def _hinted(raw: str, wanted: Wanted) -> bool:
    return any(hint in raw for hint in wanted.hints)


def _read(raw: str, span: Span, wanted: Wanted) -> Decoded | None:
    if not raw or span.height > MAX_DEPTH:
        return None
    decoded = strictly(raw)
    if decoded or not _hinted(raw, wanted):
        return decoded
    return mended(raw, wanted.known, whole=span.closed)


def _repairs_around(text: str, scanned: Scan, start: int) -> set[str]:
    """Repairs for the text around the values."""
    repairs = set()
    rest, markers = MARKERS.subn("", outside(text, scanned, start))
    if scanned.removed or markers or answer_start(text):
        repairs.add("reasoning_removed")
    rest, fences = _FENCE.subn("", rest)
    if fences:
        repairs.add("fence_removed")
    if rest.strip().strip(_INVISIBLE).strip():
        repairs.add("prose_removed")
    if len(scanned.spans) > 1:
        repairs.add("several_objects")
    return repairs
