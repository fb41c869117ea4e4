"""An interrogator's reply: one object with the next utterance."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from bench.replies.decode import Decoded, strictly
from bench.replies.faults import ReplyFault, in_order, shown
from bench.replies.objects import find, wanted_object

_ONE_STRING: Final = re.compile(
    r'\{\s*"(?P<key>\w+)"\s*:\s*"(?P<value>.*)"\s*+(?P<comma>,?)\s*+\}', re.DOTALL
)
_NEXT_PAIR: Final = re.compile(r'"\s*+,\s*+["\'\w][^":{}]{0,80}:')
_BARE_QUOTE: Final = re.compile(r'(\\.)|"', re.DOTALL)


@dataclass(frozen=True)
class Utterance:
    """What the interrogator says next, without blanks around it, and what had to be repaired."""

    text: str
    repairs: tuple[str, ...]


def utterance(text: str, *, key: str = "next_utterance") -> Utterance:
    """The utterance under ``key`` of the reply's object; a fault if it is cut off, blank or no string."""
    found = find(text, wanted_object([key], salvage=_one_string))
    said = said_under(key, found.data)
    repairs = set(found.repairs)
    if len(found.data) > 1:
        repairs.add("extra_keys")
    return Utterance(said, in_order(repairs))


def said_under(key: str, data: dict[str, Any]) -> str:
    """The utterance that ``data`` holds under ``key``, without blanks around it."""
    value = data[key]
    if not isinstance(value, str):
        raise ReplyFault("bad_type", f"The value of {shown(key)} is {shown(value)}; it must be a string.")
    if not value.strip():
        raise ReplyFault("empty", f"The value of {shown(key)} is blank; it must be the next utterance.")
    return value.strip()


def _one_string(raw: str) -> Decoded | None:
    """An object of one string whose inner quotes are not escaped: all of it is the string.

    json-repair would end the string at the first inner quote that a comma follows.
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
