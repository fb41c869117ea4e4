"""Everything that a worker needs of a suite, as JSON; only the API keys come from its own environment."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path

from bench.catalog import Catalog, Model, Provider
from bench.chat.secrets import secrets_of
from bench.errors import CatalogError
from bench.items import Item
from bench.protocols import Protocol, protocol_class
from bench.records import Record
from bench.run.cluster.source import SOURCE
from bench.suites import Card, SceneSet, Situation, Suite, SuiteEntry
from bench.suites.layers import visible
from bench.toml_entries import read_text


class Bundle(Record):
    """A protocol with all its texts and the models it calls."""

    run: str
    """Id of the command's connection, different for each command."""
    source: str
    """Hash of the command's source; see :mod:`bench.run.cluster.source`."""
    suite: str
    protocol: str
    language: str
    entry: SuiteEntry
    cards: dict[str, Card]
    situations: dict[str, Situation]
    items: tuple[Item, ...]
    templates: dict[str, str]
    providers: dict[str, Provider]
    models: dict[str, Model]
    cache: str | None
    """Folder of the response cache on the worker's machine; None: no cache."""
    proven: tuple[str, ...] = ()
    """Models that have answered in earlier runs."""
    shares: dict[str, Decimal] | None = None
    """US dollars that each worker may spend, by address; others nothing. None: no limit."""
    round: int = 1
    """Counts the divisions of the cost limit."""


def bundle_of(
    protocol: Protocol, models: Iterable[str], *, run: str, cache: Path | None, workers: int
) -> Bundle:
    """``protocol`` with the models it calls; the limits of each provider are divided among ``workers``."""
    suite, catalog, scenes = protocol.suite, protocol.catalog, protocol.scenes
    chosen = {name: catalog.model(name) for name in models}
    providers = {model.provider: catalog.providers[model.provider] for model in chosen.values()}
    for name, provider in providers.items():
        _check_secrets(name, provider, catalog)
    folder = suite.templates
    return Bundle(
        run=run,
        source=SOURCE,
        suite=suite.id,
        protocol=suite.protocol,
        language=protocol.language,
        entry=suite.entry,
        cards=scenes.cards,
        situations=scenes.situations,
        items=scenes.items,
        templates={path.name: read_text(path, root=folder.parent) for path in visible(folder, "*.jinja")},
        providers={name: shared(name, p, workers, catalog) for name, p in providers.items()},
        models=chosen,
        cache=None if cache is None else str(cache),
    )


def protocol_of(bundle: Bundle, folder: Path) -> Protocol:
    """The protocol in ``bundle``; its templates are written below ``folder``."""
    scenes = SceneSet(bundle.language, bundle.cards, bundle.situations, bundle.items)
    suite = Suite(bundle.suite, bundle.protocol, bundle.entry, folder, {bundle.language: scenes})
    suite.templates.mkdir(parents=True, exist_ok=True)
    for name, text in bundle.templates.items():
        (suite.templates / Path(name).name).write_text(text, encoding="utf-8", newline="")
    kind = protocol_class(bundle.protocol)
    if kind is None:
        hint = "Install the same Dramaturg everywhere."
        raise CatalogError(f"this worker has no protocol {bundle.protocol!r}", hint=hint)
    return kind(suite, bundle.language, Catalog(Path("models.toml"), bundle.providers, bundle.models))


def shared(name: str, provider: Provider, workers: int, catalog: Catalog) -> Provider:
    """``provider`` with one worker's share of its limits. An embedded one has a server on every worker."""
    if provider.embedded:
        return provider
    limits: dict[str, int | None] = {
        "max_concurrent": provider.max_concurrent,
        "requests_per_minute": provider.requests_per_minute,
        **{f"role_concurrent.{role}": count for role, count in provider.role_concurrent.items()},
    }
    for key, limit in limits.items():
        if limit is not None and limit < workers:
            raise CatalogError(
                f"{key} = {limit} cannot be divided among {workers} workers",
                where=f"{catalog.path} [providers.{name}]",
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
            "base_url or headers seem to contain a secret, which would travel through the scheduler",
            where=f"{catalog.path} [providers.{name}]",
            hint="Use api_key_env, and set that environment variable where the workers run.",
        )
