"""The head-to-head page of a board, and the pages of its pairs and comparisons."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from bench.records import Cell, Conversation, numbered
from bench.results.comparison_records import Comparison, OrderVerdict
from bench.results.comparisons import comparison_path, comparisons
from bench.scores.pairwise_data import NOT_COUNTED, balance_of
from bench.scores.pairwise_records import RatedPair, Rating, Tally
from bench.site import paths
from bench.site.context import BoardContext
from bench.site.labels import label
from bench.site.places import record_link
from bench.site.shell import Page

MOST_IN_MATRIX = 40
"""Players in the matrix; more would not fit a page."""
CACHED = 64
"""Conversations kept in memory while comparison pages are written."""


@dataclass(frozen=True)
class Meeting:
    """What one player's row of the matrix says about another player."""

    tally: Tally
    separated: bool
    ahead: bool
    """Whether the row's player has the higher rating."""

    @property
    def share(self) -> float | None:
        """Share of wins, a tie being half a win."""
        total = self.tally.total
        return (self.tally.wins + self.tally.ties / 2) / total if total else None


def rating_pages(context: BoardContext, rating: Rating) -> Iterator[Page]:
    """The head-to-head page, then a page for each pair and for each of their comparisons."""
    records: dict[tuple[str, str], list[Comparison]] = defaultdict(list)
    known = set(context.names)
    for record in comparisons(context.tree, context.place.suite, context.place.language):
        if known.issuperset(record.players):
            records[record.players].append(record)
    rated = {(pair.player, pair.other): pair for pair in rating.pairs}
    values = rating_values(rating, sorted(records))
    values |= {"own": True, "sides": _sides(context, rating), "not_counted": NOT_COUNTED}
    idle = {row.judge for row in rating.judges if row.left_out}
    yield context.part_page("head-to-head", values)
    conversation = lru_cache(CACHED)(context.tree.conversation)
    for players, own in sorted(records.items()):
        scenes: dict[str, list[Comparison]] = defaultdict(list)
        for record in own:
            scene = paths.scene_name(record.character, record.situation)
            scenes[numbered(scene, record.repeat)].append(record)
        yield _pair_page(context, players, rated.get(players), scenes, idle)
        for scene, compared in sorted(scenes.items()):
            talks = [conversation(_cell(compared[0], player)) for player in players]
            yield _comparison_page(context, players, scene, compared, talks)


def _cell(record: Comparison, player: str) -> Cell:
    """The conversation of ``player`` that ``record`` compared."""
    shared = {name: getattr(record, name) for name in Cell.model_fields if name != "player"}
    return Cell(player=player, **shared)


def rating_values(rating: Rating, compared: Iterable[tuple[str, str]]) -> dict[str, object]:
    """Values for the template of a board by rating. ``compared``: the pairs that have a page."""
    order = [row.player for row in rating.rows if row.rating is not None][:MOST_IN_MATRIX]
    place = {player: n for n, player in enumerate(order)}
    cells: dict[tuple[str, str], Meeting] = {}
    for pair in rating.pairs:
        if pair.player in place and pair.other in place:
            ahead = place[pair.player] < place[pair.other]
            cells[pair.player, pair.other] = Meeting(pair.tally, pair.separated, ahead)
            cells[pair.other, pair.player] = Meeting(pair.tally.turned, pair.separated, not ahead)
    others = [pair for pair in compared if pair not in cells]
    return {"rating": rating, "order": order, "cells": cells, "others": others}


def _sides(
    context: BoardContext, rating: Rating
) -> Sequence[tuple[str, Mapping[str, str], Mapping[str, Mapping[str, Tally]]]]:
    """What each player won, tied and lost by criterion, character and situation: title, name of each column,
    and tallies by player and column."""
    made = []
    for title, named in _named(context, {name: label(name) for name in rating.criteria}).items():
        won: dict[str, dict[str, Tally]] = defaultdict(lambda: defaultdict(Tally))
        for pair in rating.pairs:
            for key, tally in getattr(pair, f"by_{title}").items():
                for player, seen in ((pair.player, tally), (pair.other, tally.turned)):
                    won[player][key] = won[player][key].added(seen)
        columns = {key: name for key, name in named.items() if any(key in own for own in won.values())}
        made.append((title, columns, won))
    return made


