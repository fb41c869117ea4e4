"""Agreement as tables for a terminal, in the layout of the paper's Tables 1, 2, 5, 6 and 7."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from bench.agreement.coefficients import Coefficient, Difference, Measured
from bench.agreement.ensembles import MEAN, METHODS
from bench.agreement.judges import Best, JudgedReport
from bench.agreement.panel import FINAL
from bench.agreement.people import AnnotatorAgreement
from bench.agreement.report import REFUSALS, Agreement
from bench.tables import UNKNOWN, printable, text_table

SMALL_P = 0.0001
"""Correlations with a p below this are bold."""
PAIRS = 12
"""With more pairs of judges, only those that really differ are printed."""
DISPUTES = 10
LONGEST_NAME = 40
RHO_HEAD = "Spearman [95% interval] p (pairs); bold: p < 0.0001"


def agreement_text(agreement: Agreement) -> str:
    """All tables. Where CSV and JSON have more, the text says so."""
    parts = [_head(agreement)]
    if not agreement.people.annotators:
        parts += ["Nobody has scored any item, so there is nothing to compare.\n", _players(agreement)]
        return "\n".join(part for part in parts if part)
    if len(agreement.judged) > 1:
        parts.append(_side_by_side(agreement))
    for report in agreement.judged:
        last = agreement.measured[-1]
        parts += [_judges(agreement, report), _differences(report, last), _ensembles(report)]
    parts += [_people(agreement, criterion) for criterion in agreement.measured]
    parts += [_alpha(agreement), _players(agreement), _disputes(agreement), _notes(agreement)]
    return "\n".join(part for part in parts if part)


class _Table:
    """A titled table whose cells refer to footnotes; each reason is one footnote."""

    def __init__(self, title: str, heads: Sequence[str], left: Sequence[int] = (0,)) -> None:
        self._title, self._heads, self._left = title, heads, left
        self._reasons: list[str] = []
        self.rows: list[list[str]] = []

    def text(self) -> str:
        notes = [f"[{n}] {printable(reason)}\n" for n, reason in enumerate(self._reasons, start=1)]
        return f"{self._title}\n{text_table(self._heads, self.rows, left=set(self._left))}{''.join(notes)}"

    def value(self, figure: Coefficient, *, interval: bool = True) -> str:
        """A figure as ``0.448 [0.34, 0.55] p=0.0123 (250)``, bold if p < SMALL_P."""
        if figure.value is None:
            return f"{UNKNOWN}{self._mark(figure.reason)} ({figure.n})"
        text = f"{figure.value:.3f}"
        if interval:
            text += self._interval(figure, "")
        if figure.p is not None:
            text += f" p<{SMALL_P}" if figure.p < SMALL_P else f" p={figure.p:.4f}"
        text += f" ({figure.n})"
        return click.style(text, bold=True) if figure.p is not None and figure.p < SMALL_P else text

    def difference(self, difference: Difference) -> str:
        if difference.value is None:
            return f"{UNKNOWN}{self._mark(difference.reason)}"
        return f"{difference.value:+.3f}{self._interval(difference, '+')}"

    def _interval(self, figure: Measured, sign: str) -> str:
        if figure.low is None or figure.high is None:
            return self._mark(figure.reason)
        return f" [{figure.low:{sign}.2f}, {figure.high:{sign}.2f}]"

    def _mark(self, reason: str | None) -> str:
        if reason is None:
            return ""
        if reason not in self._reasons:
            self._reasons.append(reason)
        return f" [{self._reasons.index(reason) + 1}]"


def _label(criterion: str) -> str:
    return printable(criterion.replace("_", " ").capitalize())


def _short(name: str) -> str:
    """The name of a judge or ensemble; a long list of members as their number."""
    text = printable(name)
    long = name.startswith("Avg(") and len(text) > LONGEST_NAME
    return f"Avg of {name.count(', ') + 1} judges" if long else text


def _head(agreement: Agreement) -> str:
    names = (agreement.name, agreement.suite, agreement.language)
    place = ", ".join(printable(name) for name in names if name)
    sample = agreement.sample
    by = ", ".join(f"{number} ({items} items)" for number, items in sample.rated_by.items())
    head = f"{place}: {sample.items} items. Annotators per item: {by}\n"
    if agreement.suite:
        head += f"Refusals: {REFUSALS[agreement.refusals]}. People saw a refusal in {sample.refused} items; "
        head += "their scores count.\n"
    return head + f"Intervals: 95%, {agreement.resamples:,} resamples of {agreement.unit}.\n"


def _judges(agreement: Agreement, report: JudgedReport) -> str:
    """The paper's Tables 1 and 2, for one version."""
    title = f"Judges against people: {printable(report.label)}"
    title += f" ({report.protocol})" if report.protocol else ""
    if not report.figures:
        return f"{title}\n{report.reason}\n"
    table = _Table(f"{title}\n{RHO_HEAD}", ["Judge", *map(_label, agreement.measured)])
    for name, figures in report.rows(agreement.measured):
        table.rows.append([_short(name), *map(table.value, figures)])
    left_out = [
        f"{printable(judge)}: no score of {', '.join(f'{n} ({why})' for why, n in counts.items())}\n"
        for judge, counts in report.left_out.items()
        if counts
    ]
    return table.text() + "".join(left_out)


