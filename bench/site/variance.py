"""What the scores of a board depend on: its variance components as a figure, sentences and a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape
from pydantic import JsonValue

from bench.site.evidence import BoardEvidence
from bench.site.figures import described_svg

WIDTH, BAR, GAP, LEFT = 620, 34, 14, 70
LABEL_FROM = 0.09
"""A part narrower than this share has no label in the figure; the table has all."""
TONES = {"player": "real", "player x scene": "moves", "player x judge": "moves", "residual": "moves"}
"""How a source is drawn: what the board measures, and what moves ranks by chance. Others shift all players
alike."""


@dataclass(frozen=True)
class Source:
    """A row of the table. ``figures``: variance, share and whether it is negative, by whose scores."""

    effect: str
    part_of: str
    figures: dict[str, tuple[float, float | None, bool]]


def variance_values(evidence: BoardEvidence) -> dict[str, Any]:
    """Values for the template; without components, the reason."""
    analysis = next((a for a in evidence.analyses.analyses if a.name == "components"), None)
    if analysis is None or not analysis.rows or not evidence.counted:
        return {"sources": [], "variance_reason": analysis.reason if analysis else None}
    rows = analysis.rows
    whose = list(dict.fromkeys(str(row["players"]) for row in rows))
    return {
        "sources": _sources(rows),
        "whose": whose,
        "variance_notes": analysis.notes,
        "variance_figure": _figure(whose, rows, analysis.notes),
    }


def words(effect: str) -> str:
    """An effect as a page calls it."""
    return effect.replace(" x ", " × ")


def _sources(rows: Sequence[dict[str, JsonValue]]) -> list[Source]:
    sources: dict[str, Source] = {}
    for row in rows:
        effect = str(row["effect"])
        source = sources.setdefault(effect, Source(words(effect), words(str(row["part_of"])), {}))
        source.figures[str(row["players"])] = (
            _number(row["variance"]) or 0.0,
            _number(row["share"]),
            bool(row["negative"]),
        )
    return list(sources.values())


def _number(value: JsonValue) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _figure(whose: Sequence[str], rows: Sequence[dict[str, JsonValue]], notes: Sequence[str]) -> Markup:
    """A bar for each of ``whose``, divided by the shares."""
    parts = []
    for line, name in enumerate(whose):
        at, top = float(LEFT), line * (BAR + GAP) + 4
        parts.append(
            f'<text class="rc-axis-y" x="{LEFT - 8}" y="{top + BAR / 2 + 4:g}">{escape(name)}</text>'
        )
        for row in rows:
            share = _number(row["share"])
            if row["players"] != name or row["part_of"] or not share:
                continue
            effect, width = str(row["effect"]), share * (WIDTH - LEFT - 4)
            label = f"{words(effect)} {share:.0%}"
            tone = TONES.get(effect, "alike")
            text = f'<text x="{at + width / 2:.1f}" y="{top + BAR / 2 + 4:g}">{escape(label)}</text>'
            fits = share >= LABEL_FROM and len(label) * 5.4 < width
            place = f'x="{at:.1f}" y="{top}" width="{width:.1f}" height="{BAR}"'
            bar = f'<rect class="rc-share rc-share--{tone}" {place}/>'
            parts.append(f"<g><title>{escape(label)}</title>{bar}{text if fits else ''}</g>")
            at += width
    height = len(whose) * (BAR + GAP)
    size, title = (WIDTH, height), "What a score depends on"
    return described_svg("variance", "rc-shares", size, title, " ".join(notes), parts, role="img")
