"""In a worker process: works on cells through one Chat, whose event loop runs in a thread of its own.

Dask calls :func:`work` in one of the worker's threads, so a worker has as many cells under way as threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import secrets
import tempfile
import threading
from collections import Counter
from concurrent.futures import CancelledError
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from pydantic import BaseModel, Field

from bench.chat import open_chat
from bench.chat.stats import Stats
from bench.errors import ProviderError, UserError
from bench.records import Conversation, Judgement
from bench.run.cluster.bundle import Bundle, protocol_of
from bench.run.cluster.source import SOURCE
from bench.run.plan import CellWork, Plan
from bench.run.progress import RunReport
from bench.run.runner import Runner

CLOSE_SECONDS = 30


class Fault(BaseModel):
    """A UserError as JSON."""

    provider: bool
    what: str
    where: str
    hint: str

    @classmethod
    def of(cls, error: UserError) -> Fault:
        return cls(
            provider=isinstance(error, ProviderError), what=error.what, where=error.where, hint=error.hint
        )

    def error(self) -> UserError:
        """The error, as the command raises it."""
        kind = ProviderError if self.provider else UserError
        return kind(self.what, where=f"on a worker: {self.where}", hint=self.hint)


class CellResult(BaseModel):
    """What a worker returns for a cell. It is also the storage of the worker's Runner."""

    conversations: list[Conversation] = []
    judgements: list[Judgement] = []
    host: str = ""
    """Stands for the worker's Chat, which many cells share."""
    number: int = 0
    """Counts the results of ``host``."""
    stats: Stats = Field(default_factory=Stats)
    """All that ``host`` has counted so far, also for cells that have not ended."""
    fault: Fault | None = None
    worker: str = ""
    """The worker's address."""
    source: str = ""
    """Hash of the worker's source."""
    budget_reached: bool = False
    """Whether the worker has spent its share, so that the cell may be unfinished."""

    def conversation(self, conversation: Conversation) -> Conversation:
        """Keep a conversation."""
        self.conversations.append(conversation)
        return conversation

    def judgement(self, judgement: Judgement) -> Judgement:
        """Keep a judgement."""
        self.judgements.append(judgement)
        return judgement


class _Host:
    """One suite of one run in this process: protocol, Chat, and the thread whose loop they live in."""

    def __init__(self, bundle: Bundle, address: str) -> None:
        self._stack = contextlib.AsyncExitStack()
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="dramaturg-"))
        self._protocol = protocol_of(bundle, Path(folder))
        self._name = secrets.token_hex(8)
        self._results = 0
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="dramaturg", daemon=True)
        self._thread.start()
        cache = None if bundle.cache is None else Path(bundle.cache)
        share = None if bundle.shares is None else bundle.shares.get(address, Decimal(0))
        opened = open_chat(self._protocol.catalog, cache=cache, max_cost=share, proven=bundle.proven)
        opening = self._stack.enter_async_context(opened)
        self._chat = asyncio.run_coroutine_threadsafe(opening, self.loop).result()

    async def work(self, item: CellWork) -> CellResult:
        result, report = CellResult(), RunReport()
        runner = Runner(self._protocol, result, self._chat.ask, report)
        try:
            await runner.run(Plan([item]))
        except UserError as error:
            result.fault = Fault.of(error)
        result.budget_reached = report.budget_reached
        self._results += 1
        result.host, result.number = self._name, self._results
        result.stats = replace(self._chat.stats, outcomes=Counter(self._chat.stats.outcomes))
        return result

    def close(self) -> None:
        """Cancel what is under way, close everything and end the thread."""
        asyncio.run_coroutine_threadsafe(self._closed(), self.loop).result(CLOSE_SECONDS)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(CLOSE_SECONDS)
        self.loop.close()

    async def _closed(self) -> None:
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._stack.aclose()


_hosts: dict[str, _Host] = {}
_ended: set[str] = set()
_lock = threading.Lock()


def source() -> str:
    """Hash of the source of this package that the worker has loaded."""
    return SOURCE


def same(text: str) -> str:
    """``text``: a task whose result the cells share, and which is repeated if its worker is lost."""
    return text


def work(bundle: str, item: str) -> str:
    """Work on one cell; takes and returns JSON (Bundle, CellWork, CellResult)."""
    address = _address()
    if json.loads(bundle).get("source") != SOURCE:  # of a worker that joined after the command's own check
        return CellResult(worker=address, source=SOURCE).model_dump_json()
    host = _host(bundle, address)
    working = host.work(CellWork.model_validate_json(item))
    try:
        result = asyncio.run_coroutine_threadsafe(working, host.loop).result()
    except (CancelledError, asyncio.CancelledError):
        result = CellResult(fault=Fault.of(UserError("the run was stopped")))
    result.worker, result.source = address, SOURCE
    return result.model_dump_json()


def end(run: str) -> None:
    """End everything of a run: cancel calls under way, close connections."""
    with _lock:
        _ended.add(run)
        ending = [_hosts.pop(key) for key in list(_hosts) if key.startswith(f"{run} ")]
    for host in ending:
        host.close()


def _address() -> str:
    """This worker's address in the cluster; empty outside one."""
    try:
        return str(importlib.import_module("distributed").get_worker().address)
    except (ImportError, ValueError):
        return ""


def _host(text: str, address: str) -> _Host:
    bundle = Bundle.model_validate_json(text)
    key = f"{bundle.run} {bundle.suite} {bundle.language} {bundle.round}"
    with _lock:
        if bundle.run in _ended:
            raise CancelledError
        if key not in _hosts:
            _hosts[key] = _Host(bundle, address)
        return _hosts[key]
