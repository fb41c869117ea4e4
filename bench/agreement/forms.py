"""Agreement as canonical JSON, and as one tidy CSV: a figure a line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping

from bench.agreement.figures import Difference, Figure
from bench.agreement.report import Agreement
from bench.records import canonical
from bench.tables import csv_cell

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
"""What a line of the CSV is, by its first column."""

Row = dict[str, object]


def agreement_json(made: Agreement) -> str:
    """agreement.json: canonical JSON. Figures that do not exist are null, and say why."""
    return canonical(made.model_dump(mode="json"))


def agreement_csv(made: Agreement) -> str:
    """Every figure as a line; columns COLUMNS."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([_cell(row.get(column)) for column in COLUMNS] for row in _rows(made))
    return out.getvalue()


def _cell(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else csv_cell(value)


def _rows(made: Agreement) -> Iterator[Row]:
    for one in made.judged:
        for judge in one.figures:
            yield _row("judge", judge, version=one.label, criterion=judge.criterion, name=judge.name)
        for pair in one.differences:
            yield _row(
                "judge_difference",
                pair,
                version=one.label,
                criterion=pair.criterion,
                name=pair.first,
                other=pair.second,
                p_corrected=pair.p_corrected,
                real=pair.real,
            )
        for way in one.ensembles:
            about: Row = {"version": one.label, "criterion": way.criterion, "name": way.method}
            yield _row("ensemble", way, **about)
            if way.over_mean is not None:
                more: Row = {"other": "mean", "p_corrected": way.p_corrected, "real": way.real}
                yield _row("ensemble_over_mean", way.over_mean, **about, **more)
    for annotators in made.people.pairs:
        yield _row(
            "annotator_pair",
            annotators,
            criterion=annotators.criterion,
            name=annotators.annotator,
            other=annotators.other,
        )
    for each in made.people.each:
        who: Mapping[str, object] = {"criterion": each.criterion, "name": each.annotator}
        yield _row("annotator_with_all", each.with_mean_of_all, **who)
        yield _row("annotator_with_others", each.with_mean_of_others, **who)
    for alpha in made.people.alpha:
        yield _row("alpha", alpha, criterion=alpha.criterion)
    for player in made.sample.players:
        yield {"table": "player", "name": player.player, "n": player.items}


def _row(table: str, figure: Figure | Difference, **more: object) -> Row:
    names = ("n", "value", "p", "p_method", "low", "high", "reason")
    return {"table": table, **{name: getattr(figure, name, None) for name in names}, **more}
