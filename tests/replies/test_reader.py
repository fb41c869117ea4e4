"""The thread that reads long replies."""

from __future__ import annotations

import asyncio
import os
import threading
import time

import pytest

from bench.replies.reader import in_reader


def test_one_thread_reads_what_several_calls_bring() -> None:
    reading, most = 0, 0

    def read(number: int) -> int:
        nonlocal reading, most
        reading += 1
        most = max(most, reading)
        time.sleep(0.01)
        reading -= 1
        return number

    async def several() -> list[int]:
        return await asyncio.gather(*(in_reader(read, number) for number in range(8)))

    assert asyncio.run(several()) == list(range(8))
    assert asyncio.run(several()) == list(range(8))  # in another event loop
    assert most == 1


def test_what_waits_for_the_reader_ends_with_its_call() -> None:
    """Ctrl-C waits at most for the one reply that is being read."""
    go_on, read = threading.Event(), list[int]()

    async def stopped() -> None:
        waiting = [in_reader(read.append, number) for number in range(64)]
        tasks = [asyncio.create_task(call) for call in (in_reader(go_on.wait, 5), *waiting)]
        await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        go_on.set()
        await in_reader(read.append, 99)

    asyncio.run(stopped())
    assert read == [99]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_has_a_reader_of_its_own() -> None:
    asyncio.run(in_reader(int))
    child = os.fork()
    if not child:
        os._exit(asyncio.run(asyncio.wait_for(in_reader(int, "7"), 5)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
