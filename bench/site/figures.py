"""Figures as inline SVG: coloured by the style sheet, with a description; each mark of a line is a link."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

WIDTH, HEIGHT = 420, 230
LEFT, RIGHT, TOP, BOTTOM = 52, 8, 12, 46


@dataclass(frozen=True)
class Mark:
    """A point with its interval and its link."""

    at: int
    value: float
    low: float | None
    high: float | None
    href: str
    label: str


MOST_LABELS = 12
"""Numbers that fit below the axis of a line figure."""


@dataclass(frozen=True)
class Series:
    """A line. ``kind``: its style, ``main`` or ``other``."""

    kind: str
    marks: Sequence[Mark]


def line_figure(
    ident: str,
    title: str,
    about: str,
    series: Sequence[Series],
    bounds: tuple[float, float],
) -> Markup:
    """Scores by turn; empty if there is nothing to draw. ``ident``: prefix of its ids.

    ``bounds``: the lowest and highest possible value; intervals that go beyond are drawn up to there.
    """
    marks = [mark for one in series for mark in one.marks]
    if not marks:
        return Markup("")
    low, high = _range(marks, bounds)
    last = max(mark.at for mark in marks)
    first = min(mark.at for mark in marks)

    def x(at: int) -> float:
        share = (at - first) / (last - first) if last > first else 0.5
        return round(LEFT + 14 + share * (WIDTH - LEFT - RIGHT - 28), 1)

    def y(value: float) -> float:
        return round(TOP + (high - value) / (high - low) * (HEIGHT - TOP - BOTTOM), 1)

    step = 0.5 if high - low <= 3 else 1.0
    ticks = [low + step * n for n in range(int((high - low) / step + 1e-9) + 1)]
    parts = [f'<path class="rc-tick" d="M{LEFT} {y(t):g}H{WIDTH - RIGHT}"/>' for t in ticks]
    parts += [f'<text class="rc-axis-y" x="{LEFT - 6}" y="{y(t) + 4:g}">{t:g}</text>' for t in ticks]
    parts += [
        f'<text class="rc-axis-x" x="{x(at):g}" y="{HEIGHT - 26}">{at}</text>'
        for at in range(first, last + 1, -(-(last - first + 1) // MOST_LABELS))
    ]
    middle = (TOP + HEIGHT - BOTTOM) / 2
    centre = (LEFT + WIDTH - RIGHT) / 2
    parts.append(
        f'<text class="rc-axis-x" x="{centre:g}" y="{HEIGHT - 6}">Turn</text>'
        f'<text class="rc-axis-x" transform="translate(13 {middle:g}) rotate(-90)">Mean score</text>'
    )
    for one in series:
        path = "".join(f"{'L' if n else 'M'}{x(m.at):g} {y(m.value):g}" for n, m in enumerate(one.marks))
        parts.append(f'<path class="rc-line rc-line--{escape(one.kind)}" d="{path}"/>')
        for mark in one.marks:
            if mark.low is not None and mark.high is not None and one.kind == "main":
                bar = f"M{x(mark.at):g} {y(max(mark.low, low)):g}V{y(min(mark.high, high)):g}"
                parts.append(f'<path class="rc-bar" d="{bar}"/>')
            place = f'cx="{x(mark.at):g}" cy="{y(mark.value):g}" r="5"'
            dot = f'<circle class="rc-dot rc-dot--{escape(one.kind)}" {place}/>'
            label = escape(mark.label)
            link = f'<a href="{escape(mark.href)}" aria-label="{label}">'
            parts.append(f"{link}<title>{label}</title>{dot}</a>")
    return described_svg(ident, "rc-figure--line", (WIDTH, HEIGHT), title, about, parts)


def described_svg(
    ident: str,
    kind: str,
    size: tuple[int, int],
    title: str,
    about: str,
    parts: Iterable[str],
    role: str = "group",
) -> Markup:
    """A figure with its title and description. ``ident``: prefix of their ids. ``kind``: its CSS class."""
    ident, title, about = escape(ident), escape(title), escape(about)
    return Markup(
        f'<svg class="rc-figure {kind}" viewBox="0 0 {size[0]} {size[1]}" role="{role}"'
        f' aria-labelledby="{ident}-t {ident}-d"><title id="{ident}-t">{title}</title>'
        f'<desc id="{ident}-d">{about}</desc>{"".join(parts)}</svg>'
    )


def _range(marks: Sequence[Mark], bounds: tuple[float, float]) -> tuple[float, float]:
    """The ends of the upright axis: halves that hold all values, and their intervals within ``bounds``."""
    values = [mark.value for mark in marks]
    ends = [end for mark in marks for end in (mark.low, mark.high) if end is not None] + values
    least, most = min(bounds[0], *values), max(bounds[1], *values)
    low = math.floor(2 * max(min(ends), least)) / 2
    return low, max(math.ceil(2 * min(max(ends), most)) / 2, low + 0.5)
