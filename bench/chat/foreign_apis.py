"""Recognises answers in the format of another API than OpenAI's chat completions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

FORMATS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Anthropic's Messages API", ("content", "stop_reason")),
    ("Anthropic's Messages API", ("message.content", "type")),
    ("Ollama's own API", ("message.content", "done")),
    ("Ollama's own API", ("response", "done")),
    ("Google's own Gemini API", ("candidates",)),
    ("Cohere's own API", ("message.content", "finish_reason")),
    ("Cohere's own API", ("text", "generation_id")),
    ("Amazon Bedrock's Converse API", ("output.message",)),
    ("DashScope's own API", ("output.choices",)),
    ("DashScope's own API", ("output.text",)),
    ("OpenAI's Responses API", ("output", "status")),
    ("Cloudflare's own API", ("result.response",)),
    ("Hugging Face's own API", ("generated_text",)),
    ("llama.cpp's own API", ("content", "stop")),
    ("OpenAI's older completions", ("choices.0.text",)),
    *(
        ("a gateway that wraps its answers", (f"{key}.choices",))
        for key in ("data", "result", "body", "response")
    ),
)
"""APIs, and the places that all have to exist in a body of theirs; the first one that fits counts."""


def foreign_api(body: Mapping[str, Any]) -> str:
    """The API in whose format ``body`` answers; empty if no format fits."""
    return next((api for api, places in FORMATS if all(_exists(body, place) for place in places)), "")


def first_of_stream(text: str) -> Mapping[str, Any] | None:
    """The first object of a stream that another API sends line by line; None for another ``text``."""
    line = next((line for line in text.splitlines() if line.removeprefix("data:").lstrip()[:1] == "{"), "")
    try:
        body = json.loads(line.removeprefix("data:"))
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) and foreign_api(body) else None


def _exists(body: object, place: str) -> bool:
    for name in place.split("."):
        if isinstance(body, list) and body:
            body = body[0]
        elif isinstance(body, dict):
            body = body.get(name)
        else:
            return False
    return body is not None
