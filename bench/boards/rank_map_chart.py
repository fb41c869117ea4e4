"""The figure of a rank map: two axes of ranks, one line per model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bench.colours import FAINT, INK, PAPER
from bench.errors import UserError
from bench.scores.correlation import Correlation
from bench.scores.rankmap import Matched, RankMap
from bench.slugs import slug
from bench.tables import fitting, printable

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b565a7", "#947600", "#7f7f7f")
"""Distinguishable with any colour vision (after Okabe and Ito), 3:1 or more on light and dark pages."""
MARKERS = ("o", "s", "^", "D", "v", "P")
Dashes = Literal["solid"] | tuple[float, tuple[float, ...]]
DASHES: tuple[Dashes, ...] = ("solid", (0, (5, 2)), (0, (1.5, 1.5)))
"""A further round of families gets the next dashes, so that lines never differ by colour alone."""

WIDTH = 9.0
ROW = 0.27
HEAD, FOOT = 0.75, 0.7
LEFT, RIGHT = 0.44, 0.66
"""Positions of the two axes of ranks, as shares of the width; the names are outside them."""
BANDS = 0.4
"""Room for the bands of our ranks, left of our axis, in the units between the axes."""
NAME_LENGTH = 34


@dataclass(frozen=True)
class Style:
    """How a family's lines look."""

    colour: str
    marker: str
    dashes: Dashes


def family_styles(families: Iterable[str]) -> dict[str, Style]:
    """A style for each family, by name, so that a family keeps its look while the set stays the same."""
    styles = {}
    for n, family in enumerate(sorted(set(families))):
        turn, at = divmod(n, len(COLOURS))
        marker = MARKERS[(at + turn) % len(MARKERS)]
        styles[family] = Style(COLOURS[at], marker, DASHES[turn % len(DASHES)])
    return styles


def title_of(made: RankMap) -> str:
    """The title that the file of the figure carries."""
    return printable(f"{made.ours} and {made.benchmark}: ranks of {made.n} models")


def prefix_of(made: RankMap) -> str:
    """The prefix of ids inside the SVG."""
    return f"rank-map-{slug(made.list_name)}"


def caption(made: RankMap) -> str:
    """What the figure shows, in one sentence, for its foot and for screen readers."""
    return f"Spearman {_number(made.spearman)}; Kendall {_number(made.kendall)}; {made.n} models"


def bands_note(made: RankMap) -> str:
    """What the bars of our side are."""
    return {
        "pairs": "the ranks each could hold, by comparing pairs on the same scenes",
        "intervals": "the ranks each could hold, by our intervals",
    }[made.left_open_by]


def _number(made: Correlation) -> str:
    if made.value is None or made.p is None:
        return f"unknown ({made.reason})"
    ends = "" if made.low is None else f", 95% interval {made.low:.2f} to {made.high:.2f}"
    p = "p < 0.001" if made.p < 0.001 else f"p = {made.p:.3f}"
    return f"{made.value:.2f} ({p}{ends})".replace("-", "\u2212")


