"""What scoring needs to know of a protocol: scale, criteria, and the rules that make a player's number.

The facts are the protocol's own. Evidence of a protocol that has no module here is scored as version 2 is,
but without a scale.
"""

from __future__ import annotations

from dataclasses import dataclass

from bench.protocols import PROTOCOLS
from bench.protocols.base import LengthRule

Scale = tuple[float, float]

PAPER_GAP = 6
"""In hundredths of a point, on version 2's scale: a group of players that share a rank ends where a printed
score lies further below the group's leader."""
PAPER_WIDTH = 4.0
"""From the lowest to the highest score of version 2."""


@dataclass(frozen=True)
class Rules:
    """The rules of one protocol."""

    scale: Scale | None
    """Lowest and highest score of its criteria; None where nobody knows."""
    criteria: tuple[str, ...] = ()
    """In the order in which they are shown and weights are typed."""
    labels: tuple[str, ...] = ()
    length: LengthRule = "paper_v2"
    """How long answers are held against a player (see :func:`bench.scores.paper.length_terms`)."""
    turn_label: str = "Turn"
    """What the turns of a verdict are."""
    pools_turns: bool = False
    """A player's mean is over all its turns alike; else over its conversations."""

    @property
    def gap(self) -> float:
        """PAPER_GAP as the same share of this scale: 6 on 1 to 5, 13.5 on 1 to 10, 150 on 0 to 100."""
        low, high = self.scale or (0.0, PAPER_WIDTH)
        return PAPER_GAP * (high - low) / PAPER_WIDTH


def rules_of(protocol: str) -> Rules:
    """The rules of the protocol that is called ``protocol``."""
    kind = PROTOCOLS.get(protocol)
    if kind is None:
        return Rules(scale=None)
    return Rules(
        scale=(float(kind.criteria[0].low), float(kind.criteria[0].high)),
        criteria=tuple(criterion.name for criterion in kind.criteria),
        labels=tuple(criterion.label for criterion in kind.criteria),
        length=kind.length_rule,
        turn_label=kind.turn_label,
        pools_turns=kind.pools_turns,
    )
