"""Reads an interrogator's reply: one object with the next utterance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from bench.replies.faults import ReplyFault, in_order, shown
from bench.replies.later import Later
from bench.replies.objects import json_object, settled
from bench.replies.reasoning import MARKERS, Separated, in_the_middle, separated

_QUOTE = "[\"'“”‘’]"
_REST: Final = Later(
    rf"{_QUOTE}\s*+(?:,\s*+{_QUOTE}[\w .-]{{1,60}}{_QUOTE}\s*+:|,[^\S\n]*+\n\s*+\w{{1,60}}\s*+:"
    r"|,\s*+(?:\w{1,30}_\w{1,30}\s*+:|\w{1,60}\s*+:\s*+(?:true|false|null)\b)|[}\]]\s*+(?:`{3}\s*+)?\Z)"
)
"""The end of a string, and what may follow it in an object."""
_SMILEY: Final = Later(r"[:;=8xX]-?[}\]]\s*+\Z")
_TOKENS: Final = Later(
    rf"{MARKERS.pattern}|</(?:s|\w{{0,40}}utterance|message|response|answer|output)>\s*+\Z"
)
"""What ends a message in a chat template or in XML."""


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
    if f'"{key}"' in value or value.lstrip().startswith(f"{key}:") or _holds_the_rest(value):
        raise ReplyFault("bad_json", f"The value of {shown(key)} goes on into the rest of the JSON.")
    return value.strip()


def _holds_the_rest(text: str) -> bool:
    """Whether ``text`` runs over the end of its string, such as after a quote that was escaped by mistake."""
    rest = _REST.search(text)
    if rest is not None and "{" not in text[: rest.start()]:
        return True
    unopened = text.count("{") < text.count("}") and text.rstrip().endswith("}")
    return (unopened and not _SMILEY.search(text)) or _TOKENS.search(text) is not None
