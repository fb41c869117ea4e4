"""Suites, character cards and situations: what is played, by whom it is questioned and judged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

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
    """Ids of the cards and situations of one language, or "all" of them."""

    characters: tuple[str, ...] | Literal["all"] = ALL
    situations: tuple[str, ...] | Literal["all"] = ALL


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
    player: RoleSettings = RoleSettings()
    interrogator: RoleSettings
    judge: RoleSettings
    languages: dict[str, Selection] = Field(min_length=1)

    @field_validator("interrogator")
    @classmethod
    def _one_interrogator(cls, value: RoleSettings) -> RoleSettings:
        if len(value.models) != 1:
            raise ValueError("name exactly one interrogator model")
        return value

    @field_validator("judge")
    @classmethod
    def _some_judge(cls, value: RoleSettings) -> RoleSettings:
        if not value.models:
            raise ValueError("name at least one judge model")
        return value


@dataclass(frozen=True)
class SceneSet:
    """The cards and situations of one suite in one language, by id."""

    language: str
    cards: dict[str, Card]
    situations: dict[str, Situation]


@dataclass(frozen=True)
class Suite:
    """A suite with its texts loaded. ``protocol`` is the name of the folder that its file lies in."""

    id: str
    protocol: str
    entry: SuiteEntry
    prompts: Path
    scenes: dict[str, SceneSet]

    @property
    def interrogator(self) -> str:
        return self.entry.interrogator.models[0]

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
        for name in (*self.entry.player.models, self.interrogator, *self.judges):
            if name not in catalog.models:
                raise named(name, list(catalog.models), "model", f"suite {self.id} and {catalog.path}")


def suite_files(prompts: Path) -> dict[str, Path]:
    """The file of every suite below ``prompts``, by id."""
    if not prompts.is_dir():
        raise CatalogError("no such folder", where=str(prompts), mend="Name the prompts folder by --prompts.")
    found: dict[str, Path] = {}
    for path in sorted(prompts.glob("*/*.toml")):
        if not any(path.parent.glob("*.jinja")):
            continue  # cards, situations, or no protocol's folder at all
        name = path.stem
        if slug(name) != name:
            raise CatalogError(
                f"{name!r} cannot name a suite",
                where=str(path),
                mend="Use small letters, digits and '-': results lie in a folder of that name.",
            )
        if name in found:
            raise CatalogError(
                f"there is a suite {name!r} already",
                where=f"{path} and {found[name]}",
                mend="Rename one of the two files.",
            )
        found[name] = path
    return found


def load_suite(prompts: Path, name: str) -> Suite:
    """The suite called ``name``, its cards and situations. Raises CatalogError that names file and mend."""
    files = suite_files(prompts)
    if name not in files:
        raise named(name, list(files), "suite", str(prompts))
    path = files[name]
    entry = entry_from(SuiteEntry, read_toml(path), str(path))
    scenes = {
        _checked_language(language, str(path)): SceneSet(
            language,
            _chosen(prompts / "characters" / language, Card, chosen.characters, str(path), "character"),
            _chosen(prompts / "situations" / language, Situation, chosen.situations, str(path), "situation"),
        )
        for language, chosen in entry.languages.items()
    }
    return Suite(name, path.parent.name, entry, prompts, scenes)


def _checked_language(language: str, where: str) -> str:
    if slug(language) != language:
        raise CatalogError(
            f"{language!r} cannot name a language",
            where=where,
            mend="Use small letters, digits and '-': results lie in a folder of that name.",
        )
    return language


def _chosen(
    folder: Path, kind: type[E], wanted: tuple[str, ...] | str, where: str, what: str
) -> dict[str, E]:
    """The entries of a folder that a suite asks for, in file-name order or in the order it gives."""
    files = {path.stem: path for path in sorted(folder.glob("*.toml"))}
    if not files:
        raise CatalogError(f"there is no {what} in {folder}", where=where, mend="Write one there.")
    names = tuple(files) if isinstance(wanted, str) else wanted
    for name in names:
        if name not in files:
            raise named(name, list(files), what, where)
    return {
        checked_id(name, where): entry_from(kind, read_toml(files[name]), str(files[name])) for name in names
    }
