"""The records that all modules share: what a run stores as JSON.

Records are frozen and refuse unknown keys. A file is canonical JSON (see :func:`canonical`), so equal
records are equal bytes on every machine.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from operator import not_
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, model_validator

from bench.files import finite, indented_json

SCHEMA_VERSION = 1
"""Version of the record formats; files of a newer version are refused, never guessed at."""

MOST_REPEATS = 999
"""Highest number of a repeat."""

Role = Literal["player", "interrogator", "judge"]
Outcome = Literal[
    "ok",
    "empty",
    "length",
    "unknown_ending",
    "content_filter",
    "refused",
    "rejected",
    "parse_error",
    "bad_audio",
    "transport",
    "rate_limited",
]
"""How a call ended. ``unknown_ending``: the finish reason of a text is missing or not known, so it may be cut
off. ``refused``: the model declined, in the answer's refusal field. ``rejected``: the provider rejected the
request, for example because the prompt is too long; older records say ``refused`` and "HTTP ...".
``bad_audio``, of failures only: the answer's sound cannot be used."""
Openness = Literal["open", "closed", "unknown"]
"""Whether a model's weights are published; ``unknown`` for imported players without an entry."""
Plain = Annotated[dict[str, JsonValue], AfterValidator(finite)]
Turn = Annotated[int, Field(ge=1, le=10**6)]
Tokens = Annotated[int, Field(ge=0, le=10**12)]


def canonical(data: object) -> str:
    """Canonical JSON: UTF-8, sorted keys, two-space indent, newline at the end."""
    return indented_json(data) + "\n"


_COMPACT = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def sha256_of(data: object) -> str:
    """SHA-256 (hex) of plain data as compact canonical JSON."""
    return hashlib.sha256(_COMPACT.encode(data).encode("utf-8")).hexdigest()


class Record(BaseModel):
    """Base of all records: frozen, and an unknown key is an error that names it."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, allow_inf_nan=False)

    def plain(self) -> dict[str, Any]:
        """Plain JSON data; fields that are None are left out."""
        return self.model_dump(mode="json", exclude_none=True)


class Audio(Record):
    """A sound file: what it is, and what was measured of it. Its bytes are stored beside the record."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    format: Literal["wav", "mp3", "flac"]
    bytes: int = Field(ge=1)
    seconds: float = Field(gt=0)
    sample_rate: int = Field(ge=1)
    """Hz"""
    channels: int = Field(ge=1)
    silence: float = Field(ge=0, le=1)
    """Share of its frames in silent windows (see bench.audio.measure)."""
    clipping: float = Field(ge=0, le=1)
    """Share of its samples at full scale."""


class Message(Record):
    """One message of a conversation: ``user`` is the interrogator's, ``assistant`` the player's."""

    role: Literal["system", "user", "assistant"]
    content: str
    audio: Audio | None = None
    """Where it was spoken; ``content`` is then the transcript, or empty without one."""


class Usage(Record):
    """Tokens of one call, as the provider counted them, or ``estimated`` where it did not."""

    prompt_tokens: Tokens
    completion_tokens: Tokens
    cached_tokens: Tokens | None = None
    reasoning_tokens: Tokens | None = None
    audio_prompt_tokens: Tokens | None = None
    """Of the prompt tokens, those of sound; absent where there were none, or the provider did not say."""
    audio_completion_tokens: Tokens | None = None
    estimated: bool = False


class Call(Record):
    """One model call of a conversation or judgement: what was asked, and how it ended.

    ``cost`` is a decimal string in US dollars, absent where the price is unknown. ``turn`` counts from 1;
    a judge's first ask is turn 1, a re-ask that names the fault is turn 2.
    """

    role: Role
    turn: Turn
    provider: str
    model: str
    model_sha256: str | None = None
    """SHA-256 of the model's GGUF file, for local models that have one."""
    parameters: Plain
    outcome: Outcome
    filtered: Literal["input"] | None = None
    """``input`` if the outcome is ``content_filter`` and the filter blocked what the model was sent."""
    finish_reason: str | None = None
    usage: Usage | None = None
    cost: str | None = Field(default=None, pattern=r"^[0-9]+(\.[0-9]+)?(E[+-]?[0-9]{1,3})?$")
    batch: bool | None = None
    """True where it went through the provider's Batch API, at its price; else left out."""
    seed: int | None = None
    system_fingerprint: str | None = None
    served_model: str | None = None
    raw: str | None = None
    """An interrogator's reply as it came, where it had to be repaired or could not be used."""
    reasoning: str | None = None
    """What the model wrote as reasoning, in the text or in a field of its own. No other model sees it, it is
    not judged, and it does not count as length."""
    tool_arguments: str | None = None
    """Arguments of the tool calls in the reply."""
    refusal: str | None = None
    """What the provider's refusal field or refusal parts held."""
    redactions: int | None = Field(default=None, ge=1)
    """How often an API key or other credential was removed from the reply; left out where it was not."""


