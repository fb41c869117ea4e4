"""compare_suite: have judges compare the players of a suite in pairs, or re-parse stored replies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path

from bench.boards.comparing import CompareJob, PairPlan, plan_comparisons
from bench.chat import Chat, open_chat
from bench.files import remove_leftovers
from bench.protocols.comparing import reread_comparison
from bench.results.comparisons import write_comparison
from bench.run.comparing import CompareWork, compare_pairs
from bench.run.jobs import Part
from bench.run.loop import run_async
from bench.run.prices import Spending, check_prices_of
from bench.run.progress import Listener, RunReport
from bench.run.shards import Shard
from bench.scores.pair_choice import NEIGHBOURS


def compare_suite(
    suite: str,
    *,
    languages: Iterable[str] = (),
    players: Iterable[str] = (),
    judges: Iterable[str] = (),
    retry_failed: bool = False,
    refresh_stale: bool = False,
    shard: Shard | None = None,
    repeat: int | None = None,
    neighbours: int = NEIGHBOURS,
    most: int | None = None,
    width: float | None = None,
    rotate: bool = False,
    seed: int = 0,
    reparse: bool = False,
    max_cost: Decimal | None = None,
    unknown_prices: bool = False,
    results: Path | str = "results",
    models: Path | str = "models.toml",
    prompts: Path | str = "prompts",
    cache: Path | str | None = ".cache/responses",
    listener: Listener | None = None,
) -> RunReport:
    """Have judges compare conversations of ``suite`` in pairs, in both orders; no player is called.

    Args:
        players: Names to restrict the comparisons to; default: every player that has results.
        judges: Default: the suite's judges.
        retry_failed: Retry recorded failures, whatever the cause; default: temporary ones.
        refresh_stale: Repeat comparisons whose conversations, prompts or parameters have changed.
        shard: One part of the comparisons, for several machines; default: all.
        repeat: Only this sample of each scene.
        neighbours, most, width, rotate, seed: See :class:`bench.boards.comparing.PairPlan`.
        reparse: Re-parse the stored replies instead; makes no API calls.

    For the other arguments, what is returned and what is raised see :func:`bench.run_suite`.
    """
    listener = listener or Listener()
    part = Part(tuple(languages), tuple(players), tuple(judges), retry_failed, refresh_stale, shard, repeat)
    plan = PairPlan(neighbours, most, width, rotate, seed)
    jobs = plan_comparisons(suite, part, plan, results, models, prompts)
    report = RunReport()
    if reparse:
        report.reparsed = {job.name: _reparse(job) for job in jobs}
        return report
    called, catalog = jobs[0].judges, jobs[0].comparer.protocol.catalog
    check_prices_of(catalog, called, Spending(max_cost, unknown_prices=unknown_prices), listener.warning)
    remove_leftovers(jobs[0].tree.root)
    work = {job.name: job.again() for job in jobs}
    report.planned_comparisons = sum(len(work[job.name]) + len(job.next_round()) for job in jobs)
    report.planned_calls = 2 * report.planned_comparisons
    if report.planned_comparisons:
        jobs[0].tree.check_writable()
        folder = None if cache is None else Path(cache)
        run_async(lambda: _execute(jobs, work, called, folder, max_cost, report, listener))
    return report


async def _execute(
    jobs: Sequence[CompareJob],
    again: dict[str, list[CompareWork]],
    called: Sequence[str],
    cache: Path | None,
    max_cost: Decimal | None,
    report: RunReport,
    listener: Listener,
) -> None:
    async with open_chat(
        jobs[0].comparer.protocol.catalog,
        cache=cache,
        max_cost=max_cost,
        models=called,
        proven={record.judge for job in jobs for record in job.evidence.records},
        on_call=lambda request, reply: listener.progressed(),
        warn=listener.warning,
    ) as chat:
        report.stats = chat.stats
        listener.started(report)
        try:
            for job in jobs:
                await _job(job, again[job.name], chat, report, listener)
                if report.budget_reached:
                    break
        finally:
            listener.ended()


async def _job(
    job: CompareJob, work: list[CompareWork], chat: Chat, report: RunReport, listener: Listener
) -> None:
    """Carry out a job in rounds, each chosen from what the earlier ones have shown."""
    while True:
        if work:
            made = await compare_pairs(job.comparer, work, job.tree, chat, report, listener.progressed)
            job.add(made)
        if report.budget_reached or job.reached():
            return
        work = job.next_round(job.round_size)
        if not work:
            return


def _reparse(job: CompareJob) -> tuple[int, int]:
    """Re-parse the comparisons of a job's judges; returns how many, and how many of them changed."""
    seen = changed = 0
    for record in job.evidence.records:
        if job.part.judges and record.judge not in job.judges:
            continue
        seen += 1
        again = reread_comparison(record)
        changed += again != record and write_comparison(job.tree, again, replace=True)
    return seen, changed
