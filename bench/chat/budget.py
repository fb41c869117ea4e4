"""The money that a command may spend: asked for leave at the last moment before anything is sent."""

from __future__ import annotations

from decimal import Decimal

from bench.catalog import Model
from bench.chat.stats import Stats


class BudgetReached(Exception):
    """The money that ``--max-cost`` allows is spent: no further call that may cost any is sent."""


class Budget:
    """``limit`` US dollars for all calls that ``stats`` counts.

    A call's price is known only when its answer is here, so the limit can be passed, but by no more than the
    calls that were on the wire when it was reached: :meth:`check` is called with a provider's slot in hand,
    for every attempt, so neither a queue nor a retry sends anything afterwards. A model whose prices are all
    known to be nothing may be called all the same, so a limit of 0 is one: nothing that costs.
    """

    def __init__(self, limit: Decimal | None, stats: Stats) -> None:
        self.limit = limit
        self._stats = stats

    def check(self, *models: Model) -> None:
        """Raise BudgetReached where the money is spent, and one of ``models`` is not known to be free."""
        if self.limit is None or self._stats.cost < self.limit:
            return
        if not all(model.free for model in models):
            raise BudgetReached
