"""New suites, characters and situations: their files, written for people to edit."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import tomli

from bench.catalog import Catalog
from bench.errors import CatalogError, UserError
from bench.files import hide_from_git, write_atomically
from bench.protocol_facts import ProtocolFacts, facts_of, known_protocols
from bench.slugs import slug
from bench.suites import Card, Situation, Suite, SuiteEntry, load_suite, once, read_entry, suite_files
from bench.suites.layers import (
    FALLBACK,
    checked_language,
    entries_in,
    existing_layers,
    in_layers,
    private_layer,
)
from bench.tables import counted
from bench.toml_entries import Entry, check_known, entry_from, toml_value, unknown_name

UNFINISHED = "TODO"
"""Marks what the author of a new file still has to write; `bench check` finds it."""

_CHARACTER = """\
# A character. List its id, {id!r}, in a suite to play it; `bench check` finds mistakes in this file.
char_name = "{name}"
# One line: all that the interrogator, who plays the user, reads of the card.
summary = "TODO: {name}, who ..."
# What the player reads: who the character is, how it speaks, what it knows.
system_prompt = \'\'\'
TODO: describe {name} in 100 to 450 words.
\'\'\'
# A sample of how it talks, and how it greets people. Both are optional.
# example_prompt = \'\'\'
# User: Hello.
# {name}: ...
# \'\'\'
# initial_message = "..."
source = "TODO: invented by you, or the work in the public domain that it comes from"
style = "prose"

# Judges and probes read what follows; no player does. All of it is optional.
facts = []
# secrets = [{{ secret = "...", unlocked_by = "..." }}]
# unknown = ["What the character must not know."]
# boundaries = ["What it will not say or do."]
"""
_SITUATION = """\
# A situation: what the user wants, how they begin, what changes. It has to suit every character.
title = "{name}"
text = \'\'\'
TODO: tell the person who plays the user what to do, from the first message to the last.
\'\'\'
kind = "common" # or "attack": an attempt to break the character
num_turns = 4
tags = []
"""
_TEMPLATES: dict[str, tuple[str, type[Entry]]] = {
    "characters": (_CHARACTER, Card),
    "situations": (_SITUATION, Situation),
}


@dataclass(frozen=True)
class NewSuite:
    """What a new suite plays. An empty language means the characters' own, no situations all that suit."""

    name: str
    characters: tuple[str, ...]
    situations: tuple[str, ...] = ()
    players: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    interrogator: str = ""
    """Default: the first judge."""
    language: str = ""
    title: str = ""
    protocol: str = "pingpong_v2"
    greeting: bool = False
    max_turns: int | None = None


def check_new_name(name: str, layers: Sequence[Path]) -> None:
    """Raise CatalogError unless a new suite can have this name."""
    taken = suite_files(layers).get(name)
    if slug(name) != name or taken is not None:
        fault = f"{name!r} cannot name a new suite" + (f": there is {taken}" if taken else "")
        raise CatalogError(fault, hint="Use another name: lower-case letters, digits and '-'.")


def write_suite(
    new: NewSuite, layers: Sequence[Path], catalog: Catalog, check: Callable[[Suite, str], object]
) -> tuple[Path, list[str]]:
    """Write the file of a suite, above the cards that it plays. Returns it, and notes for the user.

    ``check`` gets the suite and its language. Raises CatalogError if the name is taken, something it names
    does not exist, or ``check`` raises it; then nothing is written.
    """
    check_new_name(new.name, layers)
    facts = _facts_of(new.protocol)
    notes: list[str] = []
    language = checked_language(new.language or _language_of(new.characters, layers))
    cards = entries_in(layers, "characters", language)
    situations = entries_in(layers, "situations", language)
    if not situations:
        situations = entries_in(layers, "situations", FALLBACK)
        notes.append(f"There are no situations in {language!r}: the English ones are played.")
    check_known(new.characters, cards, "character", language)
    check_known(new.situations, situations, "situation", language)
    if not new.judges:
        raise CatalogError("a suite needs a judge", where=new.name, hint="Name one with --judges.")
    asking = new.interrogator or new.judges[0]
    check_known((*new.players, asking, *new.judges), catalog.models, "model", str(catalog.path))
    chosen = new.situations or _playable(situations, facts)
    text = _suite_text(new, language, chosen, asking, _templates(new, layers))
    entry_from(SuiteEntry, tomli.loads(text), new.name)
    layer = max((cards[name].parents[2] for name in new.characters), key=list(layers).index)
    path = layer / new.protocol / f"{new.name}.toml"
    write_atomically(path, text.encode(), replace=False)
    try:
        check(load_suite(layers, new.name), language)
    except CatalogError:
        path.unlink()
        raise
    return path, notes


