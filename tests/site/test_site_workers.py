"""Tasks that the site build shares among processes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import partial

import pytest

from bench.site.workers import at_once


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