def _named(context: BoardContext, criteria: Mapping[str, str]) -> dict[str, Mapping[str, str]]:
    """What tallies are counted by, and the names of its ids."""
    return {
        "criterion": criteria,
        "character": {side.id: side.name for side in context.characters},
        "situation": {side.id: side.name for side in context.situations},
    }


def _pair_page(
    context: BoardContext,
    players: tuple[str, str],
    pair: RatedPair | None,
    scenes: Mapping[str, Sequence[Comparison]],
    idle: Collection[str],
) -> Page:
    """``idle``: judges that move no rating."""
    path = context.links().pair(*players)
    names = [context.names[player] for player in players]
    heading = f"{names[0]} and {names[1]}"
    tables: list[tuple[str, list[tuple[str, Tally]]]] = []
    if pair is not None:
        for title, names_of in _named(context, {}).items():  # the template names criteria
            counted = getattr(pair, f"by_{title}").items()
            tables.append((title.capitalize(), [(names_of.get(key, key), tally) for key, tally in counted]))
    values = {
        "players": players,
        "pair": pair,
        "tables": tables,
        "scenes": {
            scene: [(record.judge, _outcome(record)) for record in records]
            for scene, records in sorted(scenes.items())
        },
        "titles": context.scenes,
        "idle": idle,
    }
    title = f"{heading}: {context.title}"
    about = f"{heading} compared scene by scene, with the judges' verdicts. {context.title}."
    return context.page(path, "conversation", "pair", values, title, heading, about)


def _outcome(record: Comparison) -> tuple[str, float | None]:
    """What a comparison ended as, and by how much the first player leads (None: it does not count)."""
    if any(verdict.status == "failed" for verdict in record.orders):
        return "failed", None
    if any(any(verdict.refusals) for verdict in record.orders):
        return "refusal", None
    balance = balance_of(record)
    return ("first" if balance > 0 else "second" if balance < 0 else "tie"), balance


def _comparison_page(
    context: BoardContext,
    players: tuple[str, str],
    scene: str,
    records: Sequence[Comparison],
    talks: Sequence[Conversation | None],
) -> Page:
    path = context.links().pair(*players, scene)
    cell = context.scenes.get(paths.scene_name(records[0].character, records[0].situation))
    name = cell.name if cell is not None else scene
    names = [context.names[player] for player in players]
    values = {
        "players": players,
        "scene": scene,
        "talks": talks,
        "turns": _turns(talks),
        "name": name,
        "verdicts": [(record, _outcome(record), [_shown(record, n) for n in range(2)]) for record in records],
        "records": [
            record_link(context.tree, context.source_url, comparison_path(context.tree, record))
            for record in records
        ],
    }
    heading = f"{names[0]} and {names[1]}: {name}"
    title = f"{heading}: {context.title}"
    about = f"{heading}, side by side with the judges' reasons. {context.title}."
    return context.page(path, "conversation", "comparison", values, title, heading, about)


def _shown(record: Comparison, order: int) -> tuple[str, OrderVerdict]:
    """The player shown first in an order, and the verdict."""
    return record.players[order], record.orders[order]


def _turns(talks: Sequence[Conversation | None]) -> list[list[list[tuple[str, str]]]]:
    """By turn, each player's messages as (role, text)."""
    sides: list[list[list[tuple[str, str]]]] = []
    for talk in talks:
        turns: list[list[tuple[str, str]]] = []
        for message in talk.messages if talk is not None else ():
            if message.role == "user" or not turns:
                turns.append([])
            turns[-1].append((message.role, message.content))
        sides.append(turns)
    count = max(map(len, sides), default=0)
    return [[side[n] if n < len(side) else [] for side in sides] for n in range(count)]
