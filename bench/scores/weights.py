"""Weights of a protocol's criteria: the standard weightings, and a parser for what users type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.errors import UserError
from bench.toml_entries import did_you_mean

EQUAL = "equal"
"""Name of the plain average, by which the board is ranked."""

CUSTOM = "custom"
"""Name of a weighting given as numbers."""

Weights = Mapping[str, float]
"""Criterion to weight. Only the proportions matter."""

SMALLEST, LARGEST = 1e-6, 1e6
"""Range of weights other than 0. Outside it, means of floats overflow or lose digits."""


def standard_weightings(criteria: Sequence[str]) -> dict[str, dict[str, float]]:
    """The plain average, and for each criterion a weighting that counts it twice."""
    weightings = {EQUAL: dict.fromkeys(criteria, 1.0)}
    if len(criteria) > 1:
        for heavy in criteria:
            weightings[f"{heavy}_heavy"] = {name: 2.0 if name == heavy else 1.0 for name in criteria}
    return weightings


def checked_weights(weights: Weights, criteria: Sequence[str]) -> dict[str, float]:
    """``weights`` for all of ``criteria``, 0 for those without one. Raises UserError."""
    for name, weight in weights.items():
        if name not in criteria:
            hint = did_you_mean(name, criteria) or f"Criteria are {', '.join(criteria)}."
            raise UserError(f"unknown criterion {name!r}", hint=hint)
        if weight and not SMALLEST <= weight <= LARGEST:  # also true for NaN
            raise UserError(
                f"invalid weight {weight!r} of {name}",
                hint=f"Use 0, or a number from {SMALLEST:f} to {LARGEST:.0f}; only the proportions matter.",
            )
    complete = {name: float(weights.get(name, 0.0)) for name in criteria}
    if not sum(complete.values()) > 0:
        raise UserError("all weights are zero", hint="Give at least one criterion a weight.")
    return complete


def parse_weights(text: str, criteria: Sequence[str]) -> tuple[str, dict[str, float]]:
    """Parse a weighting's name, ``2,1,1`` or ``fluency=2,in_character=1`` into its name and weights.

    Numbers without a name are in the order of ``criteria``. Raises UserError.
    """
    text = text.strip()
    named = standard_weightings(criteria)
    if text in named:
        return text, named[text]
    parts = [part.strip() for part in text.split(",")]
    if any("=" in part for part in parts):
        pairs = [(name.strip(), value) for name, _, value in (part.partition("=") for part in parts)]
        if len(dict(pairs)) < len(pairs):
            raise UserError(f"weights {text!r} repeat a criterion", hint="Give each criterion one weight.")
        given = {name: _number(value, text) for name, value in pairs}
    elif len(parts) == len(criteria):
        given = {name: _number(part, text) for name, part in zip(criteria, parts, strict=True)}
    else:
        raise UserError(
            f"invalid weights {text!r}",
            hint=did_you_mean(text, named)
            or f"Give one of {', '.join(named)}, or {len(criteria)} numbers for {', '.join(criteria)}.",
        )
    return CUSTOM, checked_weights(given, criteria)


def _number(text: str, whole: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UserError(f"weights {whole!r}: {text.strip()!r} is not a number") from None
