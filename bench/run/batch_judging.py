"""Judging with batches: Batch APIs answer the first calls, and ordinary judging finds them in the cache."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from bench.catalog import Catalog
from bench.chat import open_chat
from bench.chat.batch_api import BatchApi
from bench.chat.batch_states import BatchStates
from bench.chat.secrets import Environment
from bench.errors import CatalogError, StorageError, UserError
from bench.run.batches import Batcher, Collected, Want, wanted
from bench.run.executing import execute, with_work
from bench.run.jobs import Job
from bench.run.loop import run_async
from bench.run.plan import Plan
from bench.run.prices import Spending
from bench.run.progress import Listener, RunReport


def judge_in_batches(
    jobs: Sequence[Job],
    cache: Path,
    limits: Spending,
    poll_seconds: float,
    report: RunReport,
    listener: Listener,
) -> None:
    """Have ``jobs`` judged. Requests that no batch answered are listed in ``report.unanswered``."""
    with BatchStates(cache, jobs[0].protocol.suite.id) as states:
        run_async(lambda: _judge(jobs, cache, states, limits, poll_seconds, report, listener))


async def _judge(
    jobs: Sequence[Job],
    cache: Path,
    states: BatchStates,
    limits: Spending,
    poll_seconds: float,
    report: RunReport,
    listener: Listener,
) -> None:
    catalog = jobs[0].protocol.catalog
    judges = sorted({judge for job in jobs for item in job.plan.work for judge in item.judges})
    batched = [name for name in judges if catalog.provider_of(name).batch]
    if judges and not batched:
        raise CatalogError(
            f"no judge's provider has a Batch API ({', '.join(judges)})",
            where=str(catalog.path),
            hint="Set batch = true in its [providers.NAME] if it has OpenAI's, or leave --batch out.",
        )
    for name in judges:
        if name not in batched:
            provider = catalog.model(name).provider
            listener.warning(f"{name} is judged by ordinary calls: provider {provider} has no Batch API.")
    collected = await _collected(jobs, catalog, cache, states, limits, poll_seconds, listener)
    unknown = f" and {collected.unpriced} of unknown price" if collected.unpriced else ""
    missing = f", {collected.missing} missing" if collected.missing else ""
    listener.batches_collected(
        f"batches: {collected.answers} answers, {collected.declined} declined{missing};"
        f" ${collected.cost:.4f}{unknown}"
    )
    report.unanswered = list(collected.unanswered.values())
    left = None if limits.max_cost is None else max(Decimal(0), limits.max_cost - collected.cost)
    if work := with_work(answerable(jobs, collected), report, listener):
        await execute(work, cache, left, report, listener)


async def _collected(
    jobs: Sequence[Job],
    catalog: Catalog,
    cache: Path,
    states: BatchStates,
    limits: Spending,
    poll_seconds: float,
    listener: Listener,
) -> Collected:
    """The result of all batches that ``jobs`` need, once their answers are in the cache."""
    wants: list[Want] = []
    faults: list[str] = []
    needed = "A batch needs it; without --batch the run would go on."
    async with open_chat(catalog, cache=cache, warn=faults.append, without_cache=needed) as chat:
        for job in jobs:
            wants += await wanted(job.protocol, job.plan, chat)
        for state in states.pending():  # left by a command that was killed when everything was collected
            if chat.cache is not None and all(chat.cache.get(key) is not None for key in state.keys):
                states.remove(state)
    if faults:
        raise StorageError(faults[0])
    if not wants:
        return Collected()
    async with AsyncExitStack() as stack:
        environment = Environment(os.environ, Path(".env"))
        apis = {
            name: await stack.enter_async_context(BatchApi(name, catalog.providers[name], environment))
            for name in sorted({want.prepared.model.provider for want in wants})
        }
        batcher = Batcher(
            apis, states, cache, say=listener.batch_changed, warn=listener.warning, poll_seconds=poll_seconds
        )
        _check_cost(batcher.fresh(wants), limits, catalog)
        return await batcher.run(wants)


def _check_cost(wants: Sequence[Want], limits: Spending, catalog: Catalog) -> None:
    """Raise if the estimated cost is over the limit: a submitted batch cannot be stopped by its cost."""
    if limits.max_cost is None:
        return
    unknown = sorted({want.judge for want in wants if want.cost is None})
    if unknown and not limits.unknown_prices:
        raise CatalogError(
            f"--max-cost cannot be kept: the batch price of {', '.join(unknown)} is unknown",
            where=str(catalog.path),
            hint='Add batch_discount (such as "0.5") to its prices, or pass --allow-unknown-price.',
        )
    estimate = sum((want.cost or Decimal(0) for want in wants), Decimal(0))
    if estimate > limits.max_cost:
        raise UserError(
            f"--max-cost is below the estimated cost of {len(wants)} requests in batches, ${estimate:.4f}",
            hint="Raise it, or judge a part: --player, --language, --shard.",
        )


def answerable(jobs: Sequence[Job], collected: Collected) -> list[Job]:
    """``jobs`` without the judgements whose batch ended before it had answered them."""
    kept = []
    for job in jobs:
        work = []
        for item in job.plan.work:
            judges = tuple(j for j in item.judges if (item.cell, j) not in collected.unanswered_cells)
            if judges:
                work.append(item.model_copy(update={"judges": judges}))
        kept.append(replace(job, plan=Plan(work, job.plan.conversations, job.plan.judgements)))
    return kept
