"""The figures of a board, drawn from plain values. :mod:`bench.site.chart_pages` gets these from a board."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from bench.colours import FAINT, INK, MARK, PAPER
from bench.tables import fitting, letters

WIDTH = 6.6
ROW = 0.21
"""Inches, as is WIDTH."""
SIZE = 8
"""Of all text, in points."""
LETTER = 0.068
"""Mean width of a letter of that size, in inches."""
NAME_LENGTH = 32
END_LENGTH = 27
"""Most letters of a name in a column or row, and at the end of a line."""
LABEL_ALL = 12
"""Up to this many points of a scatter plot, all names are shown."""
TINTS = 12
LIGHTEST, DARKEST = 0.04, 0.42
"""Tints of a heat map. Text on the darkest has a contrast over 4.5 in the light and the dark scheme."""


@dataclass(frozen=True)
class Interval:
    """A value with its interval; ``other``: a second value to mark."""

    name: str
    link: str
    value: float
    low: float | None
    high: float | None
    other: float | None = None


@dataclass(frozen=True)
class Point:
    """A player in a scatter plot. ``end``: where the score moves to."""

    name: str
    link: str
    x: float
    y: float
    low: float | None
    high: float | None
    end: float | None = None


@dataclass(frozen=True)
class Line:
    """A player's changes from turn to turn."""

    name: str
    link: str
    turns: Sequence[int]
    values: Sequence[float]


@dataclass(frozen=True)
class HeatRow:
    """A row of a heat map."""

    name: str
    link: str
    values: Sequence[float | None]


def draw_intervals(
    rows: Sequence[Interval], title: str, whole: bool, marks: Sequence[str], width: float = WIDTH
) -> Figure:
    """A row for each player: a dot at its value, a bar over its interval.

    ``whole``: the values are ranks. ``marks``: what dot, bar and second mark are, for the legend.
    """
    tall = len(rows) > LABEL_ALL
    figure, axes = _rows(rows, top=0.3 if tall else 0.1, bottom=0.75, width=width)
    axes.tick_params(labeltop=tall, top=tall)
    ends = [e for row in rows for e in (row.low, row.high, row.value, row.other) if e is not None]
    if whole:
        axes.set_xlim(0.2, max(*ends, 2) + 0.8)
        axes.xaxis.set_major_locator(MaxNLocator(8, integer=True, min_n_ticks=1))
    else:
        margin = (max(ends) - min(ends)) * 0.05 or 0.5
        axes.set_xlim(min(ends) - margin, max(ends) + margin)
        axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axes.grid(axis="x", color=FAINT, alpha=0.25, linewidth=0.6)
    bars = [(row.low, row.high, y) for y, row in enumerate(rows) if row.low is not None]
    wide: dict[str, Any] = {"color": MARK, "alpha": 0.35, "linewidth": 6, "solid_capstyle": "round"}
    lines = _apart([(low, high) for low, high, _ in bars], [(y, y) for *_, y in bars])
    axes.plot(*lines, label=marks[1], **wide)
    others = [(row.other, y) for y, row in enumerate(rows) if row.other is not None]
    axes.plot([row.value for row in rows], range(len(rows)), "o", color=MARK, markersize=5, label=marks[0])
    if others:
        hollow: dict[str, Any] = {
            "markerfacecolor": "none",
            "markeredgecolor": INK,
            "markersize": 8,
            "linestyle": "none",
        }
        axes.plot(*zip(*others, strict=True), marker="D", label=marks[2], **hollow)
    axes.set_xlabel(title, fontsize=SIZE, color=INK)
    _legend(figure)
    return figure


def draw_scatter(
    points: Sequence[Point],
    titles: tuple[str, str],
    *,
    log: bool = False,
    money: bool = False,
    rule: tuple[Sequence[float], Sequence[float], float, str] | None = None,
) -> Figure:
    """Scores (upright) against something else. ``titles``: of the two axes.

    ``log``: the axis is logarithmic. ``money``: its numbers are dollars. ``rule``: x and y of a curve, the x
    of an upright line, and the name of both, for the legend.
    """
    figure = Figure(figsize=(WIDTH, 3.9), facecolor=PAPER)
    axes = _plain(figure.add_axes((0.1, 0.2, 0.87, 0.77)))
    axes.grid(color=FAINT, alpha=0.25, linewidth=0.6)
    if log:
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.xaxis.set_major_locator(MaxNLocator(7))
    axes.margins(0.08, 0.08)
    if money:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"${x:,.10f}".rstrip("0").rstrip(".")))
    spans = [point for point in points if point.low is not None]
    upright = _apart([(one.x, one.x) for one in spans], [(one.low, one.high) for one in spans])
    axes.plot(*upright, color=MARK, alpha=0.35, linewidth=1.5)
    moved = [point for point in points if point.end is not None]
    down = _apart([(one.x, one.x) for one in moved], [(one.y, one.end) for one in moved])
    axes.plot(*down, color=INK, linewidth=0.9)
    ends = [one.x for one in moved], [one.end or 0.0 for one in moved]
    axes.plot(*ends, "_", color=INK, markersize=7, markeredgewidth=1.4)
    dots = axes.scatter([one.x for one in points], [one.y for one in points], s=30, color=MARK, zorder=3)
    dots.set_urls([point.link or None for point in points])
    if rule is not None:
        axes.plot(rule[0], rule[1], color=FAINT, linewidth=1.4, linestyle=(0, (5, 2)), label=rule[3])
        axes.axvline(rule[2], color=FAINT, linewidth=0.9, linestyle=(0, (1.5, 1.5)))
    axes.set_xlabel(titles[0], fontsize=SIZE, color=INK)
    axes.set_ylabel(titles[1], fontsize=SIZE, color=INK)
    _label_points(axes, points)
    _legend(figure)
    return figure


