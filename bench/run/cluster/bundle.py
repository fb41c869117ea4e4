"""What a worker needs of a suite, as one JSON text; it adds nothing but the keys of its environment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bench import __version__
from bench.catalog import Catalog, Model, Provider
from bench.chat.secrets import secrets_of
from bench.errors import CatalogError
from bench.protocols import Protocol, protocol_class
from bench.records import Record
from bench.suites import Card, Item, SceneSet, Situation, Suite, SuiteEntry


class Bundle(Record):
    """A protocol by value. ``run`` tells one command's bundles from another's."""

    run: str
    version: str
    suite: str
    protocol: str
    language: str
    entry: dict[str, Any]
    cards: dict[str, dict[str, Any]]
    situations: dict[str, dict[str, Any]]
    items: list[dict[str, Any]]
    templates: dict[str, str]
    providers: dict[str, dict[str, Any]]
    models: dict[str, dict[str, Any]]
    cache: str | None
    """Folder of the response cache, on the worker's machine; None for none."""


def bundle_of(
    protocol: Protocol, models: Iterable[str], *, run: str, cache: Path | None, workers: int
) -> Bundle:
    """``protocol`` with the models it calls, each provider's limits divided among ``workers``."""
    suite, catalog = protocol.suite, protocol.catalog
    chosen = {name: catalog.model(name) for name in models}
    providers = {model.provider: catalog.providers[model.provider] for model in chosen.values()}
    for name, provider in providers.items():
        _check_secrets(name, provider, catalog)
    folder = suite.prompts / suite.protocol
    return Bundle(
        run=run,
        version=__version__,
        suite=suite.id,
        protocol=suite.protocol,
        language=protocol.language,
        entry=_plain(suite.entry),
        cards={name: _plain(card) for name, card in protocol.scenes.cards.items()},
        situations={name: _plain(scene) for name, scene in protocol.scenes.situations.items()},
        items=[
            {"character": i.character, "situation": i.situation, "data": i.data, "where": i.where}
            for i in protocol.scenes.items
        ],
        templates={path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.jinja"))},
        providers={name: _plain(shared(name, p, workers, catalog)) for name, p in providers.items()},
        models={name: _plain(model) for name, model in chosen.items()},
        cache=None if cache is None else str(cache),
    )


def protocol_of(bundle: Bundle, folder: Path) -> Protocol:
    """The protocol that ``bundle`` holds; its templates are written below ``folder``."""
    texts = folder / bundle.protocol
    texts.mkdir(parents=True, exist_ok=True)
    for name, text in bundle.templates.items():
        (texts / Path(name).name).write_text(text, encoding="utf-8", newline="")
    scenes = SceneSet(
        bundle.language,
        {name: Card.model_validate(card) for name, card in bundle.cards.items()},
        {name: Situation.model_validate(scene) for name, scene in bundle.situations.items()},
        tuple(Item(**item) for item in bundle.items),
    )
    entry = SuiteEntry.model_validate(bundle.entry)
    suite = Suite(bundle.suite, bundle.protocol, entry, folder, {bundle.language: scenes})
    catalog = Catalog(
        Path("models.toml"),
        {name: Provider.model_validate(p) for name, p in bundle.providers.items()},
        {name: Model.model_validate(m) for name, m in bundle.models.items()},
    )
    kind = protocol_class(bundle.protocol)
    if kind is None:
        raise CatalogError(
            f"this worker has no protocol {bundle.protocol!r}", hint="Install the same Dramaturg."
        )
    return kind(suite, bundle.language, catalog)


def shared(name: str, provider: Provider, workers: int, catalog: Catalog) -> Provider:
    """``provider`` with one worker's share of its limits; an embedded one has a server on every worker."""
    if provider.embedded:
        return provider
    limits: Mapping[str, int | None] = {
        "max_concurrent": provider.max_concurrent,
        "requests_per_minute": provider.requests_per_minute,
        **{f"role_concurrent.{role}": count for role, count in provider.role_concurrent.items()},
    }
    for what, limit in limits.items():
        if limit is not None and limit < workers:
            raise CatalogError(
                f"{what} = {limit} cannot be divided among {workers} workers",
                where=f"{catalog.path}: providers.{name}",
                hint="Use fewer workers with more threads each, or raise it if the provider allows more.",
            )
    per_minute = provider.requests_per_minute
    return provider.model_copy(
        update={
            "max_concurrent": provider.max_concurrent // workers,
            "requests_per_minute": None if per_minute is None else per_minute // workers,
            "role_concurrent": {role: n // workers for role, n in provider.role_concurrent.items()},
        }
    )


def _check_secrets(name: str, provider: Provider, catalog: Catalog) -> None:
    if secrets_of(provider, None):
        raise CatalogError(
            "its base_url or headers seem to hold a secret, which would travel through the scheduler",
            where=f"{catalog.path}: providers.{name}",
            hint="Name an environment variable by api_key_env, and set it where the workers run.",
        )


def _plain(entry: Any) -> dict[str, Any]:
    data: dict[str, Any] = entry.model_dump(mode="json", exclude_none=True)
    return data
