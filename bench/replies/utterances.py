"""Reads an interrogator's reply: one object with the next utterance."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from bench.replies.faults import ReplyFault, in_order, shown
from bench.replies.objects import json_object, settled
from bench.replies.reasoning import Separated, in_the_middle, separated

_REST: Final = re.compile(r'"\s*+(?:,\s*+"[\w .-]{1,60}"\s*+:|\}\s*\Z)')


@dataclass(frozen=True)
class Utterance:
    """The interrogator's next message, without surrounding whitespace, and the repairs made."""

    text: str
    repairs: tuple[str, ...]


def utterance(text: str, *, key: str = "next_utterance") -> Utterance:
    """Read the utterance under ``key``. Raises ReplyFault if it is cut off, blank or not a string."""
    reply = settled(json_object(text, required=[key]))
    before, after = text[: reply.start], text[reply.start + len(reply.source) :]
    several = "several_objects" in reply.repairs and '"' in before.rpartition("\n")[2]
    if several or after.rstrip().endswith('"'):
        raise ReplyFault("bad_json", "The reply holds more than one JSON object; send only one.")
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
        if in_the_middle(value):
            raise ReplyFault("bad_json", f"The value of {shown(key)} has marks of reasoning in the middle.")
        repairs.add("reasoning_removed")
        value = parts.answer
    if not value.strip():
        raise ReplyFault("empty", f"The value of {shown(key)} is blank; it must be the next utterance.")
    if f'"{key}"' in value or _holds_the_rest(value):
        raise ReplyFault("bad_json", f"The value of {shown(key)} goes on into the rest of the JSON.")
    return value.strip()


def _holds_the_rest(text: str) -> bool:
    """Whether ``text`` runs over the end of its string, such as after a quote that was escaped by mistake."""
    rest = _REST.search(text)
    return rest is not None and "{" not in text[: rest.start()]
