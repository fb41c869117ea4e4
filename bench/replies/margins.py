"""Reads a judge's verdict on two conversations: a signed margin and a reason for each criterion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.replies.faults import ReplyFault, in_order
from bench.replies.objects import json_object, settled
from bench.replies.values import boolean, in_range, integer, reason

WIDEST = 3
"""Largest margin."""
REFUSALS = ("first_refuses", "second_refuses")
REFUSAL_REASON = "refusal_explanation"


@dataclass(frozen=True)
class Margins:
    """Margins by criterion, positive where the conversation shown first is better, and the repairs made."""

    margins: dict[str, int]
    reasons: dict[str, str]
    refusals: tuple[bool, bool]
    refusal_reason: str
    repairs: tuple[str, ...]


def margins(text: str, criteria: Sequence[str]) -> Margins:
    """Read the margins of all ``criteria``, and whether a player refuses. Raises ReplyFault."""
    keys = [key for name in criteria for key in (f"{name}_explanation", f"{name}_margin")]
    known = {*keys, *REFUSALS, REFUSAL_REASON}
    reply = settled(json_object(text, required=[f"{name}_margin" for name in criteria], known=known))
    data, repairs = reply.data, reply.repairs
    missing = [key for key in REFUSALS if key not in data]
    if missing:
        raise ReplyFault("missing_key", f'The reply has no "{missing[0]}".')
    found, reasons = {}, {}
    for name in criteria:
        why, key = f"{name}_explanation", f"{name}_margin"
        reasons[name] = reason(data, why, f'"{why}"', repairs)
        value = data[key]
        if isinstance(value, str):  # "+2"
            value = value.strip().removeprefix("+")
        margin = integer(value, f'"{key}"', repairs)
        found[name] = in_range(margin, -WIDEST, WIDEST, f'"{key}"')
    first, second = (boolean(data[key], f'"{key}"', repairs) for key in REFUSALS)
    why = reason(data, REFUSAL_REASON, f'"{REFUSAL_REASON}"', repairs)
    if not known.issuperset(data):
        repairs.add("extra_keys")
    return Margins(found, reasons, (first, second), why, in_order(repairs))
