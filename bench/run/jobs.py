"""Carrying out the jobs of a command, with progress, interruption and a closing report."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import gc
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal

import click
from rich.console import Console

from bench.catalog import Catalog
from bench.chat import Chat, ResponseCache
from bench.chat.stats import Stats
from bench.cli.options import Places
from bench.files import remove_leftovers
from bench.protocols import Protocol
from bench.results import ResultsTree
from bench.run.plan import Plan
from bench.run.progress import Progress, money
from bench.run.runner import BudgetReached, Runner, RunReport
from bench.run.stopping import StopSignals, stopped_by_budget
from bench.suites import Suite


@dataclass(frozen=True)
class Job:
    """One suite and language with all that is to be done for it."""

    protocol: Protocol
    plan: Plan
    players: tuple[str, ...]


def print_states(console: Console, plan: Plan) -> None:
    for what, counts in (("conversations", plan.conversations), ("judgements", plan.judgements)):
        states = ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
        console.print(f"  {what}: {states or 'none'}", highlight=False)
    if plan.conversations["stale"] or plan.judgements["stale"]:
        console.print(
            "  Stale: made from other prompts or parameters than those of now. They are kept as they are;"
            " --refresh-stale replaces them.",
            highlight=False,
        )


def jobs_with_work(where: Places, jobs: list[Job], suite: Suite, console: Console) -> list[Job]:
    """The jobs that have something to do, the results tree ready for them; the others are said to be done."""
    remove_leftovers(where.results)
    work = [job for job in jobs if job.plan.work]
    for job in jobs:
        if not job.plan.work:
            click.echo(f"{suite.id} {job.protocol.language}: everything is done, no call made.")
            print_states(console, job.plan)
    if work:
        where.tree().check_writable()
    return work


def run_jobs(
    where: Places, catalog: Catalog, jobs: list[Job], suite: Suite, max_cost: Decimal | None, *, cached: bool
) -> None:
    """Carry out jobs one after another, and say what came of them. Recorded failures are results: they change
    no exit status. Raises Stopped where a signal or ``max_cost`` has ended it."""
    console = Console(stderr=True)
    work = jobs_with_work(where, jobs, suite, console)
    if not work:
        return
    signals = StopSignals()
    try:
        with _seldom_collected(), asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_execute(where, catalog, work, max_cost, cached, console, signals))
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise signals.stopped() from None


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where there is one: it halves what a call costs of CPU."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


GARBAGE_THRESHOLD = 50_000
"""Objects made, less those freed, before cyclic garbage is looked for; Python's own 700 costs a tenth of a
run's CPU, though calls leave hardly any."""


@contextlib.contextmanager
def _seldom_collected() -> Iterator[None]:
    """Look for cyclic garbage seldom, and not at all as the process ends: that alone takes 0.15 s."""
    before = gc.get_threshold()
    gc.set_threshold(GARBAGE_THRESHOLD, *before[1:])
    atexit.register(gc.freeze)
    try:
        yield
    finally:
        gc.set_threshold(*before)


async def _execute(
    where: Places,
    catalog: Catalog,
    jobs: list[Job],
    max_cost: Decimal | None,
    cached: bool,
    console: Console,
    signals: StopSignals,
) -> None:
    from bench.local.embedded import EmbeddedServer, embedded_identity

    signals.cancel_task()

    def warn(message: str) -> None:
        console.print(f"bench: {message}", highlight=False, markup=False, soft_wrap=True)

    with contextlib.ExitStack() as stack:
        cache = stack.enter_context(ResponseCache(where.cache, warn)) if cached else None

        def start_embedded() -> EmbeddedServer:
            slots = max(p.max_concurrent for p in catalog.providers.values() if p.embedded)
            return stack.enter_context(EmbeddedServer(slots=slots))

        async with Chat(
            catalog,
            cache=cache,
            embedded=start_embedded,
            embedded_identity=embedded_identity,
            on_call=lambda request, reply: progress.call_done(),
            max_cost=max_cost,
        ) as chat:
            chat.expect(models_called(jobs))
            total = RunReport()
            with Progress([job.plan for job in jobs], lambda: chat.stats, console) as progress:
                for job in jobs:
                    await _execute_job(job, where.tree(), chat, catalog, (progress, total))
                    if total.budget_reached:
                        break
            print_report(total, chat.stats)
            if total.budget_reached:
                raise stopped_by_budget(chat.stats)


def models_called(jobs: Iterable[Job]) -> list[str]:
    """Every model that the plans of ``jobs`` call, sorted."""
    names: set[str] = set()
    for job in jobs:
        for item in job.plan.work:
            if job.protocol.judge_calls():
                names.update(item.judges)
            if item.talk:
                names.update(name for _, name in job.protocol.talkers(item.cell.player))
    return sorted(names)


async def _execute_job(
    job: Job,
    tree: ResultsTree,
    chat: Chat,
    catalog: Catalog,
    listeners: tuple[Progress, RunReport],
) -> None:
    runner = Runner(job.protocol, tree, chat, catalog, listeners=listeners)
    try:
        await runner.run(job.plan)
    except BudgetReached:
        listeners[1].budget_reached = True


def print_report(report: RunReport, stats: Stats) -> None:
    click.echo(
        f"{report.conversations} conversations ({report.conversations_failed} failed),"
        f" {report.judgements} judgements ({report.judgements_failed} failed);"
        f" {stats.sent} requests sent, {stats.retried} of them retries, {stats.cached} replies from cache;"
        f" {money(stats)}"
    )
    if report.re_asks:
        click.echo(f"{report.re_asks} replies could not be used and were asked for again.")
