"""Reads an interrogator's reply: one object with the next utterance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bench.replies.faults import ReplyFault, in_order, shown
from bench.replies.objects import json_object, settled
from bench.replies.reasoning import Separated, separated


@dataclass(frozen=True)
class Utterance:
    """The interrogator's next message, without surrounding whitespace, and the repairs made."""

    text: str
    repairs: tuple[str, ...]


def utterance(text: str, *, key: str = "next_utterance") -> Utterance:
    """Read the utterance under ``key``. Raises ReplyFault if it is cut off, blank or no string."""
    reply = settled(json_object(text, required=[key]))
    if len(reply.data) > 1:
        reply.repairs.add("extra_keys")
    return Utterance(text_under(key, reply.data, reply.repairs), in_order(reply.repairs))


def text_under(key: str, data: dict[str, Any], repairs: set[str]) -> str:
    """The utterance in ``data`` under ``key``, without reasoning and surrounding whitespace."""
    value = data[key]
    if not isinstance(value, str):
        raise ReplyFault("bad_type", f"The value of {shown(key)} is {shown(value)}; it must be a string.")
    parts = separated(value, cut=False)
    if parts != Separated(value):
        repairs.add("reasoning_removed")
        value = parts.answer
    if not value.strip():
        raise ReplyFault("empty", f"The value of {shown(key)} is blank; it must be the next utterance.")
    return value.strip()
