"""What an answer contains besides its text, kept as evidence: reasoning, refusals, tool arguments."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
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
"""Fields of a message in which providers return reasoning; several of them may hold the same text."""
REASONING_PARTS: Final = ("reasoning", "thinking", "thought")
"""Openings of the ``type`` of content parts that hold reasoning."""
_TEXT_KEYS: Final = ("text", "thinking", "reasoning", "thought", "summary", "content", "refusal")
_NOTHING: Final = frozenset({"null", "none", "undefined", "false"})
"""Texts by which some servers say that a field is empty."""
_DEEPEST: Final = 8


def evidence_in(message: Mapping[str, Any]) -> tuple[str, str, str]:
    """Refusal, reasoning and tool arguments in an answer's ``message``; empty if there are none."""
    found = message.get("content")
    parts = [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []
    refusals = [message.get("refusal"), *(part for part in parts if part.get("type") == "refusal")]
    extra = message.get("provider_specific_fields")
    fields = {**(extra if isinstance(extra, dict) else {}), **message}
    reasoning = [fields.get(name) for name in REASONING_FIELDS]
    reasoning += [part for part in parts if _is_reasoning(part)]
    return _joined(refusals), _joined(reasoning), _arguments(message)


def texts_of(value: object) -> str:
    """All text in a field that may hold a string, an object with text, or a list of them."""
    return "".join(_texts(value, 0))


def _is_reasoning(part: Mapping[str, Any]) -> bool:
    kind = part.get("type")
    return part.get("thought") is True or (isinstance(kind, str) and kind.lower().startswith(REASONING_PARTS))


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
