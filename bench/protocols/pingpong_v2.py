"""PingPong, version 2: player, interrogator and judge are three models; a judge scores every turn, 1 to 5.

The player sees the card only, the interrogator the one-line summary and the situation only (a symmetric
suite gives both sides both), the judge the card and the whole conversation. Source: the PingPong paper,
sections 3.1 to 3.4 and appendix D.
"""

from __future__ import annotations

from pydantic import JsonValue

from bench.chat.requests import ChatRequest, estimated_tokens
from bench.protocol_facts import facts_of
from bench.protocols._asking import (
    Read,
    Reader,
    ask_judge,
    asked,
    coordinates,
    failure,
    judgement,
    reread,
    strict_object,
    updated,
)
from bench.protocols._cards import CardProtocol, Talk, card_facts, rating_of, utterance_of
from bench.protocols.base import Ask, Estimate
from bench.records import Cell, Conversation, Judgement, Message, TurnVerdict, sha256_of
from bench.replies import utterance, verdict

FACTS = facts_of("pingpong_v2")


class PingPongV2(CardProtocol):
    """One suite of this protocol in one language."""

    name = "pingpong_v2"
    facts = FACTS

    # Fingerprints

    def conversation_fingerprint(self, cell: Cell) -> str:
        card, situation = self.scene(cell)
        entry = self.suite.entry
        return sha256_of(
            {
                "protocol": self.name,
                "language": self.language,
                "templates": [self.prompts.sha256("player"), self.prompts.sha256("interrogator")],
                "card": card_facts(card),
                "situation": situation.text,
                "turns": self.turns(cell),
                "symmetric": entry.symmetric,
                "utterance_limit": entry.limits.utterance,
                "player": self.model_facts(cell.player, entry.player.sampling),
                "interrogator": self.model_facts(self.interrogator, self.interrogator_sampling),
            }
        )

    def judgement_fingerprint(self, cell: Cell, judge: str, conversation_sha256: str) -> str:
        card, _ = self.scene(cell)
        entry = self.suite.entry
        return sha256_of(
            {
                "protocol": self.name,
                "template": self.prompts.sha256("judge"),
                "card": card_facts(card),
                "reason_limit": entry.limits.reason,
                "judge": self.model_facts(judge, entry.judge.sampling),
                "conversation": conversation_sha256,
            }
        )

    # Talking

    async def converse(self, cell: Cell, ask: Ask) -> Conversation:
        talk = Talk()
        for turn in range(1, self.turns(cell) + 1):
            await self._user_turn(cell, turn, talk, ask)
            if talk.failure is None:
                await self.player_turn(cell, turn, talk, ask)
            if talk.failure is not None:
                break
        return self.held(cell, talk, self.scenes.cards[cell.character].summary)

    async def _user_turn(self, cell: Cell, turn: int, talk: Talk, ask: Ask) -> None:
        """Have the interrogator write the next user message, re-asking where its reply cannot be read."""
        card, situation = self.scene(cell)
        entry = self.suite.entry
        prompt = self.prompts.interrogator(card, situation, talk.messages, symmetric=entry.symmetric)

        def request_for(complaint: str, attempt: int) -> ChatRequest:
            return self.request(
                "interrogator",
                self.interrogator,
                [Message(role="user", content=prompt + complaint)],
                self.interrogator_sampling,
                schema=utterance_schema(self.bounded(self.interrogator, entry.limits.utterance)),
                seed_of=coordinates(cell, turn),
                attempt=attempt,
            )

        tries = await asked(request_for, utterance, ask, empty="It was empty.")
        for one in tries:
            raw = one.reply.text if one.fault or (one.found and one.found.repairs) else None
            talk.calls.append(self.call_record(one.request, one.reply, turn, raw=raw))
        talk.failure = failure("interrogator", turn, tries[-1])
        said = tries[-1].found
        if said is not None:
            talk.repairs += [f"turn {turn}: {repair}" for repair in said.repairs]
            talk.messages.append(Message(role="user", content=said.text))

    # Judging

    async def judge(self, conversation: Conversation, judge: str, ask: Ask) -> Judgement:
        card, _ = self.scene(conversation)
        entry = self.suite.entry
        turns = len(conversation.messages) // 2
        prompt = self.prompts.judge(card, conversation.messages)

        def request_for(complaint: str, attempt: int) -> ChatRequest:
            return self.request(
                "judge",
                judge,
                [Message(role="user", content=prompt + complaint)],
                entry.judge.sampling,
                schema=verdict_schema(turns, self.bounded(judge, entry.limits.reason)),
                seed_of=[judge, *coordinates(conversation)],
                attempt=attempt,
            )

        made = await ask_judge(self, request_for, _reader(turns), ask)
        return judgement(self, conversation, judge, made.read, [made])

    def reparsed(self, judgement: Judgement, conversation: Conversation) -> Judgement:
        before = Read(judgement.turns, judgement.repairs, judgement.failure)
        turns = len(conversation.messages) // 2
        return updated(judgement, reread(judgement.calls, judgement.raw, _reader(turns), before))

    # Before anyone pays

    def estimate(self, cell: Cell) -> Estimate:
        card, situation = self.scene(cell)
        entry = self.suite.entry
        guess = self.lengths(cell)
        turns = guess.turns
        interrogator = estimated_tokens(
            self.prompts.interrogator(card, situation, (), symmetric=entry.symmetric)
        )
        return Estimate(
            calls={"player": turns, "interrogator": turns, "judge": 1},
            prompt_tokens={
                "player": turns * (guess.card + guess.user) + guess.history,
                "interrogator": turns * interrogator + guess.history,
                "judge": estimated_tokens(self.prompts.judge(card, ())) + turns * (guess.user + guess.answer),
            },
            completion_tokens={
                "player": turns * guess.answer,
                "interrogator": turns * (guess.user + 10),
                "judge": turns * (60 + 4 * min(40, entry.limits.reason // 4)),
            },
        )


def _reader(turns: int) -> Reader:
    """Reads a judge's reply about so many turns."""

    def read(text: str) -> tuple[tuple[TurnVerdict, ...], tuple[str, ...]]:
        found = verdict(text, turns=turns, criteria=FACTS.criteria)
        return found.turns, found.repairs

    return read


def utterance_schema(limit: int | None) -> dict[str, JsonValue]:
    """JSON Schema of an interrogator's reply; ``limit`` bounds the message's characters."""
    return strict_object({"next_utterance": utterance_of(limit)})


def verdict_schema(turns: int, limit: int | None) -> dict[str, JsonValue]:
    """JSON Schema of a judge's reply (keys of the paper's appendix D).

    Without ``limit`` it keeps to what strict structured output takes everywhere; with it, reasons are at most
    that many characters long and entry N is about turn N.
    """
    entry = rating_of(FACTS.criteria, limit)
    if limit is None:
        items = strict_object({"turn": {"type": "integer"}, **entry})
        return strict_object({"scores": {"type": "array", "items": items}})
    numbered: list[JsonValue] = [strict_object({"turn": {"const": n}, **entry}) for n in range(1, turns + 1)]
    return strict_object(
        {"scores": {"type": "array", "prefixItems": numbered, "minItems": turns, "maxItems": turns}}
    )
