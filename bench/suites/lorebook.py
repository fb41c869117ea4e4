"""The lorebook of a card: entries that the player gets once the talk mentions one of their keys."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import Field, StringConstraints

from bench.records import Lore, Message
from bench.toml_entries import Entry

Key = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]

_UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")
"""Scripts that write words without spaces between them: their keys match inside a word too."""


class LoreEntry(Entry):
    """One entry of a lorebook."""

    keys: Annotated[tuple[Key, ...], Field(min_length=1)]
    """Words or phrases, any of which brings the entry in. Case does not matter, and a key is the beginning of
    a word: ``gate`` is found in "the gates", but not in "irrigate"."""
    content: str = Field(min_length=1)
    """What the player reads then, at the end of the card."""
    scan_depth: int | None = Field(default=None, ge=1)
    """How many of the last messages are searched, the user's newest included. None: all of them."""


def entered(lorebook: Sequence[LoreEntry], messages: Sequence[Message]) -> list[LoreEntry]:
    """The entries that the player gets to answer the last of ``messages``, in the order of the card."""
    texts = [_plain(message.content) for message in messages] if lorebook else []
    return [entry for entry in lorebook if _mentioned(entry, texts)]


def lore_of(lorebook: Sequence[LoreEntry], messages: Sequence[Message]) -> tuple[Lore, ...]:
    """Each entry that the player got in a talk, with its turns (from 1), in the order of the card."""
    asked = [number for number, message in enumerate(messages, 1) if message.role == "user"]
    turns = [entered(lorebook, messages[:end]) for end in asked] if lorebook else []
    return tuple(_given(lorebook, turns))


def _given(lorebook: Sequence[LoreEntry], turns: Sequence[Sequence[LoreEntry]]) -> Iterator[Lore]:
    for entry in lorebook:
        numbers = tuple(number for number, entries in enumerate(turns, 1) if entry in entries)
        if numbers:
            yield Lore(content=entry.content.strip(), turns=numbers)


def _mentioned(entry: LoreEntry, texts: Sequence[str]) -> bool:
    near = texts if entry.scan_depth is None else texts[-entry.scan_depth :]
    patterns = [_pattern(_plain(key)) for key in entry.keys]
    return any(pattern.search(text) for text in near for pattern in patterns)


def _pattern(key: str) -> re.Pattern[str]:
    inside = not key[0].isalnum() or unicodedata.name(key[0], "").startswith(_UNSPACED)
    return re.compile(("" if inside else r"(?<!\w)") + re.escape(key))


def _plain(text: str) -> str:
    """``text`` as keys are searched in it."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().replace("ё", "е").split())