def draw_lines(lines: Sequence[Line], average: Line | None, titles: tuple[str, str]) -> Figure:
    """A line for each player; the average of all players is drawn thick."""
    figure = Figure(figsize=(WIDTH, 3.9), facecolor=PAPER)
    axes = _plain(figure.add_axes((0.1, 0.2, 0.6, 0.77)))
    axes.grid(axis="y", color=FAINT, alpha=0.25, linewidth=0.6)
    axes.axhline(0, color=FAINT, linewidth=0.9)
    for line in lines:
        axes.plot(line.turns, line.values, color=MARK, alpha=0.5, linewidth=1.1, url=line.link or None)
    if average is not None:
        axes.plot(average.turns, average.values, color=INK, linewidth=2.4, label=average.name)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda y, _: f"{y:+.2g}".replace("-", "\u2212") if y else "0")
    )
    axes.set_xlabel(titles[0], fontsize=SIZE, color=INK)
    axes.set_ylabel(titles[1], fontsize=SIZE, color=INK)
    named = sorted(lines, key=lambda line: line.values[-1])
    if len(named) > LABEL_ALL:
        named = [*named[:4], *named[-4:]]
    low, high = axes.get_ylim()
    places = spread([line.values[-1] for line in named], (high - low) * 0.045)
    last = max(turn for line in lines for turn in line.turns)
    for line, y in zip(named, places, strict=True):
        place: dict[str, Any] = {"xytext": (6, 0), "textcoords": "offset points", "va": "center"}
        place |= {"fontsize": SIZE, "color": INK, "url": line.link or None}
        axes.annotate(fitting(line.name, END_LENGTH), (last, y), **place)
        axes.plot([line.turns[-1]], [line.values[-1]], "o", color=MARK, markersize=3.5)
    _legend(figure)
    return figure


def draw_heat(rows: Sequence[HeatRow], columns: Sequence[str]) -> Figure:
    """A table of values. Tints run from the lowest value of a column to its highest."""
    upright = len(columns) > 4
    heads = [fitting(name, NAME_LENGTH) for name in columns]
    figure, axes = _rows(rows, top=max(map(letters, heads)) * LETTER + 0.2 if upright else 0.3, bottom=0.1)
    axes.set_xlim(0, len(columns))
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    cells: dict[int, list[Path]] = {}
    for x in range(len(columns)):
        known = [value for row in rows if (value := row.values[x]) is not None]
        for y, row in enumerate(rows):
            if (value := row.values[x]) is not None:
                span = max(known) - min(known)
                share = (value - min(known)) / span if span else 0.5
                corners = [(x, y - 0.5), (x + 1, y - 0.5), (x + 1, y + 0.5), (x, y + 0.5), (x, y - 0.5)]
                cells.setdefault(round(share * TINTS), []).append(Path(corners, closed=True))
            text = "–" if value is None else f"{value:.2f}"
            axes.text(x + 0.5, y, text, ha="center", va="center", fontsize=SIZE, color=INK)
    for tint, paths in sorted(cells.items()):
        alpha = LIGHTEST + (DARKEST - LIGHTEST) * tint / TINTS
        cell = PathPatch(Path.make_compound_path(*paths), facecolor=MARK, alpha=alpha, linewidth=0, zorder=0)
        axes.add_patch(cell)
    for x, name in enumerate(heads):
        turned: dict[str, Any] = {"rotation": 90} if upright else {}
        axes.text(x + 0.5, -0.65, name, ha="center", va="bottom", fontsize=SIZE, color=INK, **turned)
    return figure


