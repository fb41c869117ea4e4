"""models.toml: providers and models, with their parameters and prices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue

from bench.errors import CatalogError
from bench.files import finite
from bench.records import Openness, PlayerInfo, Role, Usage
from bench.toml_entries import Entry, checked_id, entry_from, http_headers, located, read_tables, unknown_name

EMBEDDED_URL = "embedded"
"""``base_url`` of the provider that `bench` starts itself: a llama.cpp server on a free port."""
RECORDINGS_URL = "recordings"
"""``base_url`` of a provider that is never called: its players are folders of sound files."""

RESERVED = frozenset({"model", "messages", "response_format", "seed", "stream", "n"})
"""Keys of a request's body that come from the request's own fields, so they cannot be parameters as well."""

MILLION = Decimal(1_000_000)


def _decimal(value: object) -> object:
    """Reject TOML floats: they would round a price."""
    if isinstance(value, float):
        raise ValueError('write the price as a string, such as "0.15", to keep it exact')
    return value


def _further(keys: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Reject keys of the body that have a place of their own, and what JSON cannot hold."""
    for key in sorted(keys.keys() & {*RESERVED, *Sampling.model_fields}):
        raise ValueError(f"{key!r} does not belong here: set it in sampling, the suite or the entry itself")
    return finite(keys)


Price = Annotated[Decimal, BeforeValidator(_decimal), Field(ge=0, allow_inf_nan=False)]


class Prices(Entry):
    """US dollars per million tokens; ``cached_input`` is for prompt tokens from the provider's cache."""

    input: Price
    output: Price
    cached_input: Price | None = None
    audio_input: Price | None = None
    """For audio tokens. None: unknown, and so is the cost of a call with such tokens."""
    audio_output: Price | None = None
    batch_discount: Annotated[Price, Field(le=1)] | None = None
    """Discount on Batch API calls as a share: "0.5" is half price. None: unknown."""


class Sampling(Entry):
    """Sampling parameters as the chat API names them; a parameter that is not set is not sent."""

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


def _address(value: str) -> str:
    if value not in (EMBEDDED_URL, RECORDINGS_URL) and not value.startswith(("http://", "https://")):
        raise ValueError("write an address that begins with http:// or https://")
    return value


def _variable(name: str) -> str:
    if not (name.isascii() and name.isidentifier()):
        raise ValueError("write the name of an environment variable, not the key itself")
    return name


class Provider(Entry):
    """An OpenAI-compatible endpoint: its address, its abilities and its rate limits."""

    base_url: Annotated[str, AfterValidator(_address)]
    api_key_env: Annotated[str, AfterValidator(_variable)] | None = None
    """Environment variable that holds the API key; None if no key is needed."""
    system_role: bool = True
    json_schema: bool = False
    """Whether it supports ``response_format`` with a JSON schema."""
    schema_limits: bool = False
    """Whether the schema may limit string lengths and number the turns (grammar-constrained servers)."""
    seed: bool = False
    """Whether it accepts a ``seed`` parameter."""
    max_tokens_name: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    max_concurrent: int = Field(default=8, ge=1)
    """Concurrent calls, all roles together."""
    requests_per_minute: int | None = Field(default=None, ge=1)
    role_concurrent: dict[Role, int] = Field(default_factory=dict)
    """Concurrent calls of one role, for roles with their own limit."""
    batch: bool = False
    """Whether it offers OpenAI's Batch API (``/files`` and ``/batches``)."""
    timeout_seconds: float = Field(default=180, gt=0)
    """Time limit of one call, from sending the request to the last byte of the answer."""
    headers: Annotated[dict[str, str], BeforeValidator(http_headers)] = Field(default_factory=dict)
    """Sent with every call, in place of our own headers of the same name."""

    @property
    def embedded(self) -> bool:
        """Whether `bench` starts and stops this provider itself."""
        return self.base_url == EMBEDDED_URL

    @property
    def recorded(self) -> bool:
        """Whether its players are folders of recordings."""
        return self.base_url == RECORDINGS_URL


class Voice(Entry):
    """The voice and sound format requested from a speech model."""

    voice: str = Field(min_length=1)
    format: Literal["wav", "mp3", "flac"] = "wav"


class LocalServer(Entry):
    """Options of the server of a GGUF file."""

    context: int = Field(default=8192, ge=256)
    """Tokens of context of each call."""
    threads: int | None = Field(default=None, ge=1)
    """None: as many as the machine has cores, up to 8."""
    gpu_layers: int | None = Field(default=None, ge=0)
    """Layers of the model that are computed by the graphics card; None: as many as fit."""
    chat_template: str = ""
    """A Jinja template instead of the file's own, or ``chatml``."""


class LocalFile(LocalServer):
    """A GGUF file that `bench` serves itself. Equal ones share a server."""

    path: Path
    sha256: str | None = None
    """None: not checked."""


