"""Human likeness: one answer in a conversation, compared with what three people answered there, 0 to 100.

The player sees a profile and the conversation so far and writes one response. The judge also sees the three
real answers, thinks step by step, picks one of five bands and then a score in it. It is asked once for each
of several orders of the real answers, so the "turns" of a verdict are orders. A response that does not play
the role gets 0, which counts. Source: the method's description of a human-likeness evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field, JsonValue, StringConstraints, model_validator

from bench.chat.requests import estimated_tokens
from bench.items import Item
from bench.protocol_facts import answer_orders, facts_of
from bench.protocols.base import Estimate, Talk, strict_object, text_schema
from bench.protocols.calls import Ask, JsonSchema
from bench.protocols.items import ItemProtocol
from bench.protocols.verdicts import Reading
from bench.records import Cell, Conversation, Message, Role, Scene, TurnVerdict
from bench.replies import banded
from bench.replies.bands import named
from bench.toml_entries import ENTRY_ID, Entry, entry_from

FACTS = facts_of("human_likeness")
CANNOT_PLAY = 0
"""Score of a response that does not play the role at all. It counts like any other."""
MOST_ORDERS = 6
"""All orders of three answers."""
ANSWER_TOKENS = 80
"""Assumed length of a player's response if nothing limits it, for estimates."""
ANALYSIS_TOKENS = 250
"""Assumed length of a judge's analysis of one order."""

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, pattern=r"^[^\r\n]{1,80}$")]
"""One line, because it gets a line of its own in prompts."""
Id = Annotated[str, StringConstraints(pattern=f"^(?:{ENTRY_ID.pattern})$")]


class Line(Entry):
    """One message of the conversation so far, with the ``role`` or the name of its writer, or both."""

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
    """The character's name, also as a ``speaker``."""
    profile: Text
    """Who the character is; player and judge read it."""
    history: Annotated[tuple[Line, ...], Field(min_length=1)]
    """The conversation so far; its last message is to be answered."""
    real_answers: tuple[Text, Text, Text]
    """What three people answered there."""
    title: Name | None = None
    """Title on pages; default: the item's id."""
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

    def lines(self) -> list[dict[str, str]]:
        """The conversation so far, for templates; a partner without a name is called "user"."""
        return [
            {"speaker": self.name if self.wrote(line) else line.speaker or "user", "content": line.content}
            for line in self.history
        ]


class LikenessLine(LikenessItem):
    """One line of a data set, for its JSON Schema."""

    character: Id
    """Id of the character; items of one character are not independent of each other."""
    situation: Id
    """Id of the item among those of its character."""


class LikenessOptions(Entry):
    """``[options]`` of a suite."""

    orders: int = Field(default=2, ge=1, le=MOST_ORDERS)
    """Number of orders in which a judge sees the real answers, one call each."""


class HumanLikeness(ItemProtocol[LikenessItem]):
    """One suite of this protocol in one language."""

    options_type = LikenessOptions
    options: LikenessOptions

    def read_item(self, item: Item) -> LikenessItem:
        return entry_from(LikenessItem, dict(item.data), item.where)

    def judge_calls(self, cell: Cell | None = None) -> int:
        return self.options.orders

    # Fingerprints

    def conversation_inputs(self, cell: Cell) -> dict[str, JsonValue]:
        item = self.item(cell).model_dump(include={"name", "profile", "history"})
        return {"template": self.prompts.sha256("player"), "item": item}

    def judgement_inputs(self, cell: Cell) -> dict[str, JsonValue]:
        return {
            "item": self.item(cell).model_dump(include={"name", "profile", "history", "real_answers"}),
            "orders": self.options.orders,
            "reason_limit": self.suite.entry.limits.reason,
        }

    # The response

    async def converse(self, cell: Cell, ask: Ask) -> Conversation:
        item = self.item(cell)
        card = self._player_prompt(item)
        talk = Talk([Message(role="user", content=item.history[-1].content)])
        await self.player_turn(cell, card, talk, ask)
        parts = [f"{line['speaker']}: {line['content']}" for line in item.lines()[:-1]]
        parts += [f"Real answer {n}: {answer}" for n, answer in enumerate(item.real_answers, 1)]
        scene = Scene(
            character_name=item.name,
            summary="",
            card=card,
            situation_title=item.title or cell.situation,
            situation="\n\n".join(parts),
        )
        return self.conversation_of(cell, talk, scene)

    def _player_prompt(self, item: LikenessItem) -> str:
        *history, last = item.lines()
        return self.prompts.render(
            "player", name=item.name, profile=item.profile, history=history, partner=last["speaker"]
        )

    # Judging

    def judge_prompt(self, conversation: Conversation, number: int) -> str:
        order = orders_of(conversation)[number - 1]
        return self._judge_prompt(self.item(conversation), order, conversation.messages[-1].content)

    def _judge_prompt(self, item: LikenessItem, order: Sequence[int], response: str) -> str:
        return self.prompts.render(
            "judge",
            name=item.name,
            profile=item.profile,
            history=item.lines(),
            real_answers=[item.real_answers[n - 1] for n in order],
            response=response,
            bands=[named(band) for band in FACTS.bands],
            cannot_play=CANNOT_PLAY,
        )

    def judge_schema(self, conversation: Conversation, judge: str) -> JsonSchema:
        return verdict_schema(self.limit_for(judge, self.suite.entry.limits.reason))

    @classmethod
    def read_verdict(cls, text: str, number: int, conversation: Conversation) -> Reading:
        reply = banded(text, bands=FACTS.bands)
        (criterion,) = FACTS.criterion_names
        turn = TurnVerdict(
            turn=number,
            scores={criterion: reply.score},
            reasons={criterion: reply.analysis},
            detail={"order": list(orders_of(conversation)[number - 1]), "band": named(reply.band)},
        )
        return Reading((turn,), reply.repairs)

    # Estimates

    def estimate(self, cell: Cell) -> Mapping[Role, Estimate]:
        item = self.item(cell)
        entry = self.suite.entry
        orders = self.options.orders
        answer = self.answer_tokens(ANSWER_TOKENS)
        playing = estimated_tokens(self._player_prompt(item)) + estimated_tokens(item.history[-1].content)
        judging = estimated_tokens(self._judge_prompt(item, (1, 2, 3), "")) + answer
        analysis = min(ANALYSIS_TOKENS, entry.limits.reason // 4)
        return {
            "player": Estimate(1, playing, answer),
            "judge": Estimate(orders, orders * judging, orders * (15 + analysis)),
        }


def orders_of(cell: Cell) -> tuple[tuple[int, ...], ...]:
    """All orders of an item's real answers (numbered from 1), as a judge sees them in turn."""
    return answer_orders(cell.character, cell.situation, FACTS.compared_answers)


def verdict_schema(limit: int | None) -> JsonSchema:
    """JSON Schema of a judge's reply.

    Without ``limit`` it uses only what every strict provider accepts; with it, the analysis has at most that
    many characters and the score lies in the band.
    """
    if limit is None:
        names: list[JsonValue] = [named(band) for band in FACTS.bands]
        band: JsonSchema = {"type": "string", "enum": names}
        return strict_object({"analysis": text_schema(limit), "band": band, "score": {"type": "integer"}})
    each: list[JsonValue] = [
        strict_object(
            {
                "analysis": text_schema(limit),
                "band": {"const": named((low, high))},
                "score": {"type": "integer", "enum": list(range(low, high + 1))},
            }
        )
        for low, high in FACTS.bands
    ]
    return {"anyOf": each}
