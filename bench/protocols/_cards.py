"""What the protocols share in which a model plays a character card and is questioned in a situation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from bench.chat.requests import estimated_tokens
from bench.protocols._asking import ask_player, failure
from bench.protocols.base import Ask, Protocol
from bench.records import Call, Cell, Conversation, Criterion, Failure, Message, Scene, sealed
from bench.suites import Card, Situation

ANSWER_TOKENS = 220
"""A guess at a player's answer where nothing bounds it, for estimates."""


@dataclass
class Talk:
    """A conversation while it is being held."""

    messages: list[Message] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    failure: Failure | None = None


class CardProtocol(Protocol):
    """A protocol whose cells are a card in a situation, of as many turns as the situation has."""

    def scene(self, cell: Cell) -> tuple[Card, Situation]:
        """The card and the situation of a cell."""
        return self.scenes.cards[cell.character], self.scenes.situations[cell.situation]

    def turns(self, cell: Cell) -> int:
        return self.suite.turns_of(self.scenes.situations[cell.situation])

    def player_prompt(self, cell: Cell) -> str:
        """The player's system prompt, without a catalog entry's extra text."""
        card, situation = self.scene(cell)
        return self.prompts.player(card, situation, symmetric=self.suite.entry.symmetric)

    async def player_turn(self, cell: Cell, turn: int, talk: Talk, ask: Ask) -> None:
        """Have the player answer, asking anew where it says nothing at all."""
        tries = await ask_player(self, cell, self.player_prompt(cell), talk.messages, ask, turn)
        talk.calls += [self.call_record(one.request, one.reply, turn) for one in tries]
        talk.failure = failure("player", turn, tries[-1])
        if tries[-1].found is not None:
            talk.messages.append(Message(role="assistant", content=tries[-1].found))

    def held(self, cell: Cell, talk: Talk, summary: str) -> Conversation:
        """The record of a conversation that has come to its end; ``summary``: the line that the interrogator
        saw of the card, empty where it saw all."""
        card, situation = self.scene(cell)
        return sealed(
            Conversation(
                **cell.plain(),
                fingerprint=self.conversation_fingerprint(cell),
                scene=Scene(
                    character_name=card.char_name,
                    summary=summary,
                    card=self.player_prompt(cell),
                    situation_title=situation.title,
                    situation=situation.text.strip(),
                ),
                status="complete" if talk.failure is None else "failed",
                messages=tuple(talk.messages),
                calls=tuple(talk.calls),
                repairs=tuple(talk.repairs),
                failure=talk.failure,
            )
        )

    def bounded(self, model: str, limit: int) -> int | None:
        """``limit`` where the model's provider can hold a reply to it, else None."""
        return limit if self.catalog.provider_of(model).schema_limits else None

    def lengths(self, cell: Cell) -> Lengths:
        """What a cell's messages are likely to take, for estimates."""
        entry = self.suite.entry
        turns = self.turns(cell)
        answer = min(ANSWER_TOKENS, int(entry.player.sampling.max_tokens or ANSWER_TOKENS))
        user = min(60, entry.limits.utterance // 3)
        return Lengths(
            turns=turns,
            answer=answer,
            user=user,
            history=turns * (turns - 1) // 2 * (user + answer),
            card=estimated_tokens(self.player_prompt(cell)),
        )


@dataclass(frozen=True)
class Lengths:
    """Guesses in tokens: of an answer, of a user's message, of the player's system prompt, and of all that is
    sent again with every turn."""

    turns: int
    answer: int
    user: int
    history: int
    card: int


def card_facts(card: Card) -> dict[str, JsonValue]:
    """The parts of a card that some model reads."""
    return card.model_dump(
        include={"char_name", "summary", "system_prompt", "example_prompt", "initial_message"}
    )


def utterance_of(limit: int | None) -> dict[str, JsonValue]:
    """JSON Schema of a user's message of up to ``limit`` characters."""
    text: dict[str, JsonValue] = {"type": "string"}
    return text if limit is None else text | {"minLength": 1, "maxLength": limit}


def rating_of(criteria: Sequence[Criterion], limit: int | None) -> dict[str, JsonValue]:
    """JSON Schema of what is said of one answer, key by key; ``limit`` bounds each reason's characters."""
    reason: dict[str, JsonValue] = {"type": "string"}
    if limit is not None:
        reason["maxLength"] = limit
    entry: dict[str, JsonValue] = {"is_refusal_explanation": reason, "is_refusal": {"type": "boolean"}}
    for criterion in criteria:
        entry[f"{criterion.name}_explanation"] = reason
        entry[f"{criterion.name}_score"] = {
            "type": "integer",
            "enum": list(range(criterion.low, criterion.high + 1)),
        }
    return entry