class Model(LocalServer):
    """A model with its settings. The same model at two temperatures is two entries."""

    provider: str
    model: str = Field(pattern=r"^[^\p{Cc}]+$")
    """The provider's id for the model."""
    unverified: bool = False
    """Nobody has checked yet that the provider offers ``model`` under this id."""
    name: str = Field(pattern=r"\S")
    family: str = "unknown"
    weights: Openness = "unknown"
    licence: str = "unknown"
    parameters_billion: float | None = Field(default=None, gt=0)
    prices: Prices | None = None
    """None: unknown, and reported as unknown rather than zero."""
    reasoning_tokens: int | None = Field(default=None, ge=0)
    """Tokens of reasoning that a plan expects with each answer. None: as many as a player's earlier answers
    took, if that is known."""
    sampling: Sampling = Sampling()
    """Overrides the sampling of the suite's role."""
    player_sampling: Sampling = Sampling()
    """Overrides both when the model is a player."""
    extra_body: Annotated[dict[str, JsonValue], AfterValidator(_further)] = Field(default_factory=dict)
    """Keys that only this provider knows, such as ``{ reasoning = { enabled = false } }``."""
    drop_parameters: tuple[str, ...] = ()
    """Parameters that the model does not accept (many reasoning models reject a temperature)."""
    system_role: bool | None = None
    json_schema: bool | None = None
    max_tokens_name: Literal["max_tokens", "max_completion_tokens"] | None = None
    system_extra: str = ""
    """Text put before the player's system prompt."""
    audio_input: bool = False
    """Whether it accepts ``input_audio`` in its messages."""
    audio_output: Voice | None = None
    """How it speaks, for speech models (``modalities`` of the chat API)."""
    recordings: str = ""
    """For a provider of recordings: the folder of the answers, relative to the folder of models.toml."""
    file: str = ""
    """For the embedded provider: a GGUF file to serve, relative to the folder of models.toml."""
    sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    """SHA-256 of ``file``, which identifies the model in records and in the cache."""

    @property
    def thinks(self) -> bool:
        """Whether the entry asks for reasoning. Some models reason without being asked."""
        efforts = (self.sampling.reasoning_effort, self.player_sampling.reasoning_effort)
        asked = any(effort not in (None, "none") for effort in efforts)
        return asked or "thinking" in self.model.lower() or _switched_on(self.extra_body)

    @property
    def free(self) -> bool:
        """Whether its calls are known to be free; a model of unknown price is not."""
        prices = self.prices
        if prices is None or not self.sound_priced:
            return False
        sound = prices.audio_input or prices.audio_output
        return not (prices.input or prices.output or prices.cached_input or sound)

    @property
    def sound_priced(self) -> bool:
        """Whether the prices of its audio input and output are known, as far as it has them."""
        prices = self.prices or Prices(input=Decimal(0), output=Decimal(0))
        heard = not self.audio_input or prices.audio_input is not None
        return heard and (self.audio_output is None or prices.audio_output is not None)

    def cost_of(
        self, usage: Usage, *, batch: bool = False, heard: bool = False, spoke: bool = False
    ) -> Decimal | None:
        """The exact cost of ``usage`` in US dollars; None where a price is unknown.

        Args:
            usage: Tokens of the call.
            batch: The call went through the Batch API, whose discount applies.
            heard: The prompt contained audio.
            spoke: The answer contained audio. Where the provider does not count audio tokens separately, the
                cost is known only if audio and text have the same price.
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


def _switched_on(body: Mapping[str, JsonValue]) -> bool:
    """Whether a switch for reasoning is on in ``body``, in any of the forms that providers know."""
    for key, value in body.items():
        named = "reason" in key or "think" in key
        if isinstance(value, dict):
            if (
                named
                and value.get("enabled", True)
                and not {"none", "disabled"} & {*map(str, value.values())}
            ):
                return True
            if not named and _switched_on(value):
                return True
        elif named and value not in (False, None, 0, "none", "disabled"):
            return True
    return False


def _sound_cost(tokens: int | None, sound: bool, price: Decimal | None, of_text: Decimal) -> Decimal | None:
    """The cost of audio tokens, times a million; None where it is unknown."""
    if tokens is None:
        return Decimal(0) if not sound or price == of_text else None
    return None if price is None else tokens * price


_SENT = {"model", "file", "sampling", "extra_body", "drop_parameters"}
"""The settings of a model that shape its requests, besides _SWITCHES."""
_SWITCHES = {"base_url", "system_role", "json_schema", "schema_limits", "max_tokens_name"}
"""The settings of a provider that do; a model may override some."""


class Catalog:
    """The providers and models of one models.toml."""

    def __init__(self, path: Path, providers: Mapping[str, Provider], models: Mapping[str, Model]) -> None:
        self.path = path
        self.providers = dict(providers)
        self.models = dict(models)

    def model(self, name: str, kind: str = "model") -> Model:
        """The entry called ``name``. Raises CatalogError that suggests the nearest name."""
        if name not in self.models:
            raise unknown_name(name, self.models, kind, str(self.path))
        return self.models[name]

    def provider_of(self, name: str) -> Provider:
        """The provider of the model called ``name``."""
        return self.providers[self.model(name).provider]

    def twins(self, names: Iterable[str]) -> tuple[str, str] | None:
        """Two of ``names`` that send the same requests, apart from a player's settings; None without any.

        Equal requests are sent once, so one's replies are copies of the other's. With seeds, which differ
        from entry to entry, no requests are equal.
        """
        known: dict[str, str] = {}
        for name in names:
            model, provider = self.model(name), self.provider_of(name)
            if not provider.seed or "seed" in model.drop_parameters:
                own = model.model_dump(include=_SWITCHES, exclude_none=True)
                switches = provider.model_dump(include=_SWITCHES) | own
                sent = f"{sorted(switches.items())} {model.model_dump_json(include=_SENT)}"
                if (first := known.setdefault(sent, name)) != name:
                    return first, name
        return None

    def recordings(self, name: str) -> Path | None:
        """The folder of the model's recordings; None for a model that is called."""
        entry = self.model(name)
        return self.path.parent / entry.recordings if self.providers[entry.provider].recorded else None

    def local_file(self, name: str) -> LocalFile | None:
        """The GGUF file of the model, with the options of its server; None if it has no file of its own."""
        entry = self.model(name)
        if not entry.file:
            return None
        options = entry.model_dump(include=set(LocalServer.model_fields))
        return LocalFile(path=self.path.parent / entry.file, sha256=entry.sha256, **options)

    def player_info(self, name: str, sampling: Mapping[str, JsonValue]) -> PlayerInfo:
        """The content of player.json for the model called ``name``, run with ``sampling``."""
        model = self.model(name, "player")
        shared = model.model_dump(include=PlayerInfo.model_fields.keys() - {"sampling"})
        return PlayerInfo(player=name, sampling=dict(sampling), **shared)


