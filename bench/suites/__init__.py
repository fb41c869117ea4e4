"""Suites, character cards and situations: what is played, and who asks and judges."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, Field, field_validator

from bench.catalog import Catalog, Sampling
from bench.errors import CatalogError
from bench.items import Item, read_items, read_probes
from bench.protocol_facts import facts_of
from bench.records import MOST_REPEATS
from bench.slugs import NOT_SUITES, slug
from bench.suites.languages import known_language, template_file
from bench.suites.lorebook import LoreEntry
from bench.suites.rotation import Rota, Scene, rota_of
from bench.suites.scripts import Script
from bench.toml_entries import Entry, checked_id, entry_from, located, read_text, read_toml, unknown_name

FOLDER = r"^(?:[a-z0-9][a-z0-9-]*)?$"
"""What a suite may call the folder of its templates."""

E = TypeVar("E", bound=Entry)
V = TypeVar("V")


class Lazy(Mapping[str, V]):
    """Values by name, loaded when they are first used: a faulty file stops only what needs it."""

    def __init__(self, names: Iterable[str], load: Callable[[str], V]) -> None:
        self._names = tuple(names)
        self._load = load
        self._loaded: dict[str, V] = {}

    def __getitem__(self, name: str) -> V:
        if name not in self._loaded:
            if name not in self._names:
                raise KeyError(name)
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def once(names: Iterable[str]) -> tuple[str, ...]:
    """``names``, each only once: naming a model twice must not do, and pay for, its work twice."""
    return tuple(dict.fromkeys(names))


Names = Annotated[tuple[str, ...], AfterValidator(once)]


class Secret(Entry):
    """Something the character tells only under a condition."""

    secret: str = Field(min_length=1)
    unlocked_by: str = Field(min_length=1)


class Card(Entry):
    """A character card. The player sees all of it, the interrogator only ``summary``."""

    char_name: str = Field(min_length=1)
    summary: str = Field(min_length=1)
    system_prompt: str = Field(min_length=1)
    example_prompt: str = ""
    initial_message: str = ""
    tags: tuple[str, ...] = ()
    source: str = Field(min_length=1)
    style: str = Field(min_length=1)
    """The prompting style of the card."""
    facts: tuple[str, ...] = ()
    """Short sentences that the card text states and that can be checked. Judges see these and the following
    fields; no player and no interrogator does."""
    secrets: tuple[Secret, ...] = ()
    unknown: tuple[str, ...] = ()
    """What the character must not know."""
    boundaries: tuple[str, ...] = ()
    """What the character will not say or do."""
    lorebook: tuple[LoreEntry, ...] = ()
    """Texts that the player gets once the talk mentions them; judges see those that it got."""

    @field_validator("summary")
    @classmethod
    def _one_line(cls, value: str) -> str:
        if "\n" in value.strip():
            raise ValueError("must be one line")
        return value.strip()


class Situation(Script):
    """What the interrogator does throughout a conversation."""

    title: str = Field(min_length=1)
    text: str = Field(min_length=1)
    kind: Literal["common", "attack"]
    """A common user behaviour, or an attempt to break the character."""
    tags: tuple[str, ...] = ()
    messages: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """The user's messages in suites without an interrogator; one for each turn."""


class RoleSettings(Entry):
    """The models of a role and their sampling. A suite's player models are those run by default."""

    models: Names = ()
    sampling: Sampling = Sampling()


class JudgeSettings(RoleSettings):
    """The judges."""

    per_scene: int | None = Field(default=None, ge=1)
    """How many of them score each scene, where they rotate; None: 1."""
    flaws: bool = False
    """Also have them list flaws of each answer, with quotations."""


class Limits(Entry):
    """The longest strings, in characters, that the reply schema allows where the provider enforces it."""

    utterance: int = Field(default=600, ge=20)
    reason: int = Field(default=400, ge=20)


class Selection(Entry):
    """What is played in one language: ids of cards and situations, or the items of a file.

    A suite lists its ids, so that a new card or situation changes no suite.
    """

    characters: Names = ()
    situations: Names = ()
    items: str = ""
    """For protocols that play a data set, in the suite's own folder: a JSON Lines file of items, or a folder
    of probe files, one for each of the ``characters``."""


class SuiteEntry(Entry):
    """A suite file: a protocol frozen with its languages, models and sampling."""

    title: str
    description: str
    version: str
    demonstration: bool = False
    """Its scores show that the pipeline works, not how good a model is, and the site says so."""
    templates: str = Field(default="", pattern=FOLDER)
    """The folder of its templates in the protocol's folder. Empty: the protocol's folder itself."""
    symmetric: bool = False
    """Show both the card and the situation to player and interrogator."""
    max_turns: int | None = Field(default=None, ge=1)
    """Cut every situation to this many turns."""
    limits: Limits = Limits()
    options: dict[str, Any] = Field(default_factory=dict)
    """Options of the suite's protocol, which checks them."""
    player: RoleSettings = RoleSettings()
    interrogator: RoleSettings | None = None
    """None if the protocol has no interrogator."""
    judge: JudgeSettings = JudgeSettings()
    judges: Literal["all", "rotate"] = "all"
    """Whether all judges score every scene, or take turns (see :mod:`bench.suites.rotation`)."""
    repeats: int = Field(default=1, ge=1, le=MOST_REPEATS)
    """How often each player plays each scene."""
    languages: dict[str, Selection] = Field(min_length=1)

    @field_validator("interrogator")
    @classmethod
    def _one_interrogator(cls, value: RoleSettings | None) -> RoleSettings | None:
        if value is not None and len(value.models) != 1:
            raise ValueError("name exactly one interrogator model")
        return value


