"""The judges' page: how far they agree, how lenient they are, whom they favour, where they part."""

from __future__ import annotations

from typing import Any

from bench.site import paths
from bench.site.cells import CellSummary
from bench.site.context import BoardContext, Page
from bench.slugs import slug

DISPUTES = 20


def judges_page(context: BoardContext) -> Page:
    """The page of a board's judges."""
    page = paths.board_part(context.place.suite, context.place.language, "judges")
    found = context.evidence
    values = {
        "judges": context.board.judges,
        "leniency": found.leniency,
        "agreement": found.agreement,
        "judge_pairs": found.judge_pairs,
        "preference": found.preference,
        "disputes": [_dispute(context, cell, page) for cell in _most_disputed(context)],
        "spread": _spread(context, page),
    }
    return context.part_page("judges", "judges", values)


def _most_disputed(context: BoardContext) -> list[CellSummary]:
    found = [cell for cells in context.cells.values() for cell in cells.values() if cell.dispute is not None]
    found.sort(key=lambda cell: (-(cell.dispute.gap if cell.dispute else 0), cell.player, cell.scene))
    return found[:DISPUTES]


def _dispute(context: BoardContext, cell: CellSummary, page: str) -> dict[str, Any]:
    assert cell.dispute is not None
    talk = context.conversation_href(cell, page)
    turn = cell.dispute.turn
    return {
        "player": context.name_of(cell.player),
        "scene": f"{cell.character_name}, {cell.situation_title}",
        "turn": turn,
        "href": f"{talk}#t{turn}",
        "gap": cell.dispute.gap,
        "verdicts": [
            {
                "judge": judge,
                "href": f"{talk}#t{turn}-{slug(judge)}",
                "scores": [(name, scores[name]) for name in context.criteria if name in scores],
            }
            for judge, scores in sorted(cell.dispute.scores.items())
        ],
    }


def _spread(context: BoardContext, page: str) -> list[dict[str, Any]]:
    """Each player's mean by each judge, as the board of that judge alone has it."""
    rows = []
    for row in context.board.rows:
        apart = context.evidence.spread.get(row.player)
        if apart is not None:
            scores = []
            for judge in context.board.judges:
                alone = context.evidence.by_judge.get(judge, {}).get("equal", {}).get(row.player)
                scores.append(None if alone is None else alone.score)
            rows.append(
                {
                    "name": row.name,
                    "href": context.player_href(row.player, page),
                    "scores": scores,
                    "apart": apart,
                }
            )
    return sorted(rows, key=lambda one: -one["apart"])
