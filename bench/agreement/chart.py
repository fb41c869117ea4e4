"""The figure of a human study: every judge's correlation with people, and how far people agree."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import MultipleLocator

from bench.agreement.judges import JudgeAgreement, JudgedReport
from bench.agreement.report import Agreement
from bench.colours import FAINT, INK, PAPER
from bench.slugs import slug
from bench.tables import fitting, printable

WIDTH = 7.0
ROW = 0.3
HEAD, FOOT = 0.5, 0.75
LEFT = 0.36
"""Left end of the scale, as a share of the width; the names are left of it."""
NAME_LENGTH = 32
JUDGE, ENSEMBLE = "#0072b2", "#d55e00"
"""Distinguishable with any colour vision; the marks differ too."""


def title_of(agreement: Agreement, judged: JudgedReport) -> str:
    """The title that the file of the figure carries."""
    return printable(f"{agreement.name}: {judged.label} against people")


def prefix_of(judged: JudgedReport) -> str:
    """The prefix of ids inside the SVG, and the name of its file."""
    return f"people-{slug(judged.label)}"


def rows_of(agreement: Agreement, judged: JudgedReport) -> list[JudgeAgreement]:
    """The rows of the figure: judges and ensembles with a value on the last criterion, highest first."""
    rows = [
        row for row in judged.figures if row.criterion == agreement.measured[-1] and row.value is not None
    ]
    return sorted(rows, key=lambda row: -(row.value or 0.0))


def people_range(agreement: Agreement) -> tuple[float, float] | None:
    """The lowest and highest correlation of an annotator with the mean of the others, on that criterion."""
    values = [
        row.with_mean_of_others.value
        for row in agreement.people.each_of(agreement.measured[-1])
        if row.with_mean_of_others.value is not None
    ]
    return (min(values), max(values)) if values else None


def caption(agreement: Agreement, judged: JudgedReport) -> str:
    """A description of the figure of one version, for its foot and for screen readers."""
    what = agreement.measured[-1].replace("_", " ")
    text = f"Spearman correlation with the mean of the annotators, {what}; 95% intervals"
    if any(row.members for row in rows_of(agreement, judged)):
        text += ". Diamonds: means of several judges"
    if people_range(agreement):
        text += ". Shaded: one annotator with the mean of the others"
    return text


def draw_agreement(agreement: Agreement, judged: JudgedReport) -> Drawing:
    """Draw the figure of one version; :func:`bench.figures.rendered` saves it."""
    rows = rows_of(agreement, judged)
    height = HEAD + FOOT + ROW * len(rows)
    figure = Drawing(figsize=(WIDTH, height), facecolor=PAPER)
    axes = figure.add_axes((LEFT, FOOT / height, 0.97 - LEFT, ROW * len(rows) / height))
    ends = [end for row in rows for end in (row.value, row.low) if end is not None]
    band = people_range(agreement)
    axes.set_xlim(min(-0.05, *ends, *(band or ())) - 0.02, 1.02)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_facecolor(PAPER)
    _scale(axes)
    if band is not None:
        low, high = (band[0] - 0.004, band[1] + 0.004)  # one annotator's range would be invisible
        axes.axvspan(low, high, color=FAINT, alpha=0.25, linewidth=0, zorder=0)
    for at, row in enumerate(rows):
        _row(axes, at, row)
    figure.text(LEFT, 1 - 0.3 / height, printable(judged.label), fontsize=9, weight="bold", color=INK)
    for line, words in enumerate(caption(agreement, judged).split(". ", 1)):
        figure.text(0.5, (0.3 - 0.17 * line) / height, printable(words), ha="center", fontsize=7.5, color=INK)
    return figure


def _scale(axes: Axes) -> None:
    axes.xaxis.set_major_locator(MultipleLocator(0.25))
    axes.tick_params(axis="x", colors=INK, labelsize=8, length=0)
    axes.set_yticks([])
    axes.grid(axis="x", color=FAINT, linewidth=0.4, alpha=0.5)
    axes.axvline(0, color=FAINT, linewidth=0.9)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _row(axes: Axes, at: int, row: JudgeAgreement) -> None:
    assert row.value is not None
    colour, marker = (ENSEMBLE, "D") if row.members else (JUDGE, "o")
    if row.low is not None and row.high is not None:
        axes.plot([row.low, row.high], [at, at], color=colour, linewidth=1.6, zorder=2)
    axes.plot([row.value], [at], marker, color=colour, markersize=5.5, zorder=3)
    name = fitting(row.name, NAME_LENGTH)
    if row.members and name != printable(row.name):
        name = f"Mean of {len(row.members)} judges"
    axes.text(
        -0.02,
        at,
        f"{name}  {row.value:.2f}",
        transform=axes.get_yaxis_transform(),
        ha="right",
        va="center",
        fontsize=8,
        color=INK,
    )