@dataclass(frozen=True)
class SceneSet:
    """What a suite plays in one language: every card in every situation, or the items of a data set."""

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
    """A suite with its texts. ``protocol`` is the name of the folder that contains its file."""

    id: str
    protocol: str
    entry: SuiteEntry
    prompts: Path
    scenes: Mapping[str, SceneSet]
    """By language. Where they are read on first use, that may raise CatalogError."""

    @property
    def templates(self) -> Path:
        """The folder of its templates."""
        return self.prompts / self.protocol / self.entry.templates

    @property
    def interrogator(self) -> str | None:
        """The interrogator model; None if the protocol has no interrogator."""
        return self.entry.interrogator.models[0] if self.entry.interrogator else None

    @property
    def judges(self) -> tuple[str, ...]:
        """Ids of the judges: models, or the protocol's rule judge."""
        rule_judge = facts_of(self.protocol).rule_judge
        return (rule_judge,) if rule_judge else self.entry.judge.models

    @property
    def repeats(self) -> tuple[int, ...]:
        """Numbers of the samples of each scene."""
        return tuple(range(1, self.entry.repeats + 1))

    def rota(self, language: str) -> Rota | None:
        """The judges of each scene of ``language``; None if all judges score every scene."""
        if self.entry.judges == "all":
            return None
        scenes = self.language(language)
        lengths = {name: self.turns_of(situation) for name, situation in scenes.situations.items()}
        turns = tuple((pair, lengths.get(pair[1], 1)) for pair in scenes.pairs)
        return rota_of(turns, self.judges, self.entry.judge.per_scene or 1)

    def asked(self, judges: Iterable[str], scene: Scene, rota: Rota | None) -> tuple[str, ...]:
        """Those of ``judges`` that are to score ``scene``; judges that the suite does not name score all."""
        whose = self.judges if rota is None else rota.get(scene, ())
        return tuple(judge for judge in judges if judge in whose or judge not in self.judges)

    def asked_by_scene(self, judges: Iterable[str], language: str) -> dict[Scene, tuple[str, ...]] | None:
        """:meth:`asked` for every scene of ``language``; None if all judges score every scene."""
        rota, names = self.rota(language), tuple(judges)
        return None if rota is None else {scene: self.asked(names, scene, rota) for scene in rota}

    def turns_of(self, situation: Situation) -> int:
        """The number of turns of a conversation in ``situation``."""
        limit = self.entry.max_turns
        return situation.num_turns if limit is None else min(limit, situation.num_turns)

    def language(self, language: str) -> SceneSet:
        """The scenes of a language. Raises CatalogError that suggests another for an unknown one."""
        if language not in self.scenes:
            raise unknown_name(language, self.scenes, "language", f"suite {self.id}")
        return self.scenes[language]

    def check_models(self, catalog: Catalog) -> None:
        """Raise CatalogError if the suite names a model that is not in the catalog."""
        asking = self.entry.interrogator.models if self.entry.interrogator else ()
        for name in (*self.entry.player.models, *asking, *self.entry.judge.models):
            if name not in catalog.models:
                raise unknown_name(name, catalog.models, "model", f"suite {self.id} and {catalog.path}")


def suite_files(prompts: Path) -> dict[str, Path]:
    """The suite files below ``prompts`` by suite id. Raises CatalogError for an unusable or repeated id."""
    if not prompts.is_dir():
        hint = "Run `bench` in Dramaturg's own folder, or name the folder with --prompts."
        raise CatalogError("no such folder", where=str(prompts), hint=hint)
    files: dict[str, Path] = {}
    for path in sorted(prompts.glob("*/*.toml")):
        if not any(path.parent.glob("*.jinja")):
            continue  # not the folder of a protocol: cards, situations
        name = _folder_name(path.stem, "suite", str(path))
        if name in files:
            where = f"{path} and {files[name]}"
            raise CatalogError(f"duplicate suite {name!r}", where=where, hint="Rename one of the two files.")
        files[name] = path
    return files


