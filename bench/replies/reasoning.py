"""How models mark their reasoning, and where the answer starts after it."""

from __future__ import annotations

import re
from typing import Final

_NAMES = r"(?:seed:)?think|thinking|thoughts?|reasoning|reflection|scratchpad"
_FINAL = r"<\|channel\|>\s*+final[^<]{0,200}<\|message\|>"
_QUOTED = r"(?<![\"'`“‘\\])"
"""A mark right after a quote is mentioned, not used."""

_FLAGS = re.IGNORECASE
OPENING: Final = re.compile(
    rf"{_QUOTED}(?:<(?:{_NAMES})\s*+>|◁think▷|\[THINK\]|<\|begin_of_thought\|>|<\|START_THINKING\|>"
    r"|(?P<channel><\|channel\|>\s*+(?:analysis|commentary)[^<]{0,200}<\|message\|>))",
    _FLAGS,
)
"""Starts a reasoning block; group ``channel`` matches gpt-oss's marks, which end differently."""

_CLOSE = rf"(?:</(?:{_NAMES})\s*+>|◁/think▷|\[/THINK\]|<\|end_of_thought\|>|<\|END_THINKING\|>|{_FINAL})"
CLOSING: Final = re.compile(_QUOTED + _CLOSE, _FLAGS)
"""Ends a reasoning block whose opening mark was in the prompt and not in the reply."""

_BLOCK_END: Final = re.compile(_CLOSE, _FLAGS)

_CHANNEL_END: Final = re.compile(rf"<\|end\|>|{_FINAL}", _FLAGS)
MARKERS: Final = re.compile(r"<\|\w{1,40}\|>(?:assistant\b)?")
"""Special tokens of chat templates that were left in the text: neither answer nor prose."""

_STRIPPED_CHANNELS = ("analysis", "assistantfinal")


def closing_after(text: str, opening: re.Match[str]) -> int | None:
    """Where the block that starts at ``opening`` ends; None if it does not end."""
    pattern = _CHANNEL_END if opening["channel"] else _BLOCK_END
    closing = pattern.search(text, opening.end())
    return closing.end() if closing else None


def answer_start(text: str) -> int:
    """Where the answer starts in a text with gpt-oss's channel names without their markers; otherwise 0."""
    first, final = _STRIPPED_CHANNELS
    if not text[:200].lstrip().startswith(first):
        return 0
    at = text.find(final)
    return 0 if at < 0 else at + len(final)


def last_closing(text: str) -> int | None:
    """Where the last closing mark ends; None if there is none."""
    return max((mark.end() for mark in CLOSING.finditer(text)), default=None)
