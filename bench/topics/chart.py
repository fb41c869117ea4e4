"""The figure of topics: a bar for each share, outliers last, covered topics in another colour."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from bench.colours import FAINT, INK, PAPER
from bench.tables import fitting
from bench.topics.report import Report

TITLE = "Topics and their shares of the messages"
COVERED, UNCOVERED, OUTSIDE = "#0072b2", "#d55e00", "#7f7f7f"
"""Distinct with any colour vision (after Okabe and Ito). A hatch also marks uncovered topics."""

WIDTH, ROW, HEAD, FOOT = 8.0, 0.34, 0.5, 0.75
LEFT = 0.42
LABEL_LENGTH = 40


@dataclass(frozen=True)
class _Bar:
    label: str
    share: float
    colour: str
    hatch: str


def caption(report: Report) -> str:
    """One sentence for the foot of the figure and for the terminal."""
    coverage = report.coverage
    if coverage is None:
        share = 1 - report.outliers.share
        return f"{len(report.topics)} topics hold {share:.1%} of {report.source.used:,} messages"
    table = coverage.threshold is None
    how = "by the coverage table" if table else f"similarity {coverage.threshold:g} or more"
    return (
        f"{coverage.suite} covers {coverage.covered:.1%} of {report.source.used:,} messages ({how});"
        f" {coverage.uncovered:.1%} are in other topics, {coverage.outside:.1%} in no topic"
    )


def _bars(report: Report) -> list[_Bar]:
    bars = []
    for topic in report.topics:
        uncovered = report.coverage is not None and not topic.covered_by
        colour, hatch = (UNCOVERED, "///") if uncovered else (COVERED, "")
        label = f"{topic.id}. {fitting(topic.label, LABEL_LENGTH)}"
        bars.append(_Bar(label, topic.share, colour, hatch))
    return [*bars, _Bar("no topic", report.outliers.share, OUTSIDE, "")]


def draw_topics(report: Report) -> Figure:
    """Draw the figure of a report; :func:`bench.figures.rendered` saves it."""
    bars = _bars(report)
    height = HEAD + FOOT + ROW * len(bars)
    figure = Figure(figsize=(WIDTH, height), facecolor=PAPER)
    axes = figure.add_axes((LEFT, FOOT / height, 0.94 - LEFT, 1 - (HEAD + FOOT) / height), facecolor="none")
    for at, bar in enumerate(bars):
        drawn = axes.barh(
            at, bar.share, 0.66, color=bar.colour, hatch=bar.hatch, edgecolor=PAPER, linewidth=0
        )
        drawn[0].set_gid(f"bar-{at + 1}")
        axes.annotate(
            f"{bar.share:.1%}",
            (bar.share, at),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=INK,
        )
    axes.set_yticks(range(len(bars)), [bar.label for bar in bars], fontsize=8.5, color=INK)
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.set_xlim(0, max(bar.share for bar in bars) * 1.12 or 1)
    axes.set_xticks([])
    axes.tick_params(length=0)
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)
    axes.spines["left"].set_color(FAINT)
    figure.text(0.5, 0.2 / height, caption(report), ha="center", va="bottom", fontsize=7.5, color=INK)
    if report.coverage is not None:
        handles = [
            Patch(facecolor=COVERED, label="covered"),
            Patch(facecolor=UNCOVERED, hatch="///", edgecolor=PAPER, label="not covered"),
            Patch(facecolor=OUTSIDE, label="in no topic"),
        ]
        figure.legend(
            handles=handles,
            loc="upper right",
            bbox_to_anchor=(0.96, 1 - 0.05 / height),
            ncols=3,
            frameon=False,
            fontsize=8,
            labelcolor=INK,
        )
    return figure
