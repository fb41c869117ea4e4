"""Whether a cost limit can be enforced: calls of unknown price cannot be counted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from bench.catalog import Catalog
from bench.errors import CatalogError
from bench.run.jobs import Job, models_called


@dataclass(frozen=True)
class Spending:
    """How a command may spend: ``max_cost`` in US dollars (None: no limit), with or without the cache."""

    max_cost: Decimal | None = None
    cached: bool = True
    unknown_prices: bool = False
    """Allow models of unknown price in spite of the limit; their calls are not counted."""


def check_prices(jobs: Sequence[Job], limits: Spending, warn: Callable[[str], None]) -> None:
    """:func:`check_prices_of` for every model that ``jobs`` call."""
    spoken = models_called(job for job in jobs if job.protocol.facts.spoken)
    check_prices_of(jobs[0].protocol.catalog, models_called(jobs), limits, warn, spoken)


def check_prices_of(
    catalog: Catalog,
    models: Iterable[str],
    limits: Spending,
    warn: Callable[[str], None],
    spoken: Collection[str] = (),
) -> None:
    """Raise CatalogError if cost is limited and a model has no known price.

    Models in ``spoken`` hear or speak and also need a price of sound. ``limits.unknown_prices`` makes it a
    warning, unless the limit is 0, which allows only calls that are known to be free.
    """
    if limits.max_cost is None:
        return
    unknown = [
        name
        for name in models
        if catalog.model(name).prices is None or (name in spoken and not catalog.model(name).sound_priced)
    ]
    if not unknown:
        return
    names = ", ".join(unknown)
    if not limits.max_cost:
        raise CatalogError(
            f"--max-cost 0 allows only free calls, and the price of {names} is unknown",
            where=str(catalog.path),
            hint='If they cost nothing, add prices = { input = "0", output = "0" }.',
        )
    if not limits.unknown_prices:
        raise CatalogError(
            f"--max-cost cannot be enforced: the price of {names} is unknown",
            where=str(catalog.path),
            hint="Add prices = { input = ..., output = ... } (for sound also audio_input, audio_output), or"
            " pass --allow-unknown-price: the calls are then made and not counted.",
        )
    warn(f"--max-cost does not count the calls of {names}: their price is unknown.")
