"""Rank maps: a board next to the list of another benchmark, if they share enough models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from markupsafe import Markup, escape

from bench.boards.rank_map_chart import bands_note, caption, draw_rank_map, prefix_of, title_of
from bench.figures import FORMS, Form, rendered
from bench.records import canonical
from bench.scores.rankmap import RankMap, board_rank_map
from bench.site.context import BoardContext
from bench.site.shell import Page
from bench.site.svg import inline_figure
from bench.site.text import plain
from bench.slugs import slug
from bench.tables import fitting

LINE, TOP, WIDTH, SIDE = 20, 14, 360, 146
"""Of the map for phones: height of a rank, the first rank, the width, and the room for names at each side."""


def rank_maps_page(context: BoardContext) -> Page:
    """All maps of a board."""
    return context.part_page("rank-maps", {"maps": [_shown(context, one) for one in _maps(context)]})


def rank_map_files(context: BoardContext) -> Iterator[tuple[str, bytes]]:
    """(path, content) of each map as SVG, PNG, PDF and JSON."""
    for rank_map in _maps(context):
        name = context.links().file(f"rank-maps/{slug(rank_map.list_name)}")
        for form in FORMS:
            yield f"{name}.{form}", _figure(rank_map, form)
        yield f"{name}.json", canonical(rank_map.model_dump(mode="json")).encode("utf-8")


def _maps(context: BoardContext) -> list[RankMap]:
    made = (board_rank_map(context.board, one, context.aliases, context.separated) for one in context.lists)
    return [_titled(rank_map, context.title) for rank_map in made]


def _titled(rank_map: RankMap, title: str) -> RankMap:
    """The map with the board's title for readers in place of its ids."""
    warnings = tuple(warning.replace(rank_map.ours, title) for warning in rank_map.warnings)
    return rank_map.model_copy(update={"ours": title, "warnings": warnings})


def _shown(context: BoardContext, rank_map: RankMap) -> dict[str, Any]:
    """Values for a map's section of the page."""
    key = slug(rank_map.list_name)
    to = context.links(context.links().part("rank-maps"))
    links = {model.player: to.player(model.player) for model in rank_map.models}
    names = {links[model.player]: plain(context.names[model.player], 80) for model in rank_map.models}
    about = f"Lines join each model's rank here to its rank there. {caption(rank_map)}. A table follows."
    return {
        "key": key,
        "map": rank_map,
        "caption": caption(rank_map),
        "ranks_note": bands_note(rank_map),
        "figure": inline_figure(_figure(rank_map, "svg", links), f"{key}-figure", about, names=names),
        "small": _small(rank_map, links, f"{key}-small"),
        "files": [(form.upper(), f"rank-maps/{key}.{form}") for form in (*FORMS, "json")],
    }


def _small(rank_map: RankMap, links: Mapping[str, str], ident: str) -> Markup:
    """The map for phones: ranks and short names, without scores or the ranks that each could hold."""
    right = WIDTH - SIDE
    ours = sorted(rank_map.models, key=lambda model: model.our_rank)
    theirs = sorted(rank_map.models, key=lambda model: model.their_rank)
    parts = []
    for n, model in enumerate(ours):
        ends = [TOP + LINE * (rank - 1) for rank in (model.our_rank, model.their_rank)]
        moved = " rc-moved" if model.player in rank_map.movers else ""
        label = f"{plain(model.name, 60)}: rank {model.our_rank:g} here, {model.their_rank:g} there"
        texts = (
            ("rc-axis-y", SIDE - 8, n, f"{_short(model.name)} {model.our_rank:g}"),
            (
                "rc-axis-z",
                right + 8,
                theirs.index(model),
                f"{model.their_rank:g} {_short(model.their_name)}",
            ),
        )
        words = "".join(
            f'<text class="{kind}{moved}" x="{x}" y="{TOP + LINE * row + 4}">{escape(text)}</text>'
            for kind, x, row, text in texts
        )
        line = f'<path class="rc-slope{moved}" d="M{SIDE} {ends[0]:g}L{right} {ends[1]:g}"/>'
        href = escape(links[model.player])
        parts.append(f'<a href="{href}"><title>{escape(label)}</title>{line}{words}</a>')
    title = f'<title id="{ident}">{escape(title_of(rank_map))}</title>'
    return Markup(
        f'<svg class="rc-figure rc-map-small" viewBox="0 0 {WIDTH} {TOP + LINE * rank_map.n}" role="group"'
        f' aria-labelledby="{ident}">{title}{"".join(parts)}</svg>'
    )


def _short(name: str) -> str:
    """A model's name without its developer, as long as there is room for."""
    return fitting(name.rpartition("/")[2] or name, 18)


def _figure(rank_map: RankMap, form: Form, links: Mapping[str, str] | None = None) -> bytes:
    return rendered(lambda: draw_rank_map(rank_map, links), form, title_of(rank_map), prefix_of(rank_map))
