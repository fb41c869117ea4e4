"""The money that a command may spend: asked for leave at the last moment before anything is sent."""

from __future__ import annotations

from decimal import Decimal

from bench.chat.stats import Stats


class BudgetReached(Exception):
    """The money that ``--max-cost`` allows is spent: no further call is sent."""


class Budget:
    """``limit`` US dollars for all calls that ``stats`` counts.

    A call's price is known only when its answer is here, so the limit can be passed, but by no more than the
    calls that were on the wire when it was reached: :meth:`check` is called with a provider's slot in hand,
    for every attempt, so neither a queue nor a retry sends anything afterwards.
    """

    def __init__(self, limit: Decimal | None, stats: Stats) -> None:
        self.limit = limit
        self._stats = stats

    def check(self) -> None:
        """Raise BudgetReached where the money is spent."""
        if self.limit is not None and self._stats.cost >= self.limit:
            raise BudgetReached
