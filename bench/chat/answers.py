"""Reads the body of a response with status 200 into an Answer, or into a Fault if it holds none."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from bench.chat.evidence import REASONING_FIELDS, evidence_in, texts_of
from bench.chat.faults import Fault, fault_in_success, shortened
from bench.chat.requests import estimated_tokens, scalar_text
from bench.chat.secrets import REDACTED
from bench.records import Message, Record, Usage

LONGEST_NAME = 200
"""Longest finish reason, fingerprint or model name that is kept."""

AnswerOutcome = Literal["ok", "empty", "length", "content_filter", "refused"]

FINISH_OUTCOMES: dict[str, tuple[AnswerOutcome, str]] = {
    "length": ("length", "cut off at the token limit"),
    "max_tokens": ("length", "cut off at the token limit"),
    "content_filter": ("content_filter", "stopped by the provider's content filter"),
    "safety": ("content_filter", "stopped by the provider's content filter"),
}


class Answer(Record):
    """A final answer of a model, as the cache keeps it."""

    outcome: AnswerOutcome
    text: str
    finish_reason: str | None = None
    usage: Usage
    system_fingerprint: str | None = None
    served_model: str | None = None
    detail: str = ""
    batch: bool | None = None
    """True if it came through the provider's Batch API."""
    reasoning: str | None = None
    """What came in fields or content parts for reasoning."""
    tool_arguments: str | None = None
    """Arguments of tool calls that came instead of a text."""
    refusal: str | None = None
    """What came in the refusal field or in content parts for refusals."""
    sound: str | None = None
    """A spoken answer's sound file in base64, as received; ``text`` is then its transcript."""


def answer_from(content: bytes, messages: Sequence[Message], secrets: Iterable[str]) -> Answer | Fault:
    """The answer in ``content``, the body of a response with status 200 to ``messages``.

    A fault carries the usage that the body reports, because it is charged all the same.
    """
    text = _without(content.decode("utf-8", errors="replace"), secrets)
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError):
        payload = joined_stream(text)
        if payload is None:
            return Fault("transport", f"the answer is not JSON: {_opening(text, secrets)}")
    if not isinstance(payload, dict):
        return Fault("transport", f"the answer is no JSON object: {_opening(text, secrets)}")
    result = _answer_in(payload, text, messages, secrets)
    if isinstance(result, Answer):
        # JSON escapes may have hidden a secret in the body.
        texts = {name: value for name, value in result if isinstance(value, str) and name != "outcome"}
        return result.model_copy(update={name: _without(value, secrets) for name, value in texts.items()})
    usage = usage_of(payload.get("usage"), messages, "")
    return result if usage.estimated else replace(result, usage=usage)


def _without(text: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, REDACTED)
    return text


def _answer_in(
    payload: Mapping[str, Any], text: str, messages: Sequence[Message], secrets: Iterable[str]
) -> Answer | Fault:
    choices = payload.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if isinstance(choice, dict) and choice.get("error"):
        return fault_in_success(choice, secrets)
    if payload.get("error") and not (isinstance(choice, dict) and choice.get("message")):
        return fault_in_success(payload, secrets)
    if not isinstance(choice, dict) or not isinstance(message := choice.get("message"), dict):
        return Fault("transport", f"the answer has no choices: {_opening(text, secrets)}")
    finish = _name(choice.get("finish_reason"))
    if finish == "error":
        return Fault("transport", "the provider broke the answer off with an error")
    return _read(payload, message, finish, messages)


