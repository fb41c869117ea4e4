"""judge --batch: first asks through the providers' Batch APIs, then the ordinary way on from the cache."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from bench.catalog import Catalog
from bench.chat import Chat, ResponseCache
from bench.chat.batch_states import BatchStates
from bench.chat.secrets import Environment
from bench.cli.asking import Spending
from bench.cli.options import Places
from bench.errors import CatalogError, StorageError, UserError
from bench.run.batches import Batcher, Settled, Want, wanted
from bench.run.jobs import Job, run_jobs
from bench.run.plan import Plan
from bench.run.stopping import StopSignals
from bench.suites import Suite

SAY_AGAIN = 60.0
"""Seconds after which an unchanged line is printed again, where there is no terminal."""


def judge_in_batches(
    where: Places, catalog: Catalog, jobs: list[Job], suite: Suite, limits: Spending, poll_seconds: float
) -> None:
    """Have jobs judged. Raises UserError where a batch did not run to its end; what it answered is used."""
    if not limits.cached:
        raise click.UsageError("--batch brings its answers through the response cache: not with --no-cache")
    judges = sorted({judge for job in jobs for item in job.plan.work for judge in item.judges})
    batched = [name for name in judges if catalog.provider_of(name).batch]
    if judges and not batched:
        raise CatalogError(
            f"no judge's provider is said to have a Batch API ({', '.join(judges)})",
            where=str(catalog.path),
            hint="Set batch = true in its [providers.NAME] where it has OpenAI's, or leave --batch out.",
        )
    for name in judges:
        if name not in batched:
            click.echo(f"{name}: provider {catalog.model(name).provider} has no batches; ordinary calls.")
    console = Console(stderr=True)
    signals = StopSignals()

    async def settle(states: BatchStates) -> Settled:
        signals.cancel_task()
        return await _settled(where, catalog, jobs, states, limits, poll_seconds, console)

    try:
        with BatchStates(where.cache, suite.id) as states:
            settled = asyncio.run(settle(states))
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise signals.stopped(
            "batches that were submitted go on at the provider",
            hint="The same command picks them up: nothing is paid twice.",
        ) from None
    money = f"${settled.cost:.4f}" + (f" and {settled.unpriced} of unknown price" * bool(settled.unpriced))
    click.echo(f"batches: {settled.answers} answers, {settled.failed} declined; {money}")
    left = None if limits.max_cost is None else max(Decimal(0), limits.max_cost - settled.cost)
    run_jobs(where, catalog, answerable(jobs, settled), suite, left, cached=True)
    if settled.unanswered:
        raise UserError(
            f"{len(settled.unanswered)} not answered: {next(iter(settled.unanswered.values()))}",
            hint="The same command submits them again; without --batch they are asked by ordinary calls.",
        )


async def _settled(
    where: Places,
    catalog: Catalog,
    jobs: Sequence[Job],
    states: BatchStates,
    limits: Spending,
    poll_seconds: float,
    console: Console,
) -> Settled:
    from bench.chat.batch_api import BatchApi
    from bench.local.embedded import embedded_identity

    wants: list[Want] = []
    faults: list[str] = []
    needed = "A batch needs it; without --batch the run would go on."
    with ResponseCache(where.cache, faults.append, without=needed) as cache:
        async with Chat(catalog, cache=cache, embedded_identity=embedded_identity) as chat:
            for job in jobs:
                wants += await wanted(job.protocol, job.plan, chat)
        for state in states.pending():  # left by a command that was killed when all was done
            if all(cache.get(key) is not None for key in state.keys):
                states.remove(state)
    if faults:
        raise StorageError(faults[0])
    if not wants:
        return Settled()
    async with AsyncExitStack() as stack:
        environment = Environment(os.environ, Path(".env"))
        providers = sorted({want.prepared.model.provider for want in wants})
        apis = {
            name: await stack.enter_async_context(BatchApi(name, catalog.providers[name], environment))
            for name in providers
        }
        with _spoken(console) as say:
            batcher = Batcher(apis, states, where.cache, say=say, poll_seconds=poll_seconds)
            _check_cost(batcher.fresh(wants), limits, catalog)
            return await batcher.run(wants)


def _check_cost(wants: Sequence[Want], limits: Spending, catalog: Catalog) -> None:
    """A batch cannot be stopped by what it has cost so far: its estimate has to keep to the limit."""
    if limits.max_cost is None:
        return
    unknown = sorted({want.judge for want in wants if want.cost is None})
    if unknown and not limits.unknown_prices:
        raise CatalogError(
            f"--max-cost cannot be kept: no batch price is known of {', '.join(unknown)}",
            where=str(catalog.path),
            hint='Write batch_discount (such as "0.5") into its prices, or add --allow-unknown-price.',
        )
    estimate = sum((want.cost or Decimal(0) for want in wants), Decimal(0))
    if estimate > limits.max_cost:
        raise UserError(
            f"--max-cost is below what {len(wants)} requests are likely to cost in batches, ${estimate:.4f}",
            hint="Raise it, or judge a part: --player, --language, --shard.",
        )


def answerable(jobs: Sequence[Job], settled: Settled) -> list[Job]:
    """``jobs`` without the judgements whose batch ended before it had answered them."""
    if not settled.unanswered:
        return list(jobs)
    kept = []
    for job in jobs:
        work = []
        for item in job.plan.work:
            judges = tuple(j for j in item.judges if (item.cell, j) not in settled.unanswered_cells)
            if judges:
                work.append(replace(item, judges=judges))
        kept.append(Job(job.protocol, Plan(work, job.plan.conversations, job.plan.judgements), job.players))
    return kept


class _Speaker:
    """Says how batches stand: a line that changes in place on a terminal, plain lines elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status = console.status("batches") if console.is_terminal else None
        self._said: dict[str, tuple[str, float]] = {}
        self._started = time.monotonic()

    def start(self) -> None:
        if self._status:
            self._status.start()

    def stop(self) -> None:
        if self._status:
            self._status.stop()

    def __call__(self, line: str) -> None:
        now = time.monotonic()
        name = line.partition(":")[0]
        said, when = self._said.get(name, ("", 0.0))
        if self._status:
            elapsed = int(now - self._started)
            self._status.update(
                Text(f"{line} · {elapsed // 3600}:{elapsed // 60 % 60:02d}:{elapsed % 60:02d}")
            )
        elif line != said or now - when >= SAY_AGAIN:
            self._console.print(Text(line), soft_wrap=True, highlight=False)
            self._said[name] = (line, now)


@contextmanager
def _spoken(console: Console) -> Iterator[_Speaker]:
    speaker = _Speaker(console)
    speaker.start()
    try:
        yield speaker
    finally:
        speaker.stop()
