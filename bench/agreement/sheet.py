"""A researcher's own CSV as the tables of agreement: one line an item, one column a person or a judge."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from bench.agreement.panel import Judged, Panel
from bench.errors import UserError

SCORE = "score"
"""The criterion of a table that names none."""
LARGEST = 1e9
"""Scores further from 0 are mistakes, and their squares would not fit."""
MISSING = frozenset({"", "na", "n/a", "nan", "none", "null", "-"})
"""Cells that hold no score, whatever their case."""


def sheet_panel(
    path: Path,
    *,
    human: Sequence[str],
    judges: Sequence[str],
    criterion: str | None = None,
    item: str | None = None,
    group: str | None = None,
) -> Panel:
    """Columns of a CSV as people (``human``) and ``judges``.

    ``criterion``: the column that says what a line scores; without it there is one criterion. ``item``: the
    column that says which lines are of one item, so that a final exists; without it each line is an item.
    ``group``: the column of what items belong to (players, say): folds and resamples keep groups whole.
    Raises UserError for a file that cannot be read, unknown columns, cells that are no number, and two lines
    for one item and criterion.
    """
    rows = _read(path, [*human, *judges, *(name for name in (criterion, item, group) if name is not None)])
    if set(human) & set(judges):
        both = ", ".join(sorted(set(human) & set(judges)))
        raise UserError(f"{both} cannot be both people and judge", where=str(path))
    items: dict[str, str | None] = {}
    criteria: dict[str, None] = {}
    scores: dict[str, list[tuple[str, str, str, float]]] = {"people": [], "judges": []}
    seen: set[tuple[str, str]] = set()
    for line, row in rows:
        what = row[criterion] if criterion else SCORE
        name = row[item] if item else f"line {line}"
        if (name, what) in seen:
            raise UserError(f"{name!r} has {what!r} a second time", where=f"{path}:{line}")
        seen.add((name, what))
        criteria.setdefault(what)
        of = row[group] if group else None
        if items.setdefault(name, of) != of:
            raise UserError(f"{name!r} is of {items[name]!r} and of {of!r}", where=f"{path}:{line}")
        for kind, columns in (("people", human), ("judges", judges)):
            scores[kind] += [(name, who, what, _score(row[who], f"{path}:{line}", who)) for who in columns]
    long = {
        kind: pd.DataFrame(found, columns=["item", "rater", "criterion", "score"])
        for kind, found in scores.items()
    }
    return Panel(
        name=path.name,
        suite="",
        language="",
        criteria=tuple(criteria),
        items=pd.DataFrame(
            [(name, of, None, None) for name, of in items.items()],
            columns=["item", "player", "character", "situation"],
            dtype="object",
        ),
        ratings=long["people"].rename(columns={"rater": "annotator"}),
        judged=(
            Judged(
                label=path.name,
                protocol="",
                judges=tuple(judges),
                scores=long["judges"].rename(columns={"rater": "judge"}),
                left_out=_missing(long["judges"], judges),
            ),
        ),
        with_final=item is not None,
    )


def _missing(scores: pd.DataFrame, judges: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
    empty = scores[scores["score"].isna()].groupby("rater").size()
    return {judge: {"empty cells": int(empty[judge])} if judge in empty.index else {} for judge in judges}


def _read(path: Path, columns: Sequence[str]) -> list[tuple[int, dict[str, str]]]:
    """Lines with their numbers, each with the wanted columns."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=str(path)) from None
    except UnicodeDecodeError as error:
        raise UserError(f"is not UTF-8 at byte {error.start}", where=str(path)) from None
    reader = csv.DictReader(io.StringIO(text, newline=""))
    have = reader.fieldnames = [name.strip() for name in reader.fieldnames or ()]
    for name in columns:
        if have.count(name) != 1:
            fault = "has no column" if name not in have else "has more than one column"
            raise UserError(
                f"{fault} {name!r}", where=str(path), hint=f"Its columns: {', '.join(have) or 'none'}."
            )
    rows = []
    try:
        for row in reader:
            if None in row or any(row[name] is None for name in columns):
                raise UserError("has more or fewer cells than the heading", where=f"{path}:{reader.line_num}")
            rows.append((reader.line_num, {name: row[name].strip() for name in columns}))
    except csv.Error as error:
        raise UserError(f"is not CSV: {error}", where=f"{path}:{reader.line_num}") from None
    if not rows:
        raise UserError("holds no line below its heading", where=str(path))
    return rows


def _score(text: str, where: str, column: str) -> float:
    """A cell's number; NaN for one that holds none."""
    if text.lower() in MISSING:
        return math.nan
    try:
        score = float(text)
    except ValueError:
        score = math.inf
    if not abs(score) <= LARGEST:
        raise UserError(
            f"{text!r} in column {column!r} is not a number from -{LARGEST:g} to {LARGEST:g}",
            where=where,
            hint="Leave it empty if it is missing.",
        )
    return score
