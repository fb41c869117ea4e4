"""The page that compares players on the same scenes; their scores come from one script a player."""

from __future__ import annotations

from typing import Any

from bench.site import paths
from bench.site.context import BoardContext, Page

MOST = 6
"""Players side by side."""


def compare_page(context: BoardContext) -> Page:
    """The page of a board on which players are compared."""
    place = context.place
    page = paths.board_part(place.suite, place.language, "compare")
    rows = context.evidence.rows
    infos = sorted(context.infos, key=lambda info: (info.name.lower(), info.player))
    players = [(paths.slug(info.player), info.name) for info in infos]
    data: dict[str, Any] = {
        "most": MOST,
        "scale": [context.rules.low, context.rules.high],
        "normalised": context.rules.length != "none",
        "players": {
            paths.slug(info.player): [
                info.name[:80],
                row.length_norm_score if (row := rows.get(info.player)) is not None else None,
                row.length_norm_ci if row is not None else None,
            ]
            for info in infos
        },
        "scenes": {
            scene: f"{cell.character_name[:60]}, {cell.situation_title[:60]}"
            for scene, cell in context.scenes.items()
        },
    }
    values = {
        "players": players,
        "most": MOST,
        "paired": bool(context.evidence.pairs),
        "data": data,
        "scenes": [
            (f"{cell.character_name}, {cell.situation_title}", context.scene_href(scene, page))
            for scene, cell in context.scenes.items()
        ],
    }
    return context.part_page("compare", "compare", values)
