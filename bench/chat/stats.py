"""What a run's calls came to so far."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal

from bench.chat.requests import Reply
from bench.records import Usage


@dataclass(slots=True)
class Stats:
    """Counters over all calls of one Chat. Tokens and cost are of what was sent, not of cached replies."""

    asked: int = 0
    cached: int = 0
    sent: int = 0
    """Requests on the wire, retries included."""
    retried: int = 0
    in_flight: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: Decimal = Decimal(0)
    """US dollars spent, as far as prices are known."""
    unpriced: int = 0
    """Answered calls whose price is unknown, so that ``cost`` is a lower bound where this is not 0."""

    def replied(self, reply: Reply) -> None:
        """Count one reply, sent for or cached."""
        self.outcomes[reply.outcome] += 1
        self.cached += reply.cached

    def spent(self, reply: Reply) -> None:
        """Count tokens and cost of one answer that was sent for, whoever still waits for it."""
        if reply.usage is not None:
            self.paid(reply.usage, reply.cost)

    def paid(self, usage: Usage, cost: Decimal | None) -> None:
        """Count what one answer took, a useless one too."""
        self.prompt_tokens += usage.prompt_tokens
        self.completion_tokens += usage.completion_tokens
        if cost is None:
            self.unpriced += 1
        else:
            self.cost += cost
