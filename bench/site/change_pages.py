"""The page of a board's changes, and the entries they give the site's feed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.boards.history import BoardChange, Moved
from bench.boards.past import Place
from bench.site.context import BoardContext
from bench.site.project import FeedEntry
from bench.site.shell import Page
from bench.site.text import plain
from bench.tables import counted, shown

SHOWN = 10
"""Moved or added players that an entry names."""


def changes_page(context: BoardContext) -> Page:
    """The page of a board's changes."""
    changes = None if context.changes is None else [(change, lines(change)) for change in context.changes]
    events = [(event.day, event.text) for event in reversed(context.events)]
    return context.part_page("changes-of-board", {"changes": changes, "events": events})


def feed_entries(context: BoardContext) -> Iterator[FeedEntry]:
    """An entry for each change of a board."""
    for change in context.changes or ():
        told = lines(change)
        yield FeedEntry(
            title=f"{context.title}: {told[0]}",
            ident=f"{context.place.suite}:{context.place.language}:{change.commit.sha}",
            page=context.links().part("changes-of-board"),
            updated=change.commit.date,
            points=told,
        )
    for number, event in enumerate(context.events):
        yield FeedEntry(
            title=f"{context.title}: {plain(event.name)} {event.action}",
            ident=f"{context.place.suite}:{context.place.language}:event-{number}",
            page=context.links().part("changes-of-board"),
            updated=f"{event.day}T00:00:00Z",
            points=[plain(event.text, 1200)],
        )


def lines(change: BoardChange) -> list[str]:
    """A change in words, the most important first. Plain text on one line each."""
    told = []
    if change.versions:
        told.append(
            "Version {} became {}. Their scores cannot be compared.".format(*map(plain, change.versions))
        )
    if change.first:
        told.append(f"Board published with {counted(len(change.added), 'player')}")
    told += _some([f"{plain(name)} added, {_rank(place)}" for name, place in change.added], "added")
    told += [f"{plain(name)} removed" for name in change.removed]
    told += ["{} renamed: now {}".format(*map(plain, names)) for names in change.renamed]
    told += _some([f"{plain(name)}: {rerun_words(*counts)}" for name, *counts in change.rerun], "rerun")
    told += [f"Judge {plain(judge)} added" for judge in change.judges_added]
    told += [f"Judge {plain(judge)} removed" for judge in change.judges_removed]
    if change.moved:
        told.append(f"{counted(len(change.moved), 'player')} moved, because {' and '.join(change.causes)}")
        told += _some([_moved(move) for move in change.moved], "moved")
    return told


def _some(told: Sequence[str], what: str) -> list[str]:
    rest = len(told) - SHOWN
    return [*told[:SHOWN], *([f"{counted(rest, 'player')} more {what}"] if rest > 0 else [])]


def _rank(place: Place) -> str:
    return "not scored" if place.rank is None else f"rank {place.rank}"


def rerun_words(talks: int, verdicts: int) -> str:
    """What was rerun, in words."""
    counts = ((talks, "conversation"), (verdicts, "judgement"))
    return " and ".join(counted(n, noun) for n, noun in counts if n) + " rerun"


def _moved(move: Moved) -> str:
    before, after = move.before, move.after
    ranks = f"rank {shown(before.rank)}"
    if before.rank != after.rank:
        ranks += f" to {shown(after.rank)}"
    score = f"score {shown(before.score)}"
    if shown(before.score) != shown(after.score):
        score += f" to {shown(after.score)}"
    return f"{plain(move.name)}: {ranks}, {score}"
