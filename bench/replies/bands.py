"""Reads a judge's reply that picks a band of the scale first, then a score in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from bench.replies.faults import ReplyFault, in_order, listed, shown
from bench.replies.later import Later
from bench.replies.objects import json_object, settled
from bench.replies.values import in_range, integer, reason

Band = tuple[int, int]
"""Lowest and highest score of a band, both included."""

KEYS: Final = ("analysis", "band", "score")
_ENDS: Final = Later(r"(?<![0-9.])([0-9]{1,3})\s*+(?:-|–|—|to|до)\s*+([0-9]{1,3})(?![0-9.])")


@dataclass(frozen=True)
class Banded:
    """A judge's analysis, band and score, and the repairs made."""

    analysis: str
    band: Band
    score: int
    repairs: tuple[str, ...]


def named(band: Band) -> str:
    """A band's name in prompts and records, such as ``61-80``."""
    return f"{band[0]}-{band[1]}"


def banded(text: str, *, bands: Sequence[Band]) -> Banded:
    """Read the last object in ``text`` with one of ``bands`` and a score in that band.

    The band may stand among other words ("Good, 61 to 80").

    Raises:
        ReplyFault: The reply cannot be read, or the score lies outside the band.
    """
    reply = settled(json_object(text, required=KEYS[1:], known=KEYS))
    repairs = reply.repairs
    if not set(reply.data) <= set(KEYS):
        repairs.add("extra_keys")
    analysis = reason(reply.data, "analysis", '"analysis"', repairs)
    band = _band(reply.data["band"], bands)
    score = integer(reply.data["score"], '"score"', repairs)
    in_range(score, min(low for low, _ in bands), max(high for _, high in bands), '"score"')
    if not band[0] <= score <= band[1]:
        fault = f"The score {score} lies outside the band {named(band)}; it must be a number of its band."
        raise ReplyFault("contradiction", fault)
    return Banded(analysis, band, score, in_order(repairs))


def _band(value: Any, bands: Sequence[Band]) -> Band:
    """The only band that ``value`` names."""
    text = value if isinstance(value, str) else ""
    ends = {(int(low), int(high)) for low, high in _ENDS.findall(text)}
    if len(ends) != 1 or not ends.issubset(bands):
        due = listed(named(band) for band in bands)
        raise ReplyFault("bad_type", f'The value of "band" is {shown(value)}; it must be one of {due}.')
    return ends.pop()
