"""A request to a model, and the reply."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from pydantic import JsonValue

from bench.records import Message, Outcome, Role, Usage

SOUND_TOKENS_HEARD = 10
SOUND_TOKENS_SPOKEN = 20
"""Tokens per second of sound in a prompt and in an answer, as OpenAI counts them; for estimates."""

CHARACTERS_PER_TOKEN = 16
"""A few times what a token of text has."""
TOKENS_UNLIMITED = 16_384
"""Token limit of a request without one, as far as :attr:`ChatRequest.longest_text` is concerned."""
REASONING_CHARACTERS = 64_000
"""Room for reasoning within the text, which many providers do not count against the token limit."""

_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Sound:
    """A sound file to send; ``format`` is the chat API's name for it."""

    format: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One call as a protocol requests it; ``model`` is a name in the catalog."""

    model: str
    role: Role
    messages: tuple[Message, ...]
    parameters: Mapping[str, JsonValue] = field(default_factory=dict)
    """Sampling parameters as sent, already merged with the model's own."""
    response_schema: Mapping[str, JsonValue] | None = None
    """JSON Schema of the answer; sent only to models that accept one."""
    seed: int | None = None
    sample: int = 0
    """Counts the re-asks after unusable replies: part of the cache key, never sent."""
    repeat: int = 1
    """Number of the independent sample (see Cell.repeat): part of the cache key, never sent."""
    sounds: tuple[Sound, ...] = ()
    """Sent with the last message, after its text."""
    fresh: bool = False
    """Send it even if the cache has a reply; the new reply replaces that one."""

    @property
    def longest_text(self) -> int:
        """Characters of a reply's text that are kept: a few times what its token limit allows."""
        limit = self.parameters.get("max_tokens")
        tokens = limit if isinstance(limit, int) else TOKENS_UNLIMITED
        return tokens * CHARACTERS_PER_TOKEN + REASONING_CHARACTERS

    @property
    def spoken(self) -> bool:
        """Whether the request asks for a spoken answer."""
        return "audio" in self.parameters


@dataclass(frozen=True, slots=True)
class Reply:
    """How a call ended. ``text`` is kept for every outcome; ``detail`` says why the outcome is not ``ok``."""

    outcome: Outcome
    text: str = ""
    filtered: Literal["input"] | None = None
    """Whether the filter of a ``content_filter`` blocked the input, not the answer."""
    finish_reason: str | None = None
    usage: Usage | None = None
    cost: Decimal | None = None
    """US dollars by the catalog's prices; None if the price is unknown or there was no answer."""
    system_fingerprint: str | None = None
    served_model: str | None = None
    detail: str = ""
    batch: bool | None = None
    """True if it came through the provider's Batch API."""
    cached: bool = False
    """Whether it came from the cache or from an equal request in flight, so nothing was sent for it."""
    attempts: int = 0
    """Requests sent for it; 0 if it came from the cache."""
    reasoning: str | None = field(default=None, repr=False)
    """Reasoning that did not come in the text."""
    tool_arguments: str | None = field(default=None, repr=False)
    """Arguments of the tool calls that came instead of a text."""
    refusal: str | None = field(default=None, repr=False)
    redactions: int | None = None
    """How often a secret was removed from the reply; None: never."""
    sound: str | None = field(default=None, repr=False)
    """The answer's sound file in base64, as received; ``text`` is then its transcript."""


def scalar_text(text: str) -> str:
    """``text`` with lone surrogates replaced by U+FFFD, so that it can be written as UTF-8."""
    return text if text.isascii() else _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)


def estimated_tokens(text: str) -> int:
    """A rough token count of ``text``: one per 4 ASCII characters and one per 2 others."""
    if text.isascii():
        return -(-len(text) // 4)
    ascii_count = sum(map(str.isascii, text))
    return -(-(ascii_count + 2 * (len(text) - ascii_count)) // 4)
