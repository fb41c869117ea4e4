"""PingPong, version 2: player, interrogator and judge are three models; a judge scores every turn, 1 to 5.

The player sees only the card, the interrogator only the one-line summary and the situation (a symmetric suite
shows both to both), the judge the card and the whole conversation. Source: the PingPong paper, sections 3.1
to 3.4 and appendix D.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from bench.chat.requests import estimated_tokens
from bench.protocol_facts import facts_of
from bench.protocols.base import Estimate, Talk, strict_object
from bench.protocols.calls import Ask, JsonSchema
from bench.protocols.cards import CardProtocol, card_facts, rating_properties, utterance_property
from bench.protocols.verdicts import Reading
from bench.records import Cell, Conversation, Criterion, Message, Role
from bench.replies import utterance, verdict


class PingPongV2(CardProtocol):
    """One suite of this protocol in one language."""

    # Fingerprints

    def conversation_inputs(self, cell: Cell) -> dict[str, JsonValue]:
        card, situation = self.scene(cell)
        entry = self.suite.entry
        return {
            "templates": [self.prompts.sha256("player"), self.prompts.sha256("interrogator")],
            "card": card_facts(card),
            "situation": situation.text,
            "turns": self.turns(cell),
            "symmetric": entry.symmetric,
            "utterance_limit": entry.limits.utterance,
            "interrogator": self.model_facts("interrogator", self.interrogator),
        }

    def judgement_inputs(self, cell: Cell) -> dict[str, JsonValue]:
        card, _ = self.scene(cell)
        inputs: dict[str, JsonValue] = {
            "card": card_facts(card),
            "reason_limit": self.suite.entry.limits.reason,
        }
        if self.prompts.reads("judge", "declared"):  # the first template does not
            inputs["declared"] = card.model_dump(include={"facts", "secrets", "unknown", "boundaries"})
        return inputs

    # Talking

    async def converse(self, cell: Cell, ask: Ask) -> Conversation:
        card, situation = self.scene(cell)
        entry = self.suite.entry
        schema = utterance_schema(self.limit_for(self.interrogator, entry.limits.utterance))
        talk = Talk()
        turns = self.turns(cell)
        for turn in range(1, turns + 1):
            prompt = self.prompts.interrogator(
                card, situation, talk.messages, symmetric=entry.symmetric, turns=turns
            )
            reply = await self.interrogate(cell, turn, talk, ask, prompt, schema, utterance)
            if reply is not None:
                talk.messages.append(Message(role="user", content=reply.text))
                await self.player_turn(cell, self.player_prompt(cell, talk.messages), talk, ask, turn)
            if talk.failure is not None:
                break
        return self.held(cell, talk, card.summary)

    # Judging

    def judge_prompt(self, conversation: Conversation, number: int) -> str:
        card, _ = self.scene(conversation)
        return self.prompts.judge(card, conversation.messages)

    def judge_schema(self, conversation: Conversation, judge: str) -> JsonSchema:
        limit = self.limit_for(judge, self.suite.entry.limits.reason)
        return verdict_schema(len(conversation.answers()), self.facts.criteria, limit)

    @classmethod
    def read_verdict(cls, text: str, number: int, conversation: Conversation) -> Reading:
        reply = verdict(
            text, turns=len(conversation.answers()), criteria=facts_of(conversation.protocol).criteria
        )
        return Reading(reply.turns, reply.repairs)

    # Estimates

    def estimate(self, cell: Cell) -> Mapping[Role, Estimate]:
        card, situation = self.scene(cell)
        guess = self.lengths(cell)
        turns = guess.turns
        asking = self.prompts.interrogator(card, situation, (), symmetric=self.suite.entry.symmetric)
        judging = self.prompts.judge(card, ())
        return {
            "player": guess.player,
            "interrogator": Estimate(
                turns, turns * estimated_tokens(asking) + guess.history, turns * (guess.user + 10)
            ),
            "judge": Estimate(
                1,
                estimated_tokens(judging) + turns * (guess.user + guess.answer),
                turns * (60 + 4 * guess.reason),
            ),
        }


def utterance_schema(limit: int | None) -> JsonSchema:
    """JSON Schema of an interrogator's reply, a message of up to ``limit`` characters."""
    return strict_object({"next_utterance": utterance_property(limit)})


def verdict_schema(turns: int, criteria: Sequence[Criterion], limit: int | None) -> JsonSchema:
    """JSON Schema of a judge's reply (keys of the paper's appendix D).

    Without ``limit`` it uses only what every strict provider accepts; with it, reasons have at most that many
    characters and entry N is about turn N.
    """
    entry = rating_properties(criteria, limit)
    if limit is None:
        items = strict_object({"turn": {"type": "integer"}, **entry})
        return strict_object({"scores": {"type": "array", "items": items}})
    numbered: list[JsonValue] = [strict_object({"turn": {"const": n}, **entry}) for n in range(1, turns + 1)]
    return strict_object(
        {"scores": {"type": "array", "prefixItems": numbered, "minItems": turns, "maxItems": turns}}
    )