def _read(
    payload: Mapping[str, Any], message: Mapping[str, Any], finish: str | None, messages: Sequence[Message]
) -> Answer:
    audio = _object(message.get("audio"))
    sound = audio.get("data")
    if not isinstance(sound, str) or not sound or not sound.isascii():
        sound = None
    text = scalar_text(_content(message.get("content")) or _content(audio.get("transcript")))
    refusal, reasoning, arguments = evidence_in(message)
    outcome, detail = FINISH_OUTCOMES.get((finish or "").lower(), ("ok", ""))
    blank = not text.strip() and sound is None
    if refusal.strip() and (outcome == "ok" or (blank and outcome != "content_filter")):
        outcome, detail = "refused", f"refused: {shortened(refusal, ())}"
        text = refusal if blank else text
    elif blank and outcome != "content_filter":
        outcome, detail = "empty", _why_empty(message, reasoning, finish)
    return Answer(
        outcome=outcome,
        text=text,
        finish_reason=finish,
        usage=usage_of(payload.get("usage"), messages, text + reasoning),
        system_fingerprint=_name(payload.get("system_fingerprint")),
        served_model=_name(payload.get("model")),
        detail=detail,
        reasoning=reasoning or None,
        tool_arguments=arguments or None if blank else None,
        refusal=refusal or None,
        sound=sound,
    )


def usage_of(reported: object, messages: Sequence[Message], written: str) -> Usage:
    """Token usage as the provider ``reported`` it, or estimated from the characters if it did not."""
    usage = _object(reported)
    prompt, completion = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if prompt is None or completion is None or (completion == 0 and written.strip()):
        return Usage(
            prompt_tokens=sum(estimated_tokens(m.content) + 4 for m in messages),
            completion_tokens=estimated_tokens(written),
            estimated=True,
        )
    prompt_details = _object(usage.get("prompt_tokens_details"))
    completion_details = _object(usage.get("completion_tokens_details"))
    cached = prompt_details.get("cached_tokens")
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=_count(usage.get("prompt_cache_hit_tokens") if cached is None else cached),
        reasoning_tokens=_count(completion_details.get("reasoning_tokens")),
        # Most providers report 0 for calls without sound, which says nothing about them.
        audio_prompt_tokens=_count(prompt_details.get("audio_tokens")) or None,
        audio_completion_tokens=_count(completion_details.get("audio_tokens")) or None,
    )


def joined_stream(text: str) -> dict[str, Any] | None:
    """The completion in an event stream that we did not ask for; None if there is none or it is cut off."""
    parts: list[object] = []
    calls: list[object] = []
    beside: dict[str, str] = {}
    whole: dict[str, Any] = {}
    finish = None
    for line in text.splitlines():
        if not line.startswith("data:"):
            continue
        event = line.removeprefix("data:").strip()
        if event == "[DONE]":
            break
        try:
            chunk = json.loads(event)
        except (ValueError, RecursionError):
            return None
        if not isinstance(chunk, dict):
            return None
        whole.update({k: v for k, v in chunk.items() if k != "choices" and v is not None})
        choices = chunk.get("choices")
        for choice in map(_object, _list(choices)):
            delta = _object(choice.get("delta"))
            calls += _list(delta.get("tool_calls"))
            content = delta.get("content")
            parts += content if isinstance(content, list) else [{"text": content}]
            for name in delta.keys() & {"refusal", *REASONING_FIELDS}:
                beside[name] = beside.get(name, "") + texts_of(delta[name])
            finish = choice.get("finish_reason") or finish
    if "error" in whole:
        return whole
    if finish is None:
        return None
    message = {**beside, "content": parts, "tool_calls": calls}
    return {**whole, "choices": [{"message": message, "finish_reason": finish}]}


def _content(content: object) -> str:
    """The text of a message's content: a string, or the text parts of a list."""
    if isinstance(content, list):
        parts = [p for p in content if isinstance(p, dict)]
        texts = [p.get("text") for p in parts if p.get("type") in ("text", "output_text", None)]
        return "".join(t for t in texts if isinstance(t, str))
    return content if isinstance(content, str) else ""


def _why_empty(message: Mapping[str, Any], reasoning: str, finish: str | None) -> str:
    if reasoning.strip():
        limit = " up to the token limit" if finish == "length" else ""
        return f"nothing but reasoning was written{limit}"
    if message.get("tool_calls") or message.get("function_call"):
        return "a tool call was written instead of text"
    return "the answer is blank"


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _name(value: object) -> str | None:
    return scalar_text(value)[:LONGEST_NAME] if isinstance(value, str) and value else None


def _opening(text: str, secrets: Iterable[str]) -> str:
    """The first words of an unreadable answer."""
    return shortened(text[:400], secrets)[:120] or "it is blank"