def load_catalog(path: Path) -> Catalog:
    """Read models.toml. Raises CatalogError that names the file, table and key, and says what to do."""
    hint = "Run `bench` in Dramaturg's own folder, or name the file with --models."
    tables, text = read_tables(path, hint)
    for key in tables.keys() - {"providers", "models"}:
        hint = "Use [providers.NAME] and [models.NAME]."
        raise CatalogError(f"unknown table {key!r}", where=str(path), hint=hint)
    providers = {
        checked_id(name, f"{path} [providers]"): entry_from(
            Provider, data, str(path), text=text, table=("providers", name)
        )
        for name, data in _tables(tables, "providers", path).items()
    }
    models = {}
    for name, data in _tables(tables, "models", path).items():
        entry = entry_from(Model, data, str(path), text=text, table=("models", name))
        try:
            if entry.provider not in providers:
                raise unknown_name(entry.provider, providers, "provider", "")
            _check_recordings(entry, providers[entry.provider], "")
            _check_file(entry, providers[entry.provider], "")
            models[checked_id(name, "")] = entry
        except CatalogError as error:
            where = f"{located(path, ('models', name), text)} [models.{name}]"
            raise CatalogError(error.what, where=where, hint=error.hint) from None
    if not models:
        hint = "Add a [providers.NAME] and a [models.NAME] table, as in the models.toml of Dramaturg."
        raise CatalogError("no models", where=str(path), hint=hint)
    return Catalog(path, providers, models)


def _check_recordings(entry: Model, provider: Provider, where: str) -> None:
    """Raise CatalogError unless exactly the models of a provider of recordings name a folder."""
    if provider.recorded and not entry.recordings:
        hint = 'Add the folder of the answers: `recordings = "FOLDER"`.'
        raise CatalogError(f"provider {entry.provider!r} needs recordings", where=where, hint=hint)
    if entry.recordings and not provider.recorded:
        hint = f'Remove it, or use a provider with base_url = "{RECORDINGS_URL}".'
        raise CatalogError("key 'recordings' is only for a provider of recordings", where=where, hint=hint)


def _check_file(entry: Model, provider: Provider, where: str) -> None:
    """Raise CatalogError unless a GGUF file has a checksum and a provider that serves it, and only it has
    options."""
    if not entry.file:
        needless = sorted(entry.model_fields_set & {"sha256", *LocalServer.model_fields})
        if needless:
            hint = 'Add `file = "models/NAME.gguf"`, or remove it.'
            raise CatalogError(f"key {needless[0]!r} is only for a GGUF file", where=where, hint=hint)
    elif not provider.embedded:
        hint = f'Remove it, or use a provider with base_url = "{EMBEDDED_URL}".'
        raise CatalogError("key 'file' is only for the embedded provider", where=where, hint=hint)
    elif entry.sha256 is None:
        hint = f"Add the SHA-256 that `sha256sum {entry.file}` prints."
        raise CatalogError("key 'sha256' is missing", where=where, hint=hint)


def _tables(tables: Mapping[str, object], key: str, path: Path) -> dict[str, object]:
    """The tables [key.NAME] by NAME."""
    named_tables = tables.get(key, {})
    if not isinstance(named_tables, dict):
        fault = f"{key!r} is not a table of tables"
        raise CatalogError(fault, where=str(path), hint=f"Write each entry as [{key}.NAME].")
    return named_tables
