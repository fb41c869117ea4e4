"""In the command: cells go out to the cluster's workers, records come back, are checked and written.

As many cells are out at once as the workers have threads. Dask itself gives the cells of a lost worker to
another; what comes back twice is equal, and a record is written once.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import secrets
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from bench import __version__
from bench.catalog import Model
from bench.chat.budget import Budget, BudgetReached
from bench.chat.stats import Stats
from bench.errors import ProviderError, UserError
from bench.protocols import Protocol
from bench.records import Conversation, Judgement, digest_of
from bench.results import ResultsTree
from bench.run.cluster import worker
from bench.run.cluster.bundle import bundle_of
from bench.run.plan import Plan
from bench.run.runner import Listener
from bench.run.storing import Keeper

CONNECT_SECONDS = 15
EXTRA_HINT = "Install it with `make cluster`, here and where the workers run."


class Cluster:
    """A connection to a Dask scheduler. A context manager; leaving it ends on the workers what it began."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.run = secrets.token_hex(8)
        self._dask: Any = None
        self._client: Any = None

    def __enter__(self) -> Cluster:
        try:
            self._dask = importlib.import_module("distributed")
        except ImportError:
            raise UserError("--cluster needs the package distributed", hint=EXTRA_HINT) from None
        for name in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        alive = False
        # Held before it connects, so that one which cannot is closed here: left to the garbage collector, it
        # would be closed at any time, and within the making of another client that never ends.
        self._client = self._dask.Client.__new__(self._dask.Client)
        try:
            self._client.__init__(self.address, timeout=CONNECT_SECONDS, set_as_default=False)
            alive = True
            self._client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except (OSError, TimeoutError, ValueError, TypeError, ImportError) as error:
            self._close()
            raise UserError(
                "the cluster has no worker" if alive else f"no Dask scheduler answers ({_words(error)})",
                where=f"--cluster {self.address}",
                hint=f"Start one: `dask worker {self.address} --nthreads 16`."
                if alive
                else "Start one by `dask scheduler`; it prints its address, such as tcp://10.0.0.1:8786.",
            ) from None
        try:
            self._check_versions()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        with contextlib.suppress(Exception):  # of workers that are lost, or a scheduler that is
            self._client.run(worker.end, self.run, on_error="ignore")
        self._close()

    def _close(self) -> None:
        if self._client is not None:
            with contextlib.suppress(Exception):
                self._client.close(timeout=5)

    @property
    def threads(self) -> int:
        """Cells that the workers can have under way at once."""
        counts: dict[str, int] = self._client.nthreads()
        return max(1, sum(counts.values()))

    @property
    def workers(self) -> int:
        return max(1, len(self._client.nthreads()))

    def _check_versions(self) -> None:
        try:
            found = self._client.run(worker.version)
        except Exception as error:  # whatever a worker's unpickling raises
            raise UserError(
                f"a worker cannot load Dramaturg ({_words(error)})",
                where=f"--cluster {self.address}",
                hint=f"Install Dramaturg {__version__} in the workers' environment too.",
            ) from None
        wrong = {where: has for where, has in found.items() if has != __version__}
        for where, has in wrong.items():
            raise UserError(
                f"has Dramaturg {has}, and here is {__version__}",
                where=f"worker {where}",
                hint="Install the same version everywhere.",
            )

    def map(self, bundle: str, items: Iterator[str]) -> Iterator[dict[str, Any]]:
        """What came of each item, as they end; ``items`` is asked for the next when there is room for it."""
        shared = self._client.submit(worker.same, bundle, key=f"dramaturg-{self.run}-{secrets.token_hex(4)}")
        ended = self._dask.as_completed(loop=self._client.loop)
        under_way = 0
        more = True
        while True:
            while more and under_way < self.threads:
                item = next(items, None)
                if item is None:
                    more = False
                    break
                ended.add(self._client.submit(worker.work, shared, item, pure=False))
                under_way += 1
            if not under_way:
                return
            future = next(ended)
            under_way -= 1
            yield self._result(future)

    def _result(self, future: Any) -> dict[str, Any]:
        try:
            result: dict[str, Any] = json.loads(future.result())
        except self._dask.KilledWorker as error:
            raise UserError(
                f"a cell was given up after {error.allowed_failures + 1} workers had died of it",
                where=f"--cluster {self.address}",
                hint="Look into the workers' logs (memory?); what was finished is kept.",
            ) from None
        except self._dask.CancelledError:
            raise UserError(
                "the scheduler has gone",
                where=f"--cluster {self.address}",
                hint="What was finished is kept; the same command goes on from there.",
            ) from None
        return result


