"""What every protocol offers to a run, and the parts that protocols share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from pydantic import JsonValue

from bench.audio.sounds import Sounds
from bench.catalog import Catalog
from bench.chat.requests import Sound
from bench.errors import CatalogError
from bench.prompts import PromptSet
from bench.protocol_facts import facts_of
from bench.protocols.calls import Ask, Calls, JsonSchema, failure_of
from bench.protocols.verdicts import Reading, ReadVerdict, joined, reread_calls
from bench.records import (
    Call,
    Cell,
    Conversation,
    Failure,
    Judgement,
    JudgeMode,
    Message,
    Role,
    Scene,
    messages_sha256,
    sealed,
    sha256_of,
)
from bench.suites import Suite
from bench.toml_entries import Entry, entry_from


@dataclass(frozen=True)
class Estimate:
    """Expected calls and tokens of one role in one cell. Tokens are guesses from prompt lengths."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    audio_prompt_tokens: int = 0
    """How many of the prompt tokens are sound."""
    audio_completion_tokens: int = 0


@dataclass
class Talk:
    """A conversation while it is being held."""

    messages: list[Message] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    failure: Failure | None = None


class NoOptions(Entry):
    """The ``[options]`` of a protocol without options."""


class Protocol(Calls, ABC):
    """One suite in one language, ready to be played and judged.

    Raises CatalogError if the suite lacks what the protocol needs, or has what the protocol ignores.
    """

    options_type: ClassVar[type[Entry]] = NoOptions
    lists_flaws: ClassVar[bool] = False
    """Whether judges can be asked for flaws, each with a quotation."""
    greets: ClassVar[bool] = False
    """Whether a suite may open the chat with the card's greeting."""

    def __init__(self, suite: Suite, language: str, catalog: Catalog) -> None:
        super().__init__(suite, catalog)
        self.name = suite.protocol
        self.facts = facts_of(self.name)
        self.language = language
        self.scenes = suite.language(language)
        self.sounds = Sounds()
        self.options: Any = entry_from(self.options_type, suite.entry.options, f"suite {suite.id}: options")
        self._check_suite()
        self.prompts = PromptSet(suite.templates, language, self.facts.roles)

    @property
    def interrogated(self) -> bool:
        """Whether an interrogator is asked for the user's messages."""
        return self.facts.interrogated

    def _check_suite(self) -> None:
        where, name = f"suite {self.suite.id}", f"protocol {self.name}"
        interrogated = self.interrogated
        if interrogated and self.suite.interrogator is None:
            raise CatalogError(
                "key 'interrogator' is missing", where=where, hint=f"Name one model: {name} needs it."
            )
        if self.suite.interrogator is not None and not interrogated:
            why = "with scripted = true, there" if self.facts.interrogated else name
            fault = f"{why} {'is' if self.facts.interrogated else 'has'} no interrogator"
            raise CatalogError(fault, where=where, hint="Remove [interrogator].")
        if self.suite.entry.judge.flaws and not self.lists_flaws:
            raise CatalogError(f"{name} cannot list flaws", where=where, hint="Remove flaws from [judge].")
        if self.suite.entry.greeting and not self.greets:
            hint = "Remove the key, or make the suite one of pingpong_v2."
            raise CatalogError(
                f"key 'greeting': {name} opens no chat with a greeting", where=where, hint=hint
            )
        where = f"{where}: languages.{self.language}"
        if self.facts.plays_items and not self.scenes.items:
            hint = "Set `items` to the name of the file."
            raise CatalogError(f"{name} plays the items of a data set", where=where, hint=hint)
        if self.scenes.items and not self.facts.plays_items:
            hint = "Set `characters` and `situations` instead of `items`."
            raise CatalogError(f"{name} plays cards in situations", where=where, hint=hint)

    def check_models(self, players: Iterable[str], judges: Iterable[str]) -> None:
        """Raise CatalogError if one of these models cannot do what the protocol asks of it."""
        judges = tuple(judges)
        for name in (*players, *judges):
            if self.catalog.recordings(name) is not None:
                raise CatalogError(
                    f"{name!r} is a folder of recordings and cannot be called",
                    where=f"suite {self.suite.id}: protocol {self.name}",
                    hint="Name a model that is called.",
                )
        self.check_apart(judges)

    def check_apart(self, judges: Iterable[str]) -> None:
        """Raise CatalogError if two judges would only copy each other."""
        if twins := self.catalog.twins(judges):
            raise CatalogError(
                f"judges {' and '.join(twins)} are one model with one set of settings, so they would agree"
                " perfectly: each reply of one is a copy of the other's",
                where=f"suite {self.suite.id}: judge.models",
                hint="Leave one of them out, or give it other settings, such as a temperature.",
            )

    # What each protocol defines

    @abstractmethod
    def conversation_inputs(self, cell: Cell) -> dict[str, JsonValue]:
        """Everything a cell's conversation depends on, besides protocol, language and player.

        It goes into the fingerprint, by which stale results are recognised.
        """

    @abstractmethod
    def judgement_inputs(self, cell: Cell) -> dict[str, JsonValue]:
        """Everything a judgement depends on, besides protocol, template, judge and conversation."""

    @abstractmethod
    async def converse(self, cell: Cell, ask: Ask) -> Conversation:
        """Hold a cell's conversation. A failure is a record too."""

    @abstractmethod
    def estimate(self, cell: Cell) -> Mapping[Role, Estimate]:
        """Expected work of a cell's conversation and of one judge's judgement, by role that is called."""

    # The judge's part, unless the interrogator judges while it talks

    def judge_prompt(self, conversation: Conversation, number: int) -> str:
        """The judge's question ``number`` (from 1) about a complete conversation."""
        raise NotImplementedError

    def judge_schema(self, conversation: Conversation, judge: str) -> JsonSchema:
        """JSON Schema of the judge's reply."""
        raise NotImplementedError

    def judge_question(
        self, conversation: Conversation, judge: str, number: int, earlier: Sequence[Reading]
    ) -> tuple[str, JsonSchema]:
        """Prompt and reply schema of question ``number``, after the judge's ``earlier`` answers."""
        return self.judge_prompt(conversation, number), self.judge_schema(conversation, judge)

    def judge_mode(self) -> JudgeMode | None:
        """How judges are asked, if not by one question about the whole conversation."""
        return None

    @classmethod
    def read_verdict(cls, text: str, number: int, conversation: Conversation) -> Reading:
        """Parse the judge's reply to question ``number``. Raises ReplyFault."""
        raise NotImplementedError

    @classmethod
    def verdict_reader(cls, conversation: Conversation, mode: JudgeMode | None) -> ReadVerdict:
        """What parses a judge's replies, in the ``mode`` in which it was asked."""
        return partial(cls.read_verdict, conversation=conversation)

    async def judge_sounds(self, conversation: Conversation) -> tuple[Sound, ...]:
        """Sounds that go with the judge's question."""
        return ()

    def judge_calls(self, cell: Cell | None = None) -> int:
        """Questions to a judge about a conversation (of ``cell``): its number of calls without retries."""
        return 0 if self.facts.judged_in_talk else 1

    async def judge(self, conversation: Conversation, judge: str, ask: Ask) -> Judgement:
        """Have ``judge`` score a complete conversation. A failure is a record too."""
        read = self.verdict_reader(conversation, self.judge_mode())
        sounds = await self.judge_sounds(conversation)
        readings: list[Reading] = []
        replies: list[tuple[Call, str]] = []
        for number in range(1, self.judge_calls(conversation) + 1):
            prompt, schema = self.judge_question(conversation, judge, number, readings)
            tries = await self.ask_until_read(
                "judge",
                judge,
                conversation,
                [Message(role="user", content=prompt)],
                partial(_answer, read, number),
                ask,
                schema=schema,
                seed=(number,) if self.facts.compared_answers or number > 1 else (),
                sounds=sounds,
            )
            replies += self.replies(tries)
            fault = failure_of("judge", len(tries), tries[-1], kept=True)
            readings.append(tries[-1].value or Reading(failure=fault))
            if fault is not None:
                break
        return self.judgement_of(conversation, judge, joined(self.facts, readings), replies)

    def judgement_of(
        self,
        conversation: Conversation,
        judge: str,
        reading: Reading,
        replies: Sequence[tuple[Call, str]] = (),
    ) -> Judgement:
        """The record of a verdict with the calls and raw replies that it was read from."""
        sha256 = messages_sha256(conversation.messages)
        return sealed(
            Judgement(
                **conversation.cell().plain(),
                judge=judge,
                fingerprint=self.judgement_fingerprint(conversation, judge, sha256),
                conversation_sha256=sha256,
                mode=self.judge_mode(),
                raw=tuple(text for _, text in replies),
                calls=tuple(call for call, _ in replies),
                **reading.fields(),
            )
        )

    @classmethod
    def reread(cls, judgement: Judgement, conversation: Conversation) -> Judgement:
        """``judgement`` with its raw replies re-parsed; equal if nothing changed."""
        return sealed(judgement.model_copy(update=cls.verdict_in(judgement, conversation).fields()))

    @classmethod
    def verdict_in(cls, judgement: Judgement, conversation: Conversation) -> Reading:
        """The verdict that the raw replies of ``judgement`` hold."""
        read = cls.verdict_reader(conversation, judgement.mode)
        return reread_calls(facts_of(judgement.protocol), judgement, read)

    # Shared, unless a protocol overrides it

    def turns(self, cell: Cell) -> int:
        """Number of turns of a cell's conversation."""
        return 1

    def judge_models(self, judge: str) -> tuple[str, ...]:
        """Models that may be called for the verdict of ``judge``."""
        return (judge,) if self.judge_calls() else ()

    def talkers(self, player: str) -> tuple[tuple[Role, str], ...]:
        """Role and model of everyone who is called while a conversation is held."""
        interrogator = self.suite.interrogator
        first: tuple[tuple[Role, str], ...] = (("interrogator", interrogator),) if interrogator else ()
        return (*first, ("player", player))

    def talk_calls(self, cell: Cell) -> int:
        """Calls of a conversation without retries."""
        return self.turns(cell) * len(self.talkers(cell.player))

    def verdicts_due(self, conversation: Conversation) -> int:
        """Number of entries in a complete verdict: one for each question that compares answers, else one for
        each answer."""
        return self.judge_calls() if self.facts.compared_answers else len(conversation.answers())

    def cells(self, player: str) -> list[Cell]:
        """Every cell of a player, characters first."""
        return [self.cell(player, *scene) for scene in self.scenes.pairs]

    def cell(self, player: str, character: str, situation: str, repeat: int = 1) -> Cell:
        """A cell of the suite."""
        return Cell(
            suite=self.suite.id,
            version=self.suite.entry.version,
            protocol=self.name,
            language=self.language,
            player=player,
            character=character,
            situation=situation,
            repeat=repeat,
        )

    def answer_tokens(self, usual: int) -> int:
        """Assumed length of a player's answer, for estimates; ``usual``: if nothing limits it."""
        return min(usual, int(self.suite.entry.player.sampling.max_tokens or usual))

    # Fingerprints

    def conversation_fingerprint(self, cell: Cell) -> str:
        """SHA-256 of everything that a cell's conversation depends on."""
        return sha256_of(
            {
                "protocol": self.name,
                "language": self.language,
                "player": self.player_facts(cell),
                **self.conversation_inputs(cell),
                **_repeat_input(cell),
            }
        )

    def judgement_fingerprint(self, cell: Cell, judge: str, conversation_sha256: str) -> str:
        """SHA-256 of everything that a judgement depends on."""
        if self.facts.judged_in_talk or self.facts.rule_judge:
            made_by: dict[str, JsonValue] = {"judge": judge}
        else:
            made_by = {"template": self.prompts.sha256("judge"), "judge": self.model_facts("judge", judge)}
        inputs = {"protocol": self.name, "conversation": conversation_sha256, **made_by}
        return sha256_of(inputs | self.judgement_inputs(cell) | _repeat_input(cell))

    def player_facts(self, cell: Cell) -> dict[str, JsonValue]:
        """The player's part of a conversation's fingerprint."""
        return self.model_facts("player", cell.player)

    async def player_turn(self, cell: Cell, prompt: str, talk: Talk, ask: Ask, turn: int = 1) -> None:
        """Have the player answer ``talk``, with ``prompt`` as system prompt; retry an empty answer."""
        extra = self.catalog.model(cell.player).system_extra
        system = Message(role="system", content=f"{extra}\n\n{prompt}" if extra else prompt)
        seed = (turn,) if self.facts.multi_turn else ()
        tries = await self.ask_until_read(
            "player", cell.player, cell, [system, *talk.messages], str, ask, seed=seed
        )
        talk.calls += [self.call_record(t, turn) for t in tries]
        talk.failure = failure_of("player", turn, tries[-1])
        if tries[-1].value is not None:
            talk.messages.append(Message(role="assistant", content=tries[-1].value))

    # Records

    def conversation_of(self, cell: Cell, talk: Talk, scene: Scene) -> Conversation:
        """The record of a conversation that has ended."""
        return sealed(
            Conversation(
                **cell.plain(),
                fingerprint=self.conversation_fingerprint(cell),
                scene=scene,
                status="complete" if talk.failure is None else "failed",
                messages=tuple(talk.messages),
                calls=tuple(talk.calls),
                repairs=tuple(talk.repairs),
                failure=talk.failure,
            )
        )


def _answer(read: ReadVerdict, number: int, text: str) -> Reading:
    return read(text, number)


def _repeat_input(cell: Cell) -> dict[str, JsonValue]:
    """The repeat's number as a fingerprint's input; nothing for the first sample."""
    return {"repeat": cell.repeat} if cell.repeat > 1 else {}


def text_schema(limit: int | None, least: int | None = None) -> JsonSchema:
    """JSON Schema of a string of up to ``limit`` characters, if the provider enforces that."""
    if limit is None:
        return {"type": "string"}
    return {"type": "string", **({} if least is None else {"minLength": least}), "maxLength": limit}


def strict_object(properties: JsonSchema) -> JsonSchema:
    """JSON Schema of an object with exactly these keys, in the form that every strict provider accepts."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
