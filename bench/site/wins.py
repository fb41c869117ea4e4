"""The page that shows, for every two players, how many scenes the one wins against the other."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from bench.site.charts import diverging
from bench.site.context import BoardContext
from bench.site.shell import Page
from bench.slugs import slug


@dataclass(frozen=True)
class Win:
    """A player against another."""

    percent: str
    """Of the scenes won."""
    tint: str
    clear: bool
    """Whether the two differ significantly."""
    href: str
    """The page that compares them."""


def wins_page(context: BoardContext) -> Page:
    """The page, players by their robust rank."""
    order = [row.player for row in context.evidence.ranked]
    rating = context.evidence.rating
    met = {frozenset((pair.player, pair.other)) for pair in rating.pairs} if rating is not None else set()
    values = {
        "ranked": context.evidence.ranked,
        "wins": {player: [_win(context, met, player, other) for other in order] for player in order},
    }
    return context.part_page("wins", values)


def _win(context: BoardContext, met: Collection[frozenset[str]], player: str, other: str) -> Win | None:
    """``met``: pairs of players that judges compared."""
    pair = context.evidence.pairs.get(player, {}).get(other)
    if pair is None:
        return None
    to = context.links(context.links().part("wins"))
    href = f"{to.part('compare')}?p={slug(player)}&p={slug(other)}"
    if {player, other} in met:
        href = to.pair(player, other)
    return Win(f"{100 * pair.wins:.0f}", diverging(pair.wins - 0.5, 0.5), pair.separated, href)
