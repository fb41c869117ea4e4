"""Pairwise judgements that another project published, one line per verdict:

    results/compared/<name>/comparisons.csv.gz
    results/compared/<name>/source.toml

The answers that were compared are elsewhere; ``source.toml`` says where.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bench.errors import RecordError
from bench.results import ResultsTree
from bench.results.score_lines import Address, Digest, Language, Name, csv_bytes, sealed_rows, source_text
from bench.slugs import COMPARED, slug
from bench.toml_entries import Entry, entry_from, read_toml

LINES, SOURCE = "comparisons.csv.gz", "source.toml"
WIDEST_MARGIN = 100
_MARGIN = re.compile(r"[+-]?[0-9]{1,3}")


class ComparedLine(NamedTuple):
    """One verdict. ``margin`` is positive where ``first``, which was shown first, is better; 0 is a tie."""

    scene: str
    judge: str
    first: str
    second: str
    margin: int


class ComparedSource(Entry):
    """Where a table comes from: source.toml."""

    title: Name
    language: Language
    url: Address
    """Page of the project that published the verdicts."""
    commit: Name
    """Its commit; or the version, or the date of the download."""
    licence: Name
    order_known: bool = True
    """Whether the first player of a line was shown first. If not, position bias cannot be estimated."""
    digest: Digest
    """SHA-256 of comparisons.csv, decompressed."""


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
    heads, rows = sealed_rows(path, tree.root, source.digest, "comparisons")
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
    return csv_bytes([ComparedLine._fields, *sorted(lines)])


def compared_files(table: ComparedTable) -> dict[str, bytes]:
    """The files of a table: name to content."""
    return {
        LINES: gzip.compress(csv_of_compared(table.lines), 9, mtime=0),
        SOURCE: source_text(table.source).encode(),
    }
