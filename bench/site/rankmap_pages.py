"""Rank maps: a board beside what other benchmarks published, where they share enough models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from bench.boards.rank_map_chart import bands_note, caption, draw_rank_map, prefix_of, title_of
from bench.figures import FORMS, Form, rendered
from bench.protocol_facts import facts_of
from bench.records import canonical
from bench.scores.board import Board
from bench.scores.external import Alias, Published
from bench.scores.rankmap import RankMap, board_rank_map
from bench.site import paths
from bench.site.context import BoardContext, Page
from bench.site.svg import inline_figure
from bench.slugs import slug


def drawable(board: Board, lists: Sequence[Published], aliases: Sequence[Alias]) -> list[Published]:
    """The lists that share enough models with a board for a map."""
    return [one for one in lists if board_rank_map(board, one, aliases).drawable]


def are_versions(board: Board, other: Board) -> bool:
    """Whether two boards are by versions of one method: other protocols with the same criteria."""
    rules, theirs = facts_of(board.protocol), facts_of(other.protocol)
    return board.protocol != other.protocol and rules.criterion_names == theirs.criterion_names != ()


def rank_maps_page(context: BoardContext) -> Page:
    """All maps of a board."""
    page = paths.board_part(context.place.suite, context.place.language, "rank-maps")
    return context.part_page(
        "rank-maps", "rank-maps", {"maps": [_shown(context, one, page) for one in _maps(context)]}
    )


def rank_map_files(context: BoardContext) -> Iterator[tuple[str, bytes]]:
    """(path, bytes) of each map as SVG, PNG, PDF and JSON."""
    place = context.place
    for made in _maps(context):
        for form in FORMS:
            name = paths.rank_map_file(place.suite, place.language, made.list_name, form)
            yield name, _figure(made, form)
        name = paths.rank_map_file(place.suite, place.language, made.list_name, "json")
        yield name, canonical(made.model_dump(mode="json")).encode("utf-8")


def _maps(context: BoardContext) -> list[RankMap]:
    return [board_rank_map(context.board, one, context.aliases, context.sure) for one in context.lists]


def _shown(context: BoardContext, made: RankMap, page: str) -> dict[str, Any]:
    links = {model.player: context.player_href(model.player, page) for model in made.models}
    place = context.place
    forms = [*FORMS, "json"]
    files = {f: paths.rank_map_file(place.suite, place.language, made.list_name, f) for f in forms}
    return {
        "key": slug(made.list_name),
        "map": made,
        "caption": caption(made),
        "open_note": bands_note(made),
        "figure": _inline(_figure(made, "svg", links), made),
        "links": links,
        "files": [(form.upper(), paths.relative(path, page)) for form, path in files.items()],
        "ours": [one for one in made.unmatched if one.side == "ours"],
        "theirs": [one for one in made.unmatched if one.side == "theirs"],
    }


def _figure(made: RankMap, form: Form, links: Mapping[str, str] | None = None) -> bytes:
    return rendered(lambda: draw_rank_map(made, links), form, title_of(made), prefix_of(made))


def _inline(svg: bytes, made: RankMap) -> Markup:
    """The figure for a page, described."""
    about = f"Lines join each model's rank here to its rank there. {caption(made)}. A table follows."
    return inline_figure(svg, f"{slug(made.list_name)}-figure", about)
