"""Runs asynchronous work from ordinary code, even in a notebook, where an event loop is already running."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from bench import GARBAGE_THRESHOLD

T = TypeVar("T")


def run_async(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """The result of ``work()``. KeyboardInterrupt cancels it, waits for its cleanup, and is raised."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _run(work)
    return _run_in_thread(work)


def _run(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    with _rare_garbage_collection(), asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(work())


def _run_in_thread(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    started: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []

    async def noted() -> T:
        task = asyncio.current_task()
        assert task is not None
        started.append((asyncio.get_running_loop(), task))
        return await work()

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(_run, noted)
        try:
            return future.result()
        except KeyboardInterrupt:
            for loop, task in started:
                loop.call_soon_threadsafe(task.cancel)
            raise


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop if it is installed: it halves the CPU time of a call."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


@contextlib.contextmanager
def _rare_garbage_collection() -> Iterator[None]:
    """Search for cyclic garbage rarely, and not in what is there already, such as modules."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD, *before[1:])
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
