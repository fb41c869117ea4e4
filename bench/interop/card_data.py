"""What a community character card of any version says, as far as it is used here."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from bench.foreign import AnyText, Foreign

LONGEST_NAME = 100
LONGEST_KEY = 100

_DECORATOR = re.compile(r"^@@+ *(\w+) *(.*)\n?", re.MULTILINE)
_CONDITIONS = {
    "activate_only_after",
    "activate_only_every",
    "additional_keys",
    "dont_activate_after_match",
    "exclude_keys",
    "is_user_icon",
}
"""Decorators that keep an entry of the lorebook away although a key matches."""
_MACRO = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_PATTERN = re.compile(r"[\\^$*+|()\[\]{}]|[\w.]\?\w")
"""What makes a key of an entry with ``use_regex`` a regular expression: SillyTavern sets it always."""
_SLASHED = re.compile(r"/.+/[a-z]*", re.DOTALL)
_LINE_END = re.compile(r"\r+\n?")
_HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_NUMBER = re.compile(r"-?\d{1,9}(\.\d{1,9})?")
_FLAGS = {"true": True, "1": True, "false": False, "0": False}


def cleaned(text: str) -> str:
    """``text`` with Unix line ends, without control characters and blank ends."""
    return _HIDDEN.sub("", _LINE_END.sub("\n", text)).strip()


def _said(value: object) -> object:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return "" if value is None else str(value) if number else value


def _several(value: object) -> object:
    return [] if value is None else value.split(",") if isinstance(value, str) else value


def _listed(value: object) -> object:
    return [] if value is None else list(value.values()) if isinstance(value, dict) else value


def _object(value: object) -> object:
    return value if isinstance(value, dict) else {}


def _number(value: object) -> object:
    return float(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else value


def _flag(value: object) -> object:
    return _FLAGS.get(str(value).lower(), value)


Said = Annotated[AnyText, BeforeValidator(_said)]
Many = Annotated[list[Said], BeforeValidator(_several)]
Number = Annotated[float | None, BeforeValidator(_number)]
Flag = Annotated[bool | None, BeforeValidator(_flag)]
Extensions = Annotated[dict[str, Any], BeforeValidator(_object)]
"""Anything, as far as it is an object: some programs write an empty list."""


class BookEntry(Foreign):
    """An entry of a lorebook."""

    keys: Many = Field(default_factory=list)
    secondary_keys: Many = Field(default_factory=list)
    content: Said = ""
    enabled: Flag = True
    constant: Flag = False
    selective: Flag = False
    use_regex: Flag = False
    case_sensitive: Flag = False
    extensions: Extensions = Field(default_factory=dict)
    insertion_order: Number = 0

    @property
    def text(self) -> str:
        """What the player reads: the content without decorators."""
        return cleaned(_DECORATOR.sub("", cleaned(self.content)))

    @property
    def decorators(self) -> dict[str, str]:
        """Its decorators with their values; of several with one name, the first."""
        pairs = [(match[1], match[2].strip()) for match in _DECORATOR.finditer(cleaned(self.content))]
        return dict(reversed(pairs))

    @property
    def always(self) -> bool:
        """Whether it enters without a key."""
        return bool(self.constant) or "activate" in self.decorators

    @property
    def conditional(self) -> bool:
        """Whether a key alone does not always bring it in: there are secondary keys, chance, or case."""
        chance = self.extensions.get("probability")
        return (
            bool(self.selective and any(map(cleaned, self.secondary_keys)))
            or bool(self.case_sensitive or self.extensions.get("case_sensitive") is True)
            or (isinstance(chance, int) and chance < 100 and self.extensions.get("useProbability") is True)
            or bool(_CONDITIONS & {*self.decorators})
        )

    def usable(self, greeting: int) -> bool:
        """Whether it can enter a talk that opens with this greeting."""
        told = self.decorators
        off = self.enabled is False or ("dont_activate" in told and "activate" not in told)
        return bool(self.text) and not off and told.get("is_greeting", str(greeting)) == str(greeting)

    @property
    def words(self) -> list[str]:
        """Those of its keys that are words, not regular expressions."""
        keys = [key for key in map(cleaned, self.keys) if 0 < len(key) <= LONGEST_KEY]
        patterns = [
            key
            for key in keys
            if _SLASHED.fullmatch(key) or (self.use_regex and _PATTERN.search(_MACRO.sub("", key)))
        ]
        return [key for key in dict.fromkeys(keys) if key not in patterns]


class Book(Foreign):
    """A lorebook: entries that enter the prompt when the talk mentions their keys."""

    entries: Annotated[list[BookEntry], BeforeValidator(_listed)] = Field(default_factory=list)
    scan_depth: Number = None


class CardData(Foreign):
    """What a card of any version says, as far as it is used here."""

    name: Said = ""
    nickname: Said = ""
    description: Said = ""
    personality: Said = ""
    scenario: Said = ""
    first_mes: Said = ""
    mes_example: Said = ""
    system_prompt: Said = ""
    post_history_instructions: Said = ""
    alternate_greetings: Many = Field(default_factory=list)
    character_book: Book | None = None
    tags: Many = Field(default_factory=list)
    creator: Said = ""
    extensions: Extensions = Field(default_factory=dict)

    @property
    def called(self) -> str:
        """The name that the character has in a talk."""
        return " ".join(cleaned(self.nickname or self.name).split())[:LONGEST_NAME]

    @property
    def note(self) -> str:
        """The character's note, an instruction of SillyTavern and Chub beside those of the specifications."""
        held = self.extensions.get("depth_prompt")
        text = held.get("prompt") if isinstance(held, dict) else None
        return cleaned(text) if isinstance(text, str) else ""

    @property
    def greetings(self) -> list[str]:
        """The first message and its alternates."""
        return [cleaned(text) for text in (self.first_mes, *self.alternate_greetings)]
