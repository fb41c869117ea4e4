"""What came back with status 200, read into an Answer or, where it is none, a Fault."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from bench.chat.faults import Fault, fault_in_success, shortened
from bench.chat.requests import estimated_tokens, scalar_text
from bench.chat.secrets import REDACTED
from bench.records import Message, Record, Usage

LONGEST_NAME = 200
"""Longest finish reason, fingerprint or model name that is kept."""

FINISH_OUTCOMES: dict[str, Literal["length", "content_filter"]] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
}


class Answer(Record):
    """A final answer of a model: what the cache keeps."""

    outcome: Literal["ok", "empty", "length", "content_filter", "refused"]
    text: str
    finish_reason: str | None = None
    usage: Usage
    system_fingerprint: str | None = None
    served_model: str | None = None
    detail: str = ""
    batch: bool | None = None
    """True where it came through the provider's Batch API."""
    sound: str | None = None
    """A spoken answer's sound file in base64, as it came; ``text`` is then its transcript."""


def answer_from(content: bytes, messages: Sequence[Message], secrets: Iterable[str]) -> Answer | Fault:
    """The answer in the body ``content`` of a response with status 200 to ``messages``.

    A fault bears the usage that stands beside it: it is charged all the same.
    """
    text = content.decode("utf-8", errors="replace")
    for secret in secrets:
        if secret in text:
            text = text.replace(secret, REDACTED)
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
        return _without(result, secrets)
    usage = usage_of(payload.get("usage"), messages, "")
    return result if usage.estimated else replace(result, usage=usage)


def _without(answer: Answer, secrets: Iterable[str]) -> Answer:
    """``answer`` without secrets that JSON escapes had hidden in the body."""
    texts = {name: value for name, value in answer if isinstance(value, str) and name != "outcome"}
    for secret in secrets:
        texts = {name: value.replace(secret, REDACTED) for name, value in texts.items()}
    changed = {name: value for name, value in texts.items() if value != getattr(answer, name)}
    return answer.model_copy(update=changed) if changed else answer


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
    transcript, sound = _spoken(message.get("audio"))
    said = scalar_text(_content(message.get("content")) or transcript)
    refusal = scalar_text(_content(message.get("refusal")))
    reasoning = scalar_text(_content(message.get("reasoning_content") or message.get("reasoning")))
    outcome: Literal["ok", "empty", "length", "content_filter", "refused"]
    outcome = FINISH_OUTCOMES.get((finish or "").lower(), "ok")
    detail = ""
    if outcome == "length":
        detail = "cut off at the token limit"
    elif outcome == "content_filter":
        detail = "stopped by the provider's content filter"
    if outcome != "content_filter" and not said.strip() and sound is None:
        if refusal.strip():
            outcome, detail = "refused", f"refused: {shortened(refusal, ())}"
            said = refusal
        else:
            outcome, detail = "empty", _why_empty(message, reasoning, finish)
    elif refusal.strip() and outcome == "ok":
        outcome, detail = "refused", f"refused: {shortened(refusal, ())}"
    return Answer(
        outcome=outcome,
        text=said,
        finish_reason=finish,
        usage=usage_of(payload.get("usage"), messages, said + reasoning),
        system_fingerprint=_name(payload.get("system_fingerprint")),
        served_model=_name(payload.get("model")),
        detail=detail,
        sound=sound,
    )


def usage_of(given: object, messages: Sequence[Message], written: str) -> Usage:
    """Token usage as the provider counted it, or estimated from the characters where it did not."""
    usage = given if isinstance(given, dict) else {}
    prompt, completion = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if prompt is None or completion is None or (completion == 0 and written.strip()):
        return Usage(
            prompt_tokens=sum(estimated_tokens(m.content) + 4 for m in messages),
            completion_tokens=estimated_tokens(written),
            estimated=True,
        )
    prompt_details = usage.get("prompt_tokens_details")
    completion_details = usage.get("completion_tokens_details")
    cached = prompt_details.get("cached_tokens") if isinstance(prompt_details, dict) else None
    reasoned = completion_details.get("reasoning_tokens") if isinstance(completion_details, dict) else None
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=_count(cached if cached is not None else usage.get("prompt_cache_hit_tokens")),
        reasoning_tokens=_count(reasoned),
        # Most providers write 0 of calls without sound: that is no fact about them.
        audio_prompt_tokens=_audio_tokens(prompt_details),
        audio_completion_tokens=_audio_tokens(completion_details),
    )


def joined_stream(text: str) -> dict[str, Any] | None:
    """The one completion that a stream nobody asked for adds up to; None where it is none or was cut off."""
    events = [line[5:].strip() for line in text.splitlines() if line.startswith("data:")]
    parts: list[str] = []
    whole: dict[str, Any] = {}
    finish = None
    for event in events:
        if event == "[DONE]":
            break
        try:
            chunk = json.loads(event)
            whole.update({k: v for k, v in chunk.items() if k != "choices" and v is not None})
            for choice in chunk.get("choices") or ():
                parts.append((choice.get("delta") or {}).get("content") or "")
                finish = choice.get("finish_reason") or finish
        except (ValueError, AttributeError, TypeError, RecursionError):
            return None
    if "error" in whole:
        return whole
    if finish is None:
        return None
    return {**whole, "choices": [{"message": {"content": "".join(parts)}, "finish_reason": finish}]}


def _content(content: object) -> str:
    """Text of a message's content: a string, or the text parts of a list."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [p.get("text") for p in content if isinstance(p, dict) and p.get("type") in ("text", None)]
        return "".join(t for t in texts if isinstance(t, str))
    return ""


def _spoken(audio: object) -> tuple[str, str | None]:
    """Transcript and base64 of a message's ``audio``."""
    if not isinstance(audio, dict):
        return "", None
    transcript, data = audio.get("transcript"), audio.get("data")
    sound = data if isinstance(data, str) and data and data.isascii() else None
    return transcript if isinstance(transcript, str) else "", sound


def _audio_tokens(details: object) -> int | None:
    return (_count(details.get("audio_tokens")) or None) if isinstance(details, dict) else None


def _why_empty(message: Mapping[str, Any], reasoning: str, finish: str | None) -> str:
    if reasoning.strip():
        limit = " up to the token limit" if finish == "length" else ""
        return f"nothing but reasoning was written{limit}"
    if message.get("tool_calls") or message.get("function_call"):
        return "a tool call was written instead of text"
    return "the answer is blank"


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _name(value: object) -> str | None:
    return scalar_text(value)[:LONGEST_NAME] if isinstance(value, str) and value else None


def _opening(text: str, secrets: Iterable[str]) -> str:
    """The first words of an answer that could not be read."""
    return shortened(text[:400], secrets)[:120] or "it is blank"
