"""Agreement as canonical JSON, and as one tidy CSV with a line for each figure."""

from __future__ import annotations

from collections.abc import Iterator

from bench.agreement.report import Agreement
from bench.records import Record, canonical
from bench.tables import WRITERS, Cell, csv_table, shown, titled

COLUMNS = (
    "table",
    "version",
    "criterion",
    "name",
    "other",
    "n",
    "value",
    "p",
    "p_method",
    "low",
    "high",
    "p_corrected",
    "real",
    "reason",
)
TABLES = {
    "judge": "Spearman of judge (or ensemble) `name` with the mean of the annotators",
    "judge_difference": "correlation of `name` minus that of `other`",
    "ensemble": "Spearman of a way to combine all judges with the mean of the annotators",
    "ensemble_over_mean": "correlation of that way minus that of the plain mean",
    "annotator_pair": "Spearman of two annotators",
    "annotator_with_all": "Spearman of an annotator with the mean of all, itself among them",
    "annotator_with_others": "Spearman of an annotator with the mean of the others",
    "alpha": "Krippendorff's alpha, ordinal, of all annotators",
    "player": "items of player `name` in the sample",
}
"""Meaning of a line of the CSV, by its first column."""

Row = dict[str, Cell]


def agreement_json(agreement: Agreement) -> str:
    """agreement.json: canonical JSON. Figures that do not exist are null, with a reason."""
    return canonical(agreement.model_dump(mode="json"))


def agreement_csv(agreement: Agreement) -> str:
    """Every figure as a line; columns COLUMNS."""
    return csv_table(COLUMNS, [[row.get(column) for column in COLUMNS] for row in _rows(agreement)])


def agreement_document(agreement: Agreement, form: str) -> str:
    """Every figure in the tables TABLES, as Markdown or LaTeX (keys of :data:`bench.tables.WRITERS`)."""
    parts = []
    every = list(_rows(agreement))
    for name, meaning in TABLES.items():
        rows = [row for row in every if row["table"] == name]
        columns = [c for c in COLUMNS[1:] if any(row.get(c) is not None for row in rows)]
        cells = [[shown(row.get(column), 3) for column in columns] for row in rows]
        words = {
            n for n, column in enumerate(columns) if any(isinstance(row.get(column), str) for row in rows)
        }
        if rows:
            parts.append(titled(meaning, WRITERS[form](columns, cells, words), form))
    return "\n".join(parts)


def _rows(agreement: Agreement) -> Iterator[Row]:
    for report in agreement.judged:
        version: Row = {"version": report.label}
        for judge in report.figures:
            yield _row("judge", judge, version)
        for pair in report.differences:
            yield _row("judge_difference", pair, version, name=pair.first, other=pair.second)
        for way in report.ensembles:
            about: Row = {**version, "criterion": way.criterion, "name": way.method}
            yield _row("ensemble", way, about, p_corrected=None, real=None)
            if way.over_mean is not None:
                tested: Row = {"p_corrected": way.p_corrected, "real": _flag(way.real)}
                yield _row("ensemble_over_mean", way.over_mean, about, other="mean", **tested)
    people = agreement.people
    for annotators in people.pairs:
        yield _row("annotator_pair", annotators, name=annotators.annotator)
    for each in people.each:
        about = {"criterion": each.criterion, "name": each.annotator}
        yield _row("annotator_with_all", each.with_mean_of_all, about)
        yield _row("annotator_with_others", each.with_mean_of_others, about)
    for alpha in people.alpha:
        yield _row("alpha", alpha)
    for player in agreement.sample.players:
        yield {"table": "player", "name": player.player, "n": player.items}


def _row(table: str, figure: Record, about: Row | None = None, **more: Cell) -> Row:
    """The fields of ``figure`` that are columns; ``about`` and ``more`` add and override."""
    fields = {name: value for name, value in figure.model_dump().items() if name in COLUMNS}
    return {"table": table, **fields, "real": _flag(fields.get("real")), **(about or {}), **more}


def _flag(value: object) -> str | None:
    return None if value is None else str(value).lower()
