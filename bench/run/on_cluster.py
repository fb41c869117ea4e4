"""run --cluster: the jobs of a command on a Dask cluster, with the same progress and report."""

from __future__ import annotations

from rich.console import Console

from bench.chat.budget import BudgetReached
from bench.chat.stats import Stats
from bench.cli.asking import Spending
from bench.cli.options import Places
from bench.errors import CatalogError
from bench.run.cluster.driver import Cluster, ClusterRun
from bench.run.jobs import Job, jobs_with_work, models_called, print_report
from bench.run.progress import Progress
from bench.run.runner import RunReport
from bench.run.stopping import StopSignals, stopped_by_budget
from bench.suites import Suite


def run_on_cluster(where: Places, jobs: list[Job], suite: Suite, limits: Spending, address: str) -> None:
    """Carry out jobs on the cluster at ``address``, one after another, and say what came of them."""
    if any(job.protocol.facts.spoken for job in jobs):
        raise CatalogError(
            "its conversations are sound files, which workers do not hand back",
            where=f"suite {suite.id}",
            hint="Run it without --cluster; --shard splits it over machines.",
        )
    console = Console(stderr=True)
    work = jobs_with_work(where, jobs, suite, console)
    if not work:
        return
    stats, total, signals = Stats(), RunReport(), StopSignals()
    try:
        with signals.as_interrupt(), Cluster(address) as cluster:
            console.print(
                f"{cluster.workers} workers, {cluster.threads} cells at once", highlight=False, soft_wrap=True
            )
            with Progress([job.plan for job in work], lambda: stats, console) as progress:
                run = ClusterRun(
                    cluster,
                    where.tree(),
                    stats,
                    cache=where.cache if limits.cached else None,
                    listeners=(progress, total),
                    max_cost=limits.max_cost,
                )
                try:
                    for job in work:
                        run.run(job.protocol, job.plan, models_called([job]))
                except BudgetReached:
                    total.budget_reached = True
    except KeyboardInterrupt:
        raise signals.stopped() from None
    print_report(total, stats)
    if total.budget_reached:
        raise stopped_by_budget(stats)
