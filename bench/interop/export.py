"""Export scores as one tidy table for other programs: one row per turn, judge and criterion.

The columns are those of ``bench.scores.frame.COLUMNS["scores"]``, which explains each.
"""

from __future__ import annotations

import importlib
import io
import json
from collections.abc import Sequence
from typing import Any

import pandas as pd

from bench.errors import UserError
from bench.results import ResultsTree
from bench.scores.frame import COLUMNS, load
from bench.tables import csv_table

FORMATS = ("csv", "parquet", "jsonl")
EXPORTED = COLUMNS["scores"]
"""Meaning by column, in the order of the columns."""


def tidy_table(tree: ResultsTree, suite: str, languages: Sequence[str] = ()) -> pd.DataFrame:
    """All scores of a suite, in ``languages`` or else in all languages with results.

    Raises UserError if there are no results, RecordError if a file is damaged.
    """
    known = [language for _, language in tree.boards(suite)]
    if not known:
        raise UserError(f"no results of suite {suite!r}", where=str(tree.root))
    for language in languages:
        if language not in known:
            raise UserError(
                f"no results of suite {suite!r} in language {language!r}",
                where=str(tree.root),
                hint=f"Languages with results: {', '.join(known)}.",
            )
    chosen = sorted(set(languages)) or known
    tables = [load(tree, suite, language).scores for language in chosen]
    plain = [
        table.astype({c: "object" for c in table if str(table[c].dtype) == "category"}) for table in tables
    ]
    return pd.concat(plain, ignore_index=True)[list(EXPORTED)]


def exported(table: pd.DataFrame, form: str) -> bytes:
    """``table`` in one of FORMATS. Equal tables give equal bytes."""
    if form == "parquet":
        return _parquet(table)
    names = list(table.columns)
    rows = list(zip(*(table[name].tolist() for name in names), strict=True))
    if form == "csv":
        return csv_table(names, rows).encode()
    lines = (json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()


def _parquet(table: pd.DataFrame) -> bytes:
    """Parquet. Each column carries its meaning as metadata."""
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
        # text is read as plain strings, then encoded as a dictionary
        pyarrow.array(table[f.name].tolist(), type=types.get(f.name, pyarrow.string())).cast(f.type)
        for f in schema
    ]
    sink = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_arrays(columns, schema=schema), sink, compression="zstd")
    return sink.getvalue()
