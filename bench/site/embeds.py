"""A board for other sites: a badge, and a table in a page of its own, which loads nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import escape
from rich.cells import cell_len

from bench.scores.board import BoardRow
from bench.site.context import BoardContext
from bench.site.text import plain
from bench.tables import counted

STYLE = (
    ":root{color-scheme:light dark}body{font:14px/1.5 system-ui,sans-serif;margin:8px;"
    "color:light-dark(#1f2328,#e2e6ea);background:light-dark(#fff,#1e2129)}"
    "table{border-collapse:collapse;width:100%}h1{font-size:16px;font-weight:600;margin:0 0 4px}"
    "th,td{text-align:start;padding:3px 8px;border-bottom:1px solid #8884;font-weight:400}"
    "th{overflow-wrap:anywhere}"
    "thead th{font-weight:600}td:last-child{white-space:nowrap}td{font-variant-numeric:tabular-nums}"
    "a{color:light-dark(#1d5791,#8fc1f0)}"
)
LETTER = 6.6
"""Mean width of a letter of the badge, in pixels; the text is fitted to the width that follows from it."""


@dataclass(frozen=True)
class EmbedRow:
    """A player in the table. Unknown numbers are None."""

    player: str
    name: str
    rank: int | None
    value: float | None
    low: float | None
    high: float | None


def embed_row(row: BoardRow) -> EmbedRow:
    """A player's number and interval, whatever kind of board it is."""
    if row.probes is not None:
        low, high = row.probes.pass_rate_ci or (None, None)
        return EmbedRow(row.player, row.name, row.rank, row.probes.pass_rate, low, high)
    score = row.length_norm_score
    return EmbedRow(row.player, row.name, row.rank, score, *interval_ends(score, row.length_norm_ci))


def interval_ends(score: float | None, half: float | None) -> tuple[float | None, float | None]:
    """The ends of an interval around ``score``; ``half``: half of its width."""
    return (None, None) if score is None or half is None else (score - half, score + half)


def embed_files(context: BoardContext) -> Iterator[tuple[str, bytes]]:
    """(path, content) of the badge and the table."""
    path = context.links().file("embed.html")
    yield context.links().file("badge.svg"), badge(context).encode()
    values = {
        "title": context.title,
        "style": STYLE,
        "style_hash": base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode(),
        "number": context.rules.number.capitalize(),
        "rows": [embed_row(row) for row in context.board.rows],
        "to": context.links(path),
        "suite": context.place.label,
    }
    yield path, context.pages.render("embed", values).encode("utf-8", "replace")


def badge_text(context: BoardContext) -> str:
    """What the badge says: the board, and who leads it."""
    board = context.board
    first = next((row for row in map(embed_row, board.rows) if row.value is not None), None)
    count = counted(len(board.rows), "player")
    if context.place.label.demonstration:
        return f"{plain(context.title, 40)}: demonstration, {count}"
    led = f"{plain(first.name, 30)} {first.value:.2f}" if first is not None else "no scores yet"
    return f"{plain(context.title, 40)}: {led}, {count}"


def badge(context: BoardContext) -> str:
    """The badge as SVG."""
    left, right = "Dramaturg", badge_text(context)
    a, b = round(cell_len(left) * LETTER + 14), round(cell_len(right) * LETTER + 14)

    def text(x: int, width: int, words: str) -> str:
        at = f'x="{x + width / 2:g}" y="14" textLength="{width - 14}" lengthAdjust="spacingAndGlyphs"'
        return f"<text {at}>{escape(words)}</text>"

    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{a + b}" height="20" role="img"'
        f' aria-label="{escape(left)}: {escape(right)}"><title>{escape(left)}: {escape(right)}</title>'
        f'<rect width="{a}" height="20" fill="#24425f"/>'
        f'<rect x="{a}" width="{b}" height="20" fill="#1d6fa3"/>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f"{text(0, a, left)}{text(a, b, right)}</g></svg>\n"
    )


def embed_code(context: BoardContext, site_url: str) -> str:
    """HTML that puts the badge and the table into another page."""
    base, at, title = site_url.rstrip("/") or "SITE", context.links(), escape(context.title)
    badge = f'<img src="{base}/{at.file("badge.svg")}" alt="{title}" height="20">'
    return (
        f'<a href="{base}/{at.board()}">{badge}</a>\n'
        f'<iframe src="{base}/{at.file("embed.html")}" title="{title}" width="100%" height="400"></iframe>'
    )
