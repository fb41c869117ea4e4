"""In the command: hands cells to the cluster's workers, checks the records that come back, and stores them.

As many cells are under way as the workers have threads. Dask gives the cells of a lost worker to another one.
A record that is made twice is equal, and is stored once.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import secrets
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from bench import __version__
from bench.chat.budget import Budget, BudgetReached
from bench.chat.stats import Stats, add, difference
from bench.errors import CatalogError, UserError
from bench.records import Conversation, Judgement, digest_of
from bench.run.cluster import worker
from bench.run.cluster.bundle import bundle_of
from bench.run.cluster.worker import CellResult
from bench.run.executing import with_work
from bench.run.jobs import Job, models_called
from bench.run.progress import Listener, RunReport
from bench.run.storage import TreeStorage

CONNECT_SECONDS = 15
EXTRA_HINT = "Install it with `make cluster`, here and where the workers run."


def execute_on_cluster(
    address: str,
    jobs: Sequence[Job],
    cache: Path | None,
    max_cost: Decimal | None,
    report: RunReport,
    listener: Listener,
) -> None:
    """Carry out ``jobs`` one after another on the cluster at ``address``."""
    if any(job.protocol.facts.spoken for job in jobs):
        raise CatalogError(
            "its conversations are sound files, which cluster workers do not return",
            where=f"suite {jobs[0].protocol.suite.id}",
            hint="Run it without --cluster; --shard divides it among machines.",
        )
    work = with_work(jobs, report, listener)
    if not work:
        return
    with Cluster(address) as cluster:
        listener.warning(f"{cluster.workers} workers, {cluster.threads} cells at once")
        listener.started(report)
        try:
            for job in work:
                ClusterRun(cluster, job, cache, max_cost, report, listener).run()
                if report.budget_reached:
                    break
        finally:
            listener.ended()


class Cluster:
    """A connection to a Dask scheduler. A context manager; leaving it ends its work on the workers."""

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
        try:
            self._client_type()(self.address, timeout=CONNECT_SECONDS, set_as_default=False)
            alive = True
            self._client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except (OSError, TimeoutError, ValueError, TypeError, ImportError) as error:
            self._close()
            raise UserError(
                "the cluster has no worker" if alive else f"no Dask scheduler answers ({_words(error)})",
                where=f"--cluster {self.address}",
                hint=f"Start one: `dask worker {self.address} --nthreads 16`."
                if alive
                else "Start one: `dask scheduler`. It prints its address, such as tcp://10.0.0.1:8786.",
            ) from None
        try:
            self._check_versions()
        except BaseException:
            self._close()
            raise
        return self

    def _client_type(self) -> Any:
        """Dask's Client, known to us before it connects, so that we close it if it cannot connect.

        The garbage collector would close it at any time, and a close while another client starts never ends.
        """
        base = self._dask.Client

        def connect(client: Any, *args: Any, **options: Any) -> None:
            self._client = client
            base.__init__(client, *args, **options)

        return type("Client", (base,), {"__init__": connect})

    def __exit__(self, *exc: object) -> None:
        with contextlib.suppress(Exception):  # from lost workers or a lost scheduler
            self._client.run(worker.end, self.run, on_error="ignore")
        self._close()

    def _close(self) -> None:
        if self._client is not None:
            with contextlib.suppress(Exception):
                self._client.close(timeout=5)

    @property
    def threads(self) -> int:
        """Number of cells that the workers can have under way at once."""
        counts: dict[str, int] = self._client.nthreads()
        return max(1, sum(counts.values()))

    @property
    def workers(self) -> int:
        """Number of workers."""
        return max(1, len(self._client.nthreads()))

    def _check_versions(self) -> None:
        try:
            versions = self._client.run(worker.version)
        except Exception as error:  # anything that a worker's unpickling raises
            raise UserError(
                f"a worker cannot load Dramaturg ({_words(error)})",
                where=f"--cluster {self.address}",
                hint=f"Install Dramaturg {__version__} in the workers' environment too.",
            ) from None
        for name, version in versions.items():
            if version != __version__:
                raise UserError(
                    f"it has Dramaturg {version}, but the command is version {__version__}",
                    where=f"worker {name}",
                    hint="Install the same version everywhere.",
                )

    def map(self, bundle: str, items: Iterator[str]) -> Iterator[CellResult]:
        """Results as they arrive. The next item is taken when a worker has room for it."""
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

    def _result(self, future: Any) -> CellResult:
        try:
            return CellResult.model_validate_json(future.result())
        except self._dask.KilledWorker as error:
            raise UserError(
                f"a cell was given up after {error.allowed_failures + 1} workers had died on it",
                where=f"--cluster {self.address}",
                hint="Check the workers' logs (memory?). Finished work is kept.",
            ) from None
        except self._dask.CancelledError:
            raise UserError(
                "the scheduler is gone",
                where=f"--cluster {self.address}",
                hint="Finished work is kept. Run the same command to continue.",
            ) from None


class ClusterRun:
    """Carries out a job on a cluster, as a Runner does in this process."""

    def __init__(
        self,
        cluster: Cluster,
        job: Job,
        cache: Path | None,
        max_cost: Decimal | None,
        report: RunReport,
        listener: Listener,
    ) -> None:
        self._cluster = cluster
        self._protocol = job.protocol
        self._plan = job.plan
        self._storage = TreeStorage(job.protocol, job.tree)
        self._models = models_called([job])
        self._cache = cache
        self._report = report
        self._listener = listener
        self._budget = Budget(max_cost, report.stats)
        self._counted: dict[str, CellResult] = {}
        self._stop: UserError | None = None

    def run(self) -> None:
        """Do all work of the job, or until the budget is reached.

        Raises UserError. Cells that are under way then are still finished and stored.
        """
        cluster = self._cluster
        bundle = bundle_of(
            self._protocol, self._models, run=cluster.run, cache=self._cache, workers=cluster.workers
        )
        for result in cluster.map(bundle.model_dump_json(), self._items()):
            self._count(result)
            try:
                self._store(result)
            except UserError as error:
                self._stop = self._stop or error
            if result.fault is not None:
                self._stop = self._stop or result.fault.error()
        if self._stop is not None:
            raise self._stop

    def _items(self) -> Iterator[str]:
        """The job's work, until an error or the budget stops the run."""
        called = [self._protocol.catalog.model(name) for name in self._models]
        for item in self._plan.work:
            try:
                self._budget.check(*called)
            except BudgetReached:
                self._report.budget_reached = True
            if self._stop is not None or self._report.budget_reached:
                return
            yield item.model_dump_json()

    def _count(self, result: CellResult) -> None:
        """Add what the worker has counted since the last result counted here, which may be a later one."""
        before = self._counted.get(result.host)
        if before is not None and before.number > result.number:
            return
        since = Stats() if before is None else before.stats
        add(self._report.stats, difference(result.stats, since))
        self._counted[result.host] = result

    def _store(self, result: CellResult) -> None:
        """Store records, after checking that they have the fingerprints of this process."""
        for talk in result.conversations:
            _check(talk, self._protocol.conversation_fingerprint(talk.cell()))
            self._report.conversation_done(self._storage.conversation(talk))
            self._listener.progressed()
        for made in result.judgements:
            _check(made, self._protocol.judgement_fingerprint(made, made.judge, made.conversation_sha256))
            self._report.judgement_done(self._storage.judgement(made))
            self._listener.progressed()


def _check(record: Conversation | Judgement, fingerprint: str) -> None:
    if record.fingerprint != fingerprint or record.digest != digest_of(record):
        raise UserError(
            f"a worker sent a record with other inputs ({record.character}, {record.situation})",
            hint="Install the same Dramaturg everywhere, and do not edit prompts during a run.",
        )


def _words(error: BaseException) -> str:
    text = " ".join(str(error).split())[:160]
    return text or type(error).__name__
