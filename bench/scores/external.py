"""Scores that other benchmarks published, and which of their models are ours: results/external/.

One CSV a list (columns ``benchmark``, ``version``, ``model``, ``score``, ``source``, ``date``; a higher score
is better), and ``aliases.toml``, which alone says what is the same model.
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
from bench.records import Record
from bench.toml_entries import Entry, entry_from, read_toml, unknown_name

_DATE = re.compile(r"[0-9]{4}(-[0-9]{2}){0,2}")
COLUMNS = ("benchmark", "version", "model", "score", "source", "date")
ALIASES = "aliases.toml"
FOLDER = "external"
"""Name of the folder inside the results tree."""
MAX_BYTES = 4 * 1024 * 1024
"""Largest list that is read; one of a thousand models is below 100 kB."""


class Published(Record):
    """One list of scores as its own page printed it."""

    name: str
    """The CSV's name without ``.csv``."""
    benchmark: str
    version: str
    """Empty where the source states none."""
    source: str
    date: str
    """Of the scores, as exactly as it is known: a year, a month or a day."""
    scores: dict[str, float]
    """By the model's name there."""

    @property
    def title(self) -> str:
        """Benchmark and version, for headings."""
        return f"{self.benchmark} v{self.version}" if self.version else self.benchmark


class Alias(Record):
    """One model and what it is called: ``ids`` of ours, ``names`` by list."""

    model: str
    ids: tuple[str, ...]
    names: dict[str, str]


class _AliasEntry(Entry):
    """A table of aliases.toml; its further keys are lists."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, str]
    ids: tuple[str, ...] = ()


def published_lists(folder: Path) -> list[str]:
    """The lists of a folder by name, sorted; none where there is no folder."""
    return sorted(path.stem for path in folder.glob("*.csv"))


def load_published(folder: Path, name: str) -> Published:
    """The list called ``name``. Raises CatalogError where there is none, RecordError where it is bad."""
    known = published_lists(folder)
    if name not in known:
        raise unknown_name(name, known, "published list", str(folder))
    return read_published(folder / f"{name}.csv")


def read_published(path: Path) -> Published:
    """A CSV as a list of scores; one file holds one benchmark and version, each model once, and says what
    its source is and of when. Raises RecordError."""
    columns, rows = _rows(path)
    if columns != COLUMNS:
        raise RecordError(
            "has other columns than it should", where=str(path), hint=f"They are {', '.join(COLUMNS)}."
        )
    for line, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            raise RecordError(f"line {line} has not {len(COLUMNS)} fields", where=str(path))
    about = {(r["benchmark"], r["version"], r["source"], r["date"]) for r in rows}
    if len(about) != 1:
        raise RecordError(
            "names no or several benchmarks, versions, sources or dates",
            where=str(path),
            hint="One file holds one list: split it.",
        )
    scores: dict[str, float] = {}
    for line, row in enumerate(rows, start=2):
        model = row["model"]
        if not model or model in scores:
            raise RecordError(f"line {line}: model {model!r} is empty or there already", where=str(path))
        scores[model] = _score(row["score"], f"{path}:{line}")
    benchmark, version, source, of = about.pop()
    if not benchmark.strip() or not source.strip():
        raise RecordError("names no benchmark or no source", where=str(path), hint="Say where it is from.")
    if not _is_date(of):
        raise RecordError(f"date {of!r} is none", where=str(path), hint="Write YYYY, YYYY-MM or YYYY-MM-DD.")
    return Published(
        name=path.stem, benchmark=benchmark, version=version, source=source, date=of, scores=scores
    )


def _rows(path: Path) -> tuple[tuple[str, ...], list[dict[str, str]]]:
    """Heads and lines of a CSV that other people made: it may hold anything. Raises RecordError."""
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise RecordError(f"is larger than {MAX_BYTES // 1024**2} MB", where=str(path))
    try:
        reader = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""))
        return tuple(reader.fieldnames or ()), list(reader)
    except UnicodeDecodeError as error:
        raise RecordError(f"is not UTF-8 at byte {error.start}", where=str(path)) from None
    except csv.Error as error:
        raise RecordError(f"is no CSV: {error}", where=str(path)) from None


def _is_date(text: str) -> bool:
    """Whether it is a year, a month or a day."""
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
    """The alias table of a folder; empty where there is no file. Raises CatalogError.

    An alias of a list that is there must name a model of it, and no name may stand for two models.
    """
    path = folder / ALIASES
    if not path.exists():
        return ()
    aliases = []
    for model, data in read_toml(path).items():
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
                    hint="Leave it in one of them.",
                )
            seen[key] = alias.model
