"""How the criteria of a protocol are weighed against each other: data, and one parser for what users type."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from bench.errors import UserError

EQUAL = "equal"
"""Name of the plain average, which ranks the board."""

CUSTOM = "custom"
"""Name of a weighting that a user gave as numbers."""

Weights = Mapping[str, float]
"""Criterion to weight; only the proportions matter, so equal weights are exactly 1/3 each of three."""

SMALLEST, LARGEST = 1e-6, 1e6
"""What a weight is kept to where it is not 0: beyond, means of floats overflow or lose their digits."""


def standard_weightings(criteria: Sequence[str]) -> dict[str, dict[str, float]]:
    """The plain average, and for each criterion the weighting in which it counts twice."""
    weightings = {EQUAL: dict.fromkeys(criteria, 1.0)}
    if len(criteria) > 1:
        for heavy in criteria:
            weightings[f"{heavy}_heavy"] = {name: 2.0 if name == heavy else 1.0 for name in criteria}
    return weightings


def checked_weights(weights: Weights, criteria: Sequence[str]) -> dict[str, float]:
    """``weights`` for all of ``criteria`` (an absent one weighs nothing). Raises UserError."""
    for name, weight in weights.items():
        if name not in criteria:
            raise _unknown(name, criteria)
        if not math.isfinite(weight) or weight < 0:
            raise UserError(f"weight {weight!r} of {name} is not a number of 0 or more")
        if weight and not SMALLEST <= weight <= LARGEST:
            raise UserError(
                f"weight {weight!r} of {name} is neither 0 nor from {SMALLEST:f} to {LARGEST:.0f}",
                hint="Only the proportions matter: 2,1,1 is as good as 2000,1000,1000.",
            )
    complete = {name: float(weights.get(name, 0.0)) for name in criteria}
    if not sum(complete.values()) > 0:
        raise UserError("all weights are zero", hint="Give at least one criterion a weight.")
    return complete


def parse_weights(text: str, criteria: Sequence[str]) -> tuple[str, dict[str, float]]:
    """Name and weights of what a user typed: a weighting's name, ``2,1,1``, or ``fluency=2,in_character=1``.

    Bare numbers go by the order of ``criteria``. Raises UserError.
    """
    text = text.strip()
    named = standard_weightings(criteria)
    if text in named:
        return text, named[text]
    parts = [part.strip() for part in text.split(",")]
    if any("=" in part for part in parts):
        pairs = [(name.strip(), value) for name, _, value in (part.partition("=") for part in parts)]
        twice = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
        if twice:
            raise UserError(f"weights {text!r}: {twice[0]!r} has two", hint="Give each criterion one weight.")
        given = {name: _number(value, text) for name, value in pairs}
    elif len(parts) == len(criteria):
        given = {name: _number(part, text) for name, part in zip(criteria, parts, strict=True)}
    else:
        raise UserError(
            f"weights {text!r} are not understood",
            hint=f"Give one of {', '.join(named)}, or {len(criteria)} numbers for {', '.join(criteria)}.",
        )
    return CUSTOM, checked_weights(given, criteria)


def _number(text: str, whole: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UserError(f"weights {whole!r}: {text.strip()!r} is not a number") from None


def _unknown(name: str, criteria: Iterable[str]) -> UserError:
    return UserError(f"unknown criterion {name!r}", hint=f"Criteria are {', '.join(criteria)}.")
