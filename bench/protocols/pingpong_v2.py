"""PingPong, version 2: player, interrogator and judge are three models; a judge scores every turn, 1 to 5.

The player sees only the card, the interrogator only the one-line summary and the situation (a symmetric suite
shows both to both), the judge the card and the whole conversation. Source: the PingPong paper, sections 3.1
to 3.4 and appendix D.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import ClassVar

from pydantic import JsonValue

from bench.chat.requests import estimated_tokens
from bench.errors import CatalogError
from bench.prompts.flaws import REQUEST
from bench.protocol_facts import facts_of
from bench.protocols.base import Estimate, Talk, strict_object, text_schema
from bench.protocols.calls import Ask, JsonSchema
from bench.protocols.cards import CardProtocol, card_facts, declared_facts, rating_properties
from bench.protocols.verdicts import Reading, ReadVerdict
from bench.records import Cell, Conversation, Criterion, JudgeMode, Message, Role
from bench.replies import Utterance, utterance, verdict
from bench.replies.flaws import FLAWS
from bench.tables import counted
from bench.toml_entries import Entry

FLAW_TOKENS = 25
"""Assumed length of a turn's list of flaws, for estimates."""


class Options(Entry):
    """The ``[options]`` of a suite."""

    scripted: bool = False
    """The user's messages are those that each situation lists: all players answer the same ones, and no
    interrogator is asked."""


class PingPongV2(CardProtocol):
    """One suite of this protocol in one language."""

    lists_flaws: ClassVar[bool] = True
    greets: ClassVar[bool] = True
    options_type: ClassVar[type[Entry]] = Options

    @property
    def scripted(self) -> bool:
        """Whether the user's messages are fixed."""
        return isinstance(self.options, Options) and self.options.scripted

    @property
    def interrogated(self) -> bool:
        return not self.scripted

    def _check_suite(self) -> None:
        super()._check_suite()
        for name, situation in self.scenes.situations.items() if self.scripted else ():
            turns = self.suite.turns_of(situation)
            if len(situation.messages) < turns:
                raise CatalogError(
                    f"{name} has {counted(len(situation.messages), 'message')} for {counted(turns, 'turn')}",
                    where=f"suite {self.suite.id}: languages.{self.language}.situations",
                    hint="With scripted = true, list one message for each turn, or lower max_turns.",
                )

    # Fingerprints

    def conversation_inputs(self, cell: Cell) -> dict[str, JsonValue]:
        card, situation = self.scene(cell)
        entry = self.suite.entry
        greeting: dict[str, JsonValue] = {"greeting": entry.greeting} if entry.greeting else {}
        if self.scripted:
            return {
                "templates": [self.prompts.sha256("player")],
                "card": card_facts(card),
                "messages": list(situation.messages[: self.turns(cell)]),
                "situation": situation.text if entry.symmetric else "",
                **greeting,
            }
        return {
            "templates": [self.prompts.sha256("player"), self.prompts.sha256("interrogator")],
            "card": card_facts(card),
            "situation": situation.text,
            "turns": self.turns(cell),
            "symmetric": entry.symmetric,
            "utterance_limit": entry.limits.utterance,
            "interrogator": self.model_facts("interrogator", self.interrogator),
            **greeting,
        }

    def judgement_inputs(self, cell: Cell) -> dict[str, JsonValue]:
        card, _ = self.scene(cell)
        inputs: dict[str, JsonValue] = {
            "card": card_facts(card),
            "reason_limit": self.suite.entry.limits.reason,
        }
        if self.prompts.reads("judge", "declared"):  # the first template does not
            inputs["declared"] = declared_facts(card)
        if (mode := self.judge_mode()) is not None:
            inputs |= {"mode": mode.plain(), "flaws": self.flaws_request()}
        return inputs

    # Talking

    async def converse(self, cell: Cell, ask: Ask) -> Conversation:
        card, _ = self.scene(cell)
        talk = Talk(self.opening(card))
        for turn in range(1, self.turns(cell) + 1):
            said = await self._user_message(cell, turn, talk, ask)
            if said is not None:
                talk.messages.append(Message(role="user", content=said))
                await self.player_turn(cell, self.player_prompt(cell, talk.messages), talk, ask, turn)
            if talk.failure is not None:
                break
        return self.held(cell, talk, "" if self.scripted else card.summary)

    async def _user_message(self, cell: Cell, turn: int, talk: Talk, ask: Ask) -> str | None:
        """What the user says in ``turn``; None if the interrogator's reply cannot be used."""
        if self.scripted:
            _, situation = self.scene(cell)
            return situation.messages[turn - 1]
        schema = utterance_schema(self.limit_for(self.interrogator, self.suite.entry.limits.utterance))
        prompt, read = self.asking(cell, talk.messages), self.utterance_reader(cell, turn)
        reply = await self.interrogate(cell, turn, talk, ask, prompt, schema, read)
        return None if reply is None else reply.text

    def asking(self, cell: Cell, messages: Sequence[Message]) -> str:
        """The interrogator's prompt after ``messages``."""
        card, situation = self.scene(cell)
        return self.prompts.interrogator(
            card, situation, messages, symmetric=self.suite.entry.symmetric, turns=self.turns(cell)
        )

    def utterance_reader(self, cell: Cell, turn: int) -> Callable[[str], Utterance]:
        """What parses the interrogator's replies before ``turn``."""
        return utterance

    # Judging

    def judge_mode(self) -> JudgeMode | None:
        return JudgeMode(flaws=True) if self.suite.entry.judge.flaws else None

    def judging(self, cell: Cell, messages: Sequence[Message]) -> str:
        """The judge's prompt about ``messages``."""
        return self.prompts.judge(self.scene(cell)[0], messages) + self.flaws_request()

    def flaws_request(self) -> str:
        """What follows the judge's prompt; empty if the suite does not ask for flaws."""
        return REQUEST if self.suite.entry.judge.flaws else ""

    def judge_prompt(self, conversation: Conversation, number: int) -> str:
        return self.judging(conversation, conversation.messages)

    def judge_schema(self, conversation: Conversation, judge: str) -> JsonSchema:
        limit, flaws = self.limit_for(judge, self.suite.entry.limits.reason), self.suite.entry.judge.flaws
        return verdict_schema(len(conversation.answers()), self.facts.criteria, limit, flaws=flaws)

    @classmethod
    def verdict_reader(cls, conversation: Conversation, mode: JudgeMode | None) -> ReadVerdict:
        return partial(cls.read_verdict, conversation=conversation, mode=mode)

    @classmethod
    def read_verdict(
        cls, text: str, number: int, conversation: Conversation, mode: JudgeMode | None = None
    ) -> Reading:
        answers = [answer.content for answer in conversation.answers()]
        reply = verdict(
            text,
            turns=len(answers),
            criteria=facts_of(conversation.protocol).criteria,
            answers=answers if mode is not None and mode.flaws else None,
        )
        return Reading(reply.turns, reply.repairs)

    # Estimates

    def estimate(self, cell: Cell) -> Mapping[Role, Estimate]:
        guess = self.lengths(cell)
        turns = guess.turns
        asking = estimated_tokens(self.asking(cell, ())) + (guess.lore if self.suite.entry.symmetric else 0)
        judging = estimated_tokens(self.judging(cell, ())) + guess.lore
        return {
            "player": guess.player,
            "interrogator": Estimate(turns, turns * asking + guess.history, turns * (guess.user + 10)),
            "judge": Estimate(
                1,
                judging + turns * (guess.user + guess.answer),
                turns * self.verdict_tokens(guess.reason),
            ),
        }

    def verdict_tokens(self, reason: int) -> int:
        """Assumed length of a verdict on one turn, with reasons of ``reason`` tokens."""
        return (
            60
            + (1 + len(self.facts.criteria)) * reason
            + (FLAW_TOKENS if self.suite.entry.judge.flaws else 0)
        )


