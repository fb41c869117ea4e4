"""Asks judges to compare pairs of conversations, and stores each comparison as soon as both orders are in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bench.catalog import LocalFile
from bench.chat import Chat
from bench.chat.budget import BudgetReached
from bench.chat.requests import ChatRequest, Reply
from bench.errors import ProviderError, StorageError
from bench.protocols.calls import Ask
from bench.protocols.comparing import Comparer, Pair
from bench.records import Cell, Conversation
from bench.results import ResultsTree
from bench.results.comparison_records import Comparison
from bench.results.comparisons import write_comparison
from bench.run.plan import TEMPORARY
from bench.run.progress import RunReport
from bench.run.runner import Asking


@dataclass(frozen=True)
class CompareWork:
    """One comparison to make, in both orders."""

    cells: tuple[Cell, Cell]
    """The two conversations, in the order of the players' slugs."""
    judge: str
    anew: bool = False
    """Whether replies from the cache that make a verdict fail are asked for anew."""


def failed_temporarily(record: Comparison) -> bool:
    """Whether a comparison failed, and only for a cause that passes."""
    causes = [verdict.failure.outcome for verdict in record.orders if verdict.failure is not None]
    return bool(causes) and all(cause in TEMPORARY for cause in causes)


async def compare_pairs(
    comparer: Comparer,
    work: Sequence[CompareWork],
    tree: ResultsTree,
    chat: Chat,
    report: RunReport,
    progressed: Callable[[], None] = lambda: None,
) -> list[Comparison]:
    """Carry out ``work`` and store its records. Returns those that came about.

    ``report.budget_reached`` says whether the cost limit ended it. Raises ProviderError or StorageError once
    the calls in flight have ended.
    """
    made: list[Comparison] = []
    for batch in _by_file(comparer, work):
        await chat.keep_local({item.judge for item in batch})
        runner = _PairRunner(comparer, tree, chat.ask, report, progressed)
        await runner.run(batch)
        made += runner.made
        if report.budget_reached:
            break
    return made


def _by_file(comparer: Comparer, work: Sequence[CompareWork]) -> Iterator[list[CompareWork]]:
    """``work`` by the GGUF files of its judges, so that only one of them is in memory at a time."""
    files: dict[LocalFile | None, list[CompareWork]] = {}
    for item in work:
        files.setdefault(comparer.protocol.catalog.local_file(item.judge), []).append(item)
    yield from files.values()


class _PairRunner:
    def __init__(
        self,
        comparer: Comparer,
        tree: ResultsTree,
        send: Ask,
        report: RunReport,
        progressed: Callable[[], None],
    ) -> None:
        self.made: list[Comparison] = []
        self._comparer = comparer
        self._tree = tree
        self._send = send
        self._report = report
        self._progressed = progressed
        self._stop: ProviderError | StorageError | BudgetReached | None = None
        self._windows: dict[str, asyncio.Semaphore] = {}

    async def run(self, work: Sequence[CompareWork]) -> None:
        tasks = [asyncio.create_task(self._stoppable(item)) for item in work]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if isinstance(self._stop, BudgetReached):
            self._report.budget_reached = True
        elif self._stop is not None:
            raise self._stop

    async def _stoppable(self, item: CompareWork) -> None:
        try:
            async with self._window(item.judge):
                if self._stop is None:
                    await self._compare(item)
        except (ProviderError, StorageError, BudgetReached) as error:
            self._stop = self._stop or error

    def _window(self, judge: str) -> asyncio.Semaphore:
        """Limits comparisons under way, so that few are half done when a run is stopped."""
        catalog = self._comparer.protocol.catalog
        provider = catalog.model(judge).provider
        if provider not in self._windows:
            self._windows[provider] = asyncio.Semaphore(catalog.providers[provider].max_concurrent)
        return self._windows[provider]

    async def _compare(self, item: CompareWork) -> None:
        pair = self._read(item)
        orders = []
        for shown_first in range(2):
            asking = Asking(self._ask)
            verdict = await self._comparer.order(pair, shown_first, item.judge, asking.ask)
            while item.anew and verdict.status == "failed" and asking.renew():
                verdict = await self._comparer.order(pair, shown_first, item.judge, asking.ask)
            orders.append(verdict)
        record = self._comparer.comparison_of(pair, item.judge, (orders[0], orders[1]))
        await asyncio.shield(asyncio.to_thread(write_comparison, self._tree, record, replace=True))
        self.made.append(record)
        self._report.comparison_done(record)
        self._progressed()

    def _read(self, item: CompareWork) -> Pair:
        talks: list[Conversation] = []
        for cell in item.cells:
            talk = self._tree.conversation(cell)
            if talk is None or talk.status != "complete":
                place = str(self._tree.conversation_path(cell))
                raise StorageError("the conversation is gone since the run was planned", where=place)
            talks.append(talk)
        return talks[0], talks[1]

    async def _ask(self, request: ChatRequest) -> Reply:
        if self._stop is not None:
            raise self._stop
        return await self._send(request)
