"""A judge's reply that picks a band of the scale first, then a score in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from bench.replies.faults import ReplyFault, in_order, listed, shown
from bench.replies.objects import find, wanted_object
from bench.replies.values import in_range, integer, literals

Band = tuple[int, int]
"""Lowest and highest score of a band, both in it."""

KEYS: Final = ("analysis", "band", "score")
_ENDS: Final = re.compile(r"(?<![0-9.])([0-9]{1,3})\s*+(?:-|–|—|to|до)\s*+([0-9]{1,3})(?![0-9.])")


@dataclass(frozen=True)
class Banded:
    """What a judge thought, its band and its score, and what had to be repaired."""

    analysis: str
    band: Band
    score: int
    repairs: tuple[str, ...]


def named(band: Band) -> str:
    """A band as prompts and records call it."""
    return f"{band[0]}-{band[1]}"


def banded(text: str, *, bands: Sequence[Band]) -> Banded:
    """The last object of ``text`` with a band of ``bands`` and a score that lies in it.

    The band may stand with other words ("Good, 61 to 80"). Raises ReplyFault, also where the two differ.
    """
    found = find(text, wanted_object(KEYS[1:]))
    repairs = set(found.repairs)
    if not set(found.data) <= set(KEYS):
        repairs.add("extra_keys")
    analysis = found.data.get("analysis")
    if analysis is None:
        repairs.add("reason_missing")
        analysis = ""
    if not isinstance(analysis, str):
        raise ReplyFault("bad_type", f'The value of "analysis" is {shown(analysis)}; it must be a string.')
    band = _band(found.data["band"], bands)
    score = integer(found.data["score"], '"score"', repairs)
    in_range(score, min(low for low, _ in bands), max(high for _, high in bands), '"score"')
    if found.guessed and literals(found.source, "score") != [score]:
        raise ReplyFault("bad_json", 'The JSON in the reply is malformed around "score".')
    if not band[0] <= score <= band[1]:
        fault = f"The score {score} lies outside the band {named(band)}; it must be a number of its band."
        raise ReplyFault("contradiction", fault)
    return Banded(analysis, band, score, in_order(repairs))


def _band(value: Any, bands: Sequence[Band]) -> Band:
    """The one band that ``value`` names."""
    text = value if isinstance(value, str) else ""
    ends = {(int(low), int(high)) for low, high in _ENDS.findall(text)}
    if len(ends) != 1 or not ends.issubset(bands):
        due = listed(named(band) for band in bands)
        raise ReplyFault("bad_type", f'The value of "band" is {shown(value)}; it must be one of {due}.')
    return ends.pop()
