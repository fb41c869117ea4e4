"""run_suite: play and judge what a suite still needs, in this process or on a cluster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from bench.run.executing import execute, with_work
from bench.run.jobs import Part, plan_suite
from bench.run.loop import run_async
from bench.run.prices import Spending, check_prices
from bench.run.progress import Listener, RunReport
from bench.run.shards import Shard
from bench.suites.layers import Prompts


def run_suite(
    suite: str,
    *,
    languages: Iterable[str] = (),
    players: Iterable[str] = (),
    judges: Iterable[str] = (),
    interrogator: str = "",
    retry_failed: bool = False,
    refresh_stale: bool = False,
    shard: Shard | None = None,
    repeat: int | None = None,
    max_cost: Decimal | None = None,
    unknown_prices: bool = False,
    cluster: str | None = None,
    results: Path | str = "results",
    models: Path | str = "models.toml",
    prompts: Prompts = "prompts",
    cache: Path | str | None = ".cache/responses",
    listener: Listener | None = None,
) -> RunReport:
    """Run the missing conversations and judgements of ``suite`` and store them in the results tree.

    Args:
        suite: Id of the suite.
        languages, players, judges, interrogator: Names to use instead of those of the suite.
        retry_failed: Retry recorded failures, whatever the cause; default: temporary ones.
        refresh_stale: Re-run and replace results whose prompts or parameters have changed.
        shard: One part of the cells, for several machines; default: all.
        repeat: Only this sample of each scene, which may be one more than the suite asks for; default: all
            repeats of the suite.
        max_cost: US dollars. Once they are spent, no further call is sent that may cost anything.
        unknown_prices: With ``max_cost``, call models of unknown price anyway.
        cluster: Address of a Dask scheduler whose workers do the work.
        results, models, prompts: The results tree, the catalog and the folder of suites and templates.
        cache: Folder of the response cache; None: no cache.
        listener: Is called with progress and warnings.

    Returns:
        What was done. Recorded failures are results, and ``budget_reached`` says whether the cost limit
        stopped the run; what was finished is stored in any case.

    Raises:
        CatalogError: A name is unknown, or a model cannot do what the suite needs.
        ProviderError: A provider refused a call in a way that only the user can fix, such as a wrong key.
        StorageError: The results tree cannot be written.
    """
    listener = listener or Listener()
    part = Part(tuple(languages), tuple(players), tuple(judges), retry_failed, refresh_stale, shard, repeat)
    part = replace(part, interrogator=interrogator)
    jobs = plan_suite(suite, part, results, models, prompts)
    check_prices(jobs, Spending(max_cost, unknown_prices=unknown_prices), listener.warning)
    report = RunReport()
    folder = None if cache is None else Path(cache)
    if cluster is not None:
        from bench.run.cluster.driver import execute_on_cluster

        execute_on_cluster(cluster, jobs, folder, max_cost, report, listener)
    elif work := with_work(jobs, report, listener):
        run_async(lambda: execute(work, folder, max_cost, report, listener))
    return report
