"""Whether --max-cost can be kept: a price that nobody knows cannot be counted."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import click

from bench.catalog import Catalog
from bench.cli.asking import Spending
from bench.errors import CatalogError
from bench.run.jobs import Job, models_called


def check_prices(catalog: Catalog, jobs: Iterable[Job], limits: Spending) -> None:
    """Like :func:`check_prices_of` for every model that ``jobs`` call."""
    jobs = list(jobs)
    spoken = models_called(job for job in jobs if job.protocol.facts.spoken)
    check_prices_of(catalog, models_called(jobs), limits, spoken)


def check_prices_of(
    catalog: Catalog, models: Iterable[str], limits: Spending, spoken: Collection[str] = ()
) -> None:
    """Raise CatalogError where money is limited and a model that is to be called has no price, or one of
    ``spoken``, who hear or speak, none of sound.

    Refused and not warned of, since a limit that holds for a part of the calls only is worse than none: a run
    may go on for hours after the warning has scrolled away. ``--allow-unknown-price`` turns it into one; not
    where the limit is 0, which allows what is known to be free and nothing else.
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
            f"--max-cost 0 allows only calls that are known to be free, and no price is known of {names}",
            where=str(catalog.path),
            hint='Write prices = { input = "0", output = "0" } there if they cost nothing.',
        )
    if not limits.unknown_prices:
        raise CatalogError(
            f"--max-cost cannot be kept: no price is known of {names}",
            where=str(catalog.path),
            hint="Write prices = { input = ..., output = ... } there (of sound audio_input, audio_output), or"
            " add --allow-unknown-price: its calls are then made and not counted.",
        )
    click.echo(f"bench: --max-cost does not count the calls of {names}: no price is known.", err=True)
