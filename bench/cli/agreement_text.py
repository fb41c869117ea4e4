"""Agreement as tables for a terminal, in the layout of the paper's Tables 1, 2, 5, 6 and 7."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bench.agreement.coefficients import Coefficient, Difference
from bench.agreement.ensembles import METHODS
from bench.agreement.judges import JudgedReport
from bench.agreement.panel import FINAL
from bench.agreement.report import REFUSALS, Agreement
from bench.tables import printable, text_table

MARK = 0.0001
"""A p that is not below it gets the paper's asterisk."""
PAIRS = 12
"""With more pairs of judges, only those that differ surely are printed."""
DISPUTES = 10
DASH = "–"
NOTHING = "Nobody has scored any of it: there is nothing to compare."


def agreement_text(made: Agreement) -> str:
    """All tables; what CSV and JSON hold besides is said where it is left out."""
    parts = [_head(made)]
    if not made.people.annotators:
        return "\n".join(part for part in (*parts, f"{NOTHING}\n", _players(made)) if part)
    if len(made.judged) > 1:
        parts.append(_side_by_side(made))
    for one in made.judged:
        parts += [_judges(made, one), _differences(one, made.measured[-1]), _ensembles(one)]
    parts += [_people(made, criterion) for criterion in made.measured]
    parts += [_alpha(made), _players(made), _disputes(made), _notes(made)]
    return "\n".join(part for part in parts if part)


class _Reasons:
    """Footnotes of one table, each reason once."""

    def __init__(self) -> None:
        self._all: list[str] = []

    def mark(self, reason: str | None) -> str:
        if reason is None:
            return ""
        if reason not in self._all:
            self._all.append(reason)
        return f" [{self._all.index(reason) + 1}]"

    def lines(self) -> str:
        return "".join(f"[{n}] {printable(reason)}\n" for n, reason in enumerate(self._all, start=1))


def _value(figure: Coefficient, reasons: _Reasons, *, interval: bool = True, n: bool = True) -> str:
    """A figure as ``0.448* [0.34, 0.55] (250)``."""
    if figure.value is None:
        return f"{DASH}{reasons.mark(figure.reason)}" + (f" ({figure.n})" if n else "")
    star = "*" if figure.p is not None and figure.p >= MARK else ""
    text = f"{figure.value:.3f}{star}"
    if interval:
        known = figure.low is not None and figure.high is not None
        text += f" [{figure.low:.2f}, {figure.high:.2f}]" if known else reasons.mark(figure.reason)
    return text + (f" ({figure.n})" if n else "")


def _label(criterion: str) -> str:
    return printable(criterion.replace("_", " ").capitalize())


def _head(made: Agreement) -> str:
    place = ", ".join(printable(part) for part in (made.name, made.suite, made.language) if part)
    sample = made.sample
    by = ", ".join(f"{items} by {number}" for number, items in sample.rated_by.items())
    head = f"{place}: {sample.items} items, annotators of an item: {by}\n"
    if made.suite:
        head += f"Refusals: {REFUSALS[made.refusals]}. People saw a refusal in {sample.refused} items; "
        head += "their scores count.\n"
    return head + f"Intervals: 95%, {made.resamples:,} resamples of {made.unit}.\n"


def _titled(title: str, table: str, reasons: _Reasons) -> str:
    return f"{title}\n{table}{reasons.lines()}"


def _judges(made: Agreement, one: JudgedReport) -> str:
    """The paper's Tables 1 and 2, one version."""
    title = f"Judges against people: {printable(one.label)}"
    title += f" ({one.protocol})" if one.protocol else ""
    title += "\nSpearman [95% interval] (pairs); * p not below 0.0001"
    if not one.figures:
        return f"{title}\n{one.reason}\n"
    reasons = _Reasons()
    names = list(dict.fromkeys(figure.name for figure in one.figures))
    cells = {(figure.name, figure.criterion): figure for figure in one.figures}
    rows = [
        [_short(name), *(_value(cells[name, criterion], reasons) for criterion in made.measured)]
        for name in names
    ]
    table = text_table(["Judge", *map(_label, made.measured)], rows, left={0})
    left = [
        f"{printable(judge)}: no score of {', '.join(f'{n} ({why})' for why, n in counts.items())}\n"
        for judge, counts in one.left_out.items()
        if counts
    ]
    return _titled(title, table, reasons) + "".join(left)


