"""Pages written in parallel, if there are enough players to be worth starting processes."""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from bench.run.processes import end_with_parent, killed_on_error, unaware_of_interrupts
from bench.site.conversation_pages import ConversationWriter, PlayerJob, PlayerResult, Setup

WORTH_A_PROCESS = 24
"""With fewer players, this process does everything."""
MOST = 8
"""Processes."""
RARELY = 20_000
"""New objects until a worker looks for garbage. With Python's 700 that takes a tenth of the time and finds
little; with far more, memory grows."""


class Workers:
    """Writes the pages of players, in this process or in worker processes."""

    def __init__(self, setup: Setup, pool: ProcessPoolExecutor | None) -> None:
        self._setup = setup
        self._pool = pool

    def start(self, jobs: Sequence[PlayerJob]) -> Iterable[PlayerResult]:
        """Start the jobs. Iterating waits for the results, which come in the order of the jobs."""
        if self._pool is None:
            return map(ConversationWriter(self._setup).write, jobs)
        with unaware_of_interrupts():
            futures = deque(self._pool.submit(_write, job) for job in jobs)
        return _in_order(futures)


def _in_order(futures: deque[Future[PlayerResult]]) -> Iterator[PlayerResult]:
    """The results, each of which is forgotten here once it is taken: together they are large."""
    while futures:
        yield futures.popleft().result()


_writer: list[ConversationWriter] = []
"""The writer of a worker process."""


def _prepare(setup: Setup) -> None:
    end_with_parent()
    _writer.append(ConversationWriter(setup))
    gc.freeze()  # what was loaded stays
    gc.set_threshold(RARELY)


def _write(job: PlayerJob) -> PlayerResult:
    return _writer[0].write(job)


def _can_spawn() -> bool:
    """Whether workers can start: a program read from standard input cannot be loaded again."""
    path = getattr(sys.modules["__main__"], "__file__", None)
    return path is None or Path(path).exists()


def processes(players: int, jobs: int | None) -> int:
    """How many processes to use for this many players. ``jobs``: as for :func:`workers`."""
    if jobs is not None:
        return jobs
    return min(MOST, os.cpu_count() or 1) if players >= WORTH_A_PROCESS else 1


@contextmanager
def workers(setup: Setup, players: int, jobs: int | None = None) -> Iterator[Workers]:
    """Workers for this many players. ``jobs``: number of processes; None: choose; 1: only this one."""
    count = processes(players, jobs) if _can_spawn() else 1
    if count < 2:
        yield Workers(setup, None)
        return
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(count, mp_context=context, initializer=_prepare, initargs=(setup,))
    with executor as pool, killed_on_error():
        yield Workers(setup, pool)


_Result = TypeVar("_Result")
_tasks: list[Callable[[], Any]] = []
"""The tasks of forked processes, which inherit them: what they work on could not be sent."""
_next: list[Any] = []
"""The number of the first task that no process has taken, in memory that the processes share."""


def at_once(tasks: Sequence[Callable[[], _Result]], count: int) -> Iterator[_Result]:
    """The results of ``tasks`` in order, from up to ``count`` processes where the system has fork.

    This process is one of them: if it only waited, the memory would be there once more.
    """
    more = min(count, len(tasks)) - 1
    if more < 1 or sys.platform != "linux":
        yield from (task() for task in tasks)
        return
    context = multiprocessing.get_context("fork")
    _tasks[:], _next[:] = tasks, [context.Value("i", 0)]
    gc.freeze()  # looking for garbage would copy the memory that the processes share
    try:
        executor = ProcessPoolExecutor(more, mp_context=context, initializer=end_with_parent)
        with executor as pool, killed_on_error():
            with unaware_of_interrupts():
                others = [pool.submit(_done) for _ in range(more)]
            done = _done()
            for other in others:
                done |= other.result()
    finally:
        gc.unfreeze()
        _tasks.clear()
        _next.clear()
    yield from (done[number] for number in range(len(tasks)))


def _done() -> dict[int, Any]:
    """The results of the tasks that this process has taken, by number."""
    done = {}
    while (number := _taken()) < len(_tasks):
        done[number] = _tasks[number]()
    return done


def _taken() -> int:
    with _next[0].get_lock():
        number: int = _next[0].value
        _next[0].value += 1
    return number
