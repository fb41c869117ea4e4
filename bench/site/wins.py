"""The page that shows, for every two players, how many scenes the one wins against the other."""

from __future__ import annotations

from dataclasses import dataclass

from bench.site.charts import diverging
from bench.site.context import BoardContext, Page


@dataclass(frozen=True)
class Win:
    """A player against another: percent of the scenes won, tint, and whether the difference is clear."""

    percent: str
    tint: str
    clear: bool


def wins_page(context: BoardContext) -> Page:
    """The page, players by their robust rank."""
    ranked = sorted(
        (row for row in context.board.rows if row.robust is not None),
        key=lambda row: (row.robust.rank if row.robust else 0, row.player),
    )
    order = [row.player for row in ranked]
    values = {
        "ranked": ranked,
        "wins": {player: [_win(context, player, other) for other in order] for player in order},
    }
    return context.part_page("wins", values)


def _win(context: BoardContext, player: str, other: str) -> Win | None:
    pair = context.evidence.pairs.get(player, {}).get(other)
    if pair is None:
        return None
    return Win(f"{100 * pair.wins:.0f}", diverging(pair.wins - 0.5, 0.5), pair.separated)
