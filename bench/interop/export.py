"""Export scores, conversations or counts of calls as one tidy table for other programs."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence

import pandas as pd

from bench.errors import UserError
from bench.foreign import parquet_modules
from bench.interop import comparison_rows
from bench.results import ResultsTree
from bench.results.facts import SAID
from bench.scores.analyses.sure import missing_to_none
from bench.scores.frame import COLUMNS, load, with_measures
from bench.scores.measures import MEASURES
from bench.tables import csv_table

EXPORTED = COLUMNS["scores"]
"""Meaning by column, in the order of the columns: one row per turn, judge and criterion."""
CONVERSATIONS = COLUMNS["conversations"] | MEASURES
"""The same of conversations: one row per conversation, with what its texts show without a judge."""
TABLES = {
    "scores": EXPORTED,
    "conversations": CONVERSATIONS,
    **{name: COLUMNS[name] for name in ("events", "flaws", "calls")},
    "comparisons": comparison_rows.COLUMNS,
}
_INTEGERS = frozenset(
    {
        "turn",
        "repeat",
        "score",
        "turns",
        "answer_characters",
        "words",
        "first_answer_characters",
        "last_answer_characters",
        "answers",
        "count",
        "margin",
        "served_models",
        *SAID,
    }
)
_FLAGS = frozenset({"is_refusal", "first_refuses", "second_refuses", "stale", "ended_by_player"})
_NUMBERS = (MEASURES.keys() | {"mean_answer_characters", "value"}) - _INTEGERS


def languages_with_results(tree: ResultsTree, suite: str, languages: Sequence[str] = ()) -> list[str]:
    """``languages`` or else all languages of a suite. Raises UserError for one without results."""
    known = [language for _, language in tree.boards(suite)]
    if not known:
        hint = f"Run it first: `bench run {suite}`."
        raise UserError(f"no results of suite {suite!r}", where=str(tree.root), hint=hint)
    for language in languages:
        if language not in known:
            raise UserError(
                f"no results of suite {suite!r} in language {language!r}",
                where=str(tree.root),
                hint=f"Languages with results: {', '.join(known)}.",
            )
    return sorted(set(languages)) or known


def tidy_table(
    tree: ResultsTree, suite: str, languages: Sequence[str] = (), name: str = "scores"
) -> pd.DataFrame:
    """A suite's table ``name`` of TABLES, in ``languages`` or else in all languages with results.

    A missing value is None.

    Raises UserError if there are no results, RecordError if a file is damaged.
    """
    chosen = languages_with_results(tree, suite, languages)
    tables = []
    for language in chosen:
        if name == "comparisons":
            tables.append(comparison_rows.comparison_rows(tree, suite, language))
            continue
        frames = load(tree, suite, language)
        if name == "conversations":
            frames = with_measures(frames, tree)
        whole = missing_to_none(frames.call_counts if name == "calls" else getattr(frames, name))
        if name == "conversations" and tree.is_table(suite):
            whole[["turns", "answer_characters"]] = None  # unknown, not 0
        tables.append(whole)
    return pd.concat(tables, ignore_index=True)[list(TABLES[name])]


def exported(table: pd.DataFrame, form: str) -> bytes:
    """``table`` as csv, jsonl or parquet (``form``). Equal tables give equal bytes."""
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
    pyarrow, parquet = parquet_modules("export csv or jsonl")
    text = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    kinds = {pyarrow.int64(): _INTEGERS, pyarrow.bool_(): _FLAGS, pyarrow.float64(): _NUMBERS}
    types = {name: kind for kind, names in kinds.items() for name in names}
    if "score" in table and any(isinstance(score, float) for score in table["score"]):
        types["score"] = pyarrow.float64()  # of published scores
    meanings = next(columns for columns in TABLES.values() if list(columns) == list(table.columns))
    schema = pyarrow.schema(
        [
            pyarrow.field(
                name,
                types.get(name, text),
                nullable=bool(table[name].isna().any()),
                metadata={"description": meaning},
            )
            for name, meaning in meanings.items()
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
