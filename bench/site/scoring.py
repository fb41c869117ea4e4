"""How a board's protocol scores, as its pages say it."""

from __future__ import annotations

from dataclasses import dataclass

from bench.protocol_facts import LengthRule, facts_of
from bench.scores.paper import rank_gap
from bench.site import charts


@dataclass(frozen=True)
class BoardRules:
    """The rules of a board in the form that its pages need."""

    low: float
    high: float
    length: LengthRule
    gap: float
    """In points: players within it of the leader of a group share its rank."""
    pools_turns: bool
    turn_label: str

    @classmethod
    def of(cls, protocol: str) -> BoardRules:
        """The rules of a protocol; of one that is not known, those of PingPong's version 2."""
        rules = facts_of(protocol)
        low, high = rules.scale or (1.0, 5.0)
        return cls(low, high, rules.length_rule, rank_gap(rules) / 100, rules.pools_turns, rules.turn_label)

    @property
    def scale(self) -> str:
        """The scale in words."""
        return f"{self.low:g} to {self.high:g}"

    @property
    def number(self) -> str:
        """What the number is called that the board is sorted by."""
        return "score" if self.length == "none" else "length-normalised score"

    def heat(self, score: float | None) -> str:
        """Class of the tint for a score of this scale; empty where there is none."""
        return charts.heat(score, self.low, self.high)
