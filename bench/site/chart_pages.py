"""The charts of a board: which there are, what they show in words, and their files.

``charts/NAME.svg``, ``.png`` and ``.csv`` are beside the board's page. A chart is left out where its numbers
are unknown, and all of them on boards with few players, whose table says as much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import median

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure

from bench.figures import Form, renderings
from bench.protocol_facts import facts_of
from bench.scores import paper
from bench.scores.analyses.turns import ALL
from bench.site.board_charts import (
    LABEL_ALL,
    HeatRow,
    Interval,
    Line,
    Point,
    draw_heat,
    draw_intervals,
    draw_lines,
    draw_scatter,
)
from bench.site.context import LEAST_CHARTED, BoardContext
from bench.site.embeds import embed_row, interval_ends
from bench.site.labels import label
from bench.site.svg import inline_figure
from bench.site.text import plain
from bench.tables import Cell, csv_table

FOLDER = "charts"
NARROW = 4.4
"""Inches of the chart on the home page: its text can be read on a phone."""
WIDE = 8.0
"""Costs whose largest is this many times the smallest are on a logarithmic axis."""


@dataclass(frozen=True)
class Chart:
    """A chart: what it shows in words, its table, and how it is drawn."""

    key: str
    title: str
    about: str
    heads: tuple[str, ...]
    rows: Sequence[Sequence[Cell]]
    draw: Callable[[], Figure]


@dataclass(frozen=True)
class ShownChart:
    """A chart for the board's page, and its files."""

    key: str
    title: str
    about: str
    figure: Markup
    files: Mapping[str, bytes]
    """By their paths from the board's folder."""


def shown_charts(context: BoardContext) -> list[ShownChart]:
    """All charts of a board."""
    names = {_link(context, info.player): plain(info.name, 80) for info in context.infos}
    return [_shown(context, chart, names) for chart in _charts(context)]


def picture(context: BoardContext) -> str:
    """The file of a board's first chart, which is not drawn for that; empty without charts."""
    return next((f"{FOLDER}/{chart.key}.png" for chart in _charts(context)), "")


def leaders(context: BoardContext, page: str, most: int) -> Markup:
    """The best players of a board with their intervals, as a figure for ``page``; empty without any."""
    to = context.links(page)
    known = [
        Interval(row.name, to.player(row.player), row.value, row.low, row.high)
        for row in map(embed_row, context.board.rows)
        if row.value is not None
    ][:most]
    if not known:
        return Markup("")
    title = context.rules.number.capitalize()
    pictures = renderings(
        lambda: draw_intervals(known, title, False, ("score", "95% interval"), NARROW),
        ("svg",),
        title,
        "leaders",
    )
    about = "; ".join(f"{row.name}: {row.value:.2f}" for row in known)
    links = {row.link: plain(row.name, 80) for row in known}
    return inline_figure(pictures["svg"], "leaders", about, names=links)


def _link(context: BoardContext, player: str) -> str:
    """The page of a player, from a chart's file."""
    return context.links(context.links().file(f"{FOLDER}/x")).player(player)


def _shown(context: BoardContext, chart: Chart, names: Mapping[str, str]) -> ShownChart:
    title = f"{chart.title}: {context.title}"
    forms: tuple[Form, ...] = ("svg", "png")
    pictures = renderings(chart.draw, forms, title, f"chart-{chart.key}")
    files = {f"{FOLDER}/{chart.key}.{form}": pictures[form] for form in forms}
    files[f"{FOLDER}/{chart.key}.csv"] = csv_table(chart.heads, chart.rows).encode()
    figure = inline_figure(pictures["svg"], f"chart-{chart.key}", chart.about, names=names, folder="../")
    return ShownChart(chart.key, chart.title, chart.about, figure, files)


def _charts(context: BoardContext) -> Iterator[Chart]:
    if context.rules.probes:
        return
    for make in (_ranks, _cost, _length, _stamina, _criteria):
        chart = make(context)
        if chart is not None and len(chart.rows) >= LEAST_CHARTED:
            yield chart


def _ranks(context: BoardContext) -> Chart | None:
    found = [
        (row, row.rank, row.robust.standing())
        for row in context.board.rows
        if row.robust is not None and row.rank is not None
    ]
    found.sort(key=lambda one: (one[2].rank, one[2].rank_high, one[1]))
    rows = [
        Interval(row.name, _link(context, row.player), at.rank, at.rank_low, at.rank_high, rank)
        for row, rank, at in found
    ]
    marks = ("robust rank", "ranks it could plausibly hold", "rank on the board")
    return Chart(
        "ranks",
        "Ranks",
        "Each player's rank under the robust scoring, and the ranks it could plausibly hold. A diamond marks"
        " its rank on the board. Two players whose bars overlap widely are not clearly different.",
        ("player", "name", "rank", "robust_rank", "rank_low", "rank_high"),
        [(row.player, row.name, rank, at.rank, at.rank_low, at.rank_high) for row, rank, at in found],
        lambda: draw_intervals(rows, "Rank (1 is best)", True, marks),
    )