def _side_by_side(made: Agreement) -> str:
    """Versions beside each other, as the paper prints them."""
    reasons = _Reasons()
    found = {
        (figure.name, figure.criterion, one.label): figure for one in made.judged for figure in one.figures
    }
    names = list(dict.fromkeys(name for name, _, _ in found))
    labels = [one.label for one in made.judged]
    columns = [(criterion, label) for criterion in made.measured for label in labels]
    rows = [
        [
            _short(name),
            *(
                _value(found[name, *column], reasons, interval=False) if (name, *column) in found else ""
                for column in columns
            ),
        ]
        for name in names
    ]
    heads = ["Judge", *(f"{_label(criterion)}, {printable(label)}" for criterion, label in columns)]
    return _titled("Versions beside each other", text_table(heads, rows, left={0}), reasons)


def _short(name: str) -> str:
    """A judge's or ensemble's name; a long list of members by its length."""
    text = printable(name)
    return f"Avg of {name.count(', ') + 1} judges" if name.startswith("Avg(") and len(text) > 40 else text


def _difference(made: Difference, reasons: _Reasons) -> str:
    if made.value is None:
        return f"{DASH}{reasons.mark(made.reason)}"
    known = made.low is not None and made.high is not None
    return f"{made.value:+.3f}" + (
        f" [{made.low:+.2f}, {made.high:+.2f}]" if known else reasons.mark(made.reason)
    )


def _verdict(real: bool | None) -> str:
    return {True: "real", False: "may be chance", None: ""}[real]


def _p(p: float | None) -> str:
    return DASH if p is None else "<0.0001" if p < MARK else f"{p:.4f}"


def _differences(one: JudgedReport, criterion: str) -> str:
    """Pairs of judges on the last criterion (final, where there is one)."""
    pairs = [pair for pair in one.differences if pair.criterion == criterion]
    if not pairs:
        return ""
    real = [pair for pair in pairs if pair.real]
    unknown = sum(pair.real is None for pair in pairs)
    shown = pairs if len(pairs) <= PAIRS else real
    title = (
        f"Differences between judges, {_label(criterion).lower()}: {len(real)} of {len(pairs)} are real "
        "(Holm's correction for all pairs)"
    )
    if unknown:
        title += f"; of {unknown} it cannot be told"
    if len(shown) < len(pairs):
        title += "; only those are shown, --format csv has all"
    if not shown:
        return title + "\n"
    reasons = _Reasons()
    rows = [
        [
            _short(pair.first),
            _short(pair.second),
            _difference(pair, reasons),
            str(pair.n),
            _p(pair.p_corrected),
            _verdict(pair.real),
        ]
        for pair in shown
    ]
    heads = ["Judge", "minus", "difference [95%]", "pairs", "p corrected", ""]
    return _titled(title, text_table(heads, rows, left={0, 1, 5}), reasons)