def _side_by_side(agreement: Agreement) -> str:
    """Versions beside each other, as the paper prints them."""
    figures = {
        (figure.name, figure.criterion, report.label): figure
        for report in agreement.judged
        for figure in report.figures
    }
    columns = [(name, report.label) for name in agreement.measured for report in agreement.judged]
    heads = [f"{_label(criterion)}, {printable(label)}" for criterion, label in columns]
    table = _Table("Versions side by side", ["Judge", *heads])
    for name in dict.fromkeys(name for name, _, _ in figures):
        cells = [figures.get((name, *column)) for column in columns]
        row = ["" if cell is None else table.value(cell, interval=False) for cell in cells]
        table.rows.append([_short(name), *row])
    return table.text()


def _verdict(real: bool | None) -> str:
    return {True: "real", False: "may be chance", None: ""}[real]


def _p(p: float | None) -> str:
    return UNKNOWN if p is None else f"<{SMALL_P}" if p < SMALL_P else f"{p:.4f}"


def _differences(report: JudgedReport, criterion: str) -> str:
    """Pairs of judges on the last criterion (final, if there is one)."""
    pairs = [pair for pair in report.differences if pair.criterion == criterion]
    if not pairs:
        return ""
    real = [pair for pair in pairs if pair.real]
    unknown = sum(pair.real is None for pair in pairs)
    shown = pairs if len(pairs) <= PAIRS else real
    title = f"Differences between judges, {_label(criterion).lower()}: {len(real)} of {len(pairs)} are real "
    title += "(Holm's correction for all pairs)"
    if unknown:
        title += f"; {unknown} cannot be tested"
    if len(shown) < len(pairs):
        title += "; only those are shown, --format csv has all"
    if not shown:
        return title + "\n"
    table = _Table(title, ["Judge", "minus", "difference [95%]", "pairs", "p corrected", ""], (0, 1, 5))
    for pair in shown:
        tested = [str(pair.n), _p(pair.p_corrected), _verdict(pair.real)]
        table.rows.append([_short(pair.first), _short(pair.second), table.difference(pair), *tested])
    return table.text()


def _ensembles(report: JudgedReport) -> str:
    """Ways to combine all judges, and how far the plain mean is from the best."""
    title = f"Ways to combine judges: {printable(report.label)}"
    if not report.ensembles:
        return f"{title}\n{report.reason}\n"
    heads = ["Criterion", "Ensemble", RHO_HEAD.split(";")[0], "over the mean [95%]", "p corrected", ""]
    table = _Table(title, heads, (0, 1, 5))
    for way in report.ensembles:
        over = table.difference(way.over_mean) if way.over_mean else ""
        p = _p(way.p_corrected) if way.over_mean else ""
        row = [_label(way.criterion), METHODS[way.method][0], table.value(way), over, p, _verdict(way.real)]
        table.rows.append(row)
    return table.text() + "".join(f"{_label(best.criterion)}: {_best(best)}.\n" for best in report.best)