def load_suite(prompts: Path, name: str, *, check: bool = True) -> Suite:
    """The suite called ``name``. Raises CatalogError.

    ``check``: read the cards, situations and items of all its languages now, not when they are first used.
    """
    files = suite_files(prompts)
    if name not in files:
        raise unknown_name(name, files, "suite", str(prompts))
    path = files[name]
    tables, text = read_toml(path, root=prompts), read_text(path, root=prompts)
    entry = entry_from(SuiteEntry, tables, str(path), text=text)
    _check_judges(entry, path, text)
    for language in entry.languages:
        where = located(path, ("languages", language), text)
        if not known_language(_folder_name(language, "language", where)):
            hint = "Use the tag of a language that Babel knows, such as de, ja or pt-br."
            raise CatalogError(f"unknown language {language!r}", where=where, hint=hint)
    scenes = Lazy(entry.languages, partial(_scenes, entry, path, text))
    if check:
        dict(scenes)
    return Suite(name, path.parent.name, entry, prompts, scenes)


def _check_judges(entry: SuiteEntry, path: Path, text: str) -> None:
    """Raise CatalogError if the judges cannot score the scenes in the way that the suite asks for."""
    judges, each = entry.judge.models, entry.judge.per_scene
    at: tuple[str, ...] = ("judges",)
    fault, hint = "", 'Remove judges = "rotate", or name more judges.'
    if facts_of(path.parent.name).rule_judge:
        fault = "rules judge here, and no models that could take turns" if entry.judges == "rotate" else ""
    elif not judges:
        fault, at, hint = "name at least one judge model", ("judge",), 'Add [judge] with models = ["NAME"].'
    elif entry.judges == "all" and each is not None:
        fault, at = "all judges score every scene", ("judge", "per_scene")
        hint = 'Add judges = "rotate" above the first table, or remove per_scene.'
    elif entry.judges == "rotate" and len(judges) == 1:
        fault = f"{judges[0]} is the only judge: it has nobody to take turns with"
    elif entry.judges == "rotate" and each is not None and each > len(judges):
        fault, at = f"{each} judges a scene, but there are only {len(judges)}", ("judge", "per_scene")
        hint = f"Set it to at most {len(judges)}, or name more judges."
    if fault:
        where = located(path, at, text)
        raise CatalogError(f"{'.'.join(at)}: {fault}", where=where, hint=hint)


def _folder_name(name: str, kind: str, where: str) -> str:
    """``name`` if results can lie in a folder of that name, else CatalogError."""
    if slug(name) != name or name in NOT_SUITES:
        hint = "Use lower-case letters, digits and '-', and no reserved name: the results folder gets it."
        raise CatalogError(f"{name!r} cannot name a {kind}", where=where, hint=hint)
    return name


def _scenes(entry: SuiteEntry, path: Path, text: str, language: str) -> SceneSet:
    selection, prompts = entry.languages[language], path.parent.parent
    where = located(path, ("languages", language), text)
    _check_templates(path.parent / entry.templates, path.parent.name, language, where)
    if (path.parent / selection.items).is_dir() and selection.items:
        folder = prompts / "characters" / language
        cards = _selected(folder, Card, selection.characters, where, "character")
        items = tuple(
            item for card in cards for item in read_probes(path.parent / selection.items, card, prompts)
        )
        return SceneSet(language, cards=cards, items=items)
    if selection.items:
        return SceneSet(language, items=tuple(read_items(path.parent / selection.items, prompts)))
    return SceneSet(
        language,
        _selected(prompts / "characters" / language, Card, selection.characters, where, "character"),
        _selected(prompts / "situations" / language, Situation, selection.situations, where, "situation"),
    )


def _check_templates(folder: Path, protocol: str, language: str, where: str) -> None:
    """Raise CatalogError for a role without a template in ``language`` and without one in English."""
    for role in facts_of(protocol).roles:
        if not template_file(folder, role, language)[0].exists():
            fault = f"language {language!r} has no template of the {role} in {folder}"
            hint = f"Write {role}.{language}.jinja there, or {role}.jinja in English for all languages."
            raise CatalogError(fault, where=where, hint=hint)


def _selected(folder: Path, kind: type[E], names: tuple[str, ...], where: str, what: str) -> dict[str, E]:
    """The entries of a folder that a suite lists, in its order."""
    files = {path.stem: path for path in sorted(folder.glob("*.toml"))}
    if not files:
        ignored = ", ".join(sorted(path.name for path in folder.iterdir())) if folder.is_dir() else ""
        fault = f"no {what} (.toml) in {folder}" + (f" (ignored: {ignored:.80})" if ignored else "")
        raise CatalogError(fault, where=where, hint=f"CONTRIBUTING.md shows how to write a {what}.")
    if not names:
        hint = f"List those it plays, such as `{what}s = {json.dumps(list(files), ensure_ascii=False)}`."
        raise CatalogError(f"languages.{folder.name} lists no {what}s", where=where, hint=hint)
    for name in names:
        if name not in files:
            raise unknown_name(name, files, what, where)
    return {checked_id(name, where): read_entry(kind, files[name], folder.parents[1]) for name in names}


def read_entry(kind: type[E], path: Path, prompts: Path) -> E:
    """A card or situation in a file that must not lead out of ``prompts``. Raises CatalogError."""
    tables, text = read_toml(path, root=prompts), read_text(path, root=prompts)
    return entry_from(kind, tables, str(path), text=text)
