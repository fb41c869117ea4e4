"""Reads an interrogator's reply: one object with the next utterance."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from bench.replies.decode import Decoded, strictly
from bench.replies.faults import ReplyFault, in_order, shown
from bench.replies.objects import json_object
from bench.replies.reasoning import Separated, separated

_ONE_STRING: Final = re.compile(
    r'\{\s*"(?P<key>\w+)"\s*:\s*"(?P<value>.*)"\s*+(?P<comma>,?)\s*+\}', re.DOTALL
)
_NEXT_PAIR: Final = re.compile(r'"\s*+,\s*+["\'\w][^":{}]{0,80}:')
_BARE_QUOTE: Final = re.compile(r'(\\.)|"', re.DOTALL)


@dataclass(frozen=True)
class Utterance:
    """The interrogator's next message, without surrounding whitespace, and the repairs made."""

    text: str
    repairs: tuple[str, ...]


def utterance(text: str, *, key: str = "next_utterance") -> Utterance:
    """Read the utterance under ``key``. Raises ReplyFault if it is cut off, blank or no string."""
    reply = json_object(text, required=[key], salvage=_one_string)
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


def _one_string(raw: str) -> Decoded | None:
    """Read an object of one string whose inner quotes are not escaped; the string is all of it.

    json-repair would end the string at the first inner quote before a comma.
    """
    shape = _ONE_STRING.fullmatch(raw)
    if shape is None or _NEXT_PAIR.search(shape["value"]):
        return None
    value = _BARE_QUOTE.sub(lambda m: m[1] or '\\"', shape["value"])
    decoded = strictly(f'{{"{shape["key"]}": "{value}"}}')
    if decoded is None:
        return None
    repairs = {"quotes_escaped"} if value != shape["value"] else set()
    if shape["comma"]:
        repairs.add("json_repaired")
    return Decoded(decoded.data, decoded.repairs | repairs)
