"""All conversations and scores of a results tree in Parquet, and SQL over them through DuckDB.

The JSON records stay the source of truth: every row holds the digest of its record. Commands other than
``bench query`` therefore never read the store. To know whether it is up to date they would have to look at
every record's file, which takes as long as reading those of one board.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.errors import UserError
from bench.foreign import parquet_modules
from bench.interop.dataset import MEANINGS, JudgesOf, Row, all_judges, rows_of, schema_of
from bench.results import ResultsTree

CHUNKS = {"conversations": 1_000, "scores": 50_000}
"""Rows of a row group: so many are in memory while a store is written, and are read to find one of them."""
MEMORY = "600MB"
"""Limit of what a query keeps in memory."""
BOARD = """
CREATE VIEW board AS
WITH judged AS (
    SELECT suite, version, language, player, character, situation, repeat, judge, criterion,
        avg(score) AS score
    FROM scores WHERE counts GROUP BY ALL HAVING NOT bool_or(is_refusal)
), talks AS (
    SELECT suite, version, language, player, character, situation, repeat, criterion, avg(score) AS score
    FROM judged GROUP BY ALL
), scenes AS (
    SELECT suite, version, language, player, character, situation, criterion, avg(score) AS score
    FROM talks GROUP BY ALL
), means AS (
    SELECT suite, version, language, player, criterion, avg(score) AS score, count(*) AS scenes
    FROM scenes GROUP BY ALL
)
SELECT suite, version, language, player, avg(score) AS score, max(scenes) AS scenes,
    map_from_entries(list((criterion, score) ORDER BY criterion)) AS criteria
FROM means GROUP BY ALL
"""
"""The score of each player as boards have it: means over turns, judges, repeats, scenes and criteria, without
judgements that have a refusal. (Version 1 of the protocol weights conversations by their answers.)"""


def write_store(
    tree: ResultsTree,
    folder: Path,
    suites: Sequence[str] = (),
    languages: Sequence[str] = (),
    judges: JudgesOf = all_judges,
) -> dict[str, int]:
    """Write a Parquet file for each table of MEANINGS into ``folder``, and return their numbers of rows.

    ``suites``, ``languages``: only these; default: all with conversations in the tree. ``judges``: which of
    them count. Raises UserError for a hidden suite and without pyarrow, RecordError for a damaged record.
    """
    _, parquet = parquet_modules("read the JSON records")
    for name in suites:
        tree.check_public(name)
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


def query(folder: Path, sql: str, most: int | None = None) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The columns and rows that ``sql`` gives over the tables of a store, at most ``most`` rows.

    Raises UserError without DuckDB, without a store, and for SQL that does not run.
    """
    try:
        duckdb = importlib.import_module("duckdb")
    except ImportError:
        hint = "Install it into the environment of `bench`: `pip install duckdb`."
        raise UserError("duckdb is not installed", hint=hint) from None
    files = {name: folder / f"{name}.parquet" for name in MEANINGS}
    if missing := [path for path in files.values() if not path.is_file()]:
        hint = f"Write the store first: `bench export --format store -o {folder}`."
        raise UserError("no such file", where=str(missing[0]), hint=hint)
    with duckdb.connect(config={"memory_limit": MEMORY}) as connection:
        try:
            for name, path in files.items():
                place = str(path).replace("'", "''")
                connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{place}')")
            connection.execute(BOARD)
            result = connection.execute(sql)
            columns = [column[0] for column in result.description or ()]
            rows = result.fetchall() if most is None else result.fetchmany(most)
        except duckdb.Error as error:
            first = str(error).splitlines()[0]
            hint = "Tables are conversations, scores and board; `DESCRIBE scores` lists the columns of one."
            raise UserError(f"the query failed: {first}", hint=hint) from None
    return columns, rows
