"""Suites, character cards and situations: what is played, by whom it is questioned and judged."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import Field, field_validator

from bench.catalog import Catalog, Sampling
from bench.errors import CatalogError
from bench.slugs import slug
from bench.toml_entries import Entry, checked_id, entry_from, named, read_toml

LANGUAGES = {"en": "English", "ru": "Russian"}
"""Names of the languages, as templates get them; a language outside this table is named by its code."""

ALL: Literal["all"] = "all"

E = TypeVar("E", bound=Entry)


class Card(Entry):
    """A character card. The player sees it all; the interrogator sees ``summary`` only."""

    char_name: str = Field(min_length=1)
    summary: str = Field(min_length=1)
    system_prompt: str = Field(min_length=1)
    example_prompt: str = ""
    initial_message: str = ""
    tags: tuple[str, ...] = ()
    source: str = Field(min_length=1)
    style: str = Field(min_length=1)
    """The prompting style it is written in."""

    @field_validator("summary")
    @classmethod
    def _one_line(cls, value: str) -> str:
        if "\n" in value.strip():
            raise ValueError("must be one line")
        return value.strip()


class Situation(Entry):
    """What the interrogator is to do through a whole conversation."""

    title: str = Field(min_length=1)
    text: str = Field(min_length=1)
    kind: Literal["common", "attack"]
    """A common user pattern, or an attempt to break the character."""
    num_turns: int = Field(ge=1, le=64)
    tags: tuple[str, ...] = ()


class RoleSettings(Entry):
    """Who plays a role, with what sampling. A suite's player models are the ones run by default."""

    models: tuple[str, ...] = ()
    sampling: Sampling = Sampling()


class Limits(Entry):
    """Longest strings, in characters, that a reply's schema allows where the provider can enforce it."""

    utterance: int = Field(default=600, ge=20)
    reason: int = Field(default=400, ge=20)


class Selection(Entry):
    """What is played in one language: ids of cards and situations or "all" of them, or a file's items."""

    characters: tuple[str, ...] | Literal["all"] = ALL
    situations: tuple[str, ...] | Literal["all"] = ALL
    items: str = ""
    """A JSON Lines file of a protocol that plays items of a data set, beside the suite's own file."""


class SuiteEntry(Entry):
    """One suite file: a protocol frozen with its languages, role models and sampling."""

    title: str
    description: str
    version: str
    demonstration: bool = False
    """Its scores show that the pipeline works, not how good a model is; the site says so."""
    symmetric: bool = False
    """Give player and interrogator both the card and the situation."""
    max_turns: int | None = Field(default=None, ge=1)
    """Cut every situation to this many turns."""
    limits: Limits = Limits()
    options: dict[str, Any] = Field(default_factory=dict)
    """What only this suite's protocol knows; it checks them."""
    player: RoleSettings = RoleSettings()
    interrogator: RoleSettings | None = None
    """Missing where the protocol has none."""
    judge: RoleSettings
    languages: dict[str, Selection] = Field(min_length=1)

    @field_validator("interrogator")
    @classmethod
    def _one_interrogator(cls, value: RoleSettings | None) -> RoleSettings | None:
        if value is not None and len(value.models) != 1:
            raise ValueError("name exactly one interrogator model")
        return value

    @field_validator("judge")
    @classmethod
    def _some_judge(cls, value: RoleSettings) -> RoleSettings:
        if not value.models:
            raise ValueError("name at least one judge model")
        return value


@dataclass(frozen=True)
class Item:
    """One line of a data set: who is played, and in what. The protocol checks its other ``data``."""

    character: str
    situation: str
    data: Mapping[str, Any]
    where: str
    """File and line, for messages."""


@dataclass(frozen=True)
class SceneSet:
    """What one suite plays in one language: each card in each situation, or the items of a data set."""

    language: str
    cards: dict[str, Card] = field(default_factory=dict)
    situations: dict[str, Situation] = field(default_factory=dict)
    items: tuple[Item, ...] = ()

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """(character, situation) of every scene, characters first."""
        crossed = [(card, situation) for card in self.cards for situation in self.situations]
        return crossed + [(item.character, item.situation) for item in self.items]


@dataclass(frozen=True)
class Suite:
    """A suite with its texts loaded. ``protocol`` is the name of the folder that its file lies in."""

    id: str
    protocol: str
    entry: SuiteEntry
    prompts: Path
    scenes: dict[str, SceneSet]

    @property
    def interrogator(self) -> str | None:
        """None where the protocol has none."""
        return self.entry.interrogator.models[0] if self.entry.interrogator else None

    @property
    def judges(self) -> tuple[str, ...]:
        return self.entry.judge.models

    def turns_of(self, situation: Situation) -> int:
        """How many turns a conversation in ``situation`` has in this suite."""
        limit = self.entry.max_turns
        return situation.num_turns if limit is None else min(limit, situation.num_turns)

    def language(self, language: str) -> SceneSet:
        """The scenes of a language. Raises CatalogError with the nearest language there is."""
        if language not in self.scenes:
            raise named(language, list(self.scenes), "language", f"suite {self.id}")
        return self.scenes[language]

    def check_models(self, catalog: Catalog) -> None:
        """Raise CatalogError where the suite names a model that the catalog does not have."""
        asking = self.entry.interrogator.models if self.entry.interrogator else ()
        for name in (*self.entry.player.models, *asking, *self.judges):
            if name not in catalog.models:
                raise named(name, list(catalog.models), "model", f"suite {self.id} and {catalog.path}")


