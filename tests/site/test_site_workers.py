"""Tasks that the site build shares among processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

import pytest

from bench.site.workers import at_once
from tests.tiny import ROOT


def _slowly(number: int) -> tuple[int, int]:
    time.sleep(0.02)
    return number, os.getpid()


@pytest.mark.parametrize("count", [1, 2, 3, 20])
def test_the_results_come_in_the_order_of_the_tasks(count: int) -> None:
    found = list(at_once([partial(_slowly, number) for number in range(8)], count))
    assert [number for number, _ in found] == list(range(8))
    assert len({process for _, process in found}) <= (min(count, 8) if sys.platform == "linux" else 1)


@pytest.mark.parametrize("place", [0, 5])
def test_an_error_in_any_task_reaches_the_caller(place: int) -> None:
    tasks: list[Callable[[], object]] = [partial(_slowly, number) for number in range(6)]
    tasks[place] = partial(int, "no number")
    with pytest.raises(ValueError, match="no number"):
        list(at_once(tasks, 2))
    assert len(list(at_once(tasks[1:5], 2))) == 4


INTERRUPTED = """
import os, signal, sys, time
from bench.run.processes import beside
from bench.site.workers import at_once

here = os.getpid()

def interrupted_and_slow():
    if os.getpid() == here:
        time.sleep(0.2)
        reach = os.killpg if sys.argv[2] == "all" else os.kill
        reach(os.getpid(), signal.Signals[sys.argv[3]])
    time.sleep(30)

try:
    if sys.argv[1] == "at_once":
        list(at_once([interrupted_and_slow] * 2, 2))
    else:
        result = beside(interrupted_and_slow)
        interrupted_and_slow()
except KeyboardInterrupt:
    print("stopped")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="these processes are forked")
@pytest.mark.parametrize("way", ["at_once", "beside"])
@pytest.mark.parametrize(
    ("reach", "signal", "said"),
    [("all", "SIGINT", "stopped\n"), ("first", "SIGINT", "stopped\n"), ("first", "SIGKILL", "")],
)
def test_a_signal_ends_all_processes_at_once_and_silently(
    way: str, reach: str, signal: str, said: str
) -> None:
    words = [sys.executable, "-c", INTERRUPTED, way, reach, signal]
    process = subprocess.Popen(
        words, cwd=ROOT, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.communicate(timeout=20) == (said, "")  # once no process is left to write
    finally:
        process.kill()
