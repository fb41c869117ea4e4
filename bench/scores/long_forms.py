"""Figures of long conversations and of flaws as tables for people: for the terminal and for pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    if talks:
        yield _recall(talks)
        yield _slopes(board, talks)
        yield _breaks(talks)
        yield _recovery(talks)
        yield _repetition(talks)
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


Talks = list[tuple[BoardRow, LongTalk]]


def _recall(talks: Talks) -> FigureTable:
    def cells(talk: LongTalk) -> tuple[str, ...]:
        found = talk.recall
        interval = UNKNOWN if found.low is None else f"{found.low:.2f} to {found.high:.2f}"
        left_out = "; ".join(f"{count}: {NOT_COUNTED[name]}" for name, count in found.not_counted.items())
        counts = (found.asked, found.recalled, found.wrong, found.forgotten)
        return (_share(found.share), interval, *map(str, counts), left_out or "0")

    return FigureTable(
        "recall",
        "Recall",
        "Share of the facts that the user had mentioned and asked for later, decided by patterns.",
        ("Recalled", "95% interval", "Asked", "Right", "Wrong", "Forgotten", "Not counted"),
        tuple((row, cells(talk)) for row, talk in talks),
    )


def _slopes(board: Board, talks: Talks) -> FigureTable:
    return FigureTable(
        "slopes",
        "Slopes",
        "Points per turn by which the scores of a criterion rise or fall in the course of a conversation,"
        " with the 95% interval.",
        tuple(name.replace("_", " ").capitalize() for name in board.criteria),
        tuple((row, tuple(_slope(talk.slopes.get(name)) for name in board.criteria)) for row, talk in talks),
    )


def _slope(slope: Slope | None) -> str:
    if slope is None:
        return UNKNOWN
    ends = "" if slope.low is None else f" ({slope.low:+.3f} to {slope.high:+.3f})"
    return f"{slope.per_turn:+.3f}{ends}"


def _breaks(talks: Talks) -> FigureTable:
    return FigureTable(
        "breaks",
        "First break",
        "A turn is broken if its mean score for staying in character is below the middle of the scale.",
        ("Broken", "First break, turn", "Turns held"),
        tuple(
            (row, (_of(made.broken, made.conversations), shown(made.first), shown(made.turns_held)))
            for row, talk in talks
            for made in (talk.breaks,)
        ),
    )


def _recovery(talks: Talks) -> FigureTable:
    return FigureTable(
        "recovery",
        "Attacks and recovery",
        f"Of the attacks that broke the character, how many were recovered from within {ROOM} turns.",
        ("Held", "Recovered", "Turns to recover", "Change after an attack"),
        tuple(
            (
                row,
                (
                    _of(made.held, made.attacks),
                    _of(made.recovered, made.attacks - made.held),
                    shown(made.turns_to_recover),
                    shown(made.change_after),
                ),
            )
            for row, talk in talks
            for made in (talk.recovery,)
        ),
    )


def _repetition(talks: Talks) -> FigureTable:
    """Every sixth of the conversation, so that the table stays narrow."""
    last = max((turn.turn for _, talk in talks for turn in talk.repetition), default=0)
    step = max(1, round(last / 6))
    shown_turns = range(step, last + 1, step)
    return FigureTable(
        "repetition",
        "Repetition by turn",
        "Share of an answer's four-word runs that earlier answers have, by turn; board.json has every turn.",
        tuple(f"Turn {turn}" for turn in shown_turns),
        tuple(
            (row, _shares({entry.turn: entry.share for entry in talk.repetition}, shown_turns))
            for row, talk in talks
        ),
    )


def _shares(shares: dict[int, float], turns: Iterable[int]) -> tuple[str, ...]:
    return tuple(_share(shares.get(turn)) for turn in turns)


def _share(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.1%}"


def _of(count: int, total: int) -> str:
    return f"{count} of {total}" if total else UNKNOWN