class ClusterRun:
    """Executes plans on a cluster, as a Runner does in this process."""

    def __init__(
        self,
        cluster: Cluster,
        tree: ResultsTree,
        stats: Stats,
        *,
        cache: Path | None,
        listeners: Sequence[Listener] = (),
        max_cost: Decimal | None = None,
    ) -> None:
        self._cluster = cluster
        self._tree = tree
        self._stats = stats
        self._cache = cache
        self._listeners = listeners
        self._budget = Budget(max_cost, stats)
        self._stop: UserError | BudgetReached | None = None

    def run(self, protocol: Protocol, plan: Plan, models: Sequence[str]) -> None:
        """Do all work of ``plan``.

        Raises UserError or BudgetReached; cells that are out by then still end and are written.
        """
        bundle = bundle_of(
            protocol, models, run=self._cluster.run, cache=self._cache, workers=self._cluster.workers
        )
        keeper = Keeper(protocol, self._tree, protocol.catalog)
        called = [protocol.catalog.model(name) for name in models]
        for result in self._cluster.map(bundle.model_dump_json(), self._items(plan, called)):
            worker.add(self._stats, result["stats"])
            try:
                for record in result["records"]:
                    self._write(protocol, keeper, record)
            except UserError as error:
                self._stop = self._stop or error
            if result["error"] is not None:
                self._stop = self._stop or _error(result["error"])
        if self._stop is not None:
            raise self._stop

    def _items(self, plan: Plan, called: Sequence[Model]) -> Iterator[str]:
        """The plan's pieces, as long as nothing speaks against another."""
        for item in plan.work:
            try:
                self._budget.check(*called)
            except BudgetReached as reached:
                self._stop = self._stop or reached
            if self._stop is not None:
                return
            yield json.dumps(worker.item_plain(item))

    def _write(self, protocol: Protocol, keeper: Keeper, data: dict[str, Any]) -> None:
        """Check a record against what this process would have made, and write it."""
        if "conversation" in data:
            talk = Conversation.model_validate(data["conversation"])
            _check(talk, talk.fingerprint == protocol.conversation_fingerprint(talk.cell()))
            talk = keeper.conversation(talk)
            for listener in self._listeners:
                listener.conversation_done(talk)
        else:
            verdict = Judgement.model_validate(data["judgement"])
            ours = protocol.judgement_fingerprint(verdict.cell(), verdict.judge, verdict.conversation_sha256)
            _check(verdict, verdict.fingerprint == ours)
            verdict = keeper.judgement(verdict)
            for listener in self._listeners:
                listener.judgement_done(verdict)


def _check(record: Conversation | Judgement, ours: bool) -> None:
    if not ours or record.digest != digest_of(record):
        raise UserError(
            f"a worker sent a record that is not what was asked for ({record.character}, {record.situation})",
            hint="Install the same Dramaturg everywhere, and leave prompts alone while a run is under way.",
        )


def _error(data: dict[str, str]) -> UserError:
    kind = ProviderError if data["kind"] == "provider" else UserError
    return kind(data["what"], where=f"on a worker: {data['where']}", hint=data["hint"])


def _words(error: BaseException) -> str:
    text = " ".join(str(error).split())[:160]
    return text or type(error).__name__
