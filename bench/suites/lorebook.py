"""The lorebook of a card: entries that the player gets once the talk mentions one of their keys."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
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
    texts = _texts(lorebook, messages)
    return [entry for entry in lorebook if _turns(entry, texts, [len(texts)])]


def lore_of(lorebook: Sequence[LoreEntry], messages: Sequence[Message]) -> tuple[Lore, ...]:
    """Each entry that the player got in a talk, with its turns (from 1), in the order of the card."""
    texts = _texts(lorebook, messages)
    ends = [number for number, message in enumerate(messages, 1) if message.role == "user"]
    given = [(entry, _turns(entry, texts, ends)) for entry in lorebook]
    return tuple(Lore(content=entry.content.strip(), turns=turns) for entry, turns in given if turns)


def _texts(lorebook: Sequence[LoreEntry], messages: Sequence[Message]) -> list[str]:
    return [_plain(message.content) for message in messages] if lorebook else []


def _turns(entry: LoreEntry, texts: Sequence[str], ends: Sequence[int]) -> tuple[int, ...]:
    """The turns (from 1) before which the talk mentions an entry; turn N answers ``texts[: ends[N - 1]]``."""
    patterns = [_pattern(_plain(key)) for key in entry.keys]
    found = [at for at, text in enumerate(texts) if any(pattern.search(text) for pattern in patterns)]
    windows = [(end - min(entry.scan_depth or end, end), end) for end in ends]
    return tuple(
        turn for turn, (start, end) in enumerate(windows, 1) if any(start <= at < end for at in found)
    )


def _pattern(key: str) -> re.Pattern[str]:
    inside = not key[0].isalnum() or unicodedata.name(key[0], "").startswith(_UNSPACED)
    return re.compile(("" if inside else r"(?<!\w)") + re.escape(key))


def _plain(text: str) -> str:
    """``text`` as keys are searched in it."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().replace("ё", "е").split())
