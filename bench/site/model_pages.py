"""A page for each model across boards: where it stands, among whom it can be compared, and what changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bench.boards.history import BoardChange
from bench.records import PlayerInfo
from bench.scores.board import BoardRow
from bench.site import paths
from bench.site.change_pages import rerun_words
from bench.site.context import BoardContext
from bench.site.paths import Links
from bench.site.shell import Page
from bench.suites.languages import language_name
from bench.tables import counted

FEWEST = 3
"""Fewest players that two boards must have in common for their orders to be put beside each other."""
MOST_CHANGES = 20
"""Changes that a page lists."""


@dataclass(frozen=True)
class OnBoard:
    """A model on one board."""

    context: BoardContext
    info: PlayerInfo
    row: BoardRow | None
    to: Links
    place: tuple[int, int] | None
    """Its place among the players that all its boards have, and their number; None if these are too few."""

    @property
    def language(self) -> str:
        return language_name(self.context.place.language)


@dataclass(frozen=True)
class Event:
    """What a commit changed about a model."""

    date: str
    board: str
    href: str
    words: str


def model_pages(contexts: Sequence[BoardContext]) -> Iterator[Page]:
    """The pages, by the players' ids."""
    players: dict[str, list[tuple[BoardContext, PlayerInfo]]] = {}
    for context in contexts:
        for info in context.infos:
            players.setdefault(info.player, []).append((context, info))
    for player in sorted(players):
        yield _page(player, players[player])


def _page(player: str, found: Sequence[tuple[BoardContext, PlayerInfo]]) -> Page:
    path = paths.model_page(player)
    scored = [context for context, _ in found if not context.rules.probes and player in _scored(context)]
    shared = set.intersection(*(_scored(context) for context in scored)) if scored else set()
    boards = [
        OnBoard(
            context,
            info,
            context.evidence.rows.get(player),
            context.links(path),
            _place(context, player, shared) if len(scored) > 1 and context in scored else None,
        )
        for context, info in found
    ]
    name = found[0][1].name
    values: dict[str, Any] = {
        "player": player,
        "name": name,
        "infos": list({info.model: info for _, info in found}.values()),
        "boards": boards,
        "shared": len(shared),
        "same_model": _same_model(player, found),
        "events": sorted(_events(path, found), key=lambda event: event.date, reverse=True)[:MOST_CHANGES],
    }
    content = found[0][0].pages.render("model", values)
    about = f"{name} on {counted(len(boards), 'board')}: ranks, settings and history."
    return Page(path, "model", f"{name}: all boards", name, content, about, found[0][0].picture)


def _scored(context: BoardContext) -> set[str]:
    return {row.player for row in context.board.rows if row.rank is not None}


def _place(context: BoardContext, player: str, shared: set[str]) -> tuple[int, int] | None:
    """The player's place among ``shared``, by the number that the board is sorted by."""
    scores = {
        row.player: row.length_norm_score
        for row in context.board.rows
        if row.player in shared and row.length_norm_score is not None
    }
    if len(scores) < FEWEST or player not in scores:
        return None
    return 1 + sum(score > scores[player] for score in scores.values()), len(scores)


def _same_model(player: str, found: Sequence[tuple[BoardContext, PlayerInfo]]) -> list[tuple[str, str]]:
    """Name and page of other players that are the same model, with other settings."""
    models = {info.model for _, info in found}
    path = paths.model_page(player)
    others = {
        info.player: info.name
        for context, _ in found
        for info in context.infos
        if info.model in models and info.player != player
    }
    return [(name, paths.relative(paths.model_page(other), path)) for other, name in sorted(others.items())]


def _events(path: str, found: Sequence[tuple[BoardContext, PlayerInfo]]) -> Iterator[Event]:
    for context, info in found:
        for change in context.changes or ():
            words = _words(change, info.name)
            if words:
                href = context.links(path).part("changes-of-board")
                yield Event(change.commit.date[:10], context.title, href, "; ".join(words))


def _words(change: BoardChange, name: str) -> list[str]:
    """What a change says about the player called ``name``."""
    words = [
        "added" if place.rank is None else f"added at rank {place.rank}"
        for added, place in change.added
        if added == name
    ]
    words += ["removed" for removed in change.removed if removed == name]
    words += [rerun_words(talks, verdicts) for rerun, talks, verdicts in change.rerun if rerun == name]
    words += [
        f"rank {move.before.rank or '–'} to {move.after.rank or '–'}"
        for move in change.moved
        if move.name == name and move.before.rank != move.after.rank
    ]
    return words
