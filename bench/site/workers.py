"""Players stamped side by side, where there are enough of them to be worth starting processes for."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from bench.records import PlayerInfo
from bench.site.labels import BoardPlace
from bench.site.stamp import FEW, Stamped, Stamper

WORTH_A_PROCESS = 24
"""Players below which all is done in this process."""
MOST = 8

Job = tuple[BoardPlace, PlayerInfo, tuple[PlayerInfo, ...]]


class Workers:
    """Stamps players, here or in worker processes; results come by board, in order."""

    def __init__(self, stamper: Stamper, pool: ProcessPoolExecutor | None) -> None:
        self._stamper = stamper
        self._pool = pool

    def start(self, place: BoardPlace, infos: list[PlayerInfo]) -> Iterable[Stamped]:
        """Begin with the players of a board; iterating waits for them."""
        others = tuple(infos) if len(infos) <= FEW else ()
        jobs: list[Job] = [(place, info, others) for info in infos]
        if self._pool is None:
            return (self._stamper.stamp(*job) for job in jobs)
        futures = [self._pool.submit(_stamp, job) for job in jobs]
        return (future.result() for future in futures)


_stampers: list[Stamper] = []


def _prepare(stamper: Stamper) -> None:
    _stampers.append(stamper)


def _stamp(job: Job) -> Stamped:
    return _stampers[0].stamp(*job)


def _can_spawn() -> bool:
    """A program that comes from standard input cannot be started again in a worker."""
    path = getattr(sys.modules["__main__"], "__file__", None)
    return path is None or Path(path).exists()


@contextmanager
def workers(stamper: Stamper, players: int, jobs: int | None = None) -> Iterator[Workers]:
    """Workers for so many players; ``jobs``: how many processes at most, 1 for none beside this one."""
    count = min(MOST, os.cpu_count() or 1) if jobs is None else jobs
    if not _can_spawn():
        count = 1
    if count < 2 or (jobs is None and players < WORTH_A_PROCESS):
        yield Workers(stamper, None)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, mp_context=context, initializer=_prepare, initargs=(stamper,)) as pool:
        try:
            yield Workers(stamper, pool)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
