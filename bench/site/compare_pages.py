"""The page that compares players on the same scenes. The scores come from one script per player."""

from __future__ import annotations

from typing import Any

from bench.scores.board import BoardRow
from bench.site.context import BoardContext
from bench.site.labels import label
from bench.site.shell import Page
from bench.slugs import slug

MOST = 6
"""Most players to compare."""


def compare_page(context: BoardContext) -> Page:
    """The page of a board on which players are compared."""
    rows = context.evidence.rows
    infos = sorted(context.infos, key=lambda info: (info.name.lower(), info.player))
    data: dict[str, Any] = {
        "most": MOST,
        "leaders": [slug(row.player) for row in context.board.rows[:2]],
        "scale": [context.rules.low, context.rules.high],
        "talks": not context.published,
        "normalised": context.rules.length != "none",
        "criteria": [label(name) for name in context.board.criteria],
        "players": {
            slug(info.player): [info.name[:80], *_numbers(context, rows.get(info.player))] for info in infos
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


def _numbers(context: BoardContext, row: BoardRow | None) -> list[Any]:
    """A player's score and half of its interval, criteria, refusals and length; None where unknown."""
    if row is None:
        return [None, None, [None] * len(context.board.criteria), None, None]
    criteria = [row.criteria.get(name) for name in context.board.criteria]
    return [row.length_norm_score, row.length_norm_ci, criteria, row.refusal_ratio, row.avg_length]