def _facts_of(protocol: str) -> ProtocolFacts:
    """The facts of a protocol that plays cards in situations. Raises CatalogError for another one."""
    known = {name: facts_of(name) for name in known_protocols()}
    playing = [name for name, facts in known.items() if facts.interrogated and not facts.plays_items]
    if protocol in playing:
        return known[protocol]
    if protocol in known:
        hint = "Copy the file of one of its suites instead."
        raise CatalogError(f"protocol {protocol!r} plays no cards in situations", hint=hint)
    raise unknown_name(protocol, playing, "protocol", "")


def _playable(situations: Mapping[str, Path], facts: ProtocolFacts) -> tuple[str, ...]:
    """Those of ``situations`` that need nothing which the protocol lacks."""
    entries = {name: read_entry(Situation, path, path.parents[2]) for name, path in situations.items()}
    return tuple(
        name for name, entry in entries.items() if facts.scripted or not (entry.plants or entry.attacks)
    )


def _language_of(characters: Sequence[str], layers: Sequence[Path]) -> str:
    """The one language that has all of ``characters``. Raises CatalogError for none or several."""
    languages = sorted({path.name for layer in layers for path in (layer / "characters").glob("*/")})
    having = [code for code in languages if set(characters) <= entries_in(layers, "characters", code).keys()]
    if len(having) == 1:
        return having[0]
    known = {name for code in languages for name in entries_in(layers, "characters", code)}
    check_known(characters, known, "character", " and ".join(map(str, layers)))
    fault = f"these characters exist in {', '.join(having)}" if having else "no language has these characters"
    raise CatalogError(fault, where=", ".join(characters), hint="Name the language with --language.")


def _templates(new: NewSuite, layers: Sequence[Path]) -> str:
    """The newest folder of the protocol's templates; empty if it has none but its own."""
    numbers = [
        int(match[1])
        for layer in layers
        for path in (layer / new.protocol).glob("templates-*/")
        if (match := re.fullmatch(r"templates-(\d{1,4})", path.name)) and any(path.glob("player*.jinja"))
    ]
    return f"templates-{max(numbers)}" if numbers else ""


def _suite_text(
    new: NewSuite, language: str, situations: tuple[str, ...], asking: str, templates: str
) -> str:
    title = new.title or new.name.replace("-", " ").capitalize()
    count = len(new.characters) * len(situations)
    head: dict[str, object] = {
        "title": title,
        "description": f"{counted(len(new.characters), 'character')},"
        f" {counted(len(situations), 'situation')}: {counted(count, 'conversation')} a player.",
        "version": "1",
        "templates": templates,
        "greeting": "first_message" if new.greeting else "",
        "max_turns": new.max_turns,
    }
    roles = {
        "player": (new.players, "{ temperature = 0.6, top_p = 0.9, max_tokens = 1024 }"),
        "interrogator": ((asking,), "{ temperature = 0.8, top_p = 0.95, max_tokens = 1024 }"),
        "judge": (new.judges, "{ temperature = 0.1, top_p = 0.95, max_tokens = 4096 }"),
    }
    lines = [f"{key} = {toml_value(value)}" for key, value in head.items() if value not in ("", None)]
    for role, (models, sampling) in roles.items():
        lines += ["", f"[{role}]", f"models = {toml_value(list(once(models)))}"]
        if role != "judge" or not facts_of(new.protocol).judged_in_talk:
            lines.append(f"sampling = {sampling}")
    lines += ["", f"[languages.{language}]", f"characters = {toml_value(list(once(new.characters)))}"]
    lines += [f"situations = {toml_value(list(once(situations)))}"]
    return "\n".join(lines) + "\n"


def write_template(
    kind: str, name: str, language: str, layers: Sequence[Path], *, private: bool = False
) -> Path:
    """Write a commented file for a new card or situation (``kind``: characters or situations).

    Raises UserError if the name cannot be used or is taken, or there is no folder of prompts.
    """
    layers = existing_layers(layers)
    if slug(name) != name:
        raise UserError(f"{name!r} is not a usable name", hint="Use lower-case letters, digits and '-'.")
    checked_language(language)
    if (taken := entries_in(layers, kind, language).get(name)) is not None:
        raise UserError("the file exists already", where=str(taken), hint="Choose another name, or edit it.")
    template, entry = _TEMPLATES[kind]
    text = template.format(id=name, name=name.replace("-", " ").title())
    if private and kind == "characters":
        text += "private = true # neither committed nor published\n"
    entry_from(entry, tomli.loads(text), name)
    layer = private_layer(layers) if private else layers[0]
    if private:
        hide_from_git(layer)
    path = in_layers([layer], kind, language) / f"{name}.toml"
    write_atomically(path, text.encode(), replace=False)
    return path
