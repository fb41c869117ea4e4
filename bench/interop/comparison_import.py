"""Import pairwise judgements that another project published, from a table with one line per verdict."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.errors import RecordError
from bench.files import write_folder
from bench.interop.score_import import check_name, table_rows_of
from bench.results import ResultsTree
from bench.results.compared import (
    WIDEST_MARGIN,
    ComparedLine,
    ComparedSource,
    ComparedTable,
    compared_files,
    compared_folder,
    csv_of_compared,
)
from bench.results.score_lines import MOST_NAME, MOST_ROWS
from bench.toml_entries import entry_from, unknown_name

WINNERS = {
    **dict.fromkeys(("a", "model_a", "first", "player_a", "1", "left", "win"), 1),
    **dict.fromkeys(("b", "model_b", "second", "player_b", "2", "right", "loss"), -1),
    **dict.fromkeys(("tie", "tie (bothbad)", "bothbad", "both_bad", "draw", "equal", "0", "none"), 0),
}
"""What a column of winners may say, in small letters; a player's own name works too."""


@dataclass(frozen=True)
class ComparedColumns:
    """Names of the columns.

    ``margin``: a signed margin in place of a winner. ``one_judge``: the only judge, if no column names them.
    """

    first: str = "model_a"
    second: str = "model_b"
    winner: str = "winner"
    margin: str | None = None
    scene: str = "question_id"
    judge: str = "judge"
    one_judge: str | None = None

    @property
    def used(self) -> list[tuple[str, str]]:
        """(option, column) of every column that is read."""
        judge = [] if self.one_judge is not None else [("judge", self.judge)]
        outcome = ("winner", self.winner) if self.margin is None else ("margin", self.margin)
        return [("scene", self.scene), *judge, ("first", self.first), ("second", self.second), outcome]


def import_comparisons(
    tree: ResultsTree,
    path: Path,
    name: str,
    columns: ComparedColumns,
    about: Mapping[str, object],
    *,
    suites: Collection[str] = (),
    replace: bool = False,
) -> ComparedTable:
    """Import the table in ``path`` as results/compared/``name``. Nothing is written if anything is wrong.

    ``about``: fields of :class:`bench.results.compared.ComparedSource`, but for the digest. ``suites``: names
    of suites, which a table must not have.

    Raises UserError for an unusable name, RecordError for an unusable line, CatalogError for ``about``.
    """
    folder = compared_folder(tree, name)
    check_name(tree, name, suites, folder if folder.exists() and not replace else None)
    heads, rows = table_rows_of(path)
    for option, column in columns.used:
        if heads.count(column) != 1:
            near = unknown_name(column, heads, "column", f"{path}:1")
            hint = f"Name the column with --{option}. {near.hint}"
            raise RecordError(f"missing or repeated column {column!r}", where=f"{path}:1", hint=hint)
    at = [heads.index(column) for _, column in columns.used]
    lines = []
    for number, row in rows:
        values = [row[n] for n in at]
        if columns.one_judge is not None:
            values.insert(1, columns.one_judge)
        lines.append(_line(values, columns, f"{path}:{number}"))
        if len(lines) > MOST_ROWS:
            raise RecordError(f"more than {MOST_ROWS:,} lines", where=str(path), hint="Split the table.")
    if not lines:
        raise RecordError("holds no comparisons", where=str(path))
    digest = hashlib.sha256(csv_of_compared(lines)).hexdigest()
    source = entry_from(ComparedSource, {**about, "digest": digest}, "the options")
    table = ComparedTable(name, source, tuple(sorted(lines)))
    write_folder(folder, compared_files(table), replace=replace)
    return table


def _line(values: Sequence[object], columns: ComparedColumns, where: str) -> ComparedLine:
    scene, judge, first, second = (_name(value, where) for value in values[:4])
    if first == second:
        raise RecordError(f"compares {first!r:.60} with itself", where=where, hint="Remove the line.")
    found = values[4]
    outcome = "" if found is None else str(found).strip()
    if columns.margin is not None:
        return ComparedLine(scene, judge, first, second, _margin(outcome, where))
    winner = {first: 1, second: -1}.get(outcome, WINNERS.get(outcome.lower()))
    if winner is None:
        hint = "Write a, b or tie, or the winner's name; --margin names a column of signed margins."
        raise RecordError(f"unknown winner {outcome!r:.60}", where=where, hint=hint)
    return ComparedLine(scene, judge, first, second, winner)


def _margin(text: str, where: str) -> int:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not (number.is_integer() and abs(number) <= WIDEST_MARGIN):
        hint = "Write a whole number, positive where the first player is better and 0 for a tie."
        raise RecordError(f"margin {text!r:.40} is not usable", where=where, hint=hint)
    return int(number)


def _name(value: object, where: str) -> str:
    text = "" if value is None or isinstance(value, bool) else str(value).strip()
    if not text or len(text) > MOST_NAME or not text.isprintable():
        fault = f"{text!r:.60} is not a name of at most {MOST_NAME} printable characters"
        raise RecordError(fault, where=where, hint="Name the scene, the judge and both players.")
    return text
