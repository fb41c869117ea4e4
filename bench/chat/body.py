"""Builds the JSON body of a call for one provider, from the request and catalog entries."""

from __future__ import annotations

import base64
import json
from typing import Any

from bench.catalog import RESERVED, Model, Provider
from bench.chat.requests import ChatRequest, Sound, scalar_text
from bench.records import Message


def body_of(request: ChatRequest, model: Model, provider: Provider) -> dict[str, Any]:
    """The body of ``POST /chat/completions``, without what the provider or model does not accept."""
    if clash := RESERVED.intersection(request.parameters):
        raise ValueError(f"parameters that are fields of a request: {', '.join(sorted(clash))}")
    system_role = provider.system_role if model.system_role is None else model.system_role
    messages = request.messages if system_role else folded(request.messages)
    body: dict[str, Any] = {
        "model": model.model,
        "messages": [{"role": m.role, "content": m.content} for m in messages],
        **request.parameters,
    }
    if request.sounds:
        last = body["messages"][-1]
        last["content"] = _with_sounds(last["content"], request.sounds)
    takes_schema = provider.json_schema if model.json_schema is None else model.json_schema
    if takes_schema and request.response_schema is not None:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {
                "name": f"{request.role}_reply",
                "schema": dict(request.response_schema),
                "strict": True,
            },
        }
    if provider.seed and request.seed is not None:
        body["seed"] = request.seed
    for name in model.drop_parameters:
        body.pop(name, None)
    limit_name = model.max_tokens_name or provider.max_tokens_name
    if limit_name != "max_tokens" and "max_tokens" in body:
        body[limit_name] = body.pop("max_tokens")
    return body


def _with_sounds(text: str, sounds: tuple[Sound, ...]) -> list[dict[str, Any]]:
    """The content of a message in parts: its text, if any, and the sounds."""
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    for sound in sounds:
        data = base64.b64encode(sound.data).decode("ascii")
        parts.append({"type": "input_audio", "input_audio": {"data": data, "format": sound.format}})
    return parts


def folded(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """``messages`` with the text of the system role moved to the start of the first user message."""
    system = "\n\n".join(m.content for m in messages if m.role == "system")
    rest = [m for m in messages if m.role != "system"]
    if len(rest) == len(messages):
        return messages
    first = next((i for i, m in enumerate(rest) if m.role == "user"), None)
    if first is None:
        return (Message(role="user", content=system), *rest)
    rest[first] = Message(role="user", content=f"{system}\n\n{rest[first].content}")
    return tuple(rest)


def body_text(body: dict[str, Any]) -> str:
    """Compact canonical JSON of ``body``. The same bytes are sent and hashed into the cache key."""
    text = json.dumps(body, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return scalar_text(text)
