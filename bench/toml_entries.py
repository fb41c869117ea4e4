"""TOML that people write by hand, read into frozen entries; every error names the file, the key and a fix."""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

import tomli
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from bench.errors import CatalogError
from bench.files import read_bytes

ENTRY_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,79}")
"""Ids of models, suites and cards: typed on the command line, and part of file names."""
MOST_TEXT = 1024**2
"""Size limit in bytes of a file that people write by hand."""
CHECK_PATH = "Check the path, or create the file."
SHORT_NAME = 3
"""Names up to this length, such as language codes, are close only if they are nearly equal."""
MOST_LISTED = 12
HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""The name of an HTTP header: a token of RFC 9110."""
OF_THE_BODY = frozenset({"content-length", "transfer-encoding"})
"""Headers that follow from a request's body: another value would break the request."""
LISTED_BY = {"model": "models", "player": "models", "judge": "models", "suite": "suites"}
"""The command that lists all names of a kind."""


class Entry(BaseModel):
    """Base of everything read from TOML: frozen, and an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, allow_inf_nan=False)


E = TypeVar("E", bound=Entry)


def fits_header(value: str) -> bool:
    """Whether an HTTP header can hold ``value``."""
    return value.isascii() and value.isprintable() and value == value.strip()


def http_headers(headers: object) -> dict[str, str]:
    """``headers``, if they can be sent. Raises ValueError, which quotes neither a value nor a malformed name:
    either may be a key."""
    if not isinstance(headers, Mapping):
        raise ValueError('write a table of names and values, such as { X-Title = "Dramaturg" }')
    for name, value in headers.items():
        if not HEADER.fullmatch(name):
            raise ValueError("write the name of a header in letters, digits and hyphens, without its value")
        if name.lower() in OF_THE_BODY:
            raise ValueError(f"remove {name}: it follows from what is sent")
        if not isinstance(value, str) or not fits_header(value):
            fault = f"write the value of {name} as a text in printable ASCII, without spaces around it"
            raise ValueError(fault)
    return dict(headers)


def read_text(path: Path, hint: str = CHECK_PATH, *, root: Path | None = None, most: int = MOST_TEXT) -> str:
    """The text of a UTF-8 file. Raises CatalogError with ``hint`` where it is missing or cannot be read.

    ``root`` and ``most`` restrict what is read, as for :func:`bench.files.read_bytes`.
    """
    try:
        return read_bytes(path, root, most).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except FileNotFoundError:
        raise CatalogError("no such file", where=str(path), hint=hint) from None
    except OSError as error:
        raise CatalogError(f"cannot be read: {error.strerror}", where=str(path), hint=hint) from None
    except UnicodeDecodeError as error:
        fault = f"not UTF-8 at byte {error.start}"
        raise CatalogError(fault, where=str(path), hint="Save the file as UTF-8.") from None


def read_toml(path: Path, hint: str = CHECK_PATH, *, root: Path | None = None) -> Mapping[str, Any]:
    """The tables of a file, which other callers share. Raises CatalogError where it cannot be read or is not
    TOML (line, column)."""
    return read_tables(path, hint, root=root)[0]


def read_tables(
    path: Path, hint: str = CHECK_PATH, *, root: Path | None = None
) -> tuple[Mapping[str, Any], str]:
    """The tables of a file, as :func:`read_toml`, and its text."""
    text = read_text(path, hint, root=root)
    try:
        return _tables(text), text
    except (ValueError, RecursionError) as error:  # also ValueError itself, for a number of 5,000 digits
        fault = f"malformed TOML: {error}" if isinstance(error, ValueError) else "nested too deeply"
        raise CatalogError(fault, where=str(path), hint="Fix the syntax at that place.") from None


@lru_cache(maxsize=512)
def _tables(text: str) -> Mapping[str, Any]:
    """``text`` parsed once: many suites play the same cards."""
    return tomli.loads(text)


def located(path: Path | str, key: Sequence[int | str], text: str) -> str:
    """``path`` with the line of ``key`` in the TOML ``text``, or of the innermost table around it.

    Also inside an array that has one inline table a line.
    """
    table: list[int | str] = []
    arrays: Counter[str] = Counter()
    line, depth = 0, 0
    for number, content in enumerate(text.split("\n"), 1):
        here = _KEY.match(content)
        if here is not None:
            named = here["array"] or here["table"] or here["key"]
            place: list[int | str] = [name.strip(" \t\"'") for name in _NAME.findall(named)]
            if here["array"]:
                place.append(arrays[named])
                arrays[named] += 1
            elif here["key"]:
                place = [*table, *place]
            table = table if here["key"] else place
            last, inline = place, -1
        elif content.lstrip().startswith("{") and line:
            inline += 1
            place = [*last, inline]
        else:
            continue
        if len(place) > depth and list(key[: len(place)]) == place:
            line, depth = number, len(place)
    return f"{path}:{line}" if line else str(path)


_KEY = re.compile(
    r"""\s*+(?:\[\[(?P<array>[^\[\]]++)\]\]|\[(?P<table>[^\[\]]++)\]|(?P<key>[\w."'-][\w."'\t -]*+)=)"""
)
"""Possessive, because a line of a text may hold nothing but a million spaces."""


_NAME = re.compile(r"""\s*("[^"]*"|'[^']*'|[^.]+)\s*""")
"""One name of a dotted key."""


def entry_from(kind: type[E], data: object, where: str, *, text: str = "", table: Sequence[str] = ()) -> E:
    """``data`` as an entry of ``kind``. Raises CatalogError that names ``where``, each key and what to do.

    ``text``: the TOML that ``data`` is from; with it, the error names the line of the first fault. ``table``:
    the table of it that ``data`` is.
    """
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        where = located(where, [*table, *error.errors()[0]["loc"]], text)
        where += f" [{'.'.join(table)}]" if table else ""
        faults, hints = zip(*_faults(error, kind), strict=True)
        hint = " ".join(dict.fromkeys(filter(None, hints)))
        raise CatalogError("; ".join(faults), where=where, hint=hint) from None


def entry_faults(
    kind: type[Entry], data: object, where: str, *, text: str = "", table: Sequence[str] = ()
) -> list[CatalogError]:
    """Everything that keeps ``data`` from being an entry of ``kind``, each with its line in ``text``."""
    try:
        kind.model_validate(data)
    except ValidationError as error:
        return [
            CatalogError(fault, where=located(where, [*table, *detail["loc"]], text), hint=hint)
            for detail in error.errors(include_url=False)
            for fault, hint in [_fault(detail, kind)]
        ]
    return []


def _faults(error: ValidationError, kind: type[Entry]) -> Iterator[tuple[str, str]]:
    """(fault, hint) for each error of a validation."""
    details = error.errors(include_url=False)
    for detail in details:
        if detail["type"] == "too_short" and any(_inside(other["loc"], detail["loc"]) for other in details):
            continue  # the list has entries; each of them reports its own fault
        yield _fault(detail, kind)


def _inside(loc: tuple[int | str, ...], outer: tuple[int | str, ...]) -> bool:
    return len(loc) > len(outer) and loc[: len(outer)] == outer


def _fault(detail: ErrorDetails, kind: type[Entry]) -> tuple[str, str]:
    loc = detail["loc"]
    key = ".".join(map(str, loc)) or "the entry"
    if detail["type"] == "extra_forbidden":
        known = sorted(_entry_at(kind, loc[:-1]).model_fields)
        near = difflib.get_close_matches(str(loc[-1]), known, n=1)
        advice = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"
        return f"unknown key {key!r} ({advice})", ""
    if detail["type"] == "missing" and isinstance(loc[-1], int):
        return f"{'.'.join(map(str, loc[:-1]))}: value {loc[-1] + 1} is missing", ""
    if detail["type"] == "missing":
        field = _entry_at(kind, loc[:-1]).model_fields.get(str(loc[-1]))
        return (
            f"key {key!r} is missing",
            f"Add {_example(str(loc[-1]), field.annotation if field else None)}.",
        )
    if detail["type"] == "value_error":  # raised by one of our validators, in plain words
        return f"{key}: {detail['ctx']['error']}", ""
    message = detail["msg"].replace("tuple", "list").replace("Tuple", "List")  # TOML and JSON have no tuples
    return f"{key}: {message}, got {detail['input']!r:.80}", ""


def _entry_at(kind: type[BaseModel], loc: tuple[int | str, ...]) -> type[BaseModel]:
    """The (possibly nested) entry type that ``loc`` leads to."""
    for part in loc:
        field = kind.model_fields.get(str(part))
        if field is not None:
            nested = (field.annotation, *get_args(field.annotation))
            kind = next((n for n in nested if isinstance(n, type) and issubclass(n, BaseModel)), kind)
    return kind


def _example(key: str, annotation: Any) -> str:
    """What to write for a missing key, such as ``weights = "open"`` or ``"closed"``."""
    if get_origin(annotation) is Literal:
        first, *others = get_args(annotation)
        return f'`{key} = "{first}"`' + "".join(f' or `"{other}"`' for other in others)
    if get_origin(annotation) is dict or (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return f"a table [{key}]"
    if get_origin(annotation) in (list, tuple):
        return f"`{key} = [...]`"
    return f"`{key} = 1`" if annotation in (int, float) else f'`{key} = "..."`'


def checked_id(name: str, where: str) -> str:
    """``name`` if it can stand in a file name and on a command line, else CatalogError."""
    if not ENTRY_ID.fullmatch(name):
        raise CatalogError(
            f"{name!r} is not a usable id",
            where=where,
            hint="Use at most 80 letters, digits, '.', '_', ':' and '-', starting with a letter or digit.",
        )
    return name


def toml_string(text: str) -> str:
    """``text`` as a basic TOML string. Its escapes are those of JSON, and one for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_value(value: object) -> str:
    """Text, a number, a boolean, or a list or dict of them, as TOML. Text of several lines stays legible."""
    match value:
        case str():
            plain = "\n" in value and "'''" not in value and not value.endswith("'")
            if plain and all(c in "\n\t" or c.isprintable() for c in value):
                return f"'''\n{value}'''"
            return toml_string(value)
        case list() | tuple():
            items = [toml_value(item) for item in value]
            inner = ", ".join(items)
            return (
                f"[{inner}]" if len(inner) < 90 else "[\n" + "".join(f"    {item},\n" for item in items) + "]"
            )
        case dict():
            return "{ " + ", ".join(f"{key} = {toml_value(item)}" for key, item in value.items()) + " }"
        case _:
            return json.dumps(value)


def did_you_mean(name: str, known: Collection[str]) -> str:
    """A question that offers the name nearest to ``name``; empty if none is near."""
    cutoff = 0.75 if len(name) <= SHORT_NAME else 0.5
    near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=cutoff)
    return f"Did you mean {near[0]!r}?" if near else ""


def nearest_or_all(name: str, known: Collection[str], lead: str) -> str:
    """The hint for a name that does not exist: the nearest that does, or all of them after ``lead`` (also if
    the name is empty)."""
    return (name and did_you_mean(name, known)) or f"{lead}: {', '.join(known) or 'none'}."


def unknown_name(name: str, known: Collection[str], kind: str, where: str) -> CatalogError:
    """The error for a name that does not exist, with the nearest that does, or with all of them.

    Args:
        name: What the user wrote.
        known: The names that exist.
        kind: What is named, such as ``"suite"``.
        where: Where the names come from.
    """
    hint = did_you_mean(name, known) or _choice(sorted(known), kind)
    return CatalogError(f"unknown {kind} {name!r}", where=where, hint=hint)


def check_known(names: Iterable[str], known: Collection[str], kind: str, where: str) -> None:
    """Raise the error of :func:`unknown_name` for the first of ``names`` that does not exist."""
    for name in names:
        if name not in known:
            raise unknown_name(name, known, kind, where)


def _choice(names: Sequence[str], kind: str) -> str:
    """What there is to choose from, or how to list it; empty if there is nothing."""
    if not names:
        return ""
    if len(names) <= MOST_LISTED:
        return f"Choose from: {', '.join(names)}."
    if kind in LISTED_BY:
        return f"`bench {LISTED_BY[kind]}` lists all {len(names)}."
    return f"Choose from: {', '.join(names[:MOST_LISTED])} and {len(names) - MOST_LISTED} more."
