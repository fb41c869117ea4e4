"""SQL over a store of results, through DuckDB. It imports little else, so that a query is quick."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from bench.errors import UserError

R = TypeVar("R")

TABLES = ("conversations", "scores")
"""The files of a store."""
CONFIG = {
    "memory_limit": "600MB",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}
"""A query keeps little in memory, loads nothing and sees no variable of the program."""
MEMORY = 1_500_000_000
"""Bytes that a query may take in all. DuckDB's own limit does not count long texts and results."""
READS = "StatementType.SELECT"
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

    It reads these tables and nothing else: no other file, no network, no statement that changes something.
    Raises UserError without DuckDB, without a store, and for SQL that does not run.
    """
    try:
        # The compiled part of the package. The rest builds queries without SQL, and takes longer to import
        # than a query takes to run.
        duckdb = importlib.import_module("_duckdb")
    except ImportError:
        raise UserError("duckdb is not installed", hint="Install it with `make parquet`.") from None
    files = {name: folder.resolve() / f"{name}.parquet" for name in TABLES}
    if missing := [path for path in files.values() if not path.is_file()]:
        hint = f"Write the store first: `bench export --format store -o {folder}`."
        raise UserError("no such file", where=str(missing[0]), hint=hint)
    with (
        TemporaryDirectory() as spill,
        duckdb.connect(config=CONFIG | {"temp_directory": spill}) as base,
    ):
        try:
            base.execute("SET parquet_metadata_cache = true")  # else each query reads it again
            places = {name: "'" + str(path).replace("'", "''") + "'" for name, path in files.items()}
            for name, place in places.items():
                base.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet({place})")
            base.execute(BOARD)
            base.execute(f"SET allowed_paths = [{', '.join(places.values())}]")
            base.execute("SET enable_external_access = false")
            base.execute("SET lock_configuration = true")
            statements = base.extract_statements(sql)
            if [str(statement.type) for statement in statements] != [READS]:
                hint = "Write one SELECT, DESCRIBE or SUMMARIZE; PIVOT needs its values: ON judge IN ('a')."
                raise UserError("a query must be a single statement that only reads", hint=hint)
            with _little_memory():
                columns, rows = _interruptible(base, partial(_fetched, base, statements[0], most))
        except (duckdb.OutOfMemoryException, MemoryError):
            hint = "Ask for fewer rows or shorter cells, such as left(messages, 1000)."
            raise UserError(f"the query needs more than {MEMORY / 1e9:g} GB of memory", hint=hint) from None
        except (duckdb.Error, ValueError, OverflowError) as error:  # Python has no year 10000
            first = str(error).partition("\n")[0]
            hint = "Tables are conversations, scores and board; `DESCRIBE scores` lists the columns of one."
            raise UserError(f"the query failed: {first}", hint=hint) from None
    return columns, rows


def _fetched(base: Any, statement: Any, most: int | None) -> tuple[list[str], list[tuple[Any, ...]]]:
    result = base.execute(statement)
    columns = _distinct([column[0] for column in result.description or ()])
    return columns, result.fetchall() if most is None else result.fetchmany(most)


@contextmanager
def _little_memory() -> Iterator[None]:
    """The process gets at most MEMORY bytes more; only Linux can limit that."""
    if sys.platform != "linux":
        yield
        return
    import resource

    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5])
    old = resource.getrlimit(resource.RLIMIT_DATA)
    most = pages * resource.getpagesize() + MEMORY
    if old[0] == resource.RLIM_INFINITY or most < old[0]:
        resource.setrlimit(resource.RLIMIT_DATA, (most, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, old)


def _interruptible(base: Any, work: Callable[[], R]) -> R:
    """What ``work`` returns. It runs in a thread, because DuckDB does not notice Ctrl-C."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        try:
            return future.result()
        except KeyboardInterrupt:
            base.interrupt()
            raise


def _distinct(names: list[str]) -> list[str]:
    """``names`` with a number after each that came before: a, b, a_3."""
    return [name if name not in names[:at] else f"{name}_{at + 1}" for at, name in enumerate(names)]
