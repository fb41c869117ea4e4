"""All conversations and scores of a results tree in Parquet, for SQL (see :mod:`bench.interop.sql`).

The JSON records stay the source of truth: every row holds the digest of its record. Commands other than
``bench query`` therefore never read the store: to know whether it is up to date, they would have to look at
every record's file, which takes as long as reading the records of a board.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.foreign import parquet_modules
from bench.interop.dataset import (
    MEANINGS,
    JudgesOf,
    Row,
    all_judges,
    check_conversations,
    rows_of,
    schema_of,
)
from bench.results import ResultsTree

CHUNKS = {"conversations": 4_000, "scores": 50_000}
"""Rows of a row group: as many as are in memory while a store is written, and are read to find one. With
smaller groups, a query takes longer to read where they are."""


def write_store(
    tree: ResultsTree,
    folder: Path,
    suites: Sequence[str] = (),
    languages: Sequence[str] = (),
    judges: JudgesOf = all_judges,
) -> dict[str, int]:
    """Write a Parquet file for each table of MEANINGS into ``folder``, and return their numbers of rows.

    ``suites``, ``languages``: only these; default: all with conversations in the tree. ``judges``: which of
    them count. Raises UserError for a hidden or published suite and without pyarrow, RecordError for a
    damaged record.
    """
    _, parquet = parquet_modules("read the JSON records")
    for name in suites:
        tree.check_public(name)
        check_conversations(tree, name)
    boards = [board for name in suites or tree.suites() for board in tree.boards(name)]
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / f".{name}.new" for name in MEANINGS}
    with ExitStack() as stack:
        tables = {}
        for name, path in files.items():
            stack.callback(path.unlink, missing_ok=True)
            writer = parquet.ParquetWriter(path, schema_of(name), compression="zstd")
            tables[name] = _Table(name, stack.enter_context(writer))
        for suite, language in boards:
            if not tree.is_table(suite) and language in (languages or (language,)):
                for name, row in rows_of(tree, suite, language, judges):
                    tables[name].add(row)
        for table in tables.values():
            table.flush()
            table.writer.close()
        for name, path in files.items():
            path.replace(folder / f"{name}.parquet")
    return {name: table.count for name, table in tables.items()}


class _Table:
    """Rows on their way into a file."""

    def __init__(self, name: str, writer: Any) -> None:
        self.writer = writer
        self.count = 0
        self._rows: list[Row] = []
        self._chunk = CHUNKS[name]
        self._schema = schema_of(name)

    def add(self, row: Row) -> None:
        self._rows.append(row)
        if len(self._rows) == self._chunk:
            self.flush()

    def flush(self) -> None:
        pyarrow, _ = parquet_modules("read the JSON records")
        self.count += len(self._rows)
        self.writer.write_table(pyarrow.Table.from_pylist(self._rows, schema=self._schema))
        self._rows = []
