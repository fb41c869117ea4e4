"""In a worker process: cells are worked on through a Chat of the process, one loop in a thread of its own.

Dask calls :func:`work` in one of the worker's threads, so a worker has as many cells under way as threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
import threading
from concurrent.futures import CancelledError
from dataclasses import fields
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

from bench import __version__
from bench.chat.cache import ResponseCache
from bench.chat.client import Chat
from bench.chat.stats import Stats
from bench.errors import ProviderError, UserError
from bench.records import Cell, Conversation, Judgement, PlayerInfo
from bench.results import ResultsTree
from bench.run.cluster.bundle import Bundle, protocol_of
from bench.run.plan import CellWork, Plan
from bench.run.runner import Runner

_hosts: dict[str, _Host] = {}
_ended: set[str] = set()
_lock = threading.Lock()


def version() -> str:
    """The version of this package that the worker has."""
    return __version__


def same(text: str) -> str:
    """``text``: a task whose result the cells share, made again where a worker is lost with it."""
    return text


def work(bundle: str, item: str) -> str:
    """Work on one cell; returns its records, what was spent since the last answer, and any error."""
    host = _host(bundle)
    try:
        return asyncio.run_coroutine_threadsafe(host.work(json.loads(item)), host.loop).result()
    except (CancelledError, asyncio.CancelledError):
        return json.dumps({"records": [], "stats": {}, "error": _error(UserError("the run was stopped"))})


def end(run: str) -> None:
    """End everything of a run: calls under way are cancelled, connections closed."""
    with _lock:
        _ended.add(run)
        ending = [_hosts.pop(key) for key in list(_hosts) if key.startswith(f"{run} ")]
    for host in ending:
        host.close()


def _host(text: str) -> _Host:
    bundle = Bundle.model_validate_json(text)
    key = f"{bundle.run} {bundle.suite} {bundle.language}"
    with _lock:
        if bundle.run in _ended:
            raise CancelledError
        if key not in _hosts:
            _hosts[key] = _Host(bundle)
        return _hosts[key]


class _Records:
    """Stands for a results tree: keeps what a Runner writes."""

    def __init__(self) -> None:
        self.kept: list[dict[str, Any]] = []

    def write_player(self, suite: str, language: str, info: PlayerInfo) -> bool:
        return True  # the command writes it, from its own catalog

    def write_conversation(self, record: Conversation, *, replace: bool = False) -> bool:
        self.kept.append({"conversation": record.plain()})
        return True

    def write_judgement(self, record: Judgement, *, replace: bool = False) -> bool:
        self.kept.append({"judgement": record.plain()})
        return True


class _Host:
    """One suite of one run in this process: protocol, cache, Chat, and the thread whose loop they live in."""

    def __init__(self, bundle: Bundle) -> None:
        self._stack = contextlib.ExitStack()
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="dramaturg-"))
        self._protocol = protocol_of(bundle, Path(folder))
        self._bundle = bundle
        self._chat: Chat | None = None
        self._told = Stats()
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="dramaturg", daemon=True)
        self._thread.start()

    async def work(self, item: dict[str, Any]) -> str:
        chat = self._opened()
        records = _Records()
        error = None
        catalog = self._protocol.catalog
        runner = Runner(self._protocol, cast(ResultsTree, records), chat, catalog)
        try:
            await runner.run(Plan(work=[item_from(item)]))
        except UserError as fault:
            error = _error(fault)
        stats, self._told = difference(chat.stats, self._told), copied(chat.stats)
        return json.dumps({"records": records.kept, "stats": stats, "error": error})

    def _opened(self) -> Chat:
        """The Chat; made by the first call, in the loop that it belongs to."""
        if self._chat is None:
            catalog, cache = self._protocol.catalog, None
            if self._bundle.cache is not None:
                cache = self._stack.enter_context(ResponseCache(Path(self._bundle.cache)))
            embedded: dict[str, Any] = {}
            if any(provider.embedded for provider in catalog.providers.values()):
                from bench.local.embedded import EmbeddedServer, embedded_identity

                slots = max(p.max_concurrent for p in catalog.providers.values() if p.embedded)
                embedded = {
                    "embedded": lambda: self._stack.enter_context(EmbeddedServer(slots=slots)),
                    "embedded_identity": embedded_identity,
                }
            self._chat = Chat(catalog, cache=cache, **embedded)
        return self._chat

    def close(self) -> None:
        """Cancel what is under way, close all, end the thread."""
        asyncio.run_coroutine_threadsafe(self._closed(), self.loop).result(30)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(30)
        self.loop.close()

    async def _closed(self) -> None:
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._chat is not None:
            await self._chat.close()
        self._stack.close()


# --- what goes over the wire, as plain JSON -----------------------------------------------------------


def item_plain(item: CellWork) -> dict[str, Any]:
    """A piece of work as JSON data."""
    return {
        "cell": item.cell.plain(),
        "turns": item.turns,
        "calls": item.calls,
        "talk": item.talk,
        "judges": list(item.judges),
        "conversation": None if item.conversation is None else item.conversation.plain(),
    }


def item_from(data: dict[str, Any]) -> CellWork:
    """The piece of work that :func:`item_plain` wrote."""
    talk = data["conversation"]
    return CellWork(
        Cell.model_validate(data["cell"]),
        data["turns"],
        data["calls"],
        data["talk"],
        tuple(data["judges"]),
        None if talk is None else Conversation.model_validate(talk),
    )


def copied(stats: Stats) -> Stats:
    """``stats`` as they are now."""
    copy = Stats()
    add(copy, difference(stats, Stats()))
    return copy


def difference(now: Stats, before: Stats) -> dict[str, Any]:
    """What was counted between two moments, as JSON data."""
    counts: dict[str, Any] = {
        f.name: getattr(now, f.name) - getattr(before, f.name)
        for f in fields(Stats)
        if f.name not in ("outcomes", "cost", "in_flight")
    }
    outcomes = {name: n - before.outcomes[name] for name, n in now.outcomes.items()}
    return counts | {"outcomes": outcomes, "cost": str(now.cost - before.cost)}


def add(stats: Stats, more: dict[str, Any]) -> None:
    """Add what :func:`difference` gave to ``stats``."""
    for name, value in more.items():
        if name == "outcomes":
            stats.outcomes.update(value)
        elif name == "cost":
            stats.cost += Decimal(value)
        else:
            setattr(stats, name, getattr(stats, name) + value)


def _error(error: UserError) -> dict[str, str]:
    kind = "provider" if isinstance(error, ProviderError) else "user"
    return {"kind": kind, "what": error.what, "where": error.where, "hint": error.hint}
