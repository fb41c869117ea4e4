"""The limit on what a command may spend, checked right before anything is sent."""

from __future__ import annotations

from decimal import Decimal

from bench.catalog import Model
from bench.chat.stats import Stats


class BudgetReached(Exception):
    """The ``--max-cost`` limit is reached: no further call that may cost money is sent."""


class Budget:
    """A limit of ``limit`` US dollars on all calls that ``stats`` counts; None is no limit.

    The price of a call is known only when its answer arrives, so spending can exceed the limit by the calls
    that were on the wire when it was reached, but by no more: :meth:`check` runs for every attempt, after the
    call got its slot. Models known to be free may still be called, so a limit of 0 allows only those.
    """

    def __init__(self, limit: Decimal | None, stats: Stats) -> None:
        self.limit = limit
        self._stats = stats

    def check(self, *models: Model) -> None:
        """Raise BudgetReached if the limit is reached and one of ``models`` may cost money."""
        reached = self.limit is not None and self._stats.cost >= self.limit
        if reached and not all(model.free for model in models):
            raise BudgetReached
