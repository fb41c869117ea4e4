"""Runs the jobs of a run in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import TypeVar

from bench.catalog import Catalog, LocalFile
from bench.chat import open_chat
from bench.files import remove_leftovers
from bench.run.jobs import Job, keep_private, models_called
from bench.run.progress import Listener, RunReport
from bench.run.runner import run_plan

T = TypeVar("T")


def with_work(jobs: Sequence[Job], report: RunReport, listener: Listener) -> list[Job]:
    """The jobs that have something to do, after checking that the results tree can be written."""
    tree = jobs[0].tree
    remove_leftovers(tree.root)
    listener.planned(jobs)
    work = [job for job in jobs if job.plan.work]
    report.plan(work)
    if work:
        tree.check_writable()
        keep_private(work)
    return work


def by_file(job: Job) -> list[Job]:
    """``job`` split by the GGUF files of its players, so that only one of them is in memory at a time."""
    works = split_by_file(job.protocol.catalog, job.plan.work, lambda item: item.cell.player)
    return [replace(job, plan=replace(job.plan, work=work)) for work in works]


def split_by_file(catalog: Catalog, work: Iterable[T], model: Callable[[T], str]) -> list[list[T]]:
    """``work`` split by the GGUF files of the models that ``model`` names, in order of their first piece."""
    works: dict[LocalFile | None, list[T]] = {}
    for item in work:
        works.setdefault(catalog.local_file(model(item)), []).append(item)
    return list(works.values())


async def execute(
    jobs: Sequence[Job], cache: Path | None, max_cost: Decimal | None, report: RunReport, listener: Listener
) -> None:
    """Carry out ``jobs`` one after another, and so the players of each GGUF file."""
    async with open_chat(
        jobs[0].protocol.catalog,
        cache=cache,
        max_cost=max_cost,
        models=models_called(jobs),
        proven=set[str]().union(*(job.plan.answered for job in jobs)),
        on_call=lambda request, reply: listener.progressed(),
        warn=listener.warning,
    ) as chat:
        report.stats = chat.stats
        listener.started(report)
        try:
            for job in chain.from_iterable(map(by_file, jobs)):
                await chat.keep_local(models_called([job]))
                await run_plan(job.protocol, job.plan, job.tree, chat.ask, report, listener.progressed)
                if report.budget_reached:
                    break
        finally:
            listener.ended()
