"""The items of a data set: lines of a JSON Lines file, or the probes of a card."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.errors import CatalogError, each
from bench.files import MOST_BYTES
from bench.toml_entries import checked_id, located, read_tables, read_text, read_toml, unknown_name

_PROBE = re.compile(r"\s*\[\[\s*probe\s*\]\]")

JSON_LINES = "Write one JSON object per line."


@dataclass(frozen=True)
class Item:
    """One line of a data set. The protocol checks its ``data``."""

    character: str
    situation: str
    data: Mapping[str, Any]
    where: str
    """File and line, for error messages."""


def read_items(path: Path, root: Path) -> list[Item]:
    """The items of a JSON Lines file, which must not lead out of the folder ``root``.

    Each line is an object with the strings ``character`` and ``situation``, a pair that occurs once.
    Raises CatalogError that names file and line.
    """
    hint = "Put the data set there, or name another file in `items`."
    lines = read_text(path, hint, root=root, most=MOST_BYTES).split("\n")
    seen: dict[tuple[str, str], str] = {}

    def read(numbered: tuple[int, str]) -> Item:
        item = _item(numbered[1], f"{path}:{numbered[0]}")
        first = seen.setdefault((item.character, item.situation), item.where)
        if first != item.where:
            fault = f"duplicate item {item.situation!r} of character {item.character!r}, first at {first}"
            raise CatalogError(fault, where=item.where, hint="Give each item of a character its own name.")
        return item

    items = each(read, ((number, line) for number, line in enumerate(lines, 1) if line.strip()))
    if not items:
        raise CatalogError("no items", where=str(path), hint=JSON_LINES)
    return items


def first_version(character: str) -> str:
    """The id of the card that ``character`` corrects, such as ``baba-yaga`` of ``baba-yaga-2``; or itself."""
    return re.sub(r"-[0-9]+$", "", character)


def read_probes(folder: Path, character: str, root: Path) -> list[Item]:
    """The probes of one character: the tables [[probe]] of ``<character>.toml``, in the folder ``root``.

    A corrected card, such as ``baba-yaga-2``, keeps the probes of ``baba-yaga`` until it has its own file.
    ``@name`` among the patterns stands for the list of that name in ``_shared.toml``. Raises CatalogError
    that names file and line.
    """
    path = folder / f"{character}.toml"
    first = folder / f"{first_version(character)}.toml"
    if first.is_file() and not path.is_file():
        path = first
    shared = read_toml(folder / "_shared.toml", root=root).get("patterns", {})
    tables, text = read_tables(path, root=root)
    hint = "Write each probe as [[probe]]."
    if unknown := sorted(tables.keys() - {"probe"}):
        fault, where = f"unknown key {unknown[0]!r}", located(path, [unknown[0]], text)
        raise CatalogError(fault, where=where, hint=hint)
    probes = tables.get("probe", [])
    if not isinstance(probes, list) or not all(isinstance(table, dict) for table in probes):
        raise CatalogError("probe is not a list of tables", where=located(path, ["probe"], text), hint=hint)
    seen: set[str] = set()
    starts = [n for n, line in enumerate(text.split("\n"), 1) if _PROBE.match(line)]
    lines = starts if len(starts) == len(probes) else [0] * len(probes)

    def read(numbered: tuple[int, tuple[int, dict[str, Any]]]) -> Item:
        number, (line, probe) = numbered
        table = dict(probe)
        where = f"{path}:{line}" if line else located(path, ["probe", number], text)
        name = checked_id(str(table.pop("id", "")), where)
        if name in seen:
            raise CatalogError(f"duplicate probe {name!r}", where=where, hint="Give each probe its own id.")
        seen.add(name)
        for key in ("accept", "reject"):
            if isinstance(given := table.get(key), list):  # anything else is a fault that its reader reports
                table[key] = [p for pattern in given for p in _expanded(pattern, shared, where)]
        return Item(character, name, table, where)

    items = each(read, enumerate(zip(lines, probes, strict=True)))
    if not items:
        raise CatalogError("no probes", where=str(path), hint=hint)
    return items


def _expanded(pattern: object, shared: object, where: str) -> list[object]:
    if not isinstance(pattern, str) or not pattern.startswith("@"):
        return [pattern]
    lists = shared if isinstance(shared, dict) else {}
    if pattern[1:] not in lists:
        raise unknown_name(pattern[1:], lists, "list of patterns", where)
    found = lists[pattern[1:]]
    return found if isinstance(found, list) else [found]


def _item(line: str, where: str) -> Item:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise CatalogError(f"malformed JSON: {error}", where=where, hint=JSON_LINES) from None
    if not isinstance(data, dict):
        raise CatalogError("the line is not a JSON object", where=where, hint=JSON_LINES)
    for key in ("character", "situation"):
        if not isinstance(data.get(key), str):
            hint = "Each item needs the ids of its character and its situation."
            raise CatalogError(f"key {key!r} is missing or not a string", where=where, hint=hint)
        checked_id(data[key], where)
    rest = {key: value for key, value in data.items() if key not in ("character", "situation")}
    return Item(data["character"], data["situation"], rest, where)
