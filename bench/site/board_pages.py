"""All pages of one board except its conversations, and the data files next to them."""

from __future__ import annotations

import json
from collections.abc import Iterator

from bench.records import canonical
from bench.scores.forms import judge_gaps, sampling_line, to_csv, to_json
from bench.scores.long_forms import figure_tables
from bench.site import paths
from bench.site.audit_pages import audit_pages
from bench.site.board_table import robust_notes, table_values
from bench.site.change_pages import changes_page
from bench.site.compare_pages import compare_page
from bench.site.context import BoardContext
from bench.site.embeds import badge_text, embed_code, embed_files
from bench.site.judge_pages import judges_page
from bench.site.player_pages import player_page
from bench.site.probes import probe_table
from bench.site.rating_pages import rating_pages
from bench.site.rescore_pages import rescore_page, scores_script
from bench.site.scene_pages import scene_pages
from bench.site.shell import Page
from bench.site.text import plain
from bench.site.wins import wins_page


def board_pages(context: BoardContext) -> Iterator[Page]:
    """The board and the pages next to it, its players and its scenes."""
    yield board_page(context)
    if not context.rules.probes:
        yield compare_page(context)
        yield judges_page(context)
    if "wins" in context.part_titles:
        yield wins_page(context)
    if "rescore" in context.part_titles:
        yield rescore_page(context)
    if (rating := context.evidence.rating) is not None:
        yield from rating_pages(context, rating)
    if "audit" in context.part_titles:
        yield from audit_pages(context)
    if "changes-of-board" in context.part_titles:
        yield changes_page(context)
    if "rank-maps" in context.part_titles:
        from bench.site.rankmap_pages import rank_maps_page  # loads matplotlib

        yield rank_maps_page(context)
    yield from (player_page(context, info) for info in context.infos)
    yield from scene_pages(context)


def board_files(context: BoardContext) -> Iterator[tuple[str, bytes]]:
    """(path, content) of the board's data files."""
    at = context.links()
    yield at.file("board.json"), to_json(context.board).encode()
    yield at.file("board.csv"), to_csv(context.board).encode()
    yield from embed_files(context)
    analyses = context.evidence.analyses.model_dump(mode="json")
    yield at.file("analyses.json"), canonical(analyses).encode()
    if (rating := context.evidence.rating) is not None:
        yield at.file("rating.json"), canonical(rating.model_dump(mode="json")).encode()
    for chart in context.charts:
        yield from ((at.file(name), data) for name, data in chart.files.items())
    for info in () if context.rules.probes else context.infos:
        yield at.player(info.player, "scores.js"), shard(context, info.player).encode()
    if "rescore" in context.part_titles:
        yield at.file("scores.js"), scores_script(context).encode()
    if "rank-maps" in context.part_titles:
        from bench.site.rankmap_pages import rank_map_files

        yield from rank_map_files(context)


def indexed(context: BoardContext) -> Iterator[tuple[str, str]]:
    """(path, title) of the pages that the search finds."""
    at, title = context.links(), context.title
    yield at.board(), f"Board: {title}"
    for info in context.infos:
        yield at.player(info.player), f"{info.name} ({title})"
    for kind, sides in (("character", context.characters), ("situation", context.situations)):
        for side in sides:
            yield at.side(kind, side.key), f"{kind.capitalize()}: {side.name} ({title})"


def board_page(context: BoardContext) -> Page:
    """The board itself."""
    path, about = context.links().board(), badge_text(context)
    if (probes := probe_table(context.board)) is not None:
        name = f"{context.title}, version {plain(context.board.version)}"
        values = {"probes": probes, "table_title": name, **_embed(context)}
        return context.page(path, "board", "probe-board", values, context.title, context.title, about)
    values = {
        **table_values(context.evidence, context.pages.judge),
        "version": context.board.version,
        "robust_notes": robust_notes(context.board),
        "figures": list(figure_tables(context.board)),
        "stale": context.board.stale,
        "people": context.board.people,
        "sampling_note": sampling_line(context.board),
        "judges_note": judge_gaps(context.board),
        "charts": context.charts,
        **_embed(context),
    }
    return context.page(path, "board", "board", values, context.title, context.title, about)


def _embed(context: BoardContext) -> dict[str, str]:
    """Values for the template's macro."""
    site_url = context.site_url
    return {"badge": badge_text(context), "embed_code": embed_code(context, site_url), "site_url": site_url}


def shard(context: BoardContext, player: str) -> str:
    """A player's scores as a script, for the compare page: a page opened as a file can load only scripts."""
    pairs = context.evidence.pairs.get(player, {})
    data = {
        "scenes": {scene: [cell.score, cell.state] for scene, cell in context.cells[player].items()},
        "pairs": {
            paths.slug(other): [
                pair.difference,
                pair.half,
                pair.scenes,
                pair.separated,
                pair.needed and [pair.needed.scenes, pair.needed.low, pair.needed.high],
            ]
            for other, pair in pairs.items()
        },
    }
    text = json.dumps(data, separators=(",", ":"), sort_keys=True)
    return f'dramaturgShard("{paths.slug(player)}",{text});\n'