def suite_files(prompts: Path) -> dict[str, Path]:
    """The file of every suite below ``prompts``, by id."""
    if not prompts.is_dir():
        raise CatalogError(
            "no such folder",
            where=str(prompts),
            hint="Call `bench` in Dramaturg's own folder, or name the folder of the texts by --prompts.",
        )
    found: dict[str, Path] = {}
    for path in sorted(prompts.glob("*/*.toml")):
        if not any(path.parent.glob("*.jinja")):
            continue  # cards, situations, or no protocol's folder at all
        name = path.stem
        if slug(name) != name:
            raise CatalogError(
                f"{name!r} cannot name a suite",
                where=str(path),
                hint="Use small letters, digits and '-': results lie in a folder of that name.",
            )
        if name in found:
            raise CatalogError(
                f"there is a suite {name!r} already",
                where=f"{path} and {found[name]}",
                hint="Rename one of the two files.",
            )
        found[name] = path
    return found


def load_suite(prompts: Path, name: str) -> Suite:
    """The suite called ``name``, its cards and situations. Raises CatalogError that names file and hint."""
    files = suite_files(prompts)
    if name not in files:
        raise named(name, list(files), "suite", str(prompts))
    path = files[name]
    entry = entry_from(SuiteEntry, read_toml(path), str(path))
    scenes = {
        _checked_language(language, str(path)): _scenes(language, chosen, path)
        for language, chosen in entry.languages.items()
    }
    return Suite(name, path.parent.name, entry, prompts, scenes)


def _scenes(language: str, chosen: Selection, path: Path) -> SceneSet:
    if chosen.items:
        return SceneSet(language, items=tuple(read_items(path.parent / chosen.items)))
    prompts, where = path.parent.parent, str(path)
    return SceneSet(
        language,
        _chosen(prompts / "characters" / language, Card, chosen.characters, where, "character"),
        _chosen(prompts / "situations" / language, Situation, chosen.situations, where, "situation"),
    )


def read_items(path: Path) -> Iterator[Item]:
    """The items of a JSON Lines file: one object a line, with the strings ``character`` and ``situation``,
    which together are there once. Raises CatalogError that names file and line."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        hint = "Put the data set there, or name another by `items`."
        raise CatalogError(f"the items cannot be read: {reason}", where=str(path), hint=hint) from None
    seen: dict[tuple[str, str], str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        item = _item(line, f"{path}:{number}")
        first = seen.setdefault((item.character, item.situation), item.where)
        if first != item.where:
            fault = f"character {item.character!r} has an item {item.situation!r} already, at {first}"
            raise CatalogError(fault, where=item.where, hint="Give each item of a character its own name.")
        yield item
    if not seen:
        raise CatalogError("there is no item in it", where=str(path), hint="Write one JSON object a line.")


def _item(line: str, where: str) -> Item:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        fault = f"malformed JSON: {error}"
        raise CatalogError(fault, where=where, hint="Write one JSON object a line.") from None
    if not isinstance(data, dict):
        raise CatalogError("the line is no JSON object", where=where, hint="Write one JSON object a line.")
    for key in ("character", "situation"):
        if not isinstance(data.get(key), str):
            hint = "Name whom the item has played, and the item, by short ids."
            raise CatalogError(f"key {key!r} is missing or no string", where=where, hint=hint)
        checked_id(data[key], where)
    rest = {key: value for key, value in data.items() if key not in ("character", "situation")}
    return Item(data["character"], data["situation"], rest, where)


def _checked_language(language: str, where: str) -> str:
    if slug(language) != language:
        raise CatalogError(
            f"{language!r} cannot name a language",
            where=where,
            hint="Use small letters, digits and '-': results lie in a folder of that name.",
        )
    return language


def _chosen(
    folder: Path, kind: type[E], wanted: tuple[str, ...] | str, where: str, what: str
) -> dict[str, E]:
    """The entries of a folder that a suite asks for, in file-name order or in the order it gives."""
    files = {path.stem: path for path in sorted(folder.glob("*.toml"))}
    if not files:
        raise CatalogError(f"there is no {what} in {folder}", where=where, hint="Write one there.")
    names = tuple(files) if isinstance(wanted, str) else wanted
    for name in names:
        if name not in files:
            raise named(name, list(files), what, where)
    return {
        checked_id(name, where): entry_from(kind, read_toml(files[name]), str(files[name])) for name in names
    }
