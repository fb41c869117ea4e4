"""What every protocol offers to the run, and what they share."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pydantic import JsonValue

from bench.audio.sounds import Sounds
from bench.catalog import Catalog, Sampling
from bench.chat.requests import ChatRequest, Reply
from bench.errors import CatalogError
from bench.prompts import PromptSet
from bench.protocol_facts import ProtocolFacts
from bench.records import Call, Cell, Conversation, Judgement, Message, Role, sha256_of
from bench.suites import Suite
from bench.toml_entries import Entry, entry_from

Ask = Callable[[ChatRequest], Awaitable[Reply]]
"""Sends one request and returns how it ended."""

ASKS = 3
"""How often a model is asked for one usable reply: once, and again with the fault named."""


@dataclass(frozen=True)
class Estimate:
    """Expected calls and tokens of one cell's work, by role. Tokens are guesses from prompt lengths."""

    calls: dict[Role, int]
    prompt_tokens: dict[Role, int]
    completion_tokens: dict[Role, int]
    audio_prompt_tokens: Mapping[Role, int] = field(default_factory=dict)
    """Of the prompt tokens, those of sound."""
    audio_completion_tokens: Mapping[Role, int] = field(default_factory=dict)


class NoOptions(Entry):
    """The ``[options]`` of a protocol that has none."""


