"""The thread that reads long replies, so that they hold up neither other calls nor Ctrl-C."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache, partial
from time import sleep
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

T = TypeVar("T")

PAUSE = 0.01
"""Seconds after each reply in which the event loop goes on undisturbed. It takes many short steps, and while
a text is searched, each of them waits for the end of a search."""


async def in_reader(work: Callable[..., T], *arguments: Any) -> T:
    """What ``work`` returns. Its turn comes after all earlier work, unless it is cancelled before that.

    There is one thread, because only one thread of Python computes at a time. With several, the event loop
    waits for each of them in turn, at every step it takes.
    """
    import asyncio  # takes as long to import as the rest of a protocol: `bench check` needs none of it

    return await asyncio.get_running_loop().run_in_executor(_reader(), partial(_read, work, arguments))


def _read(work: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    try:
        return work(*arguments)
    finally:
        sleep(PAUSE)


@cache
def _reader() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(1, "reader")


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_reader.cache_clear)  # a fork has no threads
