"""Reads the body of a response with status 200 into an Answer, or into a Fault if it holds none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from bench.chat.endings import AnswerOutcome, Ending, Facts, Written, ending_of, kept_outcome, rule_for, worse
from bench.chat.evidence import EXTRAS, evidence_in, holds_reasoning, is_reasoning, texts_of
from bench.chat.faults import FORMAT_HINT, Fault, fault_in_success, shortened
from bench.chat.foreign_apis import first_of_stream, foreign_api
from bench.chat.requests import estimated_tokens, scalar_text
from bench.chat.secrets import searched, without_in
from bench.chat.signs import Signs, signs_in
from bench.records import Message, Record, Usage

MOST_TOKENS = 10**9
"""More tokens than a call can take: such a count is not believed."""
LONGEST_NAME = 200
"""Longest finish reason, fingerprint or model name that is kept."""

FINISH_KEYS = ("finish_reason", "native_finish_reason", "finishReason", "stop_reason", "finish_details")
"""Where a body says how it ended: in its choice, most of them."""
PROMPT_KEYS = ("prompt_tokens", "input_tokens", "promptTokenCount")
COMPLETION_KEYS = ("completion_tokens", "output_tokens", "candidatesTokenCount")
TOTAL_KEYS = ("total_tokens", "totalTokenCount")
REASONING_KEYS = ("reasoning_tokens", "thoughtsTokenCount")
CACHED_KEYS = ("cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens")
CACHE_KEYS = ("cache_read_input_tokens", "cache_creation_input_tokens")
"""Anthropic's counts of prompt tokens that ``input_tokens`` leaves out."""

_WORD = re.compile(r"\w+")
_COMMENTS = re.compile(r"\A(?:\s*:[^\n]*\n)+")
"""Lines by which a provider keeps the connection alive before the body."""


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
    """Arguments of its tool calls."""
    refusal: str | None = None
    """What came in the refusal field or in content parts for refusals."""
    sound: str | None = None
    """A spoken answer's sound file in base64, as received; ``text`` is then its transcript."""
    filtered: Literal["input"] | None = None
    """Whether the filter of a ``content_filter`` blocked the input, not the answer."""
    redactions: int | None = None
    """How often a secret of the provider was removed from it; None: never."""


def answer_from(content: bytes, messages: Sequence[Message], secrets: Iterable[str]) -> Answer | Fault:
    """The answer in ``content``, the body of a response with status 200 to ``messages``.

    A fault carries the usage that the body reports, because it is charged all the same.
    """
    secrets = tuple(secrets)
    text = _COMMENTS.sub("", content.decode("utf-8-sig", errors="replace"))
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError):
        payload = joined_stream(text) or first_of_stream(text)
        if payload is None:
            return Fault("transport", f"the answer is not JSON: {_opening(text, secrets)}")
    if isinstance(payload, list) and len(payload) == 1:  # as Google wraps errors
        payload = payload[0]
    if not isinstance(payload, dict):
        return Fault("transport", f"the answer is no JSON object: {_opening(text, secrets)}")
    hidden = searched(secrets)
    payload, count = without_in(payload, hidden)
    result = _answer_in(payload, text, messages, secrets)
    if isinstance(result, Answer):
        return _redacted(result, hidden, count) if hidden else result
    usage = usage_of(payload.get("usage"), messages, "")
    return result if usage.estimated else replace(result, usage=usage)


def _redacted(answer: Answer, secrets: Iterable[str], before: int) -> Answer:
    """``answer`` without secrets that were split among the parts of a message; ``before``: found in parts."""
    texts = {name: value for name, value in vars(answer).items() if isinstance(value, str)}
    texts, more = without_in(texts, secrets)
    return answer.model_copy(update=texts | {"redactions": before + more}) if before + more else answer


def within(answer: Answer, longest: int) -> Answer:
    """``answer`` with each of its texts cut to ``longest`` characters, and then as one that was cut off."""
    texts = {name: getattr(answer, name) or "" for name in ("text", "reasoning", "tool_arguments", "refusal")}
    long = {name: text[:longest] for name, text in texts.items() if len(text) > longest}
    if not long:
        return answer
    if "text" in long and answer.outcome in ("ok", "unknown_ending"):
        detail = f"cut off at {longest} characters, far beyond the token limit"
        return answer.model_copy(update=long | {"outcome": "length", "detail": detail})
    return answer.model_copy(update=long)


