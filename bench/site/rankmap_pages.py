"""Rank maps: a board beside what other benchmarks published, where they share enough models."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree import ElementTree

from markupsafe import Markup

from bench.charts.files import FAINT, FORMS, INK, PAPER
from bench.charts.rank_map import caption, rank_map_file
from bench.external import Alias, Published
from bench.records import canonical
from bench.scores.board import Board
from bench.scores.rankmap import RankMap, board_rank_map
from bench.site import paths
from bench.site.context import BoardContext, Page
from bench.slugs import slug

THEME = {INK: "--rc-ink", PAPER: "--rc-paper", FAINT: "--rc-faint"}
"""Colours of the figure that follow the page's theme."""
SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_FONT = re.compile(r"(?P<before>(?:[a-z0-9]+ )*)(?P<size>[\d.]+px) (?P<family>.*)")


def drawable(board: Board, lists: Sequence[Published], aliases: Sequence[Alias]) -> list[Published]:
    """The lists that share enough models with a board for a map."""
    return [one for one in lists if board_rank_map(board, one, aliases).drawable]


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
            yield name, rank_map_file(made, form)
        name = paths.rank_map_file(place.suite, place.language, made.list_name, "json")
        yield name, canonical(made.model_dump(mode="json")).encode("utf-8")


def _maps(context: BoardContext) -> list[RankMap]:
    return [board_rank_map(context.board, one, context.aliases) for one in context.lists]


def _shown(context: BoardContext, made: RankMap, page: str) -> dict[str, Any]:
    links = {model.player: context.player_href(model.player, page) for model in made.models}
    place = context.place
    forms = [*FORMS, "json"]
    files = {f: paths.rank_map_file(place.suite, place.language, made.list_name, f) for f in forms}
    return {
        "key": slug(made.list_name),
        "map": made,
        "caption": caption(made),
        "figure": Markup(_inline(rank_map_file(made, "svg", links).decode("utf-8"), made)),
        "links": links,
        "files": [(form.upper(), paths.relative(path, page)) for form, path in files.items()],
        "ours": [one for one in made.unmatched if one.side == "ours"],
        "theirs": [one for one in made.unmatched if one.side == "theirs"],
    }


def _inline(svg: str, made: RankMap) -> str:
    """The figure for a page: styles as attributes (all that the policy allows), described."""
    ElementTree.register_namespace("", SVG)
    root = ElementTree.fromstring(svg[svg.index("<svg") :])
    _plain_attributes(root)
    ident = f"{slug(made.list_name)}-figure"
    title = root.find(f"{{{SVG}}}title")
    assert title is not None
    title.set("id", f"{ident}-t")
    about = ElementTree.Element(f"{{{SVG}}}desc", {"id": f"{ident}-d"})
    about.text = f"Lines join each model's rank here to its rank there. {caption(made)}. A table follows."
    root.insert(1, about)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.attrib |= {"class": "rc-figure", "role": "group", "aria-labelledby": f"{ident}-t {ident}-d"}
    return ElementTree.tostring(root, encoding="unicode")


def _plain_attributes(root: ElementTree.Element) -> None:
    for parent in root.iter():
        for child in list(parent):
            if child.tag == f"{{{SVG}}}metadata" or child.tag == f"{{{SVG}}}style":
                parent.remove(child)
        for name, value in _presentation(parent.attrib.pop("style", "")):
            parent.set(name, value)
        link = parent.attrib.pop(f"{{{XLINK}}}href", None)
        if link is not None:
            parent.set("href", link)


def _presentation(style: str) -> Iterator[tuple[str, str]]:
    """A style attribute as presentation attributes."""
    for part in filter(None, map(str.strip, style.split(";"))):
        name, _, value = (piece.strip() for piece in part.partition(":"))
        if name == "font":
            found = _FONT.fullmatch(value)
            yield "font-size", found["size"] if found else "8px"
            if found and "bold" in (found["before"] or ""):
                yield "font-weight", "bold"
        else:
            colour = THEME.get(value)
            yield name, f"var({colour}, {value})" if colour else value
