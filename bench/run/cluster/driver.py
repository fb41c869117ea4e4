"""In the command: hands cells to the cluster's workers, checks the records that come back, and stores them.

As many cells are under way as the workers have threads. Dask gives the cells of a lost worker to another one.
A record that is made twice is equal, and is stored once.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import secrets
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from decimal import Decimal
from itertools import count
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from bench import __version__
from bench.chat.stats import Stats, add, difference
from bench.errors import CatalogError, UserError
from bench.records import Conversation, Judgement, digest_of
from bench.run.cluster import worker
from bench.run.cluster.bundle import bundle_of
from bench.run.cluster.source import SOURCE
from bench.run.cluster.worker import CellResult
from bench.run.executing import with_work
from bench.run.jobs import Job, models_called
from bench.run.plan import CellWork
from bench.run.progress import Listener, RunReport
from bench.run.storage import TreeStorage
from bench.tables import counted

CONNECT_SECONDS = 15
POLL_SECONDS = 0.02
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
        listener.warning(
            f"{counted(len(cluster.addresses), 'worker')}, {counted(cluster.threads(), 'cell')} at once"
        )
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
        self.lost = Decimal(0)
        """US dollars that lost workers may have spent without saying so."""
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
            self._check_source()
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

    def threads(self, among: Collection[str] | None = None) -> int:
        """Number of cells that the workers, or those ``among`` them, can have under way at once."""
        counts: dict[str, int] = self._client.nthreads()
        return max(1, sum(n for address, n in counts.items() if among is None or address in among))

    @property
    def addresses(self) -> list[str]:
        """Addresses of the workers."""
        return sorted(self._client.nthreads())

    def present(self) -> list[str]:
        """:attr:`addresses`, after waiting for a worker if none is left. Raises UserError if none comes."""
        try:
            self._client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except (OSError, TimeoutError):
            raise UserError(
                "the cluster has no worker left",
                where=f"--cluster {self.address}",
                hint="Finished work is kept. Start workers, and run the same command to continue.",
            ) from None
        return self.addresses

    def _check_source(self) -> None:
        try:
            sources = self._client.run(worker.source)
        except Exception as error:  # anything that a worker's unpickling raises
            raise UserError(
                f"a worker cannot load Dramaturg ({_words(error)})",
                where=f"--cluster {self.address}",
                hint=f"Install Dramaturg {__version__} in the workers' environment too.",
            ) from None
        for address, source in sources.items():
            check_source(address, source)

    def map(
        self,
        bundle: str,
        take: Callable[[], CellWork | None],
        workers: Callable[[], Collection[str] | None],
    ) -> Iterator[tuple[CellWork, CellResult]]:
        """Cells with their results, as they arrive.

        ``take`` gives the next cell when there is room for it; ``workers`` names those that should get it, or
        is None if any may.
        """
        shared = self._client.submit(worker.same, bundle, key=f"dramaturg-{self.run}-{secrets.token_hex(4)}")
        ended = self._dask.as_completed(loop=self._client.loop)
        under_way: dict[str, CellWork] = {}
        while True:
            among = workers()
            where = {} if among is None else {"workers": list(among), "allow_other_workers": True}
            while len(under_way) < self.threads(among) and (item := take()) is not None:
                future = self._client.submit(worker.work, shared, item.model_dump_json(), pure=False, **where)
                under_way[future.key] = item
                ended.add(future)
            if not under_way:
                return
            future = self._next(ended)
            yield under_way.pop(future.key), self._result(future)

    def _next(self, ended: Any) -> Any:
        """The next future that has ended. Raises UserError if no worker is left that could end one."""
        checked = monotonic()
        while not ended.has_ready():
            sleep(POLL_SECONDS)
            if monotonic() >= checked + CONNECT_SECONDS:
                self.present()
                checked = monotonic()
        return next(ended)

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
        except Exception as error:  # anything that a worker's own code raises
            raise UserError(
                f"a worker failed ({_words(error)})",
                where=f"--cluster {self.address}",
                hint="Install the same Dramaturg everywhere, and check the workers' logs.",
            ) from None


def check_source(address: str, source: str) -> None:
    """Raise UserError if a worker runs another source than this command."""
    if source != SOURCE:
        raise UserError(
            f"its Dramaturg differs from the command's (source {source[:8] or 'unknown'}, not {SOURCE[:8]})",
            where=f"worker {address}",
            hint="Install the same version, with the same changes, everywhere, and start the workers again.",
        )


class ClusterRun:
    """Carries out a job on a cluster, as a Runner does in this process.

    A cost limit is divided among the workers, each of which checks its share before every call. So it is
    exceeded by no more than the calls in flight. What a lost worker may have spent of its share counts as
    spent. If money is left when all shares are used up, or workers have joined, it is divided again.
    """

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
        self._storage = TreeStorage(job.protocol, job.tree)
        self._models = models_called([job])
        self._proven = tuple(sorted(job.plan.answered))
        self._cache = cache
        self._report = report
        self._listener = listener
        free = all(job.protocol.catalog.model(name).free for name in self._models)
        self._limit = None if free else max_cost
        self._waiting = deque(job.plan.work)
        self._shares: dict[str, Decimal] = {}
        """Of the workers that have not used theirs up in this round."""
        self._counted: dict[str, CellResult] = {}
        self._stop: UserError | None = None

    def run(self) -> None:
        """Do all work of the job, or until the budget is reached.

        Raises UserError. Cells that are under way then are still finished and stored.
        """
        before: tuple[object, ...] = ()
        for number in count(1):
            left = self._left()
            now = left, len(self._waiting), self._cluster.present()
            spent = left is not None and left <= 0
            if spent or not self._waiting or self._stop is not None or now == before:
                break
            before = now
            self._round(number, left)
        if self._stop is not None:
            raise self._stop
        self._report.budget_reached = bool(self._waiting)

    def _left(self) -> Decimal | None:
        """US dollars that may still be spent; None: no limit."""
        return None if self._limit is None else self._limit - self._report.stats.cost - self._cluster.lost

    def _round(self, number: int, left: Decimal | None) -> None:
        """Work until nothing waits or every worker has used up its share of ``left``."""
        workers = self._cluster.present()
        shares = None if left is None else {address: left / len(workers) for address in workers}
        self._shares = dict(shares or {})
        bundle = bundle_of(
            self._protocol,
            self._models,
            run=self._cluster.run,
            cache=self._cache,
            workers=len(workers),
        ).model_copy(update={"shares": shares, "round": number, "proven": self._proven})
        for item, result in self._cluster.map(bundle.model_dump_json(), self._take, self._payers):
            self._count(result)
            self._take_in(item, result)
        present = set(self._cluster.addresses)
        for address, share in self._shares.items():
            if address not in present:
                spent = [known.stats.cost for known in self._counted.values() if known.worker == address]
                self._cluster.lost += max(Decimal(0), share - sum(spent, Decimal(0)))

    def _payers(self) -> Collection[str] | None:
        """Workers with money left; None if there is no limit."""
        return None if self._limit is None else self._shares.keys() & set(self._cluster.addresses)

    def _take(self) -> CellWork | None:
        """The next cell, unless an error or the budget stops the run."""
        nobody = self._limit is not None and not self._payers()
        return None if self._stop is not None or nobody or not self._waiting else self._waiting.popleft()

    def _take_in(self, item: CellWork, result: CellResult) -> None:
        """Store what a worker has done of ``item``; if it has no money left, the rest waits for another."""
        try:
            check_source(result.worker, result.source)
            self._store(result)
        except UserError as error:
            self._stop = self._stop or error
        if result.fault is not None:
            self._stop = self._stop or result.fault.error()
        if result.budget_reached:
            self._shares.pop(result.worker, None)
            if (rest := rest_of(item, result)) is not None:
                self._waiting.appendleft(rest)

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


def rest_of(item: CellWork, result: CellResult) -> CellWork | None:
    """What is left to do of ``item``; None if nothing."""
    conversation = next(iter(result.conversations), item.conversation)
    done = {judgement.judge for judgement in result.judgements}
    judges = tuple(judge for judge in item.judges if judge not in done)
    talk = item.talk and not result.conversations
    failed = not talk and conversation is not None and conversation.status == "failed"
    if failed or not (talk or judges):
        return None
    return item.model_copy(update={"talk": talk, "judges": judges, "conversation": conversation})


def _check(record: Conversation | Judgement, fingerprint: str) -> None:
    if record.fingerprint != fingerprint or record.digest != digest_of(record):
        raise UserError(
            f"a worker sent a record with other inputs ({record.character}, {record.situation})",
            hint="Install the same Dramaturg everywhere, and do not edit prompts during a run.",
        )


def _words(error: BaseException) -> str:
    text = " ".join(str(error).split())[:160]
    return text or type(error).__name__