def _answer_in(
    payload: Mapping[str, Any], text: str, messages: Sequence[Message], secrets: Iterable[str]
) -> Answer | Fault:
    choices = payload.get("choices")
    choice = _object(choices[0]) if isinstance(choices, list) and choices else {}
    signs = signs_in(payload)
    fault = None if signs.error is None else fault_in_success(signs.error, secrets)
    finish, ending = _ending_in(payload, choice)
    said = _Said(choice.get("message", choice.get("delta")), choice)
    api = foreign_api(payload) if said.written == "no_choice" else ""
    kind = None if fault is None or fault.kind == "unreachable" else fault.kind
    written: Written = "foreign" if api else said.written
    rule = rule_for(Facts(kind, signs.filtered, ending, written))
    if fault is not None and fault.kind != "content_filter":
        return replace(fault, finish_reason=finish)
    if rule.outcome == "stops the run":
        detail = f"the answer is in the format of {api}, not of OpenAI's chat completions"
        return Fault("user", detail, FORMAT_HINT)
    if rule.outcome == "transport" and said.written == "no_choice" and ending != "broken":
        return Fault("transport", f"the answer has no choices: {_opening(text, secrets)}")
    if rule.outcome == "transport":
        detail = f"the provider broke the answer off (finish reason {finish!r})"
        return Fault("transport", detail, finish_reason=finish)
    outcome = kept_outcome(rule)
    detail, filtered = said.why(outcome, finish), None
    usage = usage_of(payload.get("usage"), messages, said.text + said.reasoning)
    if outcome == "content_filter":
        detail = detail if fault is None else fault.detail
        filtered = _blocked_input(signs, fault, said, usage)
    return Answer(
        outcome=outcome,
        text=said.refusal if said.written == "refusal" and outcome == "refused" else said.text,
        finish_reason=finish,
        usage=usage,
        system_fingerprint=_name(payload.get("system_fingerprint")),
        served_model=_name(payload.get("model")),
        detail=detail,
        reasoning=said.reasoning or None,
        tool_arguments=said.arguments or None,
        refusal=said.refusal or None,
        sound=said.sound,
        filtered=filtered,
    )


def as_read_now(answer: Answer) -> Answer | None:
    """An answer that an earlier version read, by the rules of this one; None if it was broken off."""
    if answer.outcome != "ok":
        return answer
    outcome = rule_for(Facts(None, None, ending_of(answer.finish_reason), "text")).outcome
    if outcome == "transport":
        return None
    return answer if outcome == "ok" else answer.model_copy(update={"outcome": outcome})


def _ending_in(payload: Mapping[str, Any], choice: Mapping[str, Any]) -> tuple[str | None, Ending]:
    """The finish reason that counts, and what it says: the worst of those that are given."""
    message = _object(choice.get("message"))
    places = (choice, message, *(_object(held.get(EXTRAS[0])) for held in (choice, message)), payload)
    given = [reason for place in places for reason in _reasons(place)]
    finish = next(iter(given), None)
    ending = ending_of(finish)
    for other in given:
        if (worst := worse(ending, other)) != ending:
            finish, ending = other, worst
    return finish, ending


def _reasons(place: Mapping[str, Any]) -> list[str]:
    """The finish reasons in ``place``, without the text at which the model was told to stop, which vLLM
    gives as ``stop_reason``."""
    given = {key: reason for key in FINISH_KEYS if (reason := _reason(place.get(key)))}
    if "finish_reason" in given and not _WORD.fullmatch(given.get("stop_reason", "")):
        given.pop("stop_reason", None)
    return list(given.values())


def _blocked_input(signs: Signs, fault: Fault | None, said: _Said, usage: Usage) -> Literal["input"] | None:
    """``input`` if a filter blocked the input. What was written, even if it is withheld, is an answer."""
    if signs.filtered is not None or signs.blamed is not None:
        side = signs.filtered or signs.blamed
    elif said.written not in ("nothing", "no_choice"):
        return None
    elif fault is not None:
        return fault.filtered
    else:
        side = None if usage.estimated or usage.completion_tokens else "input"
    return "input" if side == "input" else None


class _Said:
    """What a message says: its text, sound, refusal and reasoning."""

    def __init__(self, message: object, choice: Mapping[str, Any]) -> None:
        beside = {name: value for name, value in choice.items() if holds_reasoning(name)}
        self._message = fields = {**beside, **_object(message)}
        audio = _object(fields.get("audio"))
        sound = audio.get("data")
        self.sound = sound if isinstance(sound, str) and sound and sound.isascii() else None
        self.text = scalar_text(_content(fields.get("content")) or _content(audio.get("transcript")))
        self.refusal, self.reasoning, self.arguments = evidence_in(fields)
        self.blank = not self.text.strip() and self.sound is None
        self.written: Written
        if not isinstance(message, dict):
            self.written = "no_choice"
        elif self.refusal.strip():
            self.written = "refusal" if self.blank else "text_and_refusal"
        else:
            self.written = "text" if not self.blank else "reasoning" if self.reasoning.strip() else "nothing"

    def why(self, outcome: AnswerOutcome, finish: str | None) -> str:
        """Why the outcome is not ``ok``."""
        match outcome:
            case "content_filter":
                reason = f" (finish reason {finish!r})" if finish else ""
                return f"stopped by the provider's content filter{reason}"
            case "length":
                return "cut off at the token limit"
            case "refused":
                return f"refused: {shortened(self.refusal, ())}"
            case "empty":
                return _why_empty(self._message, self.reasoning, finish)
            case "unknown_ending":
                return f"unknown finish reason {finish!r}" if finish else "the answer has no finish reason"
            case _:
                return ""


