"""How numbers are rounded before they are published. Loads nothing, so that worker processes start fast."""

from __future__ import annotations

import math

NOISE_DECIMALS = 12
"""Far above the effect of adding in another order, far below what is published."""
DIGITS = 6
"""Decimals of published numbers. Ranks and the printed hundredths are computed from the published number."""


def published(value: float) -> float:
    """A number as published, with DIGITS decimals.

    Floating-point noise is rounded away first, so that a number half-way between two does not depend on the
    order of a sum.
    """
    return round(round(value, NOISE_DECIMALS), DIGITS) + 0.0


def known(value: float | None) -> float | None:
    """A number as published; None if it is missing or not finite."""
    return None if value is None or not math.isfinite(value) else published(float(value))
