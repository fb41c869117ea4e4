"""The generated parts of hand-written pages, above all the home page.

It has the leaders of a featured board, one real exchange with its verdict, and the other boards.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from markupsafe import Markup

from bench.records import Cell, PlayerInfo
from bench.site.cells import CellSummary
from bench.site.compared_pages import ComparedPlace
from bench.site.context import BoardContext
from bench.site.measures import phrase_lists
from bench.site.paths import Links, relative
from bench.site.probes import probe_table
from bench.site.studies import StudyPlace
from bench.site.talk import ScoreView, Talk, TurnView, talk_of
from bench.slugs import slug

PART = re.compile(r'<div data-dramaturg="([a-z]+)"></div>')
"""Where a hand-written page wants a generated part."""
LEADERS = 10
"""Players in the chart of the featured board."""
TOP = 3
"""Players of the other boards."""
LONGEST = {"user": 400, "answer": 700, "reason": 400}
"""Characters of each text that are shown. An exchange that fits is preferred."""
SHORTEST_REASON = 9
"""Characters of a reason, or of the pattern that decided, that says something to a newcomer."""
TRIES = 12
"""Conversations that are read, at most, to find an exchange that fits."""


@dataclass(frozen=True)
class Exchange:
    """A user's message, the player's answer, and what was said of it."""

    context: BoardContext
    info: PlayerInfo
    cell: CellSummary
    user: str
    answer: str
    number: int
    """Of the turn."""
    reason: str
    judge: str = ""
    """Empty on a probe."""
    scores: tuple[ScoreView, ...] = ()
    criterion: str = ""
    """What the reason is about."""
    verdict: str = ""
    """On a probe; empty where judges score."""
    pattern: bool = False
    """Whether the reason is a pattern."""

    @property
    def fits(self) -> bool:
        """Whether its texts need no cut, and are more than a word."""
        lengths = {"user": self.user, "answer": self.answer, "reason": self.reason}
        telling = len(self.answer) > 20 and len(self.reason) >= SHORTEST_REASON
        return telling and all(len(text) <= LONGEST[key] for key, text in lengths.items())


def home_values(contexts: Sequence[BoardContext], page: str) -> dict[str, Any]:
    """Values for the template of the home page."""
    featured = featured_board(contexts)
    figure = Markup("")
    if featured is not None:
        from bench.site.chart_pages import leaders  # loads matplotlib

        figure = leaders(featured, page, LEADERS)
    rest = [(context, context.links(page)) for context in contexts if context is not featured]
    demonstrations = [one for one in rest if one[0].place.label.demonstration]
    exchange = first_exchange(contexts)
    return {
        "featured": featured,
        "to": featured and featured.links(page),
        "figure": figure,
        "leaders": LEADERS,
        "top": TOP,
        "others": [one for one in rest if not one[0].place.label.demonstration],
        "demonstrations": demonstrations,
        "exchange": exchange,
        "exchange_to": exchange and exchange.context.links(page),
        "longest": LONGEST,
    }


def part_values(
    part: str,
    contexts: Sequence[BoardContext],
    page: str,
    studies: Sequence[StudyPlace],
    compared: Sequence[ComparedPlace] = (),
) -> Mapping[str, Any] | None:
    """Values for a generated part of a hand-written page; None if there is no such part."""
    boards = [(context, context.links(page)) for context in contexts]
    if part == "home":
        return home_values(contexts, page)
    if part == "boards":
        suites: dict[str, list[tuple[BoardContext, Links]]] = {}
        for context, to in boards:
            suites.setdefault(context.place.suite, []).append((context, to))
        return {"suites": suites, "compared": [(table, relative(table.page, page)) for table in compared]}
    if part == "studies":
        return {"studies": studies}
    if part == "probes":
        tables = [(context, probe_table(context.board), to) for context, to in boards]
        return {"boards": [one for one in tables if one[1] is not None]}
    if part == "search":
        return search_values(contexts)
    return {"lists": phrase_lists()} if part == "phrases" else None


def search_values(contexts: Sequence[BoardContext]) -> dict[str, Any]:
    """Values for the page that searches conversations: boards by language, most boards first; all players."""
    languages: dict[str, list[tuple[str, str]]] = {}
    players: dict[str, str] = {}
    for context in contexts:
        if not context.published:
            boards = languages.setdefault(context.place.language, [])
            boards.append((context.place.suite, context.place.label.title))
            players |= {slug(info.player): info.name for info in context.infos}
    return {
        "languages": sorted(languages.items(), key=lambda one: (-len(one[1]), one[0])),
        "players": sorted(players.items(), key=lambda player: (player[1].lower(), player[0])),
    }


def featured_board(contexts: Sequence[BoardContext]) -> BoardContext | None:
    """The board that the home page draws: of those that are no demonstration, the one with most players.

    Boards with conversations come before published scores, and boards of scores before boards of probes, if
    they have enough players for a chart of the leaders to say something.
    """
    known = [context for context in contexts if not context.place.label.demonstration and context.board.rows]

    def worth(context: BoardContext) -> tuple[bool, bool, int]:
        count = len(context.board.rows)
        return count >= LEADERS, not context.published and not context.rules.probes, count

    return max(known, key=worth, default=None)


def first_exchange(contexts: Sequence[BoardContext]) -> Exchange | None:
    """An exchange of the best player of the board that says most: no demonstration, if there is a choice."""

    def order(context: BoardContext) -> tuple[bool, bool, int]:
        return context.place.label.demonstration, context.rules.probes, -len(context.board.rows)

    for context in sorted((one for one in contexts if not one.published), key=order):
        found = _exchange(context)
        if found is not None:
            return found
    return None


def _exchange(context: BoardContext) -> Exchange | None:
    infos = {info.player: info for info in context.infos}
    spare, tries = None, 0
    for row in context.board.rows:
        for cell in context.cells.get(row.player, {}).values():
            if cell.state not in ("scored", "unjudged") or row.player not in infos:
                continue
            tries += 1
            for found in _turns(context, infos[row.player], cell):
                if found.fits:
                    return found
                spare = spare or found
            if tries >= TRIES:
                return spare
    return spare


def _turns(context: BoardContext, info: PlayerInfo, cell: CellSummary) -> list[Exchange]:
    """The exchanges of a conversation that have a verdict with a reason."""
    place = context.place
    board = context.board
    where = Cell(
        suite=place.suite,
        version=board.version,
        protocol=board.protocol,
        language=place.language,
        player=info.player,
        character=cell.character,
        situation=cell.situation,
        repeat=cell.repeat,
    )
    talk = context.tree.conversation(where)
    if talk is None:
        return []
    counting = [one.judge for one in cell.judges if one.standing == "counts"]
    found = (context.tree.judgement(talk, judge) for judge in counting)
    view = talk_of(talk, [judgement for judgement in found if judgement is not None])
    return [one for turn in view.turns if (one := _seen(context, info, cell, view, turn)) is not None]


def _seen(
    context: BoardContext, info: PlayerInfo, cell: CellSummary, talk: Talk, turn: TurnView
) -> Exchange | None:
    if not turn.answer or not turn.user:
        return None
    seen = partial(Exchange, context, info, cell, turn.user[-1], turn.answer, turn.number)
    if (probe := talk.probe) is not None:
        if turn is not talk.turns[-1] or probe.verdict == "unclear":
            return None
        return seen(probe.reason, verdict=probe.verdict, pattern=probe.by == "pattern")
    views = [(v, s) for v in turn.verdicts for s in v.scores if s.reason and not v.verdict.is_refusal]
    if not views:
        return None
    verdict, score = views[0]
    return seen(score.reason, verdict.judge, verdict.scores, score.criterion)
