"""PingPong, version 2: player, interrogator and judge are three models; a judge scores every turn, 1 to 5.

The player sees the card only, the interrogator the one-line summary and the situation only (a symmetric
suite gives both sides both), the judge the card and the whole conversation. Source: the PingPong paper,
sections 3.1 to 3.4 and appendix D.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import JsonValue

from bench.chat.requests import Reply, estimated_tokens
from bench.protocols.base import ASKS, Ask, Estimate, Protocol
from bench.records import (
    Call,
    Cell,
    Conversation,
    Criterion,
    Failure,
    Judgement,
    Message,
    Role,
    Scene,
    TurnVerdict,
    messages_sha256,
    sealed,
    sha256_of,
)
from bench.replies import ReplyFault, utterance, verdict
from bench.suites import Card, Situation

CRITERIA = (
    Criterion(name="in_character", label="In character", low=1, high=5),
    Criterion(name="entertaining", label="Entertaining", low=1, high=5),
    Criterion(name="fluency", label="Fluency", low=1, high=5),
)

ANSWER_TOKENS = 220
"""A guess at a player's answer where nothing bounds it, for estimates."""


@dataclass
class _Talk:
    """A conversation while it is being held."""

    messages: list[Message] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    failure: Failure | None = None


class PingPongV2(Protocol):
    """One suite of this protocol in one language."""

    name = "pingpong_v2"
    criteria = CRITERIA
    roles = ("player", "interrogator", "judge")

    def _scene(self, cell: Cell) -> tuple[Card, Situation]:
        return self.scenes.cards[cell.character], self.scenes.situations[cell.situation]

    def turns(self, cell: Cell) -> int:
        return self.suite.turns_of(self.scenes.situations[cell.situation])

    # Fingerprints

    def conversation_fingerprint(self, cell: Cell) -> str:
        card, situation = self._scene(cell)
        entry = self.suite.entry
        return sha256_of(
            {
                "protocol": self.name,
                "language": self.language,
                "templates": [self.prompts.sha256("player"), self.prompts.sha256("interrogator")],
                "card": _card_facts(card),
                "situation": situation.text,
                "turns": self.turns(cell),
                "symmetric": entry.symmetric,
                "utterance_limit": entry.limits.utterance,
                "player": self.model_facts(cell.player, entry.player.sampling),
                "interrogator": self.model_facts(self.interrogator, self.interrogator_sampling),
            }
        )

    def judgement_fingerprint(self, cell: Cell, judge: str, conversation_sha256: str) -> str:
        card, _ = self._scene(cell)
        entry = self.suite.entry
        return sha256_of(
            {
                "protocol": self.name,
                "template": self.prompts.sha256("judge"),
                "card": _card_facts(card),
                "reason_limit": entry.limits.reason,
                "judge": self.model_facts(judge, entry.judge.sampling),
                "conversation": conversation_sha256,
            }
        )

    # Talking

    async def converse(self, cell: Cell, ask: Ask) -> Conversation:
        card, situation = self._scene(cell)
        talk = _Talk()
        for turn in range(1, self.turns(cell) + 1):
            await self._user_turn(cell, turn, talk, ask)
            if talk.failure is None:
                await self._player_turn(cell, turn, talk, ask)
            if talk.failure is not None:
                break
        return sealed(
            Conversation(
                **cell.plain(),
                fingerprint=self.conversation_fingerprint(cell),
                scene=Scene(
                    character_name=card.char_name,
                    summary=card.summary,
                    card=self._player_prompt(cell),
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

    def _player_prompt(self, cell: Cell) -> str:
        card, situation = self._scene(cell)
        return self.prompts.player(card, situation, symmetric=self.suite.entry.symmetric)

    async def _user_turn(self, cell: Cell, turn: int, talk: _Talk, ask: Ask) -> None:
        """Have the interrogator write the next user message, re-asking where its reply cannot be read."""
        card, situation = self._scene(cell)
        entry = self.suite.entry
        prompt = self.prompts.interrogator(card, situation, talk.messages, symmetric=entry.symmetric)
        fault = ""
        for attempt in range(ASKS):
            request = self.request(
                "interrogator",
                self.interrogator,
                [Message(role="user", content=prompt + _complaint(fault))],
                self.interrogator_sampling,
                schema=utterance_schema(self._bounded(self.interrogator, entry.limits.utterance)),
                seed_of=_coordinates(cell, turn),
                attempt=attempt,
            )
            reply = await ask(request)
            if reply.outcome not in ("ok", "length"):
                talk.calls.append(self.call_record(request, reply, turn))
                talk.failure = _failure("interrogator", turn, reply)
                if reply.outcome == "empty":
                    fault = "It was empty."
                    continue
                return
            try:
                said = utterance(reply.text)
            except ReplyFault as error:
                fault = error.fault
                talk.calls.append(self.call_record(request, reply, turn, raw=reply.text))
                talk.failure = _failure("interrogator", turn, reply, fault)
                continue
            raw = reply.text if said.repairs else None
            talk.calls.append(self.call_record(request, reply, turn, raw=raw))
            talk.repairs += [f"turn {turn}: {repair}" for repair in said.repairs]
            talk.messages.append(Message(role="user", content=said.text))
            talk.failure = None
            return

    async def _player_turn(self, cell: Cell, turn: int, talk: _Talk, ask: Ask) -> None:
        """Have the player answer, asking anew where it says nothing at all."""
        extra = self.catalog.model(cell.player).system_extra
        prompt = self._player_prompt(cell)
        system = Message(role="system", content=f"{extra}\n\n{prompt}" if extra else prompt)
        for attempt in range(ASKS):
            request = self.request(
                "player",
                cell.player,
                [system, *talk.messages],
                self.suite.entry.player.sampling,
                schema=None,
                seed_of=_coordinates(cell, turn),
                attempt=attempt,
            )
            reply = await ask(request)
            talk.calls.append(self.call_record(request, reply, turn))
            if reply.outcome in ("ok", "length"):
                talk.messages.append(Message(role="assistant", content=reply.text))
                talk.failure = None
                return
            talk.failure = _failure("player", turn, reply)
            if reply.outcome != "empty":
                return

    # Judging

    async def judge(self, conversation: Conversation, judge: str, ask: Ask) -> Judgement:
        card, _ = self._scene(conversation)
        entry = self.suite.entry
        turns = len(conversation.messages) // 2
        prompt = self.prompts.judge(card, conversation.messages)
        calls: list[Call] = []
        raw: list[str] = []
        read = _Read((), (), None)
        for attempt in range(ASKS):
            complaint = _complaint(read.failure.reason if read.failure else "")
            request = self.request(
                "judge",
                judge,
                [Message(role="user", content=prompt + complaint)],
                entry.judge.sampling,
                schema=verdict_schema(turns, self._bounded(judge, entry.limits.reason)),
                seed_of=[judge, *_coordinates(conversation)],
                attempt=attempt,
            )
            reply = await ask(request)
            calls.append(self.call_record(request, reply, attempt + 1))
            raw.append(reply.text)
            if reply.outcome in ("ok", "length"):
                read = _read_verdict(reply.text, turns, attempt + 1)
                if read.failure is None:
                    break
            else:
                read = _Read((), (), _failure("judge", attempt + 1, reply))
                if reply.outcome != "empty":
                    break
        sha256 = messages_sha256(conversation.messages)
        return sealed(
            Judgement(
                **conversation.cell().plain(),
                judge=judge,
                fingerprint=self.judgement_fingerprint(conversation, judge, sha256),
                conversation_sha256=sha256,
                status="ok" if read.failure is None else "failed",
                turns=read.turns,
                repairs=read.repairs,
                raw=tuple(raw),
                calls=tuple(calls),
                failure=read.failure,
            )
        )

    def reparsed(self, judgement: Judgement, conversation: Conversation) -> Judgement:
        turns = len(conversation.messages) // 2
        read = _Read(judgement.turns, judgement.repairs, judgement.failure)
        for attempt, (raw, call) in enumerate(zip(judgement.raw, judgement.calls, strict=True), 1):
            if call.outcome in ("ok", "length"):
                again = _read_verdict(raw, turns, attempt)
                if again.failure is None or attempt == len(judgement.raw):
                    read = again
                if again.failure is None:
                    break
        return sealed(
            judgement.model_copy(
                update={
                    "status": "ok" if read.failure is None else "failed",
                    "turns": read.turns,
                    "repairs": read.repairs,
                    "failure": read.failure,
                }
            )
        )

    def _bounded(self, model: str, limit: int) -> int | None:
        """``limit`` where the model's provider can hold a reply to it, else None."""
        return limit if self.catalog.provider_of(model).schema_limits else None

    # Before anyone pays

    def estimate(self, cell: Cell) -> Estimate:
        card, situation = self._scene(cell)
        turns = self.turns(cell)
        entry = self.suite.entry
        answer = min(ANSWER_TOKENS, int(entry.player.sampling.max_tokens or ANSWER_TOKENS))
        user = min(60, entry.limits.utterance // 3)
        reasons = turns * (60 + 4 * min(40, entry.limits.reason // 4))
        history = turns * (turns - 1) // 2 * (user + answer)
        player = estimated_tokens(self._player_prompt(cell))
        interrogator = estimated_tokens(
            self.prompts.interrogator(card, situation, (), symmetric=entry.symmetric)
        )
        return Estimate(
            calls={"player": turns, "interrogator": turns, "judge": 1},
            prompt_tokens={
                "player": turns * (player + user) + history,
                "interrogator": turns * interrogator + history,
                "judge": estimated_tokens(self.prompts.judge(card, ())) + turns * (user + answer),
            },
            completion_tokens={
                "player": turns * answer,
                "interrogator": turns * (user + 10),
                "judge": reasons,
            },
        )


@dataclass(frozen=True)
class _Read:
    """What a judge's reply was read as."""

    turns: tuple[TurnVerdict, ...]
    repairs: tuple[str, ...]
    failure: Failure | None


def _read_verdict(text: str, turns: int, attempt: int) -> _Read:
    try:
        found = verdict(text, turns=turns, criteria=CRITERIA)
    except ReplyFault as error:
        return _Read((), (), Failure(role="judge", turn=attempt, outcome="parse_error", reason=error.fault))
    return _Read(found.turns, found.repairs, None)


def _complaint(fault: str) -> str:
    """What a re-ask adds to the prompt."""
    if not fault:
        return ""
    return f"\n\nYour last reply could not be used. {fault.rstrip('.')}. Send the whole JSON object again."


def _failure(role: Role, turn: int, reply: Reply, fault: str = "") -> Failure:
    return Failure(
        role=role,
        turn=turn,
        outcome="parse_error" if fault else reply.outcome,
        reason=fault or reply.detail or f"the call ended as {reply.outcome}",
        raw=reply.text or None,
    )


def _card_facts(card: Card) -> dict[str, JsonValue]:
    """The parts of a card that some model reads."""
    return card.model_dump(
        include={"char_name", "summary", "system_prompt", "example_prompt", "initial_message"}
    )


def _coordinates(cell: Cell, *more: object) -> list[object]:
    return [cell.language, cell.player, cell.character, cell.situation, *more]


def utterance_schema(limit: int | None) -> dict[str, JsonValue]:
    """JSON Schema of an interrogator's reply; ``limit`` bounds the message's characters."""
    text: dict[str, JsonValue] = {"type": "string"}
    if limit is not None:
        text |= {"minLength": 1, "maxLength": limit}
    return _object({"next_utterance": text})


def verdict_schema(turns: int, limit: int | None) -> dict[str, JsonValue]:
    """JSON Schema of a judge's reply (keys of the paper's appendix D).

    Without ``limit`` it keeps to what strict structured output takes everywhere; with it, reasons are at most
    that many characters long and entry N is about turn N.
    """
    reason: dict[str, JsonValue] = {"type": "string"}
    if limit is not None:
        reason["maxLength"] = limit
    entry: dict[str, JsonValue] = {"is_refusal_explanation": reason, "is_refusal": {"type": "boolean"}}
    for criterion in CRITERIA:
        entry[f"{criterion.name}_explanation"] = reason
        entry[f"{criterion.name}_score"] = {
            "type": "integer",
            "enum": list(range(criterion.low, criterion.high + 1)),
        }
    if limit is None:
        items = _object({"turn": {"type": "integer"}, **entry})
        return _object({"scores": {"type": "array", "items": items}})
    numbered: list[JsonValue] = [_object({"turn": {"const": n}, **entry}) for n in range(1, turns + 1)]
    return _object(
        {"scores": {"type": "array", "prefixItems": numbered, "minItems": turns, "maxItems": turns}}
    )


def _object(properties: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