class Failure(Record):
    """Why a conversation or judgement failed, with the reply that could not be used."""

    role: Role
    turn: Turn
    outcome: Outcome
    filtered: Literal["input"] | None = None
    """As in the call that failed."""
    reason: str
    raw: str | None = None


class Criterion(Record):
    """What a protocol scores: the key in the judge's JSON and in records, its integer scale, its label."""

    name: str
    label: str
    low: int
    high: int


Repeat = Annotated[int, Field(ge=1, le=MOST_REPEATS, exclude_if=lambda repeat: repeat == 1)]
"""Number of a sample: 2 is the first repeat. Left out where it is 1."""


def numbered(name: str, repeat: int) -> str:
    """The name of a sample of the cell called ``name``: in files, on pages and in messages."""
    return name if repeat == 1 else f"{name}.{repeat}"


class Cell(Record):
    """What a conversation is of: the coordinates that its file path repeats."""

    suite: str
    version: str
    protocol: str
    language: str
    player: str
    character: str
    situation: str
    repeat: Repeat = 1

    @property
    def name(self) -> str:
        """The cell's name in messages: character, situation and, from 2, the number of the repeat."""
        return numbered(f"{self.character}.{self.situation}", self.repeat)

    def cell(self) -> Cell:
        """The coordinates alone."""
        return Cell(**{name: getattr(self, name) for name in Cell.model_fields})


class Lore(Record):
    """An entry of a card's lorebook, and the turns (from 1) at which the player had it in its prompt."""

    content: str
    turns: tuple[int, ...]


class Plant(Record):
    """A fact that the user mentions in one turn and asks for in a later one."""

    turn: Turn
    fact: str = Field(min_length=1)
    """What the user mentions, as the interrogator reads it."""
    ask: Turn
    """The turn in which the user asks for it."""
    accept: tuple[str, ...] = Field(min_length=1)
    """Regular expressions for lower-case text; an answer that matches one recalls the fact."""
    reject: tuple[str, ...] = ()
    """Regular expressions of wrong answers."""
    question: str = ""
    """What the user asks, as the interrogator reads it; empty: it words a question about ``fact``."""

    @model_validator(mode="after")
    def _planted_first(self) -> Plant:
        if self.ask <= self.turn:
            raise ValueError(f"asked in turn {self.ask} but planted in turn {self.turn}; ask in a later one")
        return self


class Attack(Record):
    """An attempt to break the character in one turn."""

    turn: Turn
    text: str = Field(min_length=1)
    """What the user does, as the interrogator reads it."""


class Scene(Record):
    """What a conversation was about, as its sides were told; so a record explains itself without prompts/."""

    character_name: str
    summary: str
    """The one line that the interrogator saw; empty without one, or if it saw the card."""
    card: str
    """The player's system prompt as rendered, without a catalog entry's extra text."""
    situation_title: str
    situation: str
    lore: tuple[Lore, ...] | None = None
    """What the talk brought in from the card's lorebook; left out where nothing was."""
    plants: tuple[Plant, ...] = Field(default=(), exclude_if=not_)
    """Facts that the user planted, and asked for; left out without any."""
    attacks: tuple[Attack, ...] = Field(default=(), exclude_if=not_)
    """Attempts to break the character at given turns; left out without any."""


class Conversation(Cell):
    """All turns of one (player, character, situation), and every call that made them."""

    schema_version: int = Field(default=SCHEMA_VERSION, ge=1, le=SCHEMA_VERSION)
    scene: Scene
    fingerprint: str
    """SHA-256 of the templates, card, situation and parameters it was made from (see bench.prompts)."""
    origin: str | None = None
    """Where imported evidence comes from; absent where this program made it."""
    status: Literal["complete", "failed"]
    messages: tuple[Message, ...]
    calls: tuple[Call, ...]
    repairs: tuple[str, ...] = ()
    """What was repaired in the interrogator's replies, as ``turn N: kind``."""
    failure: Failure | None = None
    digest: str = ""
    """SHA-256 of the record without this field: an edit by hand shows."""

    def answers(self) -> list[Message]:
        """The player's answers, in order. A greeting before the first user message is not an answer."""
        return [message for message in after_greeting(self.messages) if message.role == "assistant"]


