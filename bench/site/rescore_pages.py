"""The page on which readers score a board by their own choices, and the scores that its script needs."""

from __future__ import annotations

import json
from decimal import Decimal

from bench.scores.board import BoardRow
from bench.site.board_table import robust_views
from bench.site.context import BoardContext
from bench.site.numbers import dollars
from bench.site.shell import Page
from bench.site.text import plain
from bench.slugs import slug

POLICIES = (
    ("robust", "count as the lowest score; a missing judgement is estimated"),
    ("lowest", "count as the lowest score; a missing judgement is left out"),
    ("left_out", "are left out, as in the paper"),
    ("shared", "are left out; only scenes that all players finished count"),
)
"""What refusals may count for: names of bench.scores.policy.POLICIES, and words."""
MOST_CHARACTERS = 60
"""On boards with more characters they cannot be chosen."""


def rescore_page(context: BoardContext) -> Page:
    """The page. Without JavaScript, it shows the published robust scoring."""
    board, kinds = context.board, context.evidence.kinds
    ranked = context.evidence.ranked
    characters = context.characters if 1 < len(context.characters) <= MOST_CHARACTERS else []
    present = sorted({kinds[side.id] for side in context.situations if side.id in kinds})
    costs = {row.player: cost for row in ranked if (cost := _cost(row))}
    values = {
        "costs": costs,
        "rows": ranked,
        "has_sample": "fixed" in robust_views(board),
        "policies": POLICIES,
        "judges": [(slug(judge), judge) for judge in board.judges],
        "sides": characters,
        "kinds": present if len(present) > 1 else [],
        "data": {
            "suite": board.suite,
            "language": board.language,
            "criteria": list(board.criteria),
            "judges": {slug(judge): judge for judge in board.judges},
            "characters": {side.key: side.id for side in characters},
            "kinds": {side.id: kinds.get(side.id, "") for side in context.situations}
            if len(present) > 1
            else {},
            "players": {
                row.player: [slug(row.player), plain(row.name, 80), row.robust.rank, row.robust.score]
                for row in ranked
                if row.robust is not None
            },
            "costs": costs,
        },
    }
    return context.part_page("rescore", values)


def _cost(row: BoardRow) -> str:
    """What a conversation of a player cost with all its calls; empty if unknown."""
    if row.cost is None or not row.conversations:
        return ""
    return dollars(Decimal(row.cost) / row.conversations)


def scores_script(context: BoardContext) -> str:
    """All scores as a script: a page opened as a file can load scripts, but no data."""
    text = json.dumps(context.evidence.scores, separators=(",", ":"), sort_keys=True)
    return f"dramaturgScores({text});\n"
