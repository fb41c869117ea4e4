"""What the PingPong protocols share: a model plays a character card, an interrogator questions it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Protocol as Interface
from typing import TypeVar

from pydantic import JsonValue

from bench.chat.requests import estimated_tokens
from bench.errors import CatalogError
from bench.protocols.base import Estimate, Protocol, Talk, text_schema
from bench.protocols.calls import Ask, JsonSchema, failure_of
from bench.records import Cell, Conversation, Criterion, Message, Scene
from bench.suites import Card, Situation
from bench.suites.lorebook import lore_of

ANSWER_TOKENS = 220
"""Assumed length of a player's answer if nothing limits it, for estimates."""


class Repaired(Interface):
    """A parsed reply and what had to be repaired in it."""

    @property
    def repairs(self) -> tuple[str, ...]: ...


R = TypeVar("R", bound=Repaired)


@dataclass(frozen=True)
class Lengths:
    """Guesses in tokens: of an answer, of a user's message, of a reason, of all that is sent again with every
    turn, and of the card's whole lorebook, since a talk may bring in all of it."""

    turns: int
    answer: int
    user: int
    reason: int
    history: int
    lore: int
    player: Estimate


class CardProtocol(Protocol):
    """A protocol whose cells are a card in a situation, of as many turns as the situation has."""

    def _check_suite(self) -> None:
        super()._check_suite()
        for name, situation in self.scenes.situations.items():
            if not self.facts.scripted and (situation.plants or situation.attacks):
                raise CatalogError(
                    f"{self.name} has no plants and attacks, but situation {name!r} does",
                    where=f"suite {self.suite.id}: languages.{self.language}",
                    hint="Choose another situation, or play it in a suite of pingpong_long.",
                )

    @property
    def interrogator(self) -> str:
        """The suite's interrogator."""
        assert self.suite.interrogator is not None, "checked when the protocol is made"
        return self.suite.interrogator

    def scene(self, cell: Cell) -> tuple[Card, Situation]:
        """The card and the situation of a cell."""
        return self.scenes.cards[cell.character], self.scenes.situations[cell.situation]

    def turns(self, cell: Cell) -> int:
        return self.suite.turns_of(self.scenes.situations[cell.situation])

    def player_prompt(self, cell: Cell, messages: Sequence[Message] = ()) -> str:
        """The player's system prompt before it answers the last of ``messages``, without a catalog entry's
        extra text."""
        if self.scene(cell)[0].lorebook:
            return self._rendered(cell.character, cell.situation, messages)
        return self._unchanging(cell.character, cell.situation)

    @cached_property
    def _unchanging(self) -> Callable[[str, str], str]:
        """Renders a prompt without a lorebook once: it is the same in every turn, for every player."""
        return cache(partial(self._rendered, messages=()))

    def _rendered(self, character: str, situation: str, messages: Sequence[Message]) -> str:
        card = self.scenes.cards[character]
        if self.suite.entry.greeting:  # it is in the chat
            card = card.model_copy(update={"initial_message": ""})
        scene = self.scenes.situations[situation]
        return self.prompts.player(card, scene, messages, symmetric=self.suite.entry.symmetric)

    def opening(self, card: Card) -> list[Message]:
        """What the chat opens with: the card's greeting if the suite says so and the card has one."""
        text = card.initial_message.strip() if self.suite.entry.greeting else ""
        return [Message(role="assistant", content=text)] if text else []

    async def interrogate(
        self,
        cell: Cell,
        turn: int,
        talk: Talk,
        ask: Ask,
        prompt: str,
        schema: JsonSchema,
        read: Callable[[str], R],
    ) -> R | None:
        """The interrogator's reply before ``turn``; None if it could not be used, and ``talk`` has failed."""
        message = Message(role="user", content=prompt)
        tries = await self.ask_until_read(
            "interrogator", self.interrogator, cell, [message], read, ask, schema=schema, seed=(turn,)
        )
        for made in tries:
            raw = made.reply.text if made.fault or (made.value and made.value.repairs) else None
            if self.facts.judged_in_talk:  # verdicts are read from the raw replies
                raw = made.reply.text or None
            talk.calls.append(self.call_record(made, turn, raw))
        talk.failure = failure_of("interrogator", turn, tries[-1])
        reply = tries[-1].value
        talk.repairs += [f"turn {turn}: {repair}" for repair in (reply.repairs if reply else ())]
        return reply

    def held(self, cell: Cell, talk: Talk, summary: str) -> Conversation:
        """The record of a conversation that has ended; ``summary`` is the line of the card that the
        interrogator saw, empty if it saw the whole card."""
        card, situation = self.scene(cell)
        plants, attacks = situation.within(self.turns(cell))
        scene = Scene(
            character_name=card.char_name,
            summary=summary,
            card=self.player_prompt(cell),
            situation_title=situation.title,
            situation=situation.text.strip(),
            lore=lore_of(card.lorebook, talk.messages) or None,
            plants=plants,
            attacks=attacks,
        )
        return self.conversation_of(cell, talk, scene)

    def lengths(self, cell: Cell) -> Lengths:
        """Expected lengths of a cell's messages."""
        entry = self.suite.entry
        turns = self.turns(cell)
        answer = self.answer_tokens(ANSWER_TOKENS)
        user = min(60, entry.limits.utterance // 3)
        history = turns * (turns - 1) // 2 * (user + answer)
        lore = sum(estimated_tokens(entry.content) for entry in self.scene(cell)[0].lorebook)
        card = estimated_tokens(self.player_prompt(cell)) + lore
        return Lengths(
            turns=turns,
            answer=answer,
            user=user,
            reason=min(40, entry.limits.reason // 4),
            history=history,
            lore=lore,
            player=Estimate(turns, turns * (card + user) + history, turns * answer),
        )


PLAYED = frozenset({"char_name", "system_prompt", "example_prompt", "initial_message"})
"""The fields of a card that the player reads, besides what the talk brings in from its lorebook."""


def card_facts(card: Card, fields: frozenset[str] = PLAYED | {"summary"}) -> dict[str, JsonValue]:
    """The parts of a card that a model reads; its lorebook only if it has one."""
    return card.model_dump(include={*fields, "lorebook"} if card.lorebook else set(fields))


def declared_facts(card: Card) -> dict[str, JsonValue]:
    """What a card declares for those who check it."""
    return card.model_dump(include={"facts", "secrets", "unknown", "boundaries"})


def rating_properties(criteria: Sequence[Criterion], limit: int | None) -> JsonSchema:
    """JSON Schemas of what is said of one answer, by key; each reason has up to ``limit`` characters."""
    reason = text_schema(limit)
    entry: JsonSchema = {"is_refusal_explanation": reason, "is_refusal": {"type": "boolean"}}
    for criterion in criteria:
        entry[f"{criterion.name}_explanation"] = reason
        entry[f"{criterion.name}_score"] = {
            "type": "integer",
            "enum": list(range(criterion.low, criterion.high + 1)),
        }
    return entry
