"""Measures without a judge on pages: a player's figures beside the board's mean, and the phrase lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from markupsafe import Markup

from bench.scores.measures import FOLDER, phrase_file
from bench.scores.player_measures import PlayerMeasures, mean
from bench.site.numbers import number, percent, whole

Form = Callable[[float | None], str | Markup]
SHOWN: tuple[tuple[str, str, str, Form], ...] = (
    ("repeated_runs", "Repeated runs of four words", "repetition", percent),
    ("repeated_earlier", "Repeated from earlier answers", "repetition", percent),
    ("repeated_answers", "Answers said before, word for word", "repetition", percent),
    ("across", "Shared by two conversations", "repetition", percent),
    ("stock_answers", "Answers with a stock phrase", "stock-phrases", percent),
    ("stock_per_1000", "Stock phrases in 1,000 words", "stock-phrases", number),
    ("other_script", "Words in another script", "script", percent),
    ("speaks_for_user", "Answers that speak for the user", "user", percent),
    ("truncated", "Answers cut off at the token limit", "truncated", percent),
    ("words", "Words in a conversation", "length", whole),
)
"""Measure, title, the section of the page that defines it, and how it is written."""


@dataclass(frozen=True)
class MeasureRow:
    """One measure of a player."""

    title: str
    anchor: str
    own: str | Markup
    board: str | Markup
    """Mean over the players of the board that have the figure."""


def measure_rows(own: PlayerMeasures, board: Iterable[PlayerMeasures]) -> list[MeasureRow]:
    """The measures of a player; empty without a written answer."""
    if all(_value(own, name) is None for name, *_ in SHOWN):
        return []
    every = list(board)
    return [
        MeasureRow(
            title,
            anchor,
            form(_value(own, name)),
            form(mean(known for player in every if (known := _value(player, name)) is not None)),
        )
        for name, title, anchor, form in SHOWN
    ]


def _value(player: PlayerMeasures, name: str) -> float | None:
    return player.across if name == "across" else player.means[name]


def phrase_lists() -> list[tuple[str, tuple[str, ...]]]:
    """Language and stock phrases of every list."""
    files = [(path.stem, phrase_file(path.stem)) for path in sorted(FOLDER.glob("*.toml"))]
    return [(language, file.stock) for language, file in files if file is not None]
