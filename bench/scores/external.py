"""Published scores of other benchmarks, and which of their models are ours: results/external/.

One CSV per list (columns ``benchmark``, ``version``, ``model``, ``score``, ``source``, ``date``; a higher
score is better), and ``aliases.toml``, which says which models are the same.
"""

from __future__ import annotations

import csv
import io
import math
import re
from datetime import date
from pathlib import Path

from pydantic import ConfigDict

from bench.errors import CatalogError, RecordError
from bench.files import read_bytes
from bench.records import Record
from bench.toml_entries import Entry, entry_from, read_toml, unknown_name

_DATE = re.compile(r"[0-9]{4}(-[0-9]{2}){0,2}")
LIST_COLUMNS = ("benchmark", "version", "model", "score", "source", "date")
ALIASES = "aliases.toml"
FOLDER = "external"
"""Name of the folder inside the results tree."""
MAX_BYTES = 4 * 1024 * 1024
"""Largest list that is read. A thousand models take less than 100 kB."""


class Published(Record):
    """A list of scores as its source printed it."""

    name: str
    """The CSV's name without ``.csv``."""
    benchmark: str
    version: str
    """Empty if the source states none."""
    source: str
    date: str
    """Date of the scores: a year, a month or a day."""
    scores: dict[str, float]
    """By the model's name in the list."""

    @property
    def title(self) -> str:
        """Benchmark and version, for headings."""
        return f"{self.benchmark} v{self.version}" if self.version else self.benchmark


class Alias(Record):
    """One model: ``ids`` of our players or models, and its ``names`` by list."""

    model: str
    ids: tuple[str, ...]
    names: dict[str, str]


class _AliasEntry(Entry):
    """A table of aliases.toml. Its other keys are names of lists."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, str]
    ids: tuple[str, ...] = ()


def published_lists(folder: Path) -> list[str]:
    """Names of the lists in a folder, sorted."""
    return sorted(path.stem for path in folder.glob("*.csv") if path.name[0] != ".")


def load_published(folder: Path, name: str) -> Published:
    """The list called ``name``. Raises CatalogError if it does not exist, RecordError if it is malformed."""
    known = published_lists(folder)
    if name not in known:
        raise unknown_name(name, known, "published list", str(folder))
    return read_published(folder / f"{name}.csv")


def read_published(path: Path) -> Published:
    """Read a CSV that holds one list: one benchmark, version, source and date, each model once.

    Raises RecordError.
    """
    rows = _rows(path)
    about = {(r["benchmark"], r["version"], r["source"], r["date"]) for r in rows}
    if len(about) != 1:
        raise RecordError(
            "no lines, or several benchmarks, versions, sources or dates",
            where=str(path),
            hint="A file must hold one list: split it.",
        )
    scores: dict[str, float] = {}
    for line, row in enumerate(rows, start=2):
        model = row["model"]
        if not model or model in scores:
            raise RecordError(f"line {line}: model {model!r} is empty or repeated", where=str(path))
        scores[model] = _score(row["score"], f"{path}:{line}")
    benchmark, version, source, day = about.pop()
    if not benchmark.strip() or not source.strip():
        raise RecordError("has no benchmark or no source", where=str(path), hint="Fill in both columns.")
    if not _is_date(day):
        raise RecordError(f"invalid date {day!r}", where=str(path), hint="Write YYYY, YYYY-MM or YYYY-MM-DD.")
    return Published(
        name=path.stem, benchmark=benchmark, version=version, source=source, date=day, scores=scores
    )


def _rows(path: Path) -> list[dict[str, str]]:
    """Lines of a CSV from somewhere else, with all LIST_COLUMNS. Raises RecordError."""
    try:
        data = read_bytes(path, path.parents[1], MAX_BYTES)
    except OSError as error:
        raise RecordError(f"cannot be read: {error.strerror}", where=str(path)) from None
    try:
        reader = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""))
        columns, rows = tuple(reader.fieldnames or ()), list(reader)
    except UnicodeDecodeError as error:
        raise RecordError(f"is not UTF-8 at byte {error.start}", where=str(path)) from None
    except csv.Error as error:
        raise RecordError(f"invalid CSV: {error}", where=str(path)) from None
    if columns != LIST_COLUMNS:
        raise RecordError("unexpected columns", where=str(path), hint=f"Write {', '.join(LIST_COLUMNS)}.")
    for line, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            raise RecordError(f"line {line} does not have {len(LIST_COLUMNS)} fields", where=str(path))
    return rows


def _is_date(text: str) -> bool:
    """Whether ``text`` is a year, a month or a day."""
    if _DATE.fullmatch(text) is None:
        return False
    try:
        date.fromisoformat(text + "-01-01"[len(text) - 4 :])
    except ValueError:
        return False
    return True


def _score(text: str, where: str) -> float:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise RecordError(f"score {text!r} is not a number", where=where)
    return score


def load_aliases(folder: Path) -> tuple[Alias, ...]:
    """The alias table of a folder; empty if there is no file.

    Raises CatalogError for a malformed table, and for a name that stands for two models.
    """
    path = folder / ALIASES
    if not path.exists():
        return ()
    aliases = []
    for model, data in read_toml(path, root=folder.parent).items():
        entry = entry_from(_AliasEntry, data, f"{path}: {model}")
        aliases.append(Alias(model=model, ids=entry.ids, names=dict(entry.__pydantic_extra__)))
    _check_once(aliases, path)
    return tuple(aliases)


def _check_once(aliases: list[Alias], path: Path) -> None:
    seen: dict[tuple[str, str], str] = {}
    for alias in aliases:
        for key in [*(("ids", name) for name in alias.ids), *alias.names.items()]:
            if key in seen:
                raise CatalogError(
                    f"{key[1]!r} ({key[0]}) stands for {seen[key]!r} and for {alias.model!r}",
                    where=str(path),
                    hint="Keep one of the two.",
                )
            seen[key] = alias.model