def after_greeting(messages: Sequence[Message]) -> Sequence[Message]:
    """``messages`` from the user's first one on."""
    first = next((n for n, message in enumerate(messages) if message.role == "user"), len(messages))
    return messages[first:]


FlawName = Literal[
    "breaks_character", "contradicts_card", "contradicts_talk", "speaks_for_user", "repeats", "cliche",
    "meta_talk", "wrong_language",
]  # fmt: skip
"""The flaws that a judge may list, if a suite asks for them."""


class Flaw(Record):
    """A flaw of one answer, with the words that show it."""

    flaw: FlawName
    quote: str
    """From the answer, as the judge wrote it; spaces and quotation marks may differ."""


class TurnVerdict(Record):
    """One judge's scores and reasons for one turn; keys of ``scores`` are the protocol's criteria."""

    turn: Turn
    is_refusal: bool = False
    refusal_reason: str = ""
    scores: dict[str, int]
    reasons: dict[str, str] = Field(default_factory=dict)
    detail: Plain | None = None
    """What else a protocol's judge says on its way to the scores, such as the steps it took."""
    flaws: tuple[Flaw, ...] | None = None
    """The flaws that the judge listed; left out where it was not asked for any."""


class JudgeMode(Record):
    """How a judge was asked where that differs from one question about the whole conversation."""

    window: Turn | None = None
    """Turns of each question; left out where one question is about all turns."""
    flaws: bool = Field(default=False, exclude_if=not_)
    """Whether it was asked for flaws, each with a quotation; left out where not."""


class Judgement(Cell):
    """One judge's verdict on one conversation, or the reason why it failed."""

    schema_version: int = Field(default=SCHEMA_VERSION, ge=1, le=SCHEMA_VERSION)
    judge: str
    fingerprint: str
    """SHA-256 of the judge's template, the card, the parameters and the conversation's messages."""
    conversation_sha256: str
    """SHA-256 of the messages that were judged."""
    mode: JudgeMode | None = None
    """How the judge was asked; left out for one question about the whole conversation, without flaws."""
    origin: str | None = None
    """Where imported evidence comes from: it has no reasons and no raw replies."""
    status: Literal["ok", "failed"]
    turns: tuple[TurnVerdict, ...]
    repairs: tuple[str, ...] = ()
    raw: tuple[str, ...]
    """Every reply of the judge as it came, first ask and re-asks, so that a better parser can re-read it."""
    calls: tuple[Call, ...]
    failure: Failure | None = None
    digest: str = ""


class PlayerInfo(Record):
    """player.json: what the player model is, as the catalog said when it ran."""

    schema_version: int = Field(default=SCHEMA_VERSION, ge=1, le=SCHEMA_VERSION)
    player: str
    provider: str
    model: str
    name: str
    family: str
    weights: Openness
    licence: str
    parameters_billion: float | None = None
    sha256: str | None = None
    """SHA-256 of the model's GGUF file, for local models that have one."""
    sampling: Plain
    system_extra: str = ""


R = TypeVar("R", bound=Record)


def digest_of(record: Record) -> str:
    """The digest that ``record``, a record with a digest, should have."""
    data = record.plain()
    data.pop("digest", None)
    return sha256_of(data)


def sealed(record: R) -> R:
    """``record`` with its digest filled in."""
    return record.model_copy(update={"digest": digest_of(record)})


def re_asks(judgement: Judgement) -> int:
    """How often its judge was asked once more, with the fault of its reply named."""
    return sum(call.turn > 1 for call in judgement.calls)


@lru_cache(maxsize=256)
def messages_sha256(messages: tuple[Message, ...]) -> str:
    """SHA-256 of a conversation's messages, which ties a judgement to what it judged.

    Cached, since each conversation is compared with the judgements of several judges.
    """
    return sha256_of([m.plain() for m in messages])


RECORD_TYPES: dict[str, type[Record]] = {
    "conversation": Conversation,
    "judgement": Judgement,
    "player": PlayerInfo,
}
