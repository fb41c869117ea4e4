"""The rules of a board's protocol, as its pages describe them."""

from __future__ import annotations

from dataclasses import dataclass

from bench.protocol_facts import LengthRule, facts_of
from bench.scores.paper import rank_gap
from bench.site.charts import UNKNOWN_SCALE, heat


@dataclass(frozen=True)
class BoardRules:
    """How a protocol scores."""

    low: float
    high: float
    length: LengthRule
    gap: float
    """Players within this many points of the leader of a group share its rank."""
    pools_turns: bool
    turn_label: str
    published: bool = False
    """Whether only scores are known, which another project published."""
    probes: bool = False
    """Whether rules judge: pages then speak of passed probes rather than of scores."""

    @classmethod
    def of(cls, protocol: str) -> BoardRules:
        """The rules of a protocol. An unknown one gets the rules of PingPong version 2."""
        rules = facts_of(protocol)
        low, high = rules.scale or UNKNOWN_SCALE
        return cls(
            low,
            high,
            rules.length_rule,
            rank_gap(rules) / 100,
            rules.pools_turns,
            rules.turn_label,
            rules.published_scale is not None,
            bool(rules.rule_judge),
        )

    @property
    def scale(self) -> str:
        """The scale in words."""
        return f"{self.low:g} to {self.high:g}"

    @property
    def number(self) -> str:
        """Name of the number by which the board is sorted."""
        if self.probes:
            return "pass rate"
        return "score" if self.length == "none" else "length-normalised score"

    def heat(self, score: float | None) -> str:
        """CSS class of the tint for a score on this scale; empty if there is no score."""
        return heat(score, self.low, self.high)