def utterance_schema(limit: int | None) -> JsonSchema:
    """JSON Schema of an interrogator's reply, a message of up to ``limit`` characters."""
    return strict_object({"next_utterance": text_schema(limit, 1)})


def verdict_schema(
    turns: int, criteria: Sequence[Criterion], limit: int | None, *, first: int = 1, flaws: bool = False
) -> JsonSchema:
    """JSON Schema of a judge's reply about ``turns`` turns from ``first`` (keys of the paper's appendix D).

    Without ``limit`` it uses only what every strict provider accepts; with it, reasons have at most that many
    characters and each entry is about the next turn. ``flaws``: each entry also lists flaws.
    """
    entry = rating_properties(criteria, limit)
    if flaws:
        entry["flaws"] = _flaws_property(limit)
    if limit is None:
        items = strict_object({"turn": {"type": "integer"}, **entry})
        return strict_object({"scores": {"type": "array", "items": items}})
    numbers = range(first, first + turns)
    numbered: list[JsonValue] = [strict_object({"turn": {"const": n}, **entry}) for n in numbers]
    return strict_object(
        {"scores": {"type": "array", "prefixItems": numbered, "minItems": turns, "maxItems": turns}}
    )


def _flaws_property(limit: int | None) -> JsonSchema:
    """JSON Schema of a list of flaws; each quotation has up to ``limit`` characters."""
    name: JsonSchema = {"type": "string", "enum": list(FLAWS)}
    flaw = strict_object({"flaw": name, "quote": text_schema(limit)})
    most: JsonSchema = {} if limit is None else {"maxItems": len(FLAWS)}
    return {"type": "array", "items": flaw, **most}
