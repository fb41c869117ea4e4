"""Faults that a scripted server can answer with."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from email.utils import formatdate
from time import time

from tests.scripted_server import (
    Answer,
    Answerer,
    Json,
    Seen,
    completion,
    error,
    plausible,
    plausible_text,
)


def _truncated(seen: Seen) -> Answer:
    whole = plausible(seen).payload()
    return Answer(whole[: len(whole) // 2])


def _streamed(seen: Seen) -> Answer:
    lines = []
    for piece in re.findall(r"(?s).{1,20}", plausible_text(seen)):
        lines.append({"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]})
    lines.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    text = "".join(f"data: {json.dumps(line)}\n\n" for line in lines) + "data: [DONE]\n\n"
    return Answer(text, headers={"content-type": "text/event-stream"})


def _edited(edit: Callable[[str], str]) -> Answerer:
    return lambda seen: completion(edit(plausible_text(seen)), seen)


def _scores(edit: Callable[[list[Json]], list[Json]]) -> Answerer:
    """A verdict with edited scores; requests that ask for none are answered as they should be."""

    def answer(seen: Seen) -> Answer:
        text = plausible_text(seen)
        with suppress(ValueError):
            data = json.loads(text)
            if "scores" in data:
                text = json.dumps({**data, "scores": edit(data["scores"])})
        return completion(text, seen)

    return answer


def _with(**values: object) -> Callable[[list[Json]], list[Json]]:
    return lambda scores: [{**turn, **values} for turn in scores]


def _duplicate_keys(text: str) -> str:
    return re.sub(r'"fluency_score": (\d)', r'"fluency_score": 1, "fluency_score": \1', text)


FAULTS: dict[str, Answerer] = {
    "rate_limit": lambda seen: error(429, "slow down", "rate_limit_exceeded"),
    "rate_limit_seconds": lambda seen: error(429, "slow down", retry_after="1"),
    "rate_limit_date": lambda seen: error(429, "slow down", retry_after=formatdate(time() + 1, usegmt=True)),
    "rate_limit_absurd": lambda seen: error(429, "slow down", retry_after="86400"),
    "status_500": lambda seen: error(500, "internal"),
    "status_502": lambda seen: Answer("<html><h1>502 Bad Gateway</h1></html>", 502),
    "status_503": lambda seen: error(503, "overloaded"),
    "status_529": lambda seen: error(529, "overloaded"),
    "reset_before": lambda seen: replace(plausible(seen), way="reset_before"),
    "reset_during": lambda seen: replace(plausible(seen), way="reset_during"),
    "reset_after": lambda seen: replace(plausible(seen), way="reset_after"),
    "close_before": lambda seen: replace(plausible(seen), way="close_before"),
    "stall": lambda seen: Answer(way="stall"),
    "slow": lambda seen: replace(plausible(seen), way="slow"),
    "truncated_body": _truncated,
    "invalid_body": lambda seen: Answer("{'choices': [,]}"),
    "html_body": lambda seen: Answer(
        "<!doctype html><p>Please log in", headers={"content-type": "text/html"}
    ),
    "empty_choices": lambda seen: completion("", seen, choices=[]),
    "null_choices": lambda seen: completion("", seen, choices=None),
    "null_content": lambda seen: completion(None, seen),
    "blank_content": lambda seen: completion(" \n", seen),
    "only_reasoning": lambda seen: completion(None, seen, reasoning_content="Let me think about this."),
    "reasoning_cut": lambda seen: completion("<think>Who am I, and", seen, finish_reason="length"),
    "more_after_json": lambda seen: completion(
        f"{plausible_text(seen)}\nWait, in turn 1", seen, finish_reason="length"
    ),
    "length": lambda seen: completion(plausible_text(seen)[:12], seen, finish_reason="length"),
    "content_filter": lambda seen: completion("", seen, finish_reason="content_filter"),
    "broken_ending": lambda seen: completion(plausible_text(seen), seen, finish_reason="network_error"),
    "error_beside_text": lambda seen: completion(
        plausible_text(seen), seen, error={"code": 502, "message": "x"}
    ),
    "unknown_ending": lambda seen: completion(plausible_text(seen), seen, finish_reason="banana"),
    "filtered_ending": lambda seen: completion(plausible_text(seen), seen, finish_reason="RECITATION"),
    "filtered_input": lambda seen: error(400, "Content Exists Risk", "invalid_request_error"),
    "filter_without_message": lambda seen: completion(
        "", seen, choices=[{"index": 0, "finish_reason": "content_filter: SPII"}]
    ),
    "too_long": lambda seen: error(400, "prompt is too long: 9 tokens > 8 maximum"),
    "refusal_field": lambda seen: completion(None, seen, refusal="I cannot help with that."),
    "refusal_prose": lambda seen: completion("I'm sorry, but I can't take part in this.", seen),
    "error_with_200": lambda seen: replace(error(500, "upstream failed", 502), status=200),
    "streamed": _streamed,
    "huge": lambda seen: completion("x" * 2_000_000, seen),
    "no_usage": lambda seen: completion(plausible_text(seen), seen, usage=None),
    "reasoning_block": _edited(lambda text: f"<think>Who am I?</think>\n{text}"),
    "fences": _edited(lambda text: f"```json\n{text}\n```"),
    "prose_around": _edited(lambda text: f"Here is the result:\n{text}\nI hope this helps."),
    "single_quotes": _edited(lambda text: text.replace('"', "'")),
    "trailing_comma": _edited(lambda text: re.sub(r"([}\]])", r",\1", text, count=1)),
    "truncated_text": _edited(lambda text: text[: max(1, len(text) * 2 // 3)]),
    "duplicate_keys": _edited(_duplicate_keys),
    "other_language": _edited(lambda text: "对不起，我不明白。"),
    "turn_missing": _scores(lambda scores: scores[:-1]),
    "turn_too_many": _scores(
        lambda scores: [*scores, {**scores[-1], "turn": len(scores) + 1}] if scores else []
    ),
    "scores_as_strings": _scores(
        lambda scores: [{**t, "fluency_score": str(t["fluency_score"])} for t in scores]
    ),
    "scores_as_floats": _scores(
        lambda scores: [{**t, "fluency_score": t["fluency_score"] + 0.5} for t in scores]
    ),
    "scores_out_of_range": _scores(_with(fluency_score=7)),
    "score_missing": _scores(
        lambda scores: [{k: v for k, v in t.items() if k != "fluency_score"} for t in scores]
    ),
}


def faulty(
    rate: float, seed: int, names: Iterable[str] = tuple(FAULTS), answer: Answerer = plausible
) -> Answerer:
    """``answer``, but at ``rate`` one of the named faults; which, hangs on seed, body and repeat alone."""
    kinds = tuple(names)

    def pick(seen: Seen) -> Answer:
        die = hashlib.sha256(b"%d %d " % (seed, seen.repeat) + seen.raw).digest()
        if int.from_bytes(die[:4], "big") >= rate * 2**32:
            return answer(seen)
        return FAULTS[kinds[int.from_bytes(die[4:8], "big") % len(kinds)]](seen)

    return pick


def scripted(*steps: Answer | str | None, then: Answerer = plausible) -> Answerer:
    """One step a request, in order: an Answer, the name of a fault, or None for ``then``; then ``then``."""
    queue = list(steps)

    def answer(seen: Seen) -> Answer:
        step = queue.pop(0) if queue else None
        if isinstance(step, Answer):
            return step
        return FAULTS[step](seen) if step is not None else then(seen)

    return answer
