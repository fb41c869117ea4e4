"""Pairwise judgements that another project published, one line per verdict:

    results/compared/<name>/comparisons.csv.gz
    results/compared/<name>/source.toml

The answers that were compared are elsewhere; ``source.toml`` says where.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pydantic import Field, field_validator

from bench.errors import RecordError
from bench.results import ResultsTree
from bench.results.score_lines import MOST_NAME, csv_rows, read_table
from bench.slugs import COMPARED, slug
from bench.toml_entries import Entry, entry_from, read_toml

LINES, SOURCE = "comparisons.csv.gz", "source.toml"
WIDEST_MARGIN = 100
_MARGIN = re.compile(r"[+-]?[0-9]{1,3}")
_URL = re.compile(r"https?://[^\s<>\"']{1,500}")


class ComparedLine(NamedTuple):
    """One verdict. ``margin`` is positive where ``first``, which was shown first, is better; 0 is a tie."""

    scene: str
    judge: str
    first: str
    second: str
    margin: int


class ComparedSource(Entry):
    """Where a table comes from: source.toml."""

    title: str = Field(min_length=1, max_length=MOST_NAME)
    language: str = Field(pattern=r"^[a-z]{2,3}(-[a-z0-9]{2,8})*$")
    url: str
    """Page of the project that published the verdicts."""
    commit: str = Field(min_length=1, max_length=MOST_NAME)
    """Its commit; or the version, or the date of the download."""
    licence: str = Field(min_length=1, max_length=MOST_NAME)
    order_known: bool = True
    """Whether the first player of a line was shown first. If not, position bias cannot be estimated."""
    digest: str = Field(pattern=r"^[0-9a-f]{64}$")
    """SHA-256 of comparisons.csv, decompressed."""

    @field_validator("title", "commit", "licence")
    @classmethod
    def _printable(cls, value: str) -> str:
        if not value.isprintable():
            raise ValueError("must be one line of printable characters")
        return value

    @field_validator("url")
    @classmethod
    def _address(cls, value: str) -> str:
        if not _URL.fullmatch(value) or not value.isprintable():
            raise ValueError(f"{value!r} is not an address; write one that starts with https://")
        return value

    def toml(self) -> str:
        """The content of source.toml."""
        values = self.model_dump()
        return "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in values.items())


@dataclass(frozen=True)
class ComparedTable:
    """A table of pairwise judgements, sorted."""

    name: str
    source: ComparedSource
    lines: tuple[ComparedLine, ...]


def compared_folder(tree: ResultsTree, name: str) -> Path:
    """The folder of the table called ``name``."""
    return tree.root / COMPARED / name


def is_compared(tree: ResultsTree, name: str) -> bool:
    """Whether ``name`` names such a table. A suite of the same name comes first."""
    free = slug(name) == name and not (tree.root / name).is_dir()
    return free and compared_folder(tree, name).is_dir()


def read_compared(tree: ResultsTree, name: str) -> ComparedTable:
    """The table called ``name``. Raises CatalogError for a fault of source.toml, RecordError for others."""
    folder = compared_folder(tree, name)
    source = entry_from(ComparedSource, read_toml(folder / SOURCE, root=tree.root), str(folder / SOURCE))
    path = folder / LINES
    data = read_table(path, tree.root)
    if hashlib.sha256(data).hexdigest() != source.digest:
        hint = "Restore both files from version control, or import the comparisons again."
        raise RecordError("the lines do not match the digest in source.toml", where=str(path), hint=hint)
    heads, rows = csv_rows(data, str(path))
    if tuple(heads) != ComparedLine._fields:
        raise RecordError(f"unexpected columns: {', '.join(heads)}", where=str(path))
    lines = [_line(row, f"{path}:{number}") for number, row in rows]
    return ComparedTable(name, source, tuple(sorted(lines)))


def _line(row: list[str], where: str) -> ComparedLine:
    if not _MARGIN.fullmatch(row[4]):
        raise RecordError(f"margin {row[4]!r:.40} is not a whole number", where=where)
    if not all(name.strip() and name.isprintable() for name in row[:4]):
        raise RecordError("a name is empty or has unprintable characters", where=where)
    return ComparedLine(row[0], row[1], row[2], row[3], int(row[4]))


def csv_of_compared(lines: Iterable[ComparedLine]) -> bytes:
    """The lines as canonical CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(ComparedLine._fields)
    writer.writerows(sorted(lines))
    return out.getvalue().encode()


def compared_files(table: ComparedTable) -> dict[str, bytes]:
    """The files of a table: name to content."""
    return {
        LINES: gzip.compress(csv_of_compared(table.lines), 9, mtime=0),
        SOURCE: table.source.toml().encode(),
    }