def _best(best: Best) -> str:
    if best.method is None:
        return f"no ensemble has a correlation: {best.reason}"
    name = METHODS[best.method][0].lower()
    if best.mean is None:
        return f"{name} is best ({best.value:.3f}); the plain mean has no correlation: {best.reason}"
    if best.method == MEAN:
        return f"the plain mean is best ({best.value:.3f})"
    lower = f"the plain mean is {best.cost:.3f} lower ({_verdict(best.real)})"
    return f"{name} is best ({best.value:.3f}); {lower}"


def _people(agreement: Agreement, criterion: str) -> str:
    """The paper's Tables 6 and 7, for one criterion."""
    people = agreement.people
    if people.reason:
        return f"Annotators\n{people.reason}\n" if criterion == agreement.measured[0] else ""
    title = f"Annotators, {_label(criterion).lower()}: Spearman p (pairs); bold: p < {SMALL_P}"
    table = _Table(title, ["", *map(printable, people.annotators)])
    pairs = people.pair_of(criterion)
    for name in people.annotators:
        cells = [pairs.get((name, other)) for other in people.annotators]
        row = ["" if cell is None else table.value(cell, interval=False) for cell in cells]
        table.rows.append([printable(name), *row])
    means: Sequence[tuple[str, Callable[[AnnotatorAgreement], Coefficient]]] = (
        ("mean of all (the paper's row)", lambda row: row.with_mean_of_all),
        ("mean of the others", lambda row: row.with_mean_of_others),
    )
    for head, figure in means:
        cells_of = [table.value(figure(row), interval=False) for row in people.each_of(criterion)]
        table.rows.append([head, *cells_of])
    return table.text()


def _alpha(agreement: Agreement) -> str:
    if agreement.people.reason:
        return ""
    title = "Krippendorff's alpha, ordinal: 1 means identical scores, 0 no better than random"
    table = _Table(title, ["Criterion", "alpha [95%] (items)", "annotators"])
    for row in agreement.people.alpha:
        table.rows.append([_label(row.criterion), table.value(row), str(row.annotators)])
    return table.text()


def _players(agreement: Agreement) -> str:
    """The paper's Table 5."""
    players = agreement.sample.players
    if all(row.player is None for row in players):
        return ""
    rows = [[printable(row.player or "not known"), str(row.items), str(row.rated)] for row in players]
    return "Players in the sample\n" + text_table(["Player", "items", "rated"], rows, left={0})


def _disputes(agreement: Agreement) -> str:
    if not agreement.disputes:
        return ""
    rows = [
        [
            printable(row.judge),
            printable(row.item),
            printable("/".join(filter(None, (row.player, row.character, row.situation)))),
            f"turn {row.turn}" if row.turn else "",
            _label(row.criterion),
            f"{row.judge_score:.2f}",
            f"{row.people:.2f} ({row.annotators})",
            f"{row.gap:+.2f}",
        ]
        for row in agreement.disputes[:DISPUTES]
    ]
    heads = ["Judge", "Item", "Conversation", "", "Criterion", "judge", "people (of)", "gap in rank"]
    title = "Largest disagreements between judges and people (gap in rank: 1 = top against bottom)"
    return f"{title}\n" + text_table(heads, rows, left={0, 1, 2, 3, 4})


def _notes(agreement: Agreement) -> str:
    notes = list(agreement.notes)
    if any(report.ensembles for report in agreement.judged):
        notes.append("The best ensemble is the best of several on these items, so its lead is overestimated.")
    if FINAL in agreement.measured:
        notes.append("Final: the mean of the criteria, for items that have all of them.")
    return "".join(f"Note: {printable(note)}\n" for note in notes)
