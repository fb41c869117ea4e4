"""Carrying out a plan: conversations side by side, each judged as soon as it has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol as Interface
from typing import TypeVar

from bench.catalog import Catalog
from bench.chat.budget import BudgetReached as BudgetReached
from bench.chat.client import Chat
from bench.chat.requests import ChatRequest, Reply
from bench.errors import ProviderError, StorageError
from bench.protocols import Protocol
from bench.records import Conversation, Judgement, re_asks
from bench.results import ResultsTree
from bench.run.plan import CellWork, Plan
from bench.run.storing import Keeper

T = TypeVar("T")


class Listener(Interface):
    """Is told what has been finished; a progress display is one."""

    def conversation_done(self, record: Conversation) -> None: ...
    def judgement_done(self, record: Judgement) -> None: ...


@dataclass
class RunReport:
    """What a run did."""

    conversations: int = 0
    conversations_failed: int = 0
    judgements: int = 0
    judgements_failed: int = 0
    re_asks: int = 0
    """Replies that could not be used, so that the model was asked again with the fault named."""
    budget_reached: bool = False

    def conversation_done(self, record: Conversation) -> None:
        self.conversations += 1
        self.re_asks += _re_asks(record)
        self.conversations_failed += record.status == "failed"

    def judgement_done(self, record: Judgement) -> None:
        self.judgements += 1
        self.re_asks += _re_asks(record)
        self.judgements_failed += record.status == "failed"


class Runner:
    """Executes one plan against one results tree through one Chat."""

    def __init__(
        self,
        protocol: Protocol,
        tree: ResultsTree,
        chat: Chat,
        catalog: Catalog,
        *,
        listeners: Sequence[Listener] = (),
    ) -> None:
        self._protocol = protocol
        self._keeper = Keeper(protocol, tree, catalog)
        self._chat = chat
        self._catalog = catalog
        self._listeners = listeners
        self._stop: ProviderError | StorageError | BudgetReached | None = None
        self._windows: dict[str, asyncio.Semaphore] = {}

    async def run(self, plan: Plan) -> None:
        """Do all work of ``plan``; listeners hear of each piece.

        Raises ProviderError, StorageError or BudgetReached: after the first one no further call is sent, but
        those in flight are waited for, since they are paid. Cancelling it stops all calls at once. What was
        finished is on disk in any case.
        """
        tasks = [asyncio.create_task(self._stoppable(item)) for item in plan.work]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if self._stop is not None:
            raise self._stop

    async def _stoppable(self, item: CellWork) -> None:
        try:
            await self._cell(item)
        except (ProviderError, StorageError, BudgetReached) as error:
            self._stop = self._stop or error

    def _window(self, player: str) -> asyncio.Semaphore:
        """How many conversations are under way at once: as many as can keep their providers busy.

        More would only leave more of them half finished when a run is stopped.
        """
        talkers = self._protocol.talkers(player)
        called = [name for _, name in talkers] or [player]
        providers = {self._catalog.model(name).provider for name in called}
        key = " ".join(sorted(providers))
        if key not in self._windows:
            size = sum(self._catalog.providers[name].max_concurrent for name in providers)
            self._windows[key] = asyncio.Semaphore(size)
        return self._windows[key]

    async def _cell(self, item: CellWork) -> None:
        conversation = item.conversation
        if item.talk or conversation is None:
            async with self._window(item.cell.player):
                conversation = await self._protocol.converse(item.cell, self._ask)
                conversation = await self._write(partial(self._keeper.conversation, conversation))
            for listener in self._listeners:
                listener.conversation_done(conversation)
        if conversation.status == "failed":
            return
        judging = [self._judge(conversation, judge) for judge in item.judges]
        for end in await asyncio.gather(*judging, return_exceptions=True):  # all end before one may raise
            if isinstance(end, BaseException):
                raise end

    async def _judge(self, conversation: Conversation, judge: str) -> None:
        judgement = await self._protocol.judge(conversation, judge, self._ask)
        judgement = await self._write(partial(self._keeper.judgement, judgement))
        for listener in self._listeners:
            listener.judgement_done(judgement)

    async def _write(self, write: Callable[[], T]) -> T:
        """Write in a thread, to its end even where the run is being cancelled: it has been paid for."""
        return await asyncio.shield(asyncio.to_thread(write))

    async def _ask(self, request: ChatRequest) -> Reply:
        if self._stop is not None:
            raise self._stop
        return await self._chat.ask(request)


def _re_asks(record: Conversation | Judgement) -> int:
    """Calls of a record beyond the first for each message, or for the verdict."""
    if isinstance(record, Judgement):
        return re_asks(record)
    return len(record.calls) - len({(call.role, call.turn) for call in record.calls})