def _cost(context: BoardContext) -> Chart | None:
    points, table = [], []
    for row in context.board.rows:
        if row.cost is None or row.length_norm_score is None or not row.conversations:
            continue
        score, half = row.length_norm_score, row.length_norm_ci
        each = float(Decimal(row.cost) / row.conversations)
        points.append(Point(row.name, _link(context, row.player), each, score, *interval_ends(score, half)))
        table.append((row.player, row.name, each, score, half))
    least = min((point.x for point in points), default=0.0)
    if not any(point.x for point in points):
        return None
    log = least > 0 and max(point.x for point in points) > WIDE * least
    titles = (
        "US dollars for a conversation and its judgements",
        context.rules.number.capitalize(),
    )
    return Chart(
        "cost",
        "Score and cost",
        "Score against the cost of a conversation, including the user's side and the judges. Higher is"
        " better, further left is cheaper. Vertical lines are 95% intervals."
        + (" The axis of costs is logarithmic." if log else ""),
        ("player", "name", "cost_of_a_conversation", "score", "score_ci"),
        table,
        lambda: draw_scatter(points, titles, log=log, money=True),
    )


def _length(context: BoardContext) -> Chart | None:
    rows = [row for row in context.board.rows if row.score is not None and row.avg_length is not None]
    if context.rules.length == "none" or not rows:
        return None
    points, table = [], []
    for row in rows:
        score, length = row.score or 0.0, row.avg_length or 0
        at = (float(length), score, *interval_ends(score, row.score_ci))
        points.append(Point(row.name, _link(context, row.player), *at, row.length_norm_score))
        table.append((row.player, row.name, length, score, row.score_ci, row.length_norm_score))
    middle = context.board.median_length or 0.0
    typical = median(point.y for point in points)
    span = max(point.y for point in points) - min(point.y for point in points)
    ends = min(point.x for point in points), max(point.x for point in points)
    lengths = np.linspace(*ends, 80).tolist()
    if context.rules.length == "paper_v2":
        curve = [typical * paper.length_factor(length, middle) for length in lengths]
    else:
        curve = [typical + span * paper.v1_penalty(length, middle) for length in lengths]
    rule = (lengths, curve, middle, f"what the length rule leaves of a score of {typical:.2f}")
    titles = ("Mean length of an answer, in characters", "Score before the length rule")
    return Chart(
        "length",
        "Score and length",
        "Score before length normalisation against the mean length of an answer. A dark line leads down to"
        f" the length-normalised score. The dotted line is the median length, {middle:g} characters; the"
        " dashed curve is what the length rule does to a typical score.",
        ("player", "name", "length", "score", "score_ci", "length_norm_score"),
        table,
        lambda: draw_scatter(points, titles, rule=rule),
    )


def _stamina(context: BoardContext) -> Chart | None:
    lines, table, average = [], [], None
    if not facts_of(context.board.protocol).multi_turn:
        return None
    for player, turns in context.evidence.turns.items():
        known = [(turn.turn, turn.change) for turn in turns if turn.change is not None]
        first = min((turn.turn for turn in turns), default=1)
        known = [(first, 0.0), *(one for one in known if one[0] != first)]
        if len(known) < 2:
            continue
        numbers, values = [turn for turn, _ in known], [change for _, change in known]
        if player == ALL:
            average = Line("mean of all players", "", numbers, values)
        elif player in context.names:
            lines.append(Line(context.names[player], _link(context, player), numbers, values))
            table += [(player, context.names[player], turn, change) for turn, change in known]
    if len(lines) < LEAST_CHARTED:
        return None
    some = " The players that change most are named." if len(lines) > LABEL_ALL else ""
    return Chart(
        "stamina",
        "Stamina",
        "How scores change as a conversation goes on: the change since the first turn of the same"
        f" conversations. Below zero, a player gets worse.{some}",
        ("player", "name", "turn", "change"),
        table,
        lambda: draw_lines(lines, average, ("Turn", "Change since the first turn")),
    )


def _criteria(context: BoardContext) -> Chart | None:
    criteria = context.board.criteria
    rows = [row for row in context.board.rows if row.criteria]
    if len(criteria) < 2 or not rows:
        return None
    values = [[row.criteria.get(name) for name in criteria] for row in rows]
    drawn = [
        HeatRow(row.name, _link(context, row.player), cells) for row, cells in zip(rows, values, strict=True)
    ]
    return Chart(
        "criteria",
        "Criteria",
        "Mean score on each criterion. The tints of each column run from its lowest to its highest value, so"
        " they show who is good at what, not which criterion is easy.",
        ("player", "name", *criteria),
        [(row.player, row.name, *cells) for row, cells in zip(rows, values, strict=True)],
        lambda: draw_heat(drawn, [label(name) for name in criteria]),
    )
