"""Carries out a plan: conversations in parallel, each judged as soon as it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Protocol as Interface
from typing import TypeVar

from bench.catalog import Catalog
from bench.chat.budget import BudgetReached
from bench.chat.requests import ChatRequest, Reply
from bench.errors import ProviderError, StorageError
from bench.protocols import Protocol
from bench.protocols.calls import Ask
from bench.records import Conversation, Judgement
from bench.results import ResultsTree
from bench.results.comparison_records import OrderVerdict
from bench.run.plan import CellWork, Plan
from bench.run.progress import RunReport
from bench.run.storage import TreeStorage

T = TypeVar("T")
R = TypeVar("R", Conversation, Judgement, OrderVerdict)


class Storage(Interface):
    """Keeps records. Each method returns the record that is kept, which may be that of another process."""

    def conversation(self, conversation: Conversation) -> Conversation: ...
    def judgement(self, judgement: Judgement) -> Judgement: ...


async def run_plan(
    protocol: Protocol,
    plan: Plan,
    tree: ResultsTree,
    ask: Ask,
    report: RunReport | None = None,
    progressed: Callable[[], None] = lambda: None,
) -> RunReport:
    """Carry out ``plan`` and store its records in ``tree``; see :class:`Runner`. Returns what was done."""
    report = report or RunReport()
    await Runner(protocol, TreeStorage(protocol, tree), ask, report, progressed).run(plan)
    return report


class Asking:
    """Sends the requests of one record, and can send the last question once more past the cache.

    A question is a request and its re-asks. A record fails by the last question that was asked for it.
    """

    def __init__(self, send: Ask) -> None:
        self._send = send
        self._renewed: list[ChatRequest] = []
        self._question: ChatRequest | None = None
        self._replayed = False

    async def ask(self, request: ChatRequest) -> Reply:
        """The reply to ``request``."""
        if not request.sample:
            self._question = request
        fresh = self._question in self._renewed
        reply = await self._send(replace(request, fresh=fresh))
        self._replayed = reply.cached and not fresh
        return reply

    def renew(self) -> bool:
        """Send the last question past the cache next time, if its last reply came from there; else False."""
        if self._replayed and self._question is not None:
            self._renewed.append(self._question)
        return self._replayed


class SideBySide:
    """Does pieces of work side by side. The first fault stops all; what has been paid for is stored.

    ``ask`` sends a request; ``report`` counts what is done, and ``progressed`` is called for each piece.
    """

    def __init__(
        self, catalog: Catalog, ask: Ask, report: RunReport, progressed: Callable[[], None] = lambda: None
    ) -> None:
        self._catalog = catalog
        self._send = ask
        self._report = report
        self._progressed = progressed
        self._stop: ProviderError | StorageError | BudgetReached | None = None
        self._windows: dict[str, asyncio.Semaphore] = {}

    async def _all(self, do: Callable[[T], Awaitable[None]], pieces: Iterable[T]) -> None:
        """``do`` all pieces, or until the budget is reached (see ``report.budget_reached``).

        Raises ProviderError or StorageError. After an error no further call is sent, but calls in flight are
        waited for, since they are paid. Cancelling stops all calls at once. Finished work is always stored.
        """
        tasks: list[asyncio.Task[None]] = []
        try:
            for piece in pieces:
                tasks.append(asyncio.create_task(self._stoppable(do, piece)))
                # One after another: if all did each step together, each would wait for all others.
                await asyncio.sleep(0)
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if isinstance(self._stop, BudgetReached):
            self._report.budget_reached = True
        elif self._stop is not None:
            raise self._stop

    async def _stoppable(self, do: Callable[[T], Awaitable[None]], piece: T) -> None:
        try:
            await do(piece)
        except (ProviderError, StorageError, BudgetReached) as error:
            self._stop = self._stop or error

    def _window(self, called: Iterable[str]) -> asyncio.Semaphore:
        """Limits the pieces under way to as many as keep the providers of the models ``called`` busy.

        More would only leave more of them unfinished when a run is stopped.
        """
        providers = {self._catalog.model(name).provider for name in called}
        key = " ".join(sorted(providers))
        if key not in self._windows:
            size = sum(self._catalog.providers[name].max_concurrent for name in providers)
            self._windows[key] = asyncio.Semaphore(size)
        return self._windows[key]

    async def _made(self, make: Callable[[Ask], Awaitable[R]], *, anew: bool) -> R:
        """The record that ``make`` makes. With ``anew`` it does not fail by replies from the cache."""
        asking = Asking(self._ask)
        record = await make(asking.ask)
        while anew and record.status == "failed" and asking.renew():
            record = await make(asking.ask)
        return record

    async def _write(self, write: Callable[[], T]) -> T:
        """Write in a thread, and finish even if the run is being cancelled: the record has been paid for."""
        return await asyncio.shield(asyncio.to_thread(write))

    async def _ask(self, request: ChatRequest) -> Reply:
        if self._stop is not None:
            raise self._stop
        return await self._send(request)


class Runner(SideBySide):
    """Carries out plans of one protocol; see :class:`SideBySide` for the arguments."""

    def __init__(
        self,
        protocol: Protocol,
        storage: Storage,
        ask: Ask,
        report: RunReport,
        progressed: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(protocol.catalog, ask, report, progressed)
        self._protocol = protocol
        self._storage = storage

    async def run(self, plan: Plan) -> None:
        """Do all work of ``plan``; see :meth:`SideBySide._all` for how it ends and what it raises."""
        await self._all(self._cell, plan.work)

    async def _cell(self, item: CellWork) -> None:
        player, conversation = item.cell.player, item.conversation
        if item.talk or conversation is None:
            called = [name for _, name in self._protocol.talkers(player)] or [player]
            async with self._window(called):
                conversation = await self._made(partial(self._protocol.converse, item.cell), anew=item.anew)
                conversation = await self._write(partial(self._storage.conversation, conversation))
            self._report.conversation_done(conversation)
            self._progressed()
        if conversation.status == "failed":
            return
        judging = [self._judge(conversation, judge, item) for judge in item.judges]
        for end in await asyncio.gather(*judging, return_exceptions=True):  # all end before one may raise
            if isinstance(end, BaseException):
                raise end

    async def _judge(self, conversation: Conversation, judge: str, item: CellWork) -> None:
        judgement = await self._made(partial(self._protocol.judge, conversation, judge), anew=item.anew)
        self._report.judgement_done(await self._write(partial(self._storage.judgement, judgement)))
        self._progressed()