def _ensembles(one: JudgedReport) -> str:
    """Ways to combine all judges, and what the mean costs."""
    title = f"Ways to combine judges: {printable(one.label)}"
    if not one.ensembles:
        return f"{title}\n{one.reason}\n"
    reasons = _Reasons()
    rows = [
        [
            _label(way.criterion),
            METHODS[way.method][0],
            _value(way, reasons),
            _difference(way.over_mean, reasons) if way.over_mean else "",
            _p(way.p_corrected) if way.over_mean else "",
            _verdict(way.real),
        ]
        for way in one.ensembles
    ]
    heads = ["Criterion", "Ensemble", "Spearman [95%] (pairs)", "over the mean [95%]", "p corrected", ""]
    best = ""
    for row in one.best:
        if row.method is None:
            said = f"no ensemble has a correlation: {row.reason}"
        elif row.mean is None:
            name = METHODS[row.method][0].lower()
            said = f"{name} is best ({row.value:.3f}); the plain mean has no correlation: {row.reason}"
        elif row.method == "mean":
            said = f"the plain mean is best ({row.value:.3f}); it costs nothing"
        else:
            sure = "surely" if row.real else "which may be chance"
            name = METHODS[row.method][0].lower()
            said = f"{name} is best ({row.value:.3f}); the plain mean costs {row.cost:.3f}, {sure}"
        best += f"{_label(row.criterion)}: {said}.\n"
    return _titled(title, text_table(heads, rows, left={0, 1, 5}), reasons) + best


def _people(made: Agreement, criterion: str) -> str:
    """The paper's Tables 6 and 7, for one criterion."""
    people = made.people
    title = f"Annotators, {_label(criterion).lower()}: Spearman (pairs); * p not below 0.0001"
    if people.reason:
        return f"Annotators\n{people.reason}\n" if criterion == made.measured[0] else ""
    reasons = _Reasons()
    pairs = {}
    for pair in people.pairs:
        if pair.criterion == criterion:
            pairs[pair.annotator, pair.other] = pairs[pair.other, pair.annotator] = pair
    names = people.annotators
    rows = [
        [
            printable(one),
            *("" if one == other else _value(pairs[one, other], reasons, interval=False) for other in names),
        ]
        for one in names
    ]
    each = {row.annotator: row for row in people.each if row.criterion == criterion}
    last: Sequence[tuple[str, Callable[[str], Coefficient]]] = (
        ("mean of all (the paper's row)", lambda name: each[name].with_mean_of_all),
        ("mean of the others", lambda name: each[name].with_mean_of_others),
    )
    rows += [
        [head, *(_value(figure(name), reasons, interval=False) for name in names)] for head, figure in last
    ]
    table = text_table(["", *map(printable, names)], rows, left={0})
    return _titled(title, table, reasons)


def _alpha(made: Agreement) -> str:
    if made.people.reason:
        return ""
    reasons = _Reasons()
    rows = [[_label(one.criterion), _value(one, reasons), str(one.annotators)] for one in made.people.alpha]
    table = text_table(["Criterion", "alpha [95%] (items)", "annotators"], rows, left={0})
    return _titled("Krippendorff's alpha, ordinal: 1 the same scores, 0 as by chance", table, reasons)


def _players(made: Agreement) -> str:
    """The paper's Table 5."""
    if all(row.player is None for row in made.sample.players):
        return ""
    rows = [
        [printable(row.player or "not known"), str(row.items), str(row.rated)] for row in made.sample.players
    ]
    return "Players in the sample\n" + text_table(["Player", "items", "rated"], rows, left={0})


def _disputes(made: Agreement) -> str:
    if not made.disputes:
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
        for row in made.disputes[:DISPUTES]
    ]
    heads = ["Judge", "Item", "Conversation", "", "Criterion", "judge", "people (of)", "places apart"]
    title = "Where judges and people part most (place: share of the items below; 1 apart: top against bottom)"
    return f"{title}\n" + text_table(heads, rows, left={0, 1, 2, 3, 4})


def _notes(made: Agreement) -> str:
    notes = list(made.notes)
    if any(one.ensembles for one in made.judged):
        notes.append(
            "The best ensemble is the best of several on these very items, so its lead is rather too large."
        )
    if FINAL in made.measured:
        notes.append("Final: the mean of the criteria, of items that have all of them.")
    return "".join(f"Note: {printable(note)}\n" for note in notes)
