"""Scores as one tidy table, one row per turn, judge and criterion, in forms that other programs read.

The columns are those of ``bench.scores.frame.COLUMNS["scores"]``, which says what each means.
"""

from __future__ import annotations

import csv
import importlib
import io
import json
from collections.abc import Sequence
from typing import Any

import pandas as pd

from bench.errors import UserError
from bench.results import ResultsTree
from bench.scores.frame import COLUMNS, load
from bench.tables import csv_cell

FORMATS = ("csv", "parquet", "jsonl")
EXPORTED = COLUMNS["scores"]
"""Column to meaning, in the order of the columns."""


def tidy_table(tree: ResultsTree, suite: str, languages: Sequence[str] = ()) -> pd.DataFrame:
    """All scores of a suite, in the languages asked for or in all there are, with plain text keys.

    Raises UserError where there are no results, RecordError where a file is bad.
    """
    found = [language for name, language in tree.boards() if name == suite]
    if not found:
        raise UserError(f"no results of suite {suite!r}", where=str(tree.root))
    for language in languages:
        if language not in found:
            raise UserError(
                f"no results of suite {suite!r} in language {language!r}",
                where=str(tree.root),
                hint=f"There are: {', '.join(found)}.",
            )
    chosen = sorted(set(languages)) or found
    tables = [load(tree, suite, language).scores for language in chosen]
    plain = [
        table.astype({c: "object" for c in table if str(table[c].dtype) == "category"}) for table in tables
    ]
    return pd.concat(plain, ignore_index=True)[list(EXPORTED)]


def exported(table: pd.DataFrame, form: str) -> bytes:
    """The table in one of FORMATS; equal tables make equal bytes."""
    make = {"csv": _csv, "parquet": _parquet, "jsonl": _jsonl}[form]
    return make(table)


def _rows(table: pd.DataFrame) -> list[tuple[Any, ...]]:
    columns = [table[name].tolist() for name in table.columns]
    return list(zip(*columns, strict=True))


def _csv(table: pd.DataFrame) -> bytes:
    """CSV; text that a spreadsheet would take for a formula gets an apostrophe in front."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([_csv_cell(value) for value in row] for row in _rows(table))
    return out.getvalue().encode()


def _csv_cell(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else csv_cell(value)


def _jsonl(table: pd.DataFrame) -> bytes:
    names = list(table.columns)
    lines = (json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) for row in _rows(table))
    return "".join(f"{line}\n" for line in lines).encode()


def _parquet(table: pd.DataFrame) -> bytes:
    """Parquet whose columns carry their meaning as metadata."""
    try:
        pyarrow: Any = importlib.import_module("pyarrow")
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise UserError(
            "parquet needs pyarrow, which is not installed",
            hint="Install it with `make parquet`, or export csv or jsonl.",
        ) from None
    types = {"turn": pyarrow.int64(), "score": pyarrow.int64(), "is_refusal": pyarrow.bool_()}
    types["stale"] = pyarrow.bool_()
    text = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    schema = pyarrow.schema(
        [
            pyarrow.field(name, types.get(name, text), nullable=False, metadata={"description": meaning})
            for name, meaning in EXPORTED.items()
        ]
    )
    columns = [
        pyarrow.array(table[f.name].tolist(), type=_storage(pyarrow, f.type)).cast(f.type) for f in schema
    ]
    sink = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_arrays(columns, schema=schema), sink, compression="zstd")
    return sink.getvalue()


def _storage(pyarrow: Any, kind: Any) -> Any:
    """The type that plain Python values are read as before they are encoded."""
    return pyarrow.string() if pyarrow.types.is_dictionary(kind) else kind
