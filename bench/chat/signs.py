"""Finds what overrides the text of a response: error objects and filter results anywhere in its body."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from bench.chat.endings import Side, ending_of, word

DEEPEST = 12
"""Levels of nesting that are searched."""
LONGEST_CODE = 64
"""Characters of a code."""
FILTER_RESULTS: dict[str, Side] = {
    "prompt_filter_results": "input",
    "prompt_filter_result": "input",
    "prompt_annotations": "input",
    "prompt_feedback": "input",
    "input_filter_results": "input",
    "innererror": "input",
    "input_assessment": "input",
    "content_filter_results": "answer",
    "content_filter_result": "answer",
    "output_filter_results": "answer",
    "content_filters": "answer",
    "moderation": "answer",
    "moderation_result": "answer",
    "output_assessments": "answer",
    "safety_ratings": "answer",
    "vertex_ai_safety_ratings": "answer",
    "vertex_ai_safety_results": "answer",
}
"""Parts of a body in which a filter reports; within those about the prompt, all others are about it too."""
FILTER_FLAGS: dict[str, Side] = {
    "input_sensitive": "input",
    "output_sensitive": "answer",
    "block_reason": "input",
    "amazon_bedrock_guardrail_action": "answer",
}
"""Fields that say that something was blocked, by themselves."""
_NOT_BLOCKED = frozenset(
    {"none", "unspecified", "0", "no", "block_reason_unspecified", "blocked_reason_unspecified", "false"}
)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NOT_SEARCHED = _names("""
    content reasoning reasoning_content reasoning_details refusal tool_calls function_call logprobs usage
    audio thinking thinking_blocks thoughts annotations citations search_results flagged_input input prompt
    messages request
""")
"""What models and users wrote, and numbers."""
_ERROR_NAMES = _names("error errors base_resp err error_message error_msg exception failure")
CODE_KEYS = _names("code type status error_code error_type status_code reason err_code err_type")
MESSAGE_KEYS = _names("""
    message msg detail error_msg error_message status_msg error_description title description err_msg
    errmsg raw
""")
_SUCCESS = frozenset(
    {"", "0", "200", "success", "succeeded", "ok", "none", "null", "false", "20000", "10000"}
    | {"no error", "no errors", "n/a", "-"}
)


@dataclass(frozen=True, slots=True)
class Signs:
    """What a body holds besides its text."""

    error: object = None
    """The first error object (or text), outermost first; None without one."""
    filtered: Side | None = None
    """What a filter blocked; a blocked input comes first."""
    blamed: Side | None = None
    """Whose text Zhipu's ``contentFilter`` complains about, which need not block anything."""


def signs_in(body: Mapping[str, Any]) -> Signs:
    """The error and the filter results anywhere in ``body``."""
    errors: list[object] = [body] if _says_failure(body) else []
    sides: set[Side] = set()
    level: list[tuple[object, Side | None]] = [(body, None)]
    for _ in range(DEEPEST):
        deeper: list[tuple[object, Side | None]] = []
        for node, side in level:
            for name, value in _items(node):
                if name in _NOT_SEARCHED:
                    continue
                if side is None and (name in _ERROR_NAMES or name.endswith("_error")):
                    if is_error(value):
                        errors.append(node if value is True else value)
                    continue
                blocked = _blocked(name, value, side)
                if blocked is not None:
                    sides.add(blocked)
                if isinstance(value, dict | list):
                    here: Side | None = "input" if _about_input(value) and side else FILTER_RESULTS.get(name)
                    deeper.append((value, side if side == "input" or here is None else here))
        level = deeper
    filtered: Side | None = "input" if "input" in sides else "answer" if sides else None
    return Signs(errors[0] if errors else None, filtered, _blamed(body))


def _blamed(body: Mapping[str, Any]) -> Side | None:
    reports = body.get("contentFilter", body.get("content_filter"))
    roles = (
        {str(r.get("role")) for r in reports if isinstance(r, dict)} if isinstance(reports, list) else set()
    )
    return "answer" if "assistant" in roles else "input" if roles else None


