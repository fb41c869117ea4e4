"""The page that compares players on the same scenes. The scores come from one script a player."""

from __future__ import annotations

from typing import Any

from bench.site.context import BoardContext, Page
from bench.slugs import slug

MOST = 6
"""Most players to compare."""


def compare_page(context: BoardContext) -> Page:
    """The page of a board on which players are compared."""
    rows = context.evidence.rows
    infos = sorted(context.infos, key=lambda info: (info.name.lower(), info.player))
    data: dict[str, Any] = {
        "most": MOST,
        "scale": [context.rules.low, context.rules.high],
        "talks": not context.published,
        "normalised": context.rules.length != "none",
        "players": {
            slug(info.player): [
                info.name[:80],
                row.length_norm_score if (row := rows.get(info.player)) is not None else None,
                row.length_norm_ci if row is not None else None,
            ]
            for info in infos
        },
        "scenes": {
            scene: ", ".join(filter(None, (cell.character_name[:60], cell.situation_title[:60])))
            for scene, cell in context.scenes.items()
        },
    }
    values = {
        "infos": infos,
        "paired": bool(context.evidence.pairs),
        "data": data,
        "scenes": context.scenes,
    }
    return context.part_page("compare", values)
