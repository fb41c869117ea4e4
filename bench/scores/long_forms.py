"""Figures of long conversations and of flaws as tables for people: for the terminal and for pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from bench.replies.flaws import FLAWS, flaw_label
from bench.scores.board import Board, BoardRow
from bench.scores.long_talks import ROOM, LongTalk, Slope
from bench.scores.scripts import NOT_COUNTED
from bench.tables import UNKNOWN, shown, text_table


@dataclass(frozen=True)
class FigureTable:
    """A table with one line per player. ``anchor``: its name in addresses and in the method text."""

    anchor: str
    title: str
    about: str
    heads: tuple[str, ...]
    rows: tuple[tuple[BoardRow, tuple[str, ...]], ...]


def figure_tables(board: Board, only: str = "") -> Iterator[FigureTable]:
    """The tables of a board; none for protocols without scripts and flaws. ``only``: one player."""
    rows = [row for row in board.rows if not only or row.player == only]
    talks = [(row, row.long_talk) for row in rows if row.long_talk is not None]
    tables = _talk_tables(board.criteria, [talk for _, talk in talks]) if talks else ()
    for anchor, title, about, heads, cells in tables:
        lines = tuple((row, tuple(cells(talk))) for row, talk in talks)
        yield FigureTable(anchor, title, about, heads, lines)
    flaws = [(row, row.flaws) for row in rows if row.flaws is not None]
    if flaws:
        kinds = [name for name in FLAWS if any(rates.kinds[name] for _, rates in flaws)]
        yield FigureTable(
            "flaws",
            "Flaws in a turn",
            "What judges listed with a quotation from the answer, by kind. Mean over turns, judges and"
            " conversations; kinds that no judge listed are left out.",
            ("Judged turns", "All flaws", *map(flaw_label, kinds)),
            tuple(
                (
                    row,
                    (str(rates.turns), *(f"{n:.3f}" for n in (rates.per_turn, *map(rates.kinds.get, kinds)))),
                )
                for row, rates in flaws
            ),
        )


def figures_text(board: Board) -> str:
    """The tables for a terminal; empty without any."""
    text = ""
    for table in figure_tables(board):
        lines = [[shown(row.name), *cells] for row, cells in table.rows]
        text += f"\n{table.title}\n{table.about}\n{text_table(['Player', *table.heads], lines, left={0})}"
    return text


Columns = tuple[str, str, str, tuple[str, ...], Callable[[LongTalk], Iterable[str]]]
"""Anchor, title, how to read it, headings, and the cells of a player."""


def _talk_tables(criteria: Sequence[str], talks: Iterable[LongTalk]) -> tuple[Columns, ...]:
    last = max((turn.turn for talk in talks for turn in talk.repetition), default=0)
    step = max(1, round(last / 6))  # so that the table stays narrow
    turns = range(step, last + 1, step)
    return (
        (
            "recall",
            "Recall",
            "Share of the facts that the user had mentioned and asked for later, decided by patterns.",
            ("Recalled", "95% interval", "Asked", "Right", "Wrong", "Forgotten", "Not counted"),
            _recall,
        ),
        (
            "slopes",
            "Slopes",
            "Points per ten turns by which the scores of a criterion rise or fall in the course of a"
            " conversation, with the 95% interval.",
            tuple(name.replace("_", " ").capitalize() for name in criteria),
            lambda talk: [_slope(talk.slopes.get(name)) for name in criteria],
        ),
        (
            "breaks",
            "First break",
            "A turn is broken if its mean score for staying in character is below the middle of the scale.",
            ("Broken", "First break, turn", "Turns held"),
            _breaks,
        ),
        (
            "recovery",
            "Attacks and recovery",
            f"Of the attacks that broke the character, how many were recovered from within {ROOM} turns.",
            ("Held", "Recovered", "Turns to recover", "Change after an attack"),
            _recovery,
        ),
        (
            "repetition",
            "Repetition by turn",
            "Share of an answer's four-word runs that earlier answers have, by turn; board.json has every"
            " turn.",
            tuple(f"Turn {turn}" for turn in turns),
            lambda talk: _repetition(talk, turns),
        ),
    )


def _recall(talk: LongTalk) -> tuple[str, ...]:
    found = talk.recall
    interval = UNKNOWN if found.low is None else f"{found.low:.2f} to {found.high:.2f}"
    left_out = "; ".join(f"{count}: {NOT_COUNTED[name]}" for name, count in found.not_counted.items())
    counts = (found.asked, found.recalled, found.wrong, found.forgotten)
    return (_share(found.share), interval, *map(str, counts), left_out or "0")


def _slope(slope: Slope | None) -> str:
    if slope is None:
        return UNKNOWN
    points, low, high = slope.per_ten_turns
    told = f"{points:+.3f}" if round(points, 3) else "0.000"
    return told + ("" if low is None else f" ({low:+.3f} to {high:+.3f})")


def _breaks(talk: LongTalk) -> tuple[str, ...]:
    found = talk.breaks
    return _of(found.broken, found.conversations), shown(found.first), shown(found.turns_held)


def _recovery(talk: LongTalk) -> tuple[str, ...]:
    found = talk.recovery
    held, recovered = _of(found.held, found.attacks), _of(found.recovered, found.attacks - found.held)
    return held, recovered, shown(found.turns_to_recover), shown(found.change_after)


def _repetition(talk: LongTalk, turns: Iterable[int]) -> list[str]:
    shares = {entry.turn: entry.share for entry in talk.repetition}
    return [_share(shares.get(turn)) for turn in turns]


def _share(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.1%}"


def _of(count: int, total: int) -> str:
    return f"{count} of {total}" if total else UNKNOWN