def usage_of(reported: object, messages: Sequence[Message], written: str) -> Usage:
    """Token usage as the provider ``reported`` it, or estimated from the characters if it did not."""
    usage = _object(reported)
    prompt, completion = _first_count(usage, PROMPT_KEYS), _first_count(usage, COMPLETION_KEYS)
    total = _first_count(usage, TOTAL_KEYS)
    prompt_details = _object(usage.get("prompt_tokens_details") or usage.get("input_tokens_details"))
    completion_details = _object(usage.get("completion_tokens_details") or usage.get("output_tokens_details"))
    reasoning = _first_count({**usage, **completion_details}, REASONING_KEYS)
    cached = _first_count({**usage, **prompt_details}, CACHED_KEYS)
    if prompt is None and completion is not None and total is not None:
        prompt = max(0, total - completion)
    if prompt is not None:
        left_out = sum(_count(usage.get(key)) or 0 for key in CACHE_KEYS)
        left_out = left_out or (cached if cached is not None and cached > prompt else 0)
        rest = None if total is None else total - prompt - (completion or 0)
        if rest == left_out or (rest != 0 and _count(usage.get("prompt_tokens")) is None):
            prompt += left_out
        cached = None if cached is not None and cached > prompt else cached
        # Some providers count reasoning outside the completion tokens, but charge it like these.
        counted = [] if completion is None else [completion]
        counted += [total - prompt] if total is not None and total >= prompt else []
        if completion is not None and reasoning is not None and reasoning > completion:
            counted.append(completion + reasoning)
        completion = max(counted, default=None)
    wrote_for_nothing = completion == 0 and bool(written.strip())
    if prompt is None or completion is None or wrote_for_nothing or (prompt == 0 and completion):
        guess, least = sum(estimated_tokens(m.content) + 4 for m in messages), estimated_tokens(written)
        rest = (total or 0) - guess if prompt is None else completion or 0
        return Usage(prompt_tokens=guess, completion_tokens=max(least, rest), estimated=True)
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=cached,
        reasoning_tokens=reasoning,
        # Most providers report 0 for calls without sound, which says nothing about them.
        audio_prompt_tokens=_count(prompt_details.get("audio_tokens")) or None,
        audio_completion_tokens=_count(completion_details.get("audio_tokens")) or None,
    )


def joined_stream(text: str) -> dict[str, Any] | None:
    """The completion in an event stream that we did not ask for; None if it is missing or cut off."""
    parts: list[object] = []
    calls: list[object] = []
    beside: dict[str, str] = {}
    chunks: list[dict[str, Any]] = []
    whole: dict[str, Any] = {}
    last: dict[str, Any] = {}
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
        chunks.append(chunk)
        whole.update({k: v for k, v in chunk.items() if k != "choices" and v is not None})
        choices = chunk.get("choices")
        for choice in map(_object, _list(choices)):
            if choice.get("index"):  # another answer, which we did not ask for
                continue
            delta = _object(choice.get("delta"))
            calls += _list(delta.get("tool_calls"))
            content = delta.get("content")
            parts += content if isinstance(content, list) else [{"text": content}]
            for name in filter(lambda name: name == "refusal" or holds_reasoning(name), delta):
                beside[name] = beside.get(name, "") + texts_of(delta[name])
            last.update({k: choice[k] for k in FINISH_KEYS if choice.get(k)})
    whole["chunks"] = chunks  # so that errors and filter results in any of them are seen
    if not last and signs_in(whole) == Signs():
        return None
    return {**whole, "choices": [{"message": {**beside, "content": parts, "tool_calls": calls}, **last}]}


def _content(content: object) -> str:
    """The text of a message's content: a string, or one or more parts with text."""
    parts = content if isinstance(content, list) else [content]
    return "".join(part if isinstance(part, str) else _text_of(_object(part)) for part in parts)


def _text_of(part: Mapping[str, Any]) -> str:
    if is_reasoning(part) or str(part.get("type") or "text").lower() not in ("text", "output_text"):
        return ""
    text = part.get("text")
    text = text.get("value") if isinstance(text, dict) else text
    return text if isinstance(text, str) else ""


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
    """A number of tokens; some providers write it as ``12.0`` or ``"12"``. None if it cannot be right."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 10:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= MOST_TOKENS else None


def _first_count(values: Mapping[str, Any], names: Iterable[str]) -> int | None:
    for name in names:
        if name in values and (count := _count(values[name])) is not None:
            return count
    return None


def _reason(value: object) -> str | None:
    """A finish reason, also in an object such as SGLang's ``{"type": "abort", "message": "..."}``."""
    if isinstance(value, list) and value:
        value = value[0]
    named = _object(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return _name(named.get("type") or named.get("reason") or named.get("name") if named else value)


def _name(value: object) -> str | None:
    return scalar_text(value)[:LONGEST_NAME] if isinstance(value, str) and value else None


def _opening(text: str, secrets: Iterable[str]) -> str:
    """The first words of an unreadable answer."""
    return shortened(text[:400], secrets)[:120] or "it is blank"
