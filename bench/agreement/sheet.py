"""A researcher's own CSV as a panel: one line per item, one column per person or judge."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pandas as pd
from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from bench.agreement.panel import ITEM_COLUMNS, Judged, Panel
from bench.errors import UserError
from bench.foreign import Unreadable, read_text
from bench.toml_entries import nearest_or_all

SCORE = "score"
"""The criterion of a table without a column of criteria."""
LARGEST = 1e9
"""Largest absolute score. A larger one is a mistake, and its square would overflow."""
MAX_BYTES = 1024 * 1024 * 1024
MISSING = frozenset({"", "na", "n/a", "nan", "none", "null", "-"})
"""Cells without a score, in any case."""

CellScore = Annotated[
    Annotated[float, Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False)] | None,
    BeforeValidator(lambda text: None if text.lower() in MISSING else text),
]


class _Line(BaseModel):
    """One line of the table."""

    item: str
    criterion: str
    group: str | None
    people: dict[str, CellScore]
    judges: dict[str, CellScore]


@dataclass(frozen=True)
class SheetColumns:
    """Which columns of a table hold what. Without ``criterion`` there is one; without ``item`` each line is
    an item. ``group``: what items belong to, such as players; folds and resamples keep groups whole."""

    human: Sequence[str]
    judges: Sequence[str]
    criterion: str | None = None
    item: str | None = None
    group: str | None = None

    def names(self) -> list[str]:
        return [*self.human, *self.judges, *filter(None, (self.criterion, self.item, self.group))]

    def line(self, row: dict[str, str], where: str, number: int) -> _Line:
        """The line of a row of cells. Raises UserError for a score that is not a number."""
        data = {
            "item": row[self.item] if self.item else f"line {number}",
            "criterion": row[self.criterion] if self.criterion else SCORE,
            "group": row[self.group] if self.group else None,
            "people": {name: row[name] for name in self.human},
            "judges": {name: row[name] for name in self.judges},
        }
        try:
            return _Line.model_validate(data)
        except ValidationError as error:
            column = str(error.errors()[0]["loc"][1])
            raise UserError(
                f"{row[column]!r} in column {column!r} is not a number from -{LARGEST:g} to {LARGEST:g}",
                where=where,
                hint="Leave the cell empty if the score is missing.",
            ) from None


def sheet_panel(path: Path, columns: SheetColumns) -> Panel:
    """A CSV as a panel.

    Raises UserError if the file cannot be read, lacks a column, has a score that is not a number, or has two
    lines for one item and criterion.
    """
    if both := sorted(set(columns.human) & set(columns.judges)):
        raise UserError(f"{', '.join(both)} cannot be both people and judge", where=str(path))
    lines: dict[tuple[str, str], _Line] = {}
    groups: dict[str, str | None] = {}
    for where, number, row in _rows(path, columns.names()):
        line = columns.line(row, where, number)
        if (line.item, line.criterion) in lines:
            raise UserError(f"duplicate line for {line.item!r} and {line.criterion!r}", where=where)
        lines[line.item, line.criterion] = line
        if (known := groups.setdefault(line.item, line.group)) != line.group:
            raise UserError(f"{line.item!r} belongs to {known!r} and to {line.group!r}", where=where)
    if not lines:
        raise UserError("has no lines below its heading", where=str(path))
    items = [(item, group, None, None, 1) for item, group in groups.items()]
    judged = _long(lines.values(), "judge")
    empty = judged.loc[judged["score"].isna(), "judge"].value_counts()
    return Panel(
        name=path.name,
        suite="",
        language="",
        criteria=tuple(dict.fromkeys(criterion for _, criterion in lines)),
        items=pd.DataFrame(items, columns=ITEM_COLUMNS, dtype="object"),
        ratings=_long(lines.values(), "annotator"),
        judged=(
            Judged(
                label=path.name,
                protocol="",
                judges=tuple(columns.judges),
                scores=judged,
                left_out={
                    judge: {"empty cells": int(empty[judge])} if judge in empty else {}
                    for judge in columns.judges
                },
            ),
        ),
        with_final=columns.item is not None,
    )


def _long(lines: Iterable[_Line], rater: str) -> pd.DataFrame:
    """The scores of people or judges: item, ``rater``, criterion, score (NaN if missing)."""
    rows = [
        (line.item, name, line.criterion, score)
        for line in lines
        for name, score in (line.judges if rater == "judge" else line.people).items()
    ]
    return pd.DataFrame(rows, columns=["item", rater, "criterion", "score"]).astype({"score": "float64"})


def _rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, int, dict[str, str]]]:
    """(place, line number, cells by column) of each line. Raises UserError."""
    try:
        text = read_text(path, MAX_BYTES)
    except Unreadable as error:
        raise UserError(str(error), where=str(path)) from None
    reader = csv.DictReader(io.StringIO(text, newline=""))
    heads = reader.fieldnames = [name.strip() for name in reader.fieldnames or ()]
    for name in columns:
        if heads.count(name) != 1:
            fault = "has more than one column" if name in heads else "has no column"
            hint = nearest_or_all("" if name in heads else name, heads, "Its columns")
            raise UserError(f"{fault} {name!r}", where=str(path), hint=hint)
    try:
        for row in reader:
            where = f"{path}:{reader.line_num}"
            if None in row or any(row[name] is None for name in columns):
                raise UserError("has more or fewer cells than the heading", where=where)
            yield where, reader.line_num, {name: row[name].strip() for name in columns}
    except csv.Error as error:
        raise UserError(f"is not CSV: {error}", where=f"{path}:{reader.line_num}") from None
