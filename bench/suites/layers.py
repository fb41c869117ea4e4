"""Folders of prompts on top of each other: the shipped ones below, private cards and suites above."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.errors import CatalogError
from bench.files import hidden_from_git
from bench.protocol_facts import facts_of, known_protocols
from bench.slugs import NOT_SUITES, slug
from bench.suites.languages import known_language, template_file
from bench.suites.lazy import Lazy

FALLBACK = "en"
"""Situations of this language are played where a language has none of its own."""
Prompts = Path | str | Sequence[Path]
"""One folder of prompts, or several, the lowest first."""

PRIVATE = "private"
"""A folder of this name beside the first folder of prompts is always the last layer; git ignores it."""

IMPORTED = ".card.json"
"""Suffix of the community's card beside ours: it keeps every field for an export."""
CARRIERS = {"png": ".card.png", "charx": ".card.charx"}
"""Suffixes of the file that a card came in, beside ours: it keeps the pictures for an export."""


def layers_of(prompts: Prompts) -> tuple[Path, ...]:
    """The folders of ``prompts`` and, on top of a single one, the private folder beside it if it exists."""
    if isinstance(prompts, (str, Path)):
        folder = Path(prompts)
        private = folder.parent / PRIVATE
        return (folder, private) if folder.is_dir() and private.is_dir() else (folder,)
    return tuple(dict.fromkeys(prompts))


def existing_layers(prompts: Prompts) -> tuple[Path, ...]:
    """:func:`layers_of`. Raises CatalogError for a folder that does not exist."""
    layers = layers_of(prompts)
    for folder in layers:
        if not folder.is_dir():
            hint = "Run `bench` in Dramaturg's own folder, or name the folder with --prompts."
            raise CatalogError("no such folder", where=str(folder), hint=hint)
    return layers


def private_layer(layers: Sequence[Path]) -> Path:
    """The folder for private files: the highest of several, else ``private`` beside the only one.

    Raises CatalogError if it holds cards that may be published: git would ignore them from then on.
    """
    layer = layers[-1] if len(layers) > 1 else layers[0].parent / PRIVATE
    if not is_private_layer(layer) and any(layer.glob("characters/*/*.toml")):
        hint = f"Name a folder for private cards last, such as --prompts {layer} --prompts {PRIVATE}."
        raise CatalogError("holds cards that are not private", where=str(layer), hint=hint)
    return layer


def is_private_layer(layer: Path) -> bool:
    """Whether a folder of prompts is not published: by its name, or because git ignores it."""
    return layer.name == PRIVATE or hidden_from_git(layer)


def visible(folder: Path, pattern: str) -> list[Path]:
    """What matches ``pattern`` below ``folder``, sorted, without the hidden files of editors and systems."""
    depth = len(folder.parts)
    return sorted(p for p in folder.glob(pattern) if not any(part[0] == "." for part in p.parts[depth:]))


def protocol_folders(layers: Sequence[Path]) -> set[str]:
    """Names of the folders of protocols: those that hold templates in one of ``layers``, and known ones,
    whose templates may all be in folders of suites."""
    known = {name for name in known_protocols() if any((layer / name).is_dir() for layer in layers)}
    return known | {path.parent.name for layer in layers for path in visible(layer, "*/*.jinja")}


def in_layers(layers: Sequence[Path], *parts: str) -> Path:
    """The file or folder at ``parts`` in the first of ``layers`` that has it, else in the first."""
    places = [layer.joinpath(*parts) for layer in layers]
    return next((place for place in places if place.exists()), places[0])


def templates_in(layers: Sequence[Path], protocol: str, name: str) -> Path:
    """The folder of templates called ``name`` (empty: the protocol's own) in the first layer that has it."""
    folders = [layer / protocol / name for layer in layers]
    return next((folder for folder in folders if visible(folder, "*.jinja")), folders[0])


def check_templates(layers: Sequence[Path], protocol: str, name: str, language: str, where: str) -> None:
    """Raise CatalogError for a role without a template in ``language`` and without one in English."""
    folder = templates_in(layers, protocol, name)
    for role in facts_of(protocol).roles:
        if not template_file(folder, role, language)[0].exists():
            fault = f"language {language!r} has no template of the {role} in {folder}"
            hint = f"Write {role}.{language}.jinja there, or {role}.jinja in English for all languages."
            raise CatalogError(fault, where=where, hint=hint)


def entries_in(layers: Sequence[Path], kind: str, language: str) -> Mapping[str, Path]:
    """The files of cards or situations by id. Raises CatalogError if two layers have the same id."""
    folders: dict[str, Path] = {}
    for layer in layers:
        folder = layer / kind / language
        names = os.listdir(folder) if folder.is_dir() else []  # noqa: PTH208 - called often, with many files
        names = [name for name in names if name.endswith(".toml") and name[0] != "."]
        for stem in (name.removesuffix(".toml") for name in names):
            if stem in folders:
                name = f"{stem}.toml"
                where = f"{folder / name} and {folders[stem] / name}"
                raise CatalogError(f"two files are called {name!r}", where=where, hint="Rename one.")
            folders[stem] = folder
    return Lazy(sorted(folders), lambda name: folders[name] / f"{name}.toml")


def situation_files(layers: Sequence[Path], language: str) -> Mapping[str, Path]:
    """The situations that ``language`` plays: its own, or those of FALLBACK. Raises CatalogError."""
    return entries_in(layers, "situations", language) or entries_in(layers, "situations", FALLBACK)


def suite_paths(prompts: Prompts) -> Iterator[Path]:
    """Every suite file below ``prompts``, whatever its name."""
    layers = existing_layers(prompts)
    protocols = protocol_folders(layers)
    for path in (path for layer in layers for path in visible(layer, "*/*.toml")):
        if path.parent.name in protocols:  # no cards, no situations
            yield path


def suite_files(prompts: Prompts) -> dict[str, Path]:
    """The suite files below ``prompts`` by suite id, without those whose name cannot be one.

    Raises CatalogError for a repeated id.
    """
    files: dict[str, Path] = {}
    for path in suite_paths(prompts):
        name = path.stem
        if not _names_folder(name):
            continue
        if name in files:
            where = f"{path} and {files[name]}"
            raise CatalogError(f"duplicate suite {name!r}", where=where, hint="Rename one of the two files.")
        files[name] = path
    return files


def check_suite_name(path: Path) -> None:
    """Raise CatalogError if no suite can have the name of the file ``path``."""
    folder_name(path.stem, "suite", str(path))


def _names_folder(name: str) -> bool:
    return slug(name) == name and name not in NOT_SUITES


def folder_name(name: str, kind: str, where: str) -> str:
    """``name`` if a folder of results can have that name, else CatalogError."""
    if not _names_folder(name):
        hint = "Use lower-case letters, digits and '-', and no reserved name: results get a folder of it."
        raise CatalogError(f"{name!r} cannot name a {kind}", where=where, hint=hint)
    return name


def checked_language(language: str, where: str = "") -> str:
    """``language`` if Babel knows it and a folder can have its name, else CatalogError."""
    if not known_language(folder_name(language, "language", where)):
        hint = "Use the tag of a language that Babel knows, such as de, ja or pt-br."
        raise CatalogError(f"unknown language {language!r}", where=where, hint=hint)
    return language
