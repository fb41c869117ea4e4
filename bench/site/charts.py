"""Small drawings inside tables: intervals on a shared axis, and heat tints."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from markupsafe import Markup

STEPS = 16
"""Tints from the lowest score of the scale to the highest: classes ``rc-h0`` to ``rc-h16``."""

UNKNOWN_SCALE = (1.0, 5.0)
"""Assumed for a protocol without a facts file."""

WIDTH = 160
HEIGHT = 22
MARGIN = 14
MOST_NUMBERS = 6
"""Numbers that fit next to each other on the axis."""


@lru_cache(maxsize=4096)
def heat(score: float | None, low: float = 1, high: float = 5) -> str:
    """CSS class of the tint for a score; empty if there is no score."""
    if score is None:
        return ""
    share = (min(max(score, low), high) - low) / (high - low)
    return f"rc-h{round(share * STEPS)}"


SIDES = 6
"""Tints of a difference on either side of zero: classes ``rc-m6`` (far below) to ``rc-p6`` (far above)."""


def diverging(value: float | None, most: float) -> str:
    """CSS class of the tint for a difference; empty if it is unknown or next to nothing. ``most``: the value
    that gets the darkest tint."""
    if value is None or most <= 0:
        return ""
    step = min(SIDES, round(SIDES * abs(value) / most))
    return f"rc-{'p' if value > 0 else 'm'}{step}" if step else ""


@dataclass(frozen=True)
class Axis:
    """The part of the score scale on which a board's intervals are drawn."""

    low: float
    high: float

    @classmethod
    def around(cls, spans: Iterable[tuple[float, float]]) -> Axis:
        """The shortest axis that holds all (low, high) and ends at ticks."""
        ends = list(spans)
        if not ends:
            return cls(1, 5)
        low, high = min(a for a, _ in ends), max(b for _, b in ends)
        step = _step(high - low)
        low = max(0.0, math.floor(low / step) * step)
        return cls(round(low, 6), round(max(math.ceil(high / step) * step, low + step), 6))

    def x(self, score: float) -> float:
        """The position of a score, in drawing units."""
        return round(MARGIN + (WIDTH - 2 * MARGIN) * (score - self.low) / (self.high - self.low), 1)

    @property
    def ticks(self) -> list[float]:
        """Positions of the ticks."""
        step = _step(self.high - self.low)
        return [round(self.low + step * n, 6) for n in range(int((self.high - self.low) / step + 1e-6) + 1)]


def _step(span: float) -> float:
    """A round distance of ticks for an axis of this length."""
    for most, step in (
        (0.5, 0.1),
        (1.0, 0.2),
        (2.0, 0.5),
        (10.0, 1.0),
        (20.0, 2.0),
        (50.0, 5.0),
        (100.0, 10.0),
    ):
        if span <= most + 1e-9:
            return step
    return 20.0


def whisker(axis: Axis, score: float | None, half: float | None) -> Markup:
    """A dot at ``score`` with its interval. Hidden from screen readers, which read the numbers next to it."""
    ticks = " ".join(f"M{axis.x(t):g} 0V{HEIGHT}" for t in axis.ticks)
    parts = [f'<path class="rc-tick" d="{ticks}"/>']
    middle = HEIGHT / 2
    if score is not None:
        if half:
            a, b = axis.x(score - half), axis.x(score + half)
            ends = f"M{a:g} {middle - 5:g}v10M{b:g} {middle - 5:g}v10"
            parts.append(f'<path class="rc-bar" d="M{a:g} {middle:g}H{b:g}{ends}"/>')
        parts.append(f'<circle class="rc-dot" cx="{axis.x(score):g}" cy="{middle:g}" r="3.5"/>')
    return _drawing(parts)


def scale(axis: Axis) -> Markup:
    """The numbers of the axis, for the heading of the column; where there are many, not all of them."""
    ticks = axis.ticks
    shown = ticks[:: -(-len(ticks) // MOST_NUMBERS)]
    return _drawing([f'<text x="{axis.x(tick):g}" y="17">{tick:g}</text>' for tick in shown])


def _drawing(parts: Iterable[str]) -> Markup:
    return Markup(
        f'<svg class="rc-whisker" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
        f' aria-hidden="true" focusable="false">{"".join(parts)}</svg>'
    )
