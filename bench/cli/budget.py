"""Whether --max-cost can be kept: a price that nobody knows cannot be counted."""

from __future__ import annotations

from collections.abc import Iterable

import click

from bench.catalog import Catalog
from bench.cli.asking import Spending
from bench.cli.execution import Job, models_called
from bench.errors import CatalogError


def check_prices(catalog: Catalog, jobs: Iterable[Job], limits: Spending) -> None:
    """Raise CatalogError where money is limited and a model that is to be called has no price.

    Refused and not warned of, since a limit that holds for a part of the calls only is worse than none: a run
    may go on for hours after the warning has scrolled away. ``--allow-unknown-price`` turns it into one.
    """
    if limits.max_cost is None:
        return
    unknown = [name for name in models_called(jobs) if catalog.model(name).prices is None]
    if not unknown:
        return
    names = ", ".join(unknown)
    if not limits.unknown_prices:
        raise CatalogError(
            f"--max-cost cannot be kept: no price is known of {names}",
            where=str(catalog.path),
            mend="Write prices = { input = ..., output = ... } there, or add --allow-unknown-price: its calls"
            " are then made and not counted.",
        )
    click.echo(f"bench: --max-cost does not count the calls of {names}: no price is known.", err=True)
