"""compare_suite: have judges compare the players of a suite in pairs, or re-parse stored replies."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from bench.boards.compare_rounds import Rounds
from bench.boards.comparing import CompareJob, PairPlan, plan_comparisons
from bench.chat import Chat, open_chat
from bench.files import remove_leftovers
from bench.protocols.comparing import reread_comparison
from bench.results.comparisons import write_comparison
from bench.run.comparing import CompareWork, compare_pairs, first_calls, paid_for
from bench.run.jobs import Part
from bench.run.judge_suite import check_ways, mention_pending
from bench.run.loop import run_async
from bench.run.prices import Spending, check_prices_of
from bench.run.progress import Listener, RunReport
from bench.run.shards import Shard
from bench.scores.pair_choice import NEIGHBOURS
from bench.suites.layers import Prompts

if TYPE_CHECKING:
    from bench.chat.batch_states import BatchStates
    from bench.run.batch_judging import Batching
    from bench.run.batches import Want

Work = dict[str, list[CompareWork]]
"""The comparisons to make, by name of their job."""


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
    batch: bool = False,
    poll_seconds: float = 30.0,
    max_cost: Decimal | None = None,
    unknown_prices: bool = False,
    results: Path | str = "results",
    models: Path | str = "models.toml",
    prompts: Prompts = "prompts",
    cache: Path | str | None = ".cache/responses",
    listener: Listener | None = None,
) -> RunReport:
    """Have judges compare conversations of ``suite`` in pairs, in both orders; no player is called.

    Args:
        players: Compare only these players; default: every player that has results.
        judges: Default: the suite's judges.
        retry_failed: Retry recorded failures, whatever the cause; default: temporary ones.
        refresh_stale: Repeat comparisons whose conversations, prompts or parameters have changed.
        shard: One part of the comparisons, for several machines; default: all.
        repeat: Only this sample of each scene.
        neighbours, most, width, rotate, seed: See :class:`bench.boards.comparing.PairPlan`.
        reparse: Re-parse the stored replies instead; makes no API calls.
        batch: Choose all missing comparisons at once, and ask through the judges' Batch APIs. Excludes
            ``width``, which stops between rounds.

    For ``poll_seconds`` and ``unanswered`` requests, see :func:`bench.judge_suite`; for everything else,
    :func:`bench.run_suite`.
    """
    check_ways(reparse, batch, shard, cache)
    if batch and width is not None:
        raise ValueError("batch chooses all comparisons at once, so it excludes width")
    listener = listener or Listener()
    part = Part(tuple(languages), tuple(players), tuple(judges), retry_failed, refresh_stale, shard, repeat)
    plan = PairPlan(neighbours, most, width, rotate, seed)
    jobs = plan_comparisons(suite, part, plan, results, models, prompts)
    report = RunReport()
    if reparse:
        report.reparsed = {job.name: _reparse(job) for job in jobs}
        return report
    limits = Spending(max_cost, unknown_prices=unknown_prices)
    folder = None if cache is None else Path(cache)
    _make(jobs, limits, folder, poll_seconds if batch else None, report, listener)
    return report


def _make(
    jobs: Sequence[CompareJob],
    limits: Spending,
    cache: Path | None,
    poll_seconds: float | None,
    report: RunReport,
    listener: Listener,
) -> None:
    """Make the comparisons that ``jobs`` need. ``poll_seconds``: of batches; None: ordinary calls."""
    protocol, called, tree = jobs[0].comparer.protocol, jobs[0].judges, jobs[0].tree
    check_prices_of(protocol.catalog, called, limits, listener.warning)
    remove_leftovers(tree.root)
    work = {job.name: job.again() for job in jobs}
    chosen = {job.name: job.next_round() for job in jobs}
    every = [item for job in jobs for item in work[job.name] + chosen[job.name]]
    report.planned_comparisons = len(every)
    report.planned_calls = 2 * report.planned_comparisons
    if not report.planned_comparisons:
        return
    tree.check_writable()
    name = f"{protocol.suite.id}~pairs"
    if poll_seconds is not None and cache is not None:
        from bench.run.batch_judging import Batching

        batching = Batching(protocol.catalog, cache, name, limits, poll_seconds, listener)
        _in_batches(jobs, work, chosen, {item.judge for item in every}, batching, report)
    else:
        mention_pending(cache, name, f"bench compare {protocol.suite.id} --batch", listener)
        run_async(lambda: _execute(jobs, work, called, cache, limits.max_cost, report, listener))


def _in_batches(
    jobs: Sequence[CompareJob],
    work: Work,
    chosen: Work,
    judges: Collection[str],
    batching: Batching,
    report: RunReport,
) -> None:
    """Make the comparisons of ``work`` and ``chosen`` in batches, but none that waits for an answer."""

    async def asked(chat: Chat, submitted: Collection[str]) -> list[Want]:
        wants = []
        for job in jobs:
            rounds = _rounds(job, batching.cache)
            resumed = await _resumed(job, rounds, chat, submitted)
            made = resumed + job.next_round() if resumed else chosen[job.name]
            rounds.note(made)
            work[job.name] += made
            wants += await first_calls(job.comparer, work[job.name], job.tree, chat)
        return wants

    async def compared(states: BatchStates) -> None:
        submitted = {key for state in states.pending() for key in state.keys}
        collected, left = await batching.collected(states, lambda chat: asked(chat, submitted), report)
        answered = {
            name: [item for item in items if item not in collected.unanswered_pieces]
            for name, items in work.items()
        }
        folder, listener = batching.cache, batching.listener
        await _execute(jobs, answered, jobs[0].judges, folder, left, report, listener, rounds=False)

    batching.run(judges, compared)


def _rounds(job: CompareJob, cache: Path | None) -> Rounds:
    return Rounds(cache, job.comparer.protocol.suite.id, job.comparer.protocol.language)


async def _resumed(
    job: CompareJob, rounds: Rounds, chat: Chat, submitted: Collection[str] = ()
) -> list[CompareWork]:
    """What an earlier command chose and has paid for, but did not store: it is no longer chosen."""
    before = job.chosen_before(rounds)
    job.resumed = [item for item in before if await paid_for(job.comparer, item, job.tree, chat, submitted)]
    return job.resumed


async def _execute(
    jobs: Sequence[CompareJob],
    work: Work,
    called: Sequence[str],
    cache: Path | None,
    max_cost: Decimal | None,
    report: RunReport,
    listener: Listener,
    *,
    rounds: bool = True,
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
                notes = _rounds(job, cache) if rounds else None
                await _job(job, work[job.name], chat, report, listener, notes)
                if report.budget_reached:
                    break
        finally:
            listener.ended()


async def _job(
    job: CompareJob,
    work: list[CompareWork],
    chat: Chat,
    report: RunReport,
    listener: Listener,
    rounds: Rounds | None,
) -> None:
    """Make the comparisons of ``work`` and then, in ``rounds``, those chosen from what the earlier ones have
    shown."""
    if rounds is not None:
        work = work + await _resumed(job, rounds, chat)
    while True:
        if work:
            made = await compare_pairs(job.comparer, work, job.tree, chat, report, listener.progressed)
            job.add(made)
        if rounds is None or report.budget_reached or job.reached():
            return
        work = job.next_round(job.round_size)
        if not work:
            return
        rounds.note(work)


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
