"""All pages of one board beside its conversations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from bench.site import paths
from bench.site.audit_pages import audit_pages
from bench.site.board_table import table_values
from bench.site.compare_pages import compare_page
from bench.site.context import BoardContext, Page
from bench.site.judge_pages import judges_page
from bench.site.player_pages import player_pages
from bench.site.rankmap_pages import rank_maps_page
from bench.site.scene_pages import scene_pages


def board_pages(context: BoardContext) -> Iterator[Page]:
    """The board, what stands beside it, its players and its scenes."""
    yield board_page(context)
    yield compare_page(context)
    yield judges_page(context)
    yield from audit_pages(context)
    if context.lists:
        yield rank_maps_page(context)
    yield from player_pages(context)
    yield from scene_pages(context)


def indexed(context: BoardContext) -> Iterator[tuple[str, str]]:
    """(path, title) of the pages that search finds."""
    suite, language, title = context.place.suite, context.place.language, context.title
    yield paths.board_page(suite, language), f"Board: {title}"
    for info in context.infos:
        yield paths.player_page(suite, language, info.player), f"{info.name} ({title})"
    for kind, found in (("character", context.characters), ("situation", context.situations)):
        for one in found:
            words = f"{kind.capitalize()}: {one.name} ({title})"
            yield paths.side_page(suite, language, kind, one.key), words


def board_page(context: BoardContext) -> Page:
    """The board itself."""
    place = context.place
    page = paths.board_page(place.suite, place.language)
    values: dict[str, Any] = {
        **table_values(
            context.evidence, context.criteria, lambda p: context.player_href(p, page), context.pages.judge
        ),
        "version": context.board.version,
        "summary": _summary(context),
    }
    return context.made(page, "board", "board", values, context.title, context.title)


def _summary(context: BoardContext) -> str:
    """What the robust scoring says of the board as a whole, in one sentence."""
    robust = context.board.robust
    if robust is None or robust.separability is None:
        return ""
    least = robust.detectable_difference
    pairs = "1 pair" if robust.pairs == 1 else f"{robust.pairs} pairs"
    said = f"Of {pairs} of players the data tell {robust.separability:.0%} apart."
    if least is not None:
        said += f" A difference of {least:.2f} between two typical players would be found four times in five."
    return said


def shard(context: BoardContext, player: str) -> str:
    """A player's scores for the compare page, as a script that hands them over."""
    cells = context.cells[player]
    pairs = context.evidence.pairs.get(player, {})
    data = {
        "scenes": {scene: [cell.score, cell.state] for scene, cell in sorted(cells.items())},
        "pairs": {
            paths.slug(other): [pair.difference, pair.half, pair.scenes, pair.separated, pair.needed]
            for other, pair in pairs.items()
        },
    }
    text = json.dumps(data, separators=(",", ":"), sort_keys=True)
    return f'dramaturgShard("{paths.slug(player)}",{text});\n'
