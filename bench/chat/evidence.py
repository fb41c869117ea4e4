"""What an answer contains besides its text, kept as evidence: reasoning, refusals, tool arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from bench.chat.requests import scalar_text

REASONING_FIELDS: Final = (
    "reasoning_content",
    "reasoningContent",
    "reasoning",
    "reasoning_details",
    "thinking",
    "thinking_blocks",
    "thinking_content",
    "reasoning_text",
    "thought",
    "thoughts",
    "cot_summary",
)
"""Fields in which providers are known to return reasoning; several of them may hold the same text."""
_NAMED: Final = re.compile(r"reasoning|think|thought|^cot$|chain_?of|^analysis$")
_NO_TEXT: Final = re.compile(
    r"token|signature|finish|effort|encrypt|budget|enable|level|type|format|mode|time|second|duration|count"
    r"|language|status|state|version|cost|id$"
)
EXTRAS: Final = ("provider_specific_fields", "model_extra", "extra", "extra_content")
"""Fields of a message in which gateways keep what OpenAI's format lacks."""
REASONING_PARTS: Final = ("reasoning", "thinking", "thought", "analysis")
"""Openings of the ``type`` of content parts that hold reasoning."""
_TEXT_KEYS: Final = (
    *("text", "thinking", "reasoning", "thought", "summary", "content", "refusal"),
    *("reasoningText", "reasoning_text", "reasoning_content"),
)
_NOTHING: Final = frozenset({"null", "none", "undefined", "false"})
"""Texts by which some servers say that a field is empty."""
_DEEPEST: Final = 8


def evidence_in(message: Mapping[str, Any]) -> tuple[str, str, str]:
    """Refusal, reasoning and tool arguments in an answer's ``message``; empty if there are none."""
    found = message.get("content")
    parts = [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []
    refusals = [message.get("refusal"), *(part for part in parts if part.get("type") == "refusal")]
    fields = dict(message)
    for extra in map(message.get, EXTRAS):
        fields = {**extra, **fields} if isinstance(extra, dict) else fields
    names = dict.fromkeys((*REASONING_FIELDS, *filter(holds_reasoning, fields)))
    reasoning = [fields.get(name) for name in names]
    for part in parts:
        reasoning += (
            [part] if is_reasoning(part) else [v for name, v in part.items() if holds_reasoning(name)]
        )
    return _joined(refusals), _joined(reasoning), _arguments(message)


@lru_cache(maxsize=512)
def holds_reasoning(name: str) -> bool:
    """Whether a field with this name holds reasoning."""
    if name in REASONING_FIELDS:
        return True
    name = name.lower()
    return _NAMED.search(name) is not None and not _NO_TEXT.search(name)


def is_reasoning(part: Mapping[str, Any]) -> bool:
    """Whether a content part is reasoning."""
    kind, channel = part.get("type"), part.get("channel")
    named = isinstance(kind, str) and kind.lower().startswith(REASONING_PARTS)
    return part.get("thought") is True or named or channel in ("analysis", "commentary")


def texts_of(value: object) -> str:
    """All text in a field that may hold a string, an object with text, or a list of them."""
    return "".join(_texts(value, 0))


def _joined(values: list[object]) -> str:
    """The different texts in ``values``, one below the other."""
    texts = dict.fromkeys(scalar_text(texts_of(value)).strip() for value in values if value)
    return "\n\n".join(text for text in texts if text and text.lower() not in _NOTHING)


def _texts(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth < _DEEPEST and isinstance(value, list):
        for item in value:
            yield from _texts(item, depth + 1)
    elif depth < _DEEPEST and isinstance(value, dict):
        for key in _TEXT_KEYS:
            yield from _texts(value.get(key), depth + 1)


def _arguments(message: Mapping[str, Any]) -> str:
    """Arguments of the message's tool calls, in order; fragments of one call are joined."""
    listed = message.get("tool_calls")
    calls = [call for call in listed if isinstance(call, dict)] if isinstance(listed, list) else []
    calls.append({"function": message.get("function_call")})
    by_call: dict[int, str] = {}
    for number, call in enumerate(calls):
        function, index = call.get("function"), call.get("index")
        arguments = function.get("arguments") if isinstance(function, dict) else None
        if isinstance(arguments, dict):
            arguments = json.dumps(arguments, ensure_ascii=False)
        if isinstance(arguments, str):
            place = index if isinstance(index, int) else number
            by_call[place] = by_call.get(place, "") + arguments
    return scalar_text("\n".join(by_call.values()))
