"""Scores that other benchmarks published, and which of their models are ours: results/external/.

One CSV a list (columns ``benchmark``, ``version``, ``model``, ``score``, ``source``, ``date``; a higher score
is better), and ``aliases.toml``, which alone says what is the same model.
"""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

from pydantic import ConfigDict

from bench.errors import CatalogError, RecordError
from bench.records import Record
from bench.toml_entries import Entry, entry_from, named, read_toml

COLUMNS = ("benchmark", "version", "model", "score", "source", "date")
ALIASES = "aliases.toml"
FOLDER = "external"
"""Name of the folder inside the results tree."""


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
        raise named(name, known, "published list", str(folder))
    return read_published(folder / f"{name}.csv")


def read_published(path: Path) -> Published:
    """A CSV as a list of scores; one file holds one benchmark and version, each model once."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RecordError(f"is not UTF-8 at byte {error.start}", where=str(path)) from None
    reader = csv.DictReader(io.StringIO(text, newline=""))
    if tuple(reader.fieldnames or ()) != COLUMNS:
        raise RecordError(
            "has other columns than it should", where=str(path), mend=f"They are {', '.join(COLUMNS)}."
        )
    rows = list(reader)
    about = {(r["benchmark"], r["version"], r["source"], r["date"]) for r in rows}
    if len(about) != 1:
        raise RecordError(
            "names no or several benchmarks, versions, sources or dates",
            where=str(path),
            mend="One file holds one list: split it.",
        )
    scores: dict[str, float] = {}
    for line, row in enumerate(rows, start=2):
        model = row["model"]
        if not model or model in scores:
            raise RecordError(f"line {line}: model {model!r} is empty or there already", where=str(path))
        scores[model] = _score(row["score"], f"{path}:{line}")
    benchmark, version, source, date = about.pop()
    return Published(
        name=path.stem, benchmark=benchmark, version=version, source=source, date=date, scores=scores
    )


def _score(text: str | None, where: str) -> float:
    try:
        score = float(text or "")
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
                    mend="Leave it in one of them.",
                )
            seen[key] = alias.model