def draw_rank_map(made: RankMap, links: Mapping[str, str] | None = None) -> Figure:
    """Draw a map; :func:`bench.figures.rendered` saves it.

    ``links``: player to the address that its line and name lead to. In the SVG a player's line has the id
    ``<prefix>-line-<slug of the player>``.
    Raises UserError with fewer than three models in common.
    """
    if not made.drawable:
        raise UserError(
            f"need 3 models in common with {made.list_name}; {made.ours} has {made.n}",
            hint="Map your names to its names in results/external/aliases.toml.",
        )
    links = links or {}
    styles = family_styles(m.family for m in made.models)
    legend_rows = -(-len(styles) // 6) if styles.keys() != {"unknown"} else 0
    height = HEAD + FOOT + ROW * (made.n + legend_rows)
    figure = Figure(figsize=(WIDTH, height), facecolor=PAPER)
    bottom = (FOOT + ROW * legend_rows) / height
    axes = figure.add_axes((LEFT, bottom, RIGHT - LEFT, 1 - bottom - HEAD / height))
    axes.set_xlim(0, 1)
    axes.set_ylim(made.n + 0.5, 0.5)
    axes.set_axis_off()
    for x in (0, 1):
        axes.plot([x, x], [0.5, made.n + 0.5], color=FAINT, linewidth=0.8, zorder=1)
    _bands(axes, made, styles)
    for model in made.models:
        _line(axes, model, styles[model.family], model.player in made.movers, links.get(model.player))
    _names(axes, made, links)
    _heads(axes, made)
    for y, text in ((0.27, caption(made)), (0.1, f"Bars beside our ranks: {bands_note(made)}")):
        figure.text(0.5, y / height, text, ha="center", va="bottom", fontsize=8, color=INK)
    if legend_rows:
        _legend(figure, styles, (FOOT - 0.2) / height)
    return figure


def _bands(axes: Axes, made: RankMap, styles: Mapping[str, Style]) -> None:
    """For each player the ranks it could hold: one upright bar each, side by side."""
    for n, model in enumerate(made.models):
        if model.our_rank_low is None or model.our_rank_high is None:
            continue
        x = -BANDS + (BANDS - 0.06) * (n / max(made.n - 1, 1))
        ends = [model.our_rank_low - 0.2, model.our_rank_high + 0.2]
        bar = axes.plot([x, x], ends, color=styles[model.family].colour, linewidth=1.8, alpha=0.55)[0]
        bar.set_clip_on(False)
        bar.set_gid(f"band-{slug(model.player)}")
        dot = axes.plot([x], [model.our_rank], ".", color=styles[model.family].colour, markersize=5)[0]
        dot.set_clip_on(False)


def _line(axes: Axes, model: Matched, style: Style, mover: bool, link: str | None) -> None:
    line = Line2D(
        [0, 1],
        [model.our_rank, model.their_rank],
        color=style.colour,
        linewidth=2.6 if mover else 1.3,
        linestyle=style.dashes,
        marker=style.marker,
        markersize=6,
        zorder=4 if mover else 3,
        clip_on=False,
    )
    line.set_gid(f"line-{slug(model.player)}")
    if link:
        line.set_url(link)
    axes.add_line(line)


def _names(axes: Axes, made: RankMap, links: Mapping[str, str]) -> None:
    """Names beside their ranks, those that share a rank side by side in its row's place.

    The largest movers are bold, with the ranks they moved on the other list's side.
    """
    ours: dict[float, list[Matched]] = {}
    theirs: dict[float, list[Matched]] = {}
    for model in made.models:
        ours.setdefault(model.our_rank, []).append(model)
        theirs.setdefault(model.their_rank, []).append(model)
    for x, groups, side in ((-BANDS - 0.04, ours, "ours"), (1.05, theirs, "theirs")):
        for rank, group in groups.items():
            for row, model in enumerate(group):
                mover = model.player in made.movers
                name = model.name if side == "ours" else model.their_name
                score = f"{model.our_score:.2f}" if side == "ours" else f"{model.their_score:.4g}"
                moved = f" {'▲' if model.moved > 0 else '▼'}{abs(model.moved):g}" * mover
                parts = (fitting(name, NAME_LENGTH) + moved * (side == "theirs"), score, f"{rank:g}")
                text = axes.text(
                    x,
                    rank + row - (len(group) - 1) / 2,
                    "  ".join(parts if side == "ours" else parts[::-1]),
                    ha="right" if side == "ours" else "left",
                    va="center",
                    fontsize=8,
                    color=INK,
                    weight="bold" if mover else "normal",
                )
                if side == "ours" and model.player in links:
                    text.set_url(links[model.player])


def _heads(axes: Axes, made: RankMap) -> None:
    version = f" v{made.version}" if made.version else ""
    for x, side, text in ((0.02, "right", made.ours), (0.98, "left", f"{made.benchmark}{version}")):
        axes.text(
            x,
            -0.1,
            printable(text),
            ha=side,
            va="bottom",
            fontsize=9,
            weight="bold",
            color=INK,
        )


def _legend(figure: Figure, styles: Mapping[str, Style], y: float) -> None:
    handles = [
        Line2D([0], [0], color=s.colour, marker=s.marker, linestyle=s.dashes, label=name or "–")
        for s, name in ((s, fitting(family, NAME_LENGTH)) for family, s in styles.items())
    ]
    figure.legend(
        handles=handles,
        loc="lower center",
        bbox_to_anchor=(0.5, y),
        ncols=min(len(handles), 6),
        frameon=False,
        fontsize=7.5,
        labelcolor=INK,
        handlelength=2.4,
        borderaxespad=0,
    )
