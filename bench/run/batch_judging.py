"""Judging with batches: Batch APIs answer the first calls, and ordinary judging finds them in the cache."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from bench.catalog import Catalog
from bench.chat import Chat, open_chat
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
from bench.tables import counted, dollars


@dataclass(frozen=True)
class Batching:
    """Fills the response cache through the judges' Batch APIs.

    Args:
        catalog: The providers and models.
        cache: Folder of the response cache.
        name: Name of the work. Only one command at a time may have batches for it.
        limits: The cost limit.
        poll_seconds: Seconds between two queries of a batch's state.
        listener: Hears of batches and warnings.
    """

    catalog: Catalog
    cache: Path
    name: str
    limits: Spending
    poll_seconds: float
    listener: Listener

    def run(self, judges: Iterable[str], work: Callable[[BatchStates], Coroutine[Any, Any, None]]) -> None:
        """Do ``work`` with the states of batches, after checking that one of ``judges`` has a Batch API."""
        self._check_providers(sorted(judges))
        with BatchStates(self.cache, self.name) as states:
            run_async(lambda: work(states))

    def _check_providers(self, judges: Sequence[str]) -> None:
        batched = [name for name in judges if self.catalog.provider_of(name).batch]
        if judges and not batched:
            raise CatalogError(
                f"no judge's provider has a Batch API ({', '.join(judges)})",
                where=str(self.catalog.path),
                hint="Set batch = true in its [providers.NAME] if it has OpenAI's, or leave --batch out.",
            )
        for name in judges:
            if name not in batched:
                provider = self.catalog.model(name).provider
                why = f"provider {provider} has no Batch API"
                self.listener.warning(f"{name} is judged by ordinary calls: {why}.")

    async def collected(
        self, states: BatchStates, first_calls: Callable[[Chat], Awaitable[Sequence[Want]]], report: RunReport
    ) -> tuple[Collected, Decimal | None]:
        """What the batches of ``first_calls`` brought, once their answers are in the cache, and how much of
        the cost limit is left. Requests that no batch answered are listed in ``report.unanswered``."""
        collected = await self._collected(states, first_calls)
        unknown = f" and {collected.unpriced} of unknown price" if collected.unpriced else ""
        missing = f", {collected.missing} missing" if collected.missing else ""
        self.listener.batches_collected(
            f"batches: {counted(collected.answers, 'answer')}, {collected.declined} declined{missing};"
            f" {dollars(collected.cost)}{unknown}"
        )
        report.unanswered = list(collected.unanswered.values())
        most = self.limits.max_cost
        return collected, None if most is None else max(Decimal(0), most - collected.cost)

    async def _collected(
        self, states: BatchStates, first_calls: Callable[[Chat], Awaitable[Sequence[Want]]]
    ) -> Collected:
        faults: list[str] = []
        needed = "A batch needs it; without --batch the run would go on."
        async with open_chat(
            self.catalog, cache=self.cache, warn=faults.append, without_cache=needed
        ) as chat:
            wants = await first_calls(chat)
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
                name: await stack.enter_async_context(
                    BatchApi(name, self.catalog.providers[name], environment)
                )
                for name in sorted({want.prepared.model.provider for want in wants})
            }
            batcher = Batcher(
                apis,
                states,
                self.cache,
                say=self.listener.batch_changed,
                warn=self.listener.warning,
                poll_seconds=self.poll_seconds,
            )
            self._check_cost(batcher.fresh(wants))
            return await batcher.run(wants)

    def _check_cost(self, wants: Sequence[Want]) -> None:
        """Raise if the estimated cost is over the limit: a submitted batch cannot be stopped by its cost."""
        if self.limits.max_cost is None:
            return
        unknown = sorted({want.judge for want in wants if want.cost is None})
        if unknown and not self.limits.unknown_prices:
            raise CatalogError(
                f"--max-cost cannot be enforced: the batch price of {', '.join(unknown)} is unknown",
                where=str(self.catalog.path),
                hint='Add batch_discount (such as "0.5") to its prices, or pass --allow-unknown-price.',
            )
        estimate = sum((want.cost or Decimal(0) for want in wants), Decimal(0))
        if estimate > self.limits.max_cost:
            raise UserError(
                f"--max-cost is below the estimated cost of {counted(len(wants), 'request')} in batches,"
                f" {dollars(estimate)}",
                hint="Raise it, or judge a part: --player, --language, --shard.",
            )


def judge_in_batches(jobs: Sequence[Job], batching: Batching, report: RunReport) -> None:
    """Have ``jobs`` judged. Requests that no batch answered are listed in ``report.unanswered``."""

    async def first_calls(chat: Chat) -> list[Want]:
        return [want for job in jobs for want in await wanted(job.protocol, job.plan, chat)]

    async def judged(states: BatchStates) -> None:
        collected, left = await batching.collected(states, first_calls, report)
        if work := with_work(answerable(jobs, collected), report, batching.listener):
            await execute(work, batching.cache, left, report, batching.listener)

    batching.run({judge for job in jobs for item in job.plan.work for judge in item.judges}, judged)


def answerable(jobs: Sequence[Job], collected: Collected) -> list[Job]:
    """``jobs`` without the judgements whose batch ended before it had answered them."""
    kept = []
    for job in jobs:
        work = []
        for item in job.plan.work:
            judges = tuple(j for j in item.judges if (item.cell, j) not in collected.unanswered_pieces)
            if judges:
                work.append(item.model_copy(update={"judges": judges}))
        kept.append(replace(job, plan=Plan(work, job.plan.conversations, job.plan.judgements)))
    return kept
