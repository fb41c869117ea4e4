"""What several analyses start from is made once for each set of frames."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

import pandas as pd

from bench.scores.frame import Frames

Table = TypeVar("Table", pd.DataFrame, pd.Series)


def once(make: Callable[[Frames], Table]) -> Callable[[Frames], Table]:
    """``make``, which remembers what it made of frames for as long as somebody holds them.

    Every caller gets a table of its own (pandas copies when one of them writes).
    """
    made: dict[int, Table] = {}

    @wraps(make)
    def remembered(frames: Frames) -> Table:
        key = id(frames)  # frames hold tables, so they cannot be hashed
        if key not in made:
            made[key] = make(frames)
            weakref.finalize(frames, made.pop, key)
        return made[key].copy(deep=False)

    return remembered
