"""SQL over a store of results, through DuckDB. It loads little else, so that a query is quick."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from bench.errors import UserError

TABLES = ("conversations", "scores")
"""The files of a store."""
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


def query(folder: Path, sql: str, most: int | None = None) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The columns and rows that ``sql`` gives over the tables of a store, at most ``most`` rows.

    Raises UserError without DuckDB, without a store, and for SQL that does not run.
    """
    try:
        duckdb = importlib.import_module("duckdb")
    except ImportError:
        raise UserError("duckdb is not installed", hint="Install it with `make parquet`.") from None
    files = {name: folder / f"{name}.parquet" for name in TABLES}
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
