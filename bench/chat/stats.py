"""Counters over a run's calls."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Any

from bench.chat.requests import Reply
from bench.records import Usage


@dataclass(slots=True)
class Stats:
    """Counters over all calls of one Chat. Tokens and cost exclude replies from the cache."""

    asked: int = 0
    cached: int = 0
    sent: int = 0
    """Requests on the wire, retries included."""
    retried: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: Decimal = Decimal(0)
    """US dollars spent, counting only calls whose price is known."""
    unpriced: int = 0
    """Answered calls whose price is unknown; unless this is 0, ``cost`` is a lower bound."""

    def replied(self, reply: Reply) -> None:
        """Count one reply, cached or not."""
        self.outcomes[reply.outcome] += 1
        self.cached += reply.cached

    def paid(self, usage: Usage, cost: Decimal | None) -> None:
        """Count the tokens and cost of one answer, including an answer that could not be used."""
        self.prompt_tokens += usage.prompt_tokens
        self.completion_tokens += usage.completion_tokens
        if cost is None:
            self.unpriced += 1
        else:
            self.cost += cost


def difference(now: Stats, before: Stats) -> Stats:
    """What was counted between two moments."""
    counts: dict[str, Any] = {f.name: getattr(now, f.name) - getattr(before, f.name) for f in fields(Stats)}
    return Stats(**counts)


def add(stats: Stats, more: Stats) -> None:
    """Add ``more`` to ``stats``."""
    for f in fields(Stats):
        setattr(stats, f.name, getattr(stats, f.name) + getattr(more, f.name))
