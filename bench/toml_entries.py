"""TOML that people write by hand, read into frozen entries; a mistake names its file, key and hint."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from bench.errors import CatalogError

ENTRY_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,79}")
"""Ids of models, suites, cards: they are typed on the command line and become parts of file names."""


class Entry(BaseModel):
    """Base of everything read from TOML: frozen, and an unknown key is an error that names it."""

    model_config = ConfigDict(extra="forbid", frozen=True)


E = TypeVar("E", bound=Entry)


def read_toml(path: Path) -> dict[str, Any]:
    """The file's tables. Raises CatalogError where it is missing, not UTF-8 or not TOML (line and column)."""
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        raise CatalogError("no such file", where=str(path), hint="Check the path, or create it.") from None
    except OSError as error:
        raise CatalogError(
            f"cannot be read: {error.strerror}", where=str(path), hint="Name a file that can be read."
        ) from None
    except UnicodeDecodeError as error:
        raise CatalogError(
            f"is not UTF-8 at byte {error.start}", where=str(path), hint="Save the file as UTF-8."
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise CatalogError(
            f"malformed TOML: {error}", where=str(path), hint="Mend it at the place named."
        ) from None


def entry_from(kind: type[E], data: object, where: str) -> E:
    """``data`` as an entry of ``kind``. Raises CatalogError that names ``where``, the key and the hint."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        raise CatalogError(_faults(error, kind), where=where, hint="Correct the entry.") from None


def _faults(error: ValidationError, kind: type[Entry]) -> str:
    """The faults of a validation in one sentence each, unknown keys with the nearest known one."""
    faults = []
    found = error.errors(include_url=False)
    for item in found:
        if item["type"] == "too_short" and any(_below(item["loc"], other["loc"]) for other in found):
            continue  # its entries are there, and each has a fault of its own
        key = ".".join(str(part) for part in item["loc"]) or "the entry"
        if item["type"] == "extra_forbidden":
            known = _keys_at(kind, item["loc"][:-1])
            near = difflib.get_close_matches(str(item["loc"][-1]), known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"
            faults.append(f"unknown key {key!r} ({hint})")
        elif item["type"] == "missing" and isinstance(item["loc"][-1], int):
            holder = ".".join(map(str, item["loc"][:-1]))
            faults.append(f"{holder}: too few values, number {item['loc'][-1] + 1} is missing")
        elif item["type"] == "missing":
            faults.append(f"key {key!r} is missing")
        elif item["type"] == "value_error":  # raised by a validator of ours, in words of ours
            faults.append(f"{key}: {item['ctx']['error']}")
        else:
            # TOML and JSON have no tuples.
            said = item["msg"].replace("tuple", "list").replace("Tuple", "List")
            faults.append(f"{key}: {said}, got {item['input']!r:.80}")
    return "; ".join(faults)


def _below(loc: tuple[int | str, ...], other: tuple[int | str, ...]) -> bool:
    """Whether ``other`` lies inside of what ``loc`` leads to."""
    return len(other) > len(loc) and other[: len(loc)] == loc


def _keys_at(kind: type[BaseModel], loc: tuple[int | str, ...]) -> list[str]:
    """Known keys of the (possibly nested) entry that ``loc`` leads to."""
    for part in loc:
        field = kind.model_fields.get(str(part))
        if field is None:
            continue
        nested = [field.annotation, *getattr(field.annotation, "__args__", ())]
        kind = next((n for n in nested if isinstance(n, type) and issubclass(n, BaseModel)), kind)
    return sorted(kind.model_fields)


def checked_id(name: str, where: str) -> str:
    """``name`` if it can stand in a file name and on a command line, else CatalogError."""
    if not ENTRY_ID.fullmatch(name):
        raise CatalogError(
            f"{name!r} is not a usable id",
            where=where,
            hint="Use letters, digits, '.', '_', ':' and '-', at most 80, a letter or digit first.",
        )
    return name


SHORT = 3
"""Among names up to this length, such as codes of languages, one letter in common means nothing."""
MOST_LISTED = 12
_LISTED_BY = {"model": "models", "player": "models", "judge": "models", "suite": "suites"}
"""Which command lists all there are, by what is named."""


def named(name: str, known: Collection[str], what: str, where: str) -> CatalogError:
    """The error for a ``what`` called ``name`` that does not exist: with the nearest that does, or all."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.75 if len(name) <= SHORT else 0.5)
    if near:
        hint = f"Did you mean {near[0]!r}?"
    elif not names:
        hint = ""
    elif len(names) <= MOST_LISTED:
        hint = f"There are: {', '.join(names)}."
    elif what in _LISTED_BY:
        hint = f"`bench {_LISTED_BY[what]}` lists all {len(names)}."
    else:
        hint = f"There are {', '.join(names[:MOST_LISTED])} and {len(names) - MOST_LISTED} more."
    return CatalogError(f"no {what} is called {name!r}", where=where, hint=hint)
