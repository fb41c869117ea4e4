"""New entries of models.toml, added at its end."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import tomli

from bench.catalog import Catalog, Model, Provider, load_catalog
from bench.errors import CatalogError
from bench.files import write_atomically
from bench.toml_entries import ENTRY_ID, entry_from, read_text, toml_value


@dataclass(frozen=True)
class NewModel:
    """An entry to add, and the provider that it needs, if the catalogue lacks it."""

    id: str
    model: Mapping[str, object]
    new_provider: Mapping[str, object] = field(default_factory=dict)


def usable_id(text: str) -> str:
    """``text`` as the id of a catalogue entry."""
    plain = re.sub(r"[^a-z0-9._-]+", "-", text.lower().rsplit("/", 1)[-1]).strip("-._")[:60]
    return plain if ENTRY_ID.fullmatch(plain) else "model"


def add_models(
    path: Path, catalog: Catalog, models: Sequence[NewModel], *, identity: str = "", name: str = ""
) -> list[str]:
    """Append entries to the catalogue at ``path``, and return their ids.

    ``identity`` and ``name`` are for a single entry. A name that another model has gets the id too. Raises
    CatalogError if an id is taken or unusable; then nothing is written. A provider whose name another one has
    gets a number.
    """
    if len(models) > 1 and (identity or name):
        raise CatalogError("--id and --name are for one model", hint="Choose it with --model.")
    parts: list[str] = []
    added: list[str] = []
    providers: dict[str, object] = {
        key: (known.base_url, known.api_key_env) for key, known in catalog.providers.items()
    }
    names = Counter([*(str(new.model["name"]) for new in models), *(m.name for m in catalog.models.values())])
    for new in models:
        entry = dict(new.model) | ({"name": name} if name else {})
        key = identity or new.id
        if not name and names[str(entry["name"])] > 1:  # two versions of one model
            entry["name"] = f"{entry['name']} ({key})"
        if not ENTRY_ID.fullmatch(key):
            raise CatalogError(
                f"{key!r} is not a usable id", where=str(path), hint="Choose another with --id."
            )
        if key in catalog.models or key in added:
            hint = "Choose another with --id." if len(models) == 1 else "Add them one by one, with --id."
            raise CatalogError(f"model {key!r} already exists", where=str(path), hint=hint)
        if new.new_provider:
            place = (new.new_provider["base_url"], new.new_provider.get("api_key_env"))
            provider = _free_name(str(entry["provider"]), providers, place)
            entry["provider"] = provider
            if provider not in providers:
                providers[provider] = place
                parts.append(_table("providers", provider, new.new_provider, Provider))
        parts.append(_table("models", key, entry, Model))
        added.append(key)
    text = read_text(path).rstrip("\n") + "\n\n" + "\n".join(parts)
    tomli.loads(text)
    write_atomically(path, text.encode())
    load_catalog(path)
    return added


def _free_name(name: str, taken: Mapping[str, object], place: object) -> str:
    """``name``, with a number if ``taken`` has it for another place."""
    names = (name if number == 1 else f"{name}-{number}" for number in itertools.count(1))
    return next(free for free in names if taken.get(free, place) == place)


def _table(kind: str, name: str, values: Mapping[str, object], entry: type[Model] | type[Provider]) -> str:
    """A table of the catalogue as TOML, without unknown values."""
    kept = {key: value for key, value in values.items() if value is not None}
    entry_from(entry, kept, name)
    head = f"[{kind}.{toml_value(name)}]\n"
    return head + "".join(f"{key} = {toml_value(value)}\n" for key, value in kept.items())
