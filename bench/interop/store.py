"""All conversations and scores of a results tree in Parquet, and SQL over them through DuckDB.

The JSON records stay the source of truth: every row holds the digest of its record.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from bench.errors import UserError
from bench.foreign import parquet_modules
from bench.interop.dataset import MEANINGS, Row, conversation_rows, schema_of, score_rows
from bench.results import ResultsTree

CHUNK = 20_000
"""Rows that are in memory at once while a store is written."""
ROWS = {"conversations": conversation_rows, "scores": score_rows}


def write_store(tree: ResultsTree, folder: Path, suites: Sequence[str] = ()) -> dict[str, int]:
    """Write a Parquet file for each table of MEANINGS into ``folder``, and return their numbers of rows.

    ``suites``: only these; default: all with conversations in the tree. Raises UserError without pyarrow,
    RecordError for a damaged record.
    """
    pyarrow, parquet = parquet_modules("read the JSON records")
    boards = [board for board in tree.boards() if not tree.is_table(board[0])]
    chosen = [board for board in boards if not suites or board[0] in suites]
    folder.mkdir(parents=True, exist_ok=True)
    counts = dict.fromkeys(MEANINGS, 0)
    for name, rows_of in ROWS.items():
        schema = schema_of(name)
        new = folder / f".{name}.new"
        with parquet.ParquetWriter(new, schema, compression="zstd") as writer:
            rows = (row for suite, language in chosen for row in rows_of(tree, suite, language))
            for chunk in _chunks(rows):
                counts[name] += len(chunk)
                writer.write_table(pyarrow.Table.from_pylist(chunk, schema=schema))
        new.replace(folder / f"{name}.parquet")
    return counts


def _chunks(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while chunk := list(islice(rows, CHUNK)):
        yield chunk


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
    with duckdb.connect() as connection:
        for name, path in files.items():
            place = str(path).replace("'", "''")
            connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{place}')")
        try:
            result = connection.execute(sql)
            columns = [column[0] for column in result.description or ()]
            rows = result.fetchall() if most is None else result.fetchmany(most)
        except duckdb.Error as error:
            first = str(error).splitlines()[0]
            hint = "The tables are conversations and scores; `DESCRIBE scores` lists the columns of one."
            raise UserError(f"the query failed: {first}", hint=hint) from None
    return columns, rows