def spread(values: Sequence[float], least: float) -> list[float]:
    """Positions near sorted ``values`` that are at least ``least`` apart."""
    places: list[float] = []
    for value in values:
        places.append(value if not places else max(value, places[-1] + least))
    excess = places[-1] - values[-1] if places else 0.0
    for n in range(len(places) - 1, -1, -1):  # shift what was pushed up half the way back
        ceiling = places[n + 1] - least if n + 1 < len(places) else places[n] - excess / 2
        places[n] = min(places[n], ceiling)
    return places


def best_of(points: Iterable[Point]) -> list[Point]:
    """The points that no other beats: none further left has a score as high."""
    best: list[Point] = []
    for point in sorted(points, key=lambda point: (point.x, -point.y)):
        if not best or point.y > best[-1].y:
            best.append(point)
    return best


def _plain(axes: Axes) -> Axes:
    """Axes without a frame, in the shared colours."""
    axes.set_facecolor("none")
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.tick_params(labelsize=SIZE, colors=FAINT, labelcolor=INK, length=3, which="both")
    axes.set_axisbelow(True)
    return axes


def _rows(
    rows: Sequence[Interval | HeatRow], *, top: float, bottom: float, width: float = WIDTH
) -> tuple[Figure, Axes]:
    """A figure with a row for each player and its name on the left."""
    height = top + bottom + ROW * len(rows)
    figure = Figure(figsize=(width, height), facecolor=PAPER)
    room = min(NAME_LENGTH, (0.45 * width - 0.15) / LETTER)
    names = [fitting(row.name, room) for row in rows]
    left = (max(map(letters, names)) * LETTER + 0.15) / width
    axes = _plain(figure.add_axes((left, bottom / height, 0.98 - left, ROW * len(rows) / height)))
    axes.spines["left"].set_visible(False)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks([])
    for y, (row, name) in enumerate(zip(rows, names, strict=True)):
        place: dict[str, Any] = {"ha": "right", "va": "center", "transform": axes.get_yaxis_transform()}
        axes.text(-0.015, y, name, fontsize=SIZE, color=INK, url=row.link or None, **place)
    return figure, axes


def _legend(figure: Figure) -> None:
    handles, labels = figure.axes[0].get_legend_handles_labels()
    if handles:
        style: dict[str, Any] = {
            "frameon": False,
            "fontsize": SIZE,
            "labelcolor": INK,
            "borderaxespad": 0.2,
            "handlelength": 2,
        }
        figure.legend(handles, labels, loc="lower center", ncols=len(handles), **style)


def _apart(
    xs: Iterable[Sequence[float | None]], ys: Iterable[Sequence[float | None]]
) -> tuple[list[float], list[float]]:
    """Coordinates of one path that draws separate lines: a third of its size in a file. Gaps are NaN."""

    def joined(lines: Iterable[Sequence[float | None]]) -> list[float]:
        return [float("nan") if end is None else end for line in lines for end in (*line, None)]

    return joined(xs), joined(ys)


def _label_points(axes: Axes, points: Sequence[Point]) -> None:
    """Names beside points: first those of the best, then others where there is room."""
    best = best_of(points)
    rest = sorted((point for point in points if point not in best), key=lambda point: -point.y)
    to_share = _to_share(axes)
    taken = [(x - 0.008, x + 0.008, y - 0.012, y + 0.012) for x, y in map(to_share, points)]
    for point in (*best, *rest):
        x, y = to_share(point)
        name = fitting(point.name, NAME_LENGTH)
        width = letters(name) * LETTER / (WIDTH * 0.87)
        for right, up in (
            (True, 0.0),
            (False, 0.0),
            (True, 0.04),
            (True, -0.04),
            (False, 0.04),
            (False, -0.04),
        ):
            left = x + 0.014 if right else x - 0.014 - width
            box = (left, left + width, y + up - 0.02, y + up + 0.02)
            if box[0] > 0 and box[1] < 1 and box[2] > 0 and not any(_meet(box, other) for other in taken):
                place: dict[str, Any] = {
                    "ha": "left" if right else "right",
                    "va": "center",
                    "transform": axes.transAxes,
                }
                at = x + 0.014 if right else x - 0.014
                axes.text(at, y + up, name, fontsize=SIZE, color=INK, url=point.link or None, **place)
                taken.append(box)
                break


def _to_share(axes: Axes) -> Callable[[Point], tuple[float, float]]:
    """A function to positions as shares of the axes' width and height."""
    axes.autoscale_view()  # or the transformation is that of empty axes
    to_axes = (axes.transData + axes.transAxes.inverted()).transform

    def share(point: Point) -> tuple[float, float]:
        x, y = to_axes((point.x, point.y))
        return float(x), float(y)

    return share


def _meet(one: tuple[float, float, float, float], two: tuple[float, float, float, float]) -> bool:
    return one[0] < two[1] and two[0] < one[1] and one[2] < two[3] and two[2] < one[3]
