"""models.toml: who can be called, where, with what parameters, at what price."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, JsonValue

from bench.errors import CatalogError
from bench.records import PlayerInfo, Role, Usage
from bench.toml_entries import Entry, checked_id, entry_from, named, read_toml

EMBEDDED_URL = "embedded"
"""``base_url`` of the provider that the command itself starts: a llama.cpp server on a free port."""
RECORDINGS_URL = "recordings"
"""``base_url`` of a provider that nobody calls: its players are folders of sound files."""

MILLION = Decimal(1_000_000)


def _decimal(value: object) -> object:
    """Prices are written as strings: a TOML float would bring its rounding along."""
    if isinstance(value, float):
        raise ValueError("write a price as a string, such as '0.15', so that it stays exact")
    return value


Price = Annotated[Decimal, BeforeValidator(_decimal), Field(ge=0, allow_inf_nan=False)]


class Prices(Entry):
    """US dollars per million tokens. ``cached_input``: of prompt tokens that the provider had cached."""

    input: Price
    output: Price
    cached_input: Price | None = None
    audio_input: Price | None = None
    """Of tokens of sound. None: unknown; a call with such tokens then has no known cost."""
    audio_output: Price | None = None
    batch_discount: Annotated[Price, Field(le=1)] | None = None
    """What the provider takes off calls of its Batch API, as a share: "0.5" is half price. None: unknown."""


class Sampling(Entry):
    """Sampling parameters as the chat API names them; what is absent is not sent."""

    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    top_k: int | None = Field(default=None, ge=0)
    min_p: float | None = Field(default=None, ge=0, le=1)
    frequency_penalty: float | None = Field(default=None, ge=-2, le=2)
    presence_penalty: float | None = Field(default=None, ge=-2, le=2)
    repetition_penalty: float | None = Field(default=None, gt=0)
    max_tokens: int | None = Field(default=None, ge=1)
    reasoning_effort: str | None = None

    def given(self) -> dict[str, JsonValue]:
        """The parameters that are set."""
        return self.model_dump(exclude_none=True)


class Provider(Entry):
    """An OpenAI-compatible endpoint: where it is, what it can do, and how hard it may be pressed."""

    base_url: str
    api_key_env: str | None = None
    """Name of the environment variable that holds the key; None where no key is needed."""
    system_role: bool = True
    json_schema: bool = False
    """Whether ``response_format`` with a JSON schema is honoured."""
    schema_limits: bool = False
    """Whether that schema may bound string lengths and number the turns (grammar-constrained servers)."""
    seed: bool = False
    """Whether a ``seed`` parameter is taken."""
    max_tokens_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    max_concurrent: int = Field(default=8, ge=1)
    """Calls at once, all roles together."""
    requests_per_minute: int | None = Field(default=None, ge=1)
    role_concurrent: dict[Role, int] = Field(default_factory=dict)
    """Calls at once of one role, where they need a limit of their own."""
    batch: bool = False
    """Whether it has OpenAI's Batch API (``/files`` and ``/batches``)."""
    timeout_seconds: float = Field(default=180, gt=0)
    """Of one call, from the request to the last byte of its answer."""
    headers: dict[str, str] = Field(default_factory=dict)

    @property
    def embedded(self) -> bool:
        """Whether the command itself starts and stops this provider."""
        return self.base_url == EMBEDDED_URL

    @property
    def recorded(self) -> bool:
        """Whether its players are folders of recorded answers."""
        return self.base_url == RECORDINGS_URL


class Voice(Entry):
    """How a model is asked to speak."""

    voice: str = Field(min_length=1)
    format: Literal["wav", "mp3", "flac"] = "wav"


class Model(Entry):
    """A model in one setting. Two settings of one model (say, two temperatures) are two entries."""

    provider: str
    model: str
    """The provider's id of it."""
    name: str
    family: str
    weights: Literal["open", "closed"]
    licence: str
    parameters_billion: float | None = Field(default=None, gt=0)
    prices: Prices | None = None
    """None: unknown, which is said, never taken for zero."""
    sampling: Sampling = Sampling()
    """Overrides what the suite's role asks for."""
    drop_parameters: tuple[str, ...] = ()
    """Parameters that the model refuses (reasoning models often take no temperature)."""
    system_role: bool | None = None
    json_schema: bool | None = None
    max_tokens_name: Literal["max_tokens", "max_completion_tokens"] | None = None
    system_extra: str = ""
    """Text put before the player's system prompt."""
    audio_input: bool = False
    """Whether it hears: it takes ``input_audio`` in its messages."""
    audio_output: Voice | None = None
    """How it speaks, where it does (``modalities`` of the chat API)."""
    recordings: str = ""
    """Of a provider of recordings: the folder of the answers, from the folder of models.toml."""

    @property
    def free(self) -> bool:
        """Whether its calls are known to cost nothing; an unknown price is not nothing."""
        prices = self.prices
        if prices is None or not self.sound_priced:
            return False
        sound = prices.audio_input or prices.audio_output
        return not (prices.input or prices.output or prices.cached_input or sound)

    @property
    def sound_priced(self) -> bool:
        """Whether the price is known of all the sound that it takes and gives."""
        prices = self.prices or Prices(input=Decimal(0), output=Decimal(0))
        heard = not self.audio_input or prices.audio_input is not None
        return heard and (self.audio_output is None or prices.audio_output is not None)

    def cost_of(
        self, usage: Usage, *, batch: bool = False, heard: bool = False, spoke: bool = False
    ) -> Decimal | None:
        """US dollars for ``usage``, exact; None where the price, or that of a batch, is unknown.

        ``heard`` and ``spoke``: the prompt, or the answer, held sound. Where the provider does not say how
        many tokens that was, the cost is known only if text and sound have one price.
        """
        prices = self.prices
        if prices is None:
            return None
        if batch:
            discount = prices.batch_discount
            full = self.cost_of(usage, heard=heard, spoke=spoke)
            return None if discount is None or full is None else full * (1 - discount)
        sound_in = _sound_cost(usage.audio_prompt_tokens, heard, prices.audio_input, prices.input)
        sound_out = _sound_cost(usage.audio_completion_tokens, spoke, prices.audio_output, prices.output)
        if sound_in is None or sound_out is None:
            return None
        text_in = max(0, usage.prompt_tokens - (usage.audio_prompt_tokens or 0))
        text_out = max(0, usage.completion_tokens - (usage.audio_completion_tokens or 0))
        cached = min(usage.cached_tokens or 0, text_in)
        cached_price = prices.input if prices.cached_input is None else prices.cached_input
        text = (text_in - cached) * prices.input + cached * cached_price + text_out * prices.output
        return (text + sound_in + sound_out) / MILLION