def _items(node: object) -> Sequence[tuple[str, object]]:
    """The fields of ``node`` by name, as words; the items of a list have none."""
    if isinstance(node, dict):
        return [(_name(key) if len(key) <= LONGEST_CODE else word(key), value) for key, value in node.items()]
    return [("", value) for value in node] if isinstance(node, list) else ()


_name = lru_cache(maxsize=512)(word)  # most bodies have the same fields


def _blocked(name: str, value: object, side: Side | None) -> Side | None:
    """The side that this field says was blocked. ``side``: of the filter results that it is part of."""
    if name in FILTER_FLAGS:
        said = word(value) if isinstance(value, str) else value
        return FILTER_FLAGS[name] if said and said not in _NOT_BLOCKED else None
    if side is None:
        return None
    if name in ("filtered", "blocked") and str(value).lower() in ("true", "1"):
        return side
    if name == "action" and str(value).lower() == "blocked":
        return side
    if name == "error" and isinstance(value, dict):  # code content_filter_error: the filter did not run
        return side if word(str(value.get("code") or "")) == "content_filter" else None
    return None


def _about_input(value: object) -> bool:
    """Whether a filter's report says that it is about the input, as Azure's reports do."""
    source = value.get("source_type") if isinstance(value, dict) else None
    return isinstance(source, str) and word(source) in ("prompt", "input")


def is_error(value: object) -> bool:
    """Whether the value of an ``error`` field means an error: many providers send null, {} or code 0."""
    if isinstance(value, list):
        return any(map(is_error, value))
    if isinstance(value, dict):
        codes = [v for k, v in value.items() if word(str(k)) in CODE_KEYS and isinstance(v, str | int)]
        if codes and all(str(code).lower() in _SUCCESS for code in codes):
            return False
        return any(v not in (None, "", 0, False, [], {}) for v in value.values())
    if isinstance(value, float):  # a statistic
        return False
    return bool(value) and str(value).strip(" .\n\r\t").lower() not in _SUCCESS


def _says_failure(body: Mapping[str, Any]) -> bool:
    """Whether ``body`` is itself an error object."""
    if body.get("object") == "error" or body.get("type") == "error" or body.get("success") is False:
        return "error" not in body
    if "choices" not in body and any(isinstance(body.get(n), str) for n in ("message", "detail", "msg")):
        return "error" not in body
    status = body.get("status")
    if isinstance(status, str) and ending_of(status) == "broken":
        return "error" not in body
    names = ("code", "error_code", "errorCode", "status_code", "err_code")
    codes = [str(body[n]).lower().partition(" ")[0] for n in names if isinstance(body.get(n), str | int)]
    said = (str(body[n]).lower() for n in ("message", "msg") if body.get(n))
    return any(code not in _SUCCESS for code in codes) and _SUCCESS.isdisjoint(said)


def said_in(error: object, depth: int = 0) -> tuple[str, str]:
    """All codes and all messages of an error object, also of errors that it quotes as JSON text."""
    codes: list[str] = []
    messages: list[str] = []
    if isinstance(error, str):
        messages.append(error)
    for name, value in _items(error) if depth < DEEPEST else ():
        if name in _NOT_SEARCHED or name == "choices":
            continue
        if name in CODE_KEYS and isinstance(value, str | int):
            # A longer text is a message under the wrong name: a number in it is not a status.
            (codes if len(str(value)) <= LONGEST_CODE else messages).append(str(value))
        elif name in MESSAGE_KEYS or name == "error" or not name:
            value = _quoted(value)
            if isinstance(value, str):
                messages.append(value)
        if name == "reasons" and value:  # OpenRouter's moderation
            codes.append("flagged")
        if isinstance(value, dict | list):
            inner_codes, inner_messages = said_in(value, depth + 1)
            codes.append(inner_codes)
            messages.append(inner_messages)
    return " ".join(filter(None, codes)), "\n".join(filter(None, messages))


def _quoted(value: object) -> object:
    """The JSON object that a text quotes, as routers do, also in an event stream; else the value itself."""
    text = value.rpartition("data:")[2] if isinstance(value, str) else ""
    if text.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return value
    return value