class Protocol(ABC):
    """One suite in one language, ready to be played and judged."""

    name: ClassVar[str]
    """Also the name of its module, of its facts file and of its folder in prompts/."""
    facts: ClassVar[ProtocolFacts]
    options_type: ClassVar[type[Entry]] = NoOptions

    def __init__(self, suite: Suite, language: str, catalog: Catalog) -> None:
        self.suite = suite
        self.language = language
        self.catalog = catalog
        self.scenes = suite.language(language)
        self.sounds = Sounds()
        self._check_suite()
        self.options: Any = entry_from(self.options_type, suite.entry.options, f"suite {suite.id}: options")
        self.prompts = PromptSet(suite.prompts / suite.protocol, language, self.facts.roles)

    def _check_suite(self) -> None:
        """Raise CatalogError where the suite's file lacks what the protocol needs, or has what it ignores."""
        where, name = f"suite {self.suite.id}", f"protocol {self.name}"
        interrogates = self.facts.interrogated
        if interrogates and self.suite.interrogator is None:
            raise CatalogError(
                "key 'interrogator' is missing", where=where, hint=f"Name one model there: {name} needs it."
            )
        if self.suite.interrogator is not None and not interrogates:
            raise CatalogError(f"{name} has no interrogator", where=where, hint="Take [interrogator] out.")
        where = f"{where}: languages.{self.language}"
        if self.facts.plays_items and not self.scenes.items:
            hint = "Name the file of its items by `items`."
            raise CatalogError(f"{name} plays the items of a data set", where=where, hint=hint)
        if self.scenes.items and not self.facts.plays_items:
            hint = "Choose `characters` and `situations`, no `items`."
            raise CatalogError(f"{name} plays cards in situations", where=where, hint=hint)

    def check_models(self, players: Iterable[str], judges: Iterable[str]) -> None:
        """Raise CatalogError where one of these models cannot do what the protocol asks of it."""
        for name in (*players, *judges):
            if self.catalog.recordings(name) is not None:
                raise CatalogError(
                    f"{name!r} is a folder of recordings, which nobody can ask",
                    where=f"suite {self.suite.id}: protocol {self.name}",
                    hint="Name a model that is called.",
                )

    # What each protocol defines

    @abstractmethod
    def turns(self, cell: Cell) -> int:
        """How many turns a cell's conversation has."""

    @abstractmethod
    def conversation_fingerprint(self, cell: Cell) -> str:
        """SHA-256 of everything that a cell's conversation is made from."""

    @abstractmethod
    def judgement_fingerprint(self, cell: Cell, judge: str, conversation_sha256: str) -> str:
        """SHA-256 of everything that a judgement is made from."""

    @abstractmethod
    async def converse(self, cell: Cell, ask: Ask) -> Conversation:
        """Hold a cell's conversation. A failure is a record too."""

    @abstractmethod
    async def judge(self, conversation: Conversation, judge: str, ask: Ask) -> Judgement:
        """Have a complete conversation judged. A failure is a record too."""

    @abstractmethod
    def reparsed(self, judgement: Judgement, conversation: Conversation) -> Judgement:
        """The judgement as today's parser reads its kept raw replies; equal where nothing changes."""

    @abstractmethod
    def estimate(self, cell: Cell) -> Estimate:
        """What a cell's conversation and one judge's judgement of it are likely to take."""

    # What they share, unless they know better

    @property
    def interrogator(self) -> str:
        """The suite's interrogator, which every protocol with that role has."""
        assert self.suite.interrogator is not None  # _check_suite
        return self.suite.interrogator

    @property
    def interrogator_sampling(self) -> Sampling:
        """What the interrogator is sampled with."""
        assert self.suite.entry.interrogator is not None  # _check_suite
        return self.suite.entry.interrogator.sampling

    def talkers(self, player: str) -> tuple[tuple[Role, str], ...]:
        """Role and model of all that are called while a conversation is held."""
        asking: tuple[tuple[Role, str], ...] = (
            (("interrogator", self.interrogator),) if self.facts.interrogated else ()
        )
        return (*asking, ("player", player))

    def talk_calls(self, cell: Cell) -> int:
        """Calls that a conversation takes if nothing has to be asked twice."""
        return self.turns(cell) * len(self.talkers(cell.player))

    def judge_calls(self) -> int:
        """Calls that a judgement takes if nothing has to be asked twice."""
        return 0 if self.facts.judged_in_talk else 1

    def verdicts_due(self, conversation: Conversation) -> int:
        """How many turns an ok judgement of ``conversation`` has: one for each answer, unless a protocol says
        otherwise."""
        return answers_in(conversation)

    def cells(self, player: str) -> list[Cell]:
        """Every cell of a player, characters first."""
        return [
            Cell(
                suite=self.suite.id,
                version=self.suite.entry.version,
                protocol=self.name,
                language=self.language,
                player=player,
                character=character,
                situation=situation,
            )
            for character, situation in self.scenes.pairs
        ]

    def parameters(self, model: str, sampling: Sampling) -> dict[str, JsonValue]:
        """Sampling of a role with the model's own on top, less what the model refuses."""
        entry = self.catalog.model(model)
        merged = sampling.given() | entry.sampling.given()
        return {key: value for key, value in merged.items() if key not in entry.drop_parameters}

    def player_parameters(self, player: str) -> dict[str, JsonValue]:
        """What the player is sampled with."""
        return self.parameters(player, self.suite.entry.player.sampling)

    def model_facts(self, model: str, sampling: Sampling) -> dict[str, JsonValue]:
        """What of a model's entry decides its answers: part of a fingerprint."""
        entry = self.catalog.model(model)
        provider = self.catalog.providers[entry.provider]
        return {
            "provider": entry.provider,
            "model": entry.model,
            "system_role": provider.system_role if entry.system_role is None else entry.system_role,
            "parameters": self.parameters(model, sampling),
            "system_extra": entry.system_extra,
        }

    def request(
        self,
        role: Role,
        model: str,
        messages: Sequence[Message],
        sampling: Sampling,
        *,
        schema: dict[str, JsonValue] | None,
        seed_of: Sequence[object],
        attempt: int,
    ) -> ChatRequest:
        """One call. ``seed_of`` tells it from every other call of the suite; ``attempt`` counts from 0, and a
        later one is answered anew even where the request is the same."""
        seeded = self.catalog.provider_of(model).seed
        return ChatRequest(
            model=model,
            role=role,
            messages=tuple(messages),
            parameters=self.parameters(model, sampling),
            response_schema=schema,
            seed=_seed([self.suite.id, self.suite.entry.version, role, attempt, *seed_of])
            if seeded
            else None,
            sample=attempt,
        )

    def call_record(self, request: ChatRequest, reply: Reply, turn: int, raw: str | None = None) -> Call:
        """What is kept of a call."""
        entry = self.catalog.model(request.model)
        return Call(
            role=request.role,
            turn=turn,
            provider=entry.provider,
            model=entry.model,
            parameters=dict(request.parameters),
            outcome=reply.outcome,
            finish_reason=reply.finish_reason,
            usage=reply.usage,
            cost=None if reply.cost is None else f"{reply.cost.normalize():f}",
            batch=reply.batch,
            seed=request.seed,
            system_fingerprint=reply.system_fingerprint,
            served_model=reply.served_model,
            raw=raw,
        )


def answers_in(conversation: Conversation) -> int:
    """Answers of the player; a greeting before the first question is none."""
    asked = answers = 0
    for message in conversation.messages:
        asked += message.role == "user"
        answers += message.role == "assistant" and asked > 0
    return answers


def _seed(parts: Sequence[object]) -> int:
    """A 31-bit seed, the same on every machine for the same call."""
    digest = hashlib.sha256(sha256_of([str(part) for part in parts]).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1
