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

    def cost_of(self, usage: Usage, *, batch: bool = False) -> Decimal | None:
        """US dollars for ``usage``, exact; None where the price, or that of a batch, is unknown."""
        if self.prices is None:
            return None
        if batch:
            discount = self.prices.batch_discount
            full = self.cost_of(usage)
            return None if discount is None or full is None else full * (1 - discount)
        cached = min(usage.cached_tokens or 0, usage.prompt_tokens)
        cached_price = self.prices.input if self.prices.cached_input is None else self.prices.cached_input
        return (
            (usage.prompt_tokens - cached) * self.prices.input
            + cached * cached_price
            + usage.completion_tokens * self.prices.output
        ) / MILLION


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
    """models.toml as a Catalog. Raises CatalogError that names file, table, key and mend."""
    tables = read_toml(path)
    for key in tables:
        if key not in ("providers", "models"):
            raise CatalogError(
                f"unknown table {key!r}",
                where=str(path),
                mend="Known are [providers.NAME] and [models.NAME].",
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
        models[checked_id(name, where)] = entry
    return Catalog(path, providers, models)


def _tables(tables: Mapping[str, object], key: str, path: Path) -> dict[str, object]:
    """The tables called [key.NAME]."""
    found = tables.get(key, {})
    if not isinstance(found, dict):
        raise CatalogError(
            f"{key!r} is not a table of tables", where=str(path), mend=f"Write each as [{key}.NAME]."
        )
    return found
