"""Suites, character cards and situations: what is played, and who asks and judges."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, Field, StringConstraints, field_validator

from bench.catalog import Catalog, Sampling
from bench.errors import CatalogError, each
from bench.items import Item, read_items, read_probes
from bench.protocol_facts import facts_of
from bench.records import MOST_REPEATS
from bench.suites.layers import (
    Prompts,
    check_suite_name,
    check_templates,
    checked_language,
    entries_in,
    existing_layers,
    in_layers,
    is_private_layer,
    situation_files,
    suite_paths,
    templates_in,
)
from bench.suites.layers import suite_files as suite_files
from bench.suites.lazy import Lazy
from bench.suites.lorebook import LoreEntry
from bench.suites.macros import settled
from bench.suites.rotation import Rota, Scene, rota_of
from bench.suites.scripts import Script
from bench.toml_entries import Entry, check_known, checked_id, entry_from, located, read_tables, unknown_name

FOLDER = r"^(?:[a-z0-9][a-z0-9-]{0,59})?$"
"""What a suite may call the folder of its templates."""

E = TypeVar("E", bound=Entry)


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
    licence: Annotated[str, StringConstraints(strip_whitespace=True)] = ""
    """The licence of a card from elsewhere."""
    private: bool = False
    """Neither the card nor any result of it is committed, published or exported. True of every card in a
    private folder, unless it has a licence."""

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
    greeting: Literal["", "first_message"] = ""
    """Whether the chat opens with the card's ``initial_message``, as real chats do."""
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
    layers: tuple[Path, ...] = ()
    """All folders of prompts, the suite's own first."""

    @property
    def templates(self) -> Path:
        """The folder of its templates."""
        return templates_in(self.layers or (self.prompts,), self.protocol, self.entry.templates)

    def file(self, *parts: str) -> Path:
        """A file that the suite uses, by its path below a folder of prompts."""
        return in_layers(self.layers or (self.prompts,), *parts)

    @property
    def private(self) -> bool:
        """Whether it plays a private card. Raises CatalogError where its cards cannot be read."""
        return any(card.private for scenes in self.scenes.values() for card in scenes.cards.values())

    @property
    def interrogator(self) -> str | None:
        """The interrogator model; None if the protocol has no interrogator."""
        return self.entry.interrogator.models[0] if self.entry.interrogator else None

    def asked_by(self, interrogator: str) -> Suite:
        """The suite with another interrogator. Raises CatalogError if it has none to replace."""
        if self.entry.interrogator is None:
            fault = f"protocol {self.protocol} has no interrogator"
            raise CatalogError(fault, where=f"suite {self.id}", hint="Leave --interrogator out.")
        settings = self.entry.interrogator.model_copy(update={"models": (interrogator,)})
        return replace(self, entry=self.entry.model_copy(update={"interrogator": settings}))

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

    @property
    def model_names(self) -> tuple[str, ...]:
        """The models that the suite names, in all roles."""
        asking = self.entry.interrogator.models if self.entry.interrogator else ()
        return (*self.entry.player.models, *asking, *self.entry.judge.models)

    def check_models(self, catalog: Catalog) -> None:
        """Raise CatalogError if the suite names a model that is not in the catalog."""
        check_known(self.model_names, catalog.models, "model", f"suite {self.id} and {catalog.path}")


def load_suite(prompts: Prompts, name: str, *, check: bool = True) -> Suite:
    """The suite called ``name``. Raises CatalogError.

    ``check``: read the cards, situations and items of all its languages now, not when they are first used.
    """
    files = suite_files(prompts)
    if name not in files:
        for path in suite_paths(prompts):
            if path.stem == name:
                check_suite_name(path)
        raise unknown_name(name, files, "suite", " and ".join(map(str, existing_layers(prompts))))
    return read_suite(files[name], existing_layers(prompts), check=check)


def read_suite(path: Path, prompts: tuple[Path, ...], *, check: bool = True) -> Suite:
    """The suite in the file ``path``, below one of the folders ``prompts``; see :func:`load_suite`."""
    root = path.parents[1]
    layers = (root, *(layer for layer in prompts if layer != root))
    tables, text = read_tables(path, root=root)
    entry = entry_from(SuiteEntry, tables, str(path), text=text)
    _check_judges(entry, path, text)
    for language in entry.languages:
        checked_language(language, located(path, ("languages", language), text))
    scenes = Lazy(entry.languages, partial(_scenes, entry, path, text, layers))
    if check:
        dict(scenes)
    return Suite(path.stem, path.parent.name, entry, root, scenes, layers)


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


def _scenes(entry: SuiteEntry, path: Path, text: str, layers: tuple[Path, ...], language: str) -> SceneSet:
    selection, prompts = entry.languages[language], path.parents[1]
    where = located(path, ("languages", language), text)
    check_templates(layers, path.parent.name, entry.templates, language, where)
    if selection.items and os.path.isdir(path.parent / selection.items):  # noqa: PTH112 - too long is no error
        cards = _cards(layers, language, selection, path)
        probes = each(lambda card: read_probes(path.parent / selection.items, card, prompts), cards)
        return SceneSet(language, cards=cards, items=tuple(itertools.chain.from_iterable(probes)))
    if selection.items:
        return SceneSet(language, items=tuple(read_items(path.parent / selection.items, prompts)))
    return SceneSet(
        language,
        _cards(layers, language, selection, path),
        _selected(layers, language, Situation, selection.situations, where, "situation"),
    )


def _cards(layers: tuple[Path, ...], language: str, selection: Selection, path: Path) -> dict[str, Card]:
    cards = _selected(layers, language, Card, selection.characters, str(path), "character")
    return {name: settled(card, f"{path}: character {name}", path.stem, name) for name, card in cards.items()}


def _selected(
    layers: tuple[Path, ...], language: str, kind: type[E], names: tuple[str, ...], where: str, what: str
) -> dict[str, E]:
    """The entries of a folder that a suite lists, in its order."""
    files = (
        situation_files(layers, language) if kind is Situation else entries_in(layers, f"{what}s", language)
    )
    if not files:
        folder = in_layers(layers, f"{what}s", language)
        ignored = ", ".join(sorted(path.name for path in folder.iterdir())) if folder.is_dir() else ""
        fault = f"no {what} (.toml) in {folder}" + (f" (ignored: {ignored:.80})" if ignored else "")
        raise CatalogError(fault, where=where, hint=f"CONTRIBUTING.md shows how to write a {what}.")
    if not names:
        hint = f"List those it plays, such as `{what}s = {json.dumps(list(files), ensure_ascii=False)}`."
        raise CatalogError(f"languages.{language} lists no {what}s", where=where, hint=hint)
    check_known(names, files, what, where)
    return {checked_id(name, where): read_entry(kind, files[name], files[name].parents[2]) for name in names}


def read_entry(kind: type[E], path: Path, prompts: Path) -> E:
    """A card or situation in a file that must not lead out of ``prompts``. Raises CatalogError."""
    tables, text = read_tables(path, root=prompts)
    entry = entry_from(kind, tables, str(path), text=text)
    if isinstance(entry, Card) and not entry.licence and is_private_layer(prompts):
        return entry.model_copy(update={"private": True})
    return entry
