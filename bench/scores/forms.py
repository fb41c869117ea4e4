"""A board as text: canonical JSON, CSV, an aligned table for the terminal."""

from __future__ import annotations

import csv
import io
import unicodedata

from rich.cells import cell_len

from bench.records import canonical
from bench.scores.board import Board


def to_json(made: Board) -> str:
    """board.json: canonical JSON, equal bytes on every machine. Unknown numbers are null."""
    return canonical(made.model_dump(mode="json"))


COLUMNS = (
    "rank",
    "player",
    "name",
    "length_norm_score",
    "length_norm_ci",
    "score",
    "score_ci",
    "in_character",
    "entertaining",
    "fluency",
    "refusal_ratio",
    "avg_length",
    "conversations",
    "conversations_scored",
    "conversations_failed",
    "conversations_missing",
    "judgements_ok",
    "judgements_repaired",
    "judgements_refused",
    "judgements_failed",
    "judgements_stale",
    "judgements_missing",
    "judges",
    "family",
    "provider",
    "model",
    "weights",
    "parameters_billion",
    "cost",
)
"""Columns of the CSV form; criteria that have no column of their own follow, by name."""

_OWN_COLUMN = frozenset({"in_character", "entertaining", "fluency"})
_FORMULA_STARTS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


def to_csv(made: Board) -> str:
    """The board as CSV; text that a spreadsheet would take for a formula gets an apostrophe in front."""
    more = [name for name in made.criteria if name not in _OWN_COLUMN]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*COLUMNS, *map(csv_cell, more)])
    for row in made.rows:
        values = [getattr(row, name) for name in COLUMNS]
        writer.writerow([csv_cell(v) for v in [*values, *(row.criteria.get(name) for name in more)]])
    return out.getvalue()


def csv_cell(value: object) -> str:
    """A value as a CSV cell that no spreadsheet runs."""
    if value is None:
        return ""
    if isinstance(value, (int, float)):
        return repr(value)
    text = "; ".join(value) if isinstance(value, tuple) else str(value)
    start = text.lstrip()
    risky = start.startswith(_FORMULA_STARTS) or (text != "" and unicodedata.category(text[0]) == "Cc")
    return f"'{text}" if risky else text


_TABLE: tuple[tuple[str, str], ...] = (
    ("#", "rank"),
    ("Player", "name"),
    ("Length norm.", "length_norm_score"),
    ("±", "length_norm_ci"),
    ("Score", "score"),
    ("±", "score_ci"),
    ("Refusals", "refusal_ratio"),
    ("Length", "avg_length"),
    ("Talks", "conversations"),
    ("Failed judgements", "judgements_failed"),
)
"""Heading and field of each column of the terminal table; criteria stand before the refusals."""


def to_table(made: Board) -> str:
    """The board as aligned plain text; what is not known shows as an en dash."""
    heads = [head for head, _ in _TABLE]
    at = heads.index("Refusals")
    labels = [name.replace("_", " ").capitalize() for name in made.criteria]
    lines = [[*heads[:at], *labels, *heads[at:]]]
    for row in made.rows:
        cells = [_shown(getattr(row, field)) for _, field in _TABLE]
        cells[at:at] = [_shown(row.criteria.get(name)) for name in made.criteria]
        lines.append(cells)
    widths = [max(cell_len(line[n]) for line in lines) for n in range(len(lines[0]))]
    return "".join("  ".join(_padded(line, widths)).rstrip() + "\n" for line in lines)


_GAPS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("conversations", "conversations_expected", ("missing", "failed")),
    ("judgements", "judgements_expected", ("missing", "failed", "stale")),
)
"""Of what, out of how many, and how each can fall short: the ledger beside the scores."""


def gaps(made: Board) -> str:
    """A line for each player that falls short of what the board asks for; nothing where none does."""
    lines = []
    for row in made.rows:
        parts = []
        for what, expected, states in _GAPS:
            counts = [(state, getattr(row, f"{what}_{state}", 0)) for state in states]
            if short := [f"{count} {state}" for state, count in counts if count]:
                parts.append(f"of {getattr(row, expected)} {what} {', '.join(short)}")
        if parts:
            lines.append(f"{_shown(row.name)}: {'; '.join(parts)}\n")
    return "".join(lines)


def _shown(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.2f}"
    return "".join(c if unicodedata.category(c)[0] != "C" else " " for c in str(value))


def _padded(line: list[str], widths: list[int]) -> list[str]:
    """Numbers to the right, the name (second column) to the left, by cells of a terminal."""
    return [
        text + " " * (width - cell_len(text)) if n == 1 else " " * (width - cell_len(text)) + text
        for n, (text, width) in enumerate(zip(line, widths, strict=True))
    ]
