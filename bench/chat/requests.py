"""What is asked of a model, and how it ended."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from pydantic import JsonValue

from bench.records import Message, Outcome, Role, Usage

SOUND_TOKENS_HEARD = 10
SOUND_TOKENS_SPOKEN = 20
"""Tokens that a second of sound takes, for estimates: a prompt's and an answer's, as OpenAI counts them."""

_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Sound:
    """A sound file to be sent: ``format`` as the chat API names it."""

    format: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One call as the protocols ask for it; ``model`` is a name of the catalog."""

    model: str
    role: Role
    messages: tuple[Message, ...]
    parameters: Mapping[str, JsonValue] = field(default_factory=dict)
    """Sampling parameters as sent, the model's own merged in already."""
    response_schema: Mapping[str, JsonValue] | None = None
    """JSON Schema of the answer; sent where the model takes one, else left out."""
    seed: int | None = None
    sample: int = 0
    """Tells equal requests apart that shall be answered anew: part of the cache key, never sent."""
    sounds: tuple[Sound, ...] = ()
    """Go with the last message, after its text."""

    @property
    def spoken(self) -> bool:
        """Whether the answer is asked for as sound."""
        return "audio" in self.parameters


@dataclass(frozen=True, slots=True)
class Reply:
    """How a call ended. ``text`` is kept whatever the outcome; ``detail`` says why it is not ok."""

    outcome: Outcome
    text: str = ""
    finish_reason: str | None = None
    usage: Usage | None = None
    cost: Decimal | None = None
    """US dollars by the catalog's prices; None where the price is unknown or nothing was answered."""
    system_fingerprint: str | None = None
    served_model: str | None = None
    detail: str = ""
    batch: bool | None = None
    """True where it came through the provider's Batch API."""
    cached: bool = False
    """Nothing was sent for it: it came from the cache, or from an equal request in flight."""
    attempts: int = 0
    """Requests sent for it; 0 where it came from the cache."""
    sound: str | None = field(default=None, repr=False)
    """The answer's sound file in base64, as it came; ``text`` is then its transcript."""


def scalar_text(text: str) -> str:
    """``text`` with lone surrogates, which no UTF-8 file can hold, replaced by U+FFFD."""
    return text if text.isascii() else _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)


def estimated_tokens(text: str) -> int:
    """Tokens of ``text``, roughly: one for 4 characters, or for 2 where they are not ASCII."""
    if text.isascii():
        return -(-len(text) // 4)
    ascii_count = sum(map(str.isascii, text))
    return -(-(ascii_count + 2 * (len(text) - ascii_count)) // 4)
