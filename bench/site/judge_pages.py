"""The judges' page: how far they agree, how lenient they are, whom they favour, where they part."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from bench.site import paths
from bench.site.cells import CellSummary
from bench.site.context import BoardContext, Page
from bench.site.evidence import Row
from bench.slugs import slug

DISPUTES = 20
ORDER_WORDS = {
    "spread": "Largest minus smallest score of a response, in points",
    "other_band": "Share of responses that fall into different bands",
    "answer_1_first": "Score with the data set's answer 1 first, against the mean of all orders",
    "answer_2_first": "The same with answer 2 first",
    "answer_3_first": "The same with answer 3 first",
}
"""What :mod:`bench.scores.analyses.orders` measures, in words."""


def judges_page(context: BoardContext) -> Page:
    """The page of a board's judges."""
    page = paths.board_part(context.place.suite, context.place.language, "judges")
    found = context.evidence
    values = {
        "judges": context.board.judges,
        "leniency": found.leniency,
        "orders": [
            {**row, "what": ORDER_WORDS.get(str(row["what"]), str(row["what"]))} for row in found.orders
        ],
        "agreement": [_named_pair(row, context) for row in found.agreement],
        "judge_pairs": found.judge_pairs,
        "preference": found.preference,
        "disputes": [_dispute(context, cell, page) for cell in _most_disputed(context)],
        "spread": _spread(context, page),
    }
    return context.part_page("judges", "judges", values)


def _named_pair(row: Row, context: BoardContext) -> Row:
    """A row of the agreement with what its two judges are called in place of their ids."""
    name = context.pages.judge
    pairs = {f"{a} / {b}": f"{name(a)} / {name(b)}" for a, b in combinations(context.board.judges, 2)}
    together = str(row["judges"])
    return {**row, "judges": pairs.get(together, together)}


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
