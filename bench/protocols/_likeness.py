"""Items of a human-likeness data set: what a line of it holds, and in which orders its answers are shown."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from bench.protocol_facts import answer_orders, facts_of
from bench.records import Scene
from bench.suites import Item
from bench.toml_entries import ENTRY_ID, Entry, entry_from

FACTS = facts_of("human_likeness")
BANDS = FACTS.bands
CANNOT_PLAY = 0
"""The score of a response that does not play the role at all. It counts like any other."""

ANSWERS = FACTS.compared_answers
MOST_ORDERS = 6
"""All orders of three answers."""
Order = tuple[int, int, int]
"""Numbers of the answers as the data set counts them, from 1, in the order in which a judge sees them."""

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, pattern=r"^[^\r\n]{1,80}$")]
"""Stands on a line of its own in prompts, so it is one line itself."""
Id = Annotated[str, StringConstraints(pattern=f"^(?:{ENTRY_ID.pattern})$")]


class Line(Entry):
    """One message of the conversation so far, by ``role`` or by the name of who wrote it, or both."""

    content: Text
    role: Literal["user", "assistant"] | None = None
    """``assistant`` is the character."""
    speaker: Name | None = None

    @model_validator(mode="after")
    def _somebody(self) -> Line:
        if self.role is None and self.speaker is None:
            raise ValueError("say who wrote it: role or speaker")
        return self


class LikenessItem(Entry):
    """What an item holds besides ``character`` and ``situation``."""

    name: Name
    """What the character is called, also as a ``speaker``."""
    profile: Text
    """Who the character is; player and judge read it."""
    history: Annotated[tuple[Line, ...], Field(min_length=1)]
    """The conversation so far; its last message is to be answered."""
    real_answers: tuple[Text, Text, Text]
    """What three people answered there."""
    title: Name | None = None
    """What the item is called on pages; else its id."""
    source: Text | None = None
    """Where it comes from."""

    @model_validator(mode="after")
    def _to_be_answered(self) -> LikenessItem:
        if self.wrote(self.history[-1]):
            raise ValueError("history: its last message must not be the character's, who is to answer it")
        return self

    def wrote(self, line: Line) -> bool:
        """Whether the character wrote ``line``."""
        return line.role == "assistant" if line.role is not None else line.speaker == self.name

    def said(self, line: Line, other: str) -> dict[str, str]:
        """``line`` for a template; ``other``: what a nameless partner is called."""
        speaker = self.name if self.wrote(line) else line.speaker or other
        return {"speaker": speaker, "content": line.content}

    def scene(self, item_id: str, card: str) -> Scene:
        """What a record tells of the item; ``card``: the player's prompt."""
        earlier = [self.said(line, "user") for line in self.history[:-1]]
        parts = [f"{one['speaker']}: {one['content']}" for one in earlier]
        parts += [f"Real answer {n}: {answer}" for n, answer in enumerate(self.real_answers, 1)]
        return Scene(
            character_name=self.name,
            summary="",
            card=card,
            situation_title=self.title or item_id,
            situation="\n\n".join(parts),
        )


class LikenessLine(LikenessItem):
    """One line of a data set, as its JSON Schema has it."""

    character: Id
    """Id of who is played; items of one character are not independent of each other."""
    situation: Id
    """Id of the item among those of its character."""


def item_of(item: Item) -> LikenessItem:
    """The item that a line holds. Raises CatalogError that names file, line and key."""
    return entry_from(LikenessItem, dict(item.data), item.where)


def orders_of(character: str, situation: str) -> tuple[Order, ...]:
    """Every order of an item's answers, as a judge is to see them in turn."""
    return tuple((a, b, c) for a, b, c in answer_orders(character, situation, ANSWERS))