def _sound_cost(tokens: int | None, sound: bool, price: Decimal | None, of_text: Decimal) -> Decimal | None:
    """What the tokens of sound cost, times a million; None where that is unknown."""
    if tokens is None:
        return Decimal(0) if not sound or price == of_text else None
    return None if price is None else tokens * price


class Catalog:
    """All providers and models of one models.toml."""

    def __init__(self, path: Path, providers: Mapping[str, Provider], models: Mapping[str, Model]) -> None:
        self.path = path
        self.providers = dict(providers)
        self.models = dict(models)

    def model(self, name: str, what: str = "model") -> Model:
        """The entry called ``name``. Raises CatalogError with the nearest name."""
        if name not in self.models:
            raise named(name, list(self.models), what, str(self.path))
        return self.models[name]

    def provider_of(self, name: str) -> Provider:
        """The provider of the model called ``name``."""
        return self.providers[self.model(name).provider]

    def recordings(self, name: str) -> Path | None:
        """The folder of the model's recorded answers; None where it is called."""
        entry = self.model(name)
        return self.path.parent / entry.recordings if self.providers[entry.provider].recorded else None

    def player_info(self, name: str, sampling: Mapping[str, JsonValue]) -> PlayerInfo:
        """What player.json says of the model called ``name``, sampled with ``sampling``."""
        model = self.model(name, "player")
        return PlayerInfo(
            player=name,
            provider=model.provider,
            model=model.model,
            name=model.name,
            family=model.family,
            weights=model.weights,
            licence=model.licence,
            parameters_billion=model.parameters_billion,
            sampling=dict(sampling),
            system_extra=model.system_extra,
        )


def load_catalog(path: Path) -> Catalog:
    """models.toml as a Catalog. Raises CatalogError that names file, table, key and hint."""
    if not path.exists():
        raise CatalogError(
            "no such file",
            where=str(path),
            hint="Call `bench` in Dramaturg's own folder, or name the file by --models.",
        )
    tables = read_toml(path)
    for key in tables:
        if key not in ("providers", "models"):
            raise CatalogError(
                f"unknown table {key!r}",
                where=str(path),
                hint="Known are [providers.NAME] and [models.NAME].",
            )
    providers = {
        checked_id(name, f"{path}: providers"): entry_from(Provider, data, f"{path}: providers.{name}")
        for name, data in _tables(tables, "providers", path).items()
    }
    models = {}
    for name, data in _tables(tables, "models", path).items():
        where = f"{path}: models.{name}"
        entry = entry_from(Model, data, where)
        if entry.provider not in providers:
            raise named(entry.provider, list(providers), "provider", where)
        _check_recordings(entry, providers[entry.provider], where)
        models[checked_id(name, where)] = entry
    if not models:
        raise CatalogError(
            "there is no model in it",
            where=str(path),
            hint="Write a [providers.NAME] and a [models.NAME] that names it; the models.toml that comes with"
            " Dramaturg shows how.",
        )
    return Catalog(path, providers, models)


def _check_recordings(entry: Model, provider: Provider, where: str) -> None:
    """Raise CatalogError unless a folder of recordings is named just where nobody is called."""
    if provider.recorded and not entry.recordings:
        hint = "Name the folder of the recorded answers by `recordings`."
        raise CatalogError(f"provider {entry.provider!r} plays recordings", where=where, hint=hint)
    if entry.recordings and not provider.recorded:
        hint = f'Take it out, or name a provider with base_url = "{RECORDINGS_URL}".'
        raise CatalogError("'recordings' is for players that nobody calls", where=where, hint=hint)


def _tables(tables: Mapping[str, object], key: str, path: Path) -> dict[str, object]:
    """The tables called [key.NAME]."""
    found = tables.get(key, {})
    if not isinstance(found, dict):
        raise CatalogError(
            f"{key!r} is not a table of tables", where=str(path), hint=f"Write each as [{key}.NAME]."
        )
    return found
