"""The turns on which judges differ most."""

from __future__ import annotations

import pandas as pd

from bench.scores.frame import TALK, Frames

MOST = 20
"""Number of turns listed."""


def disputes(frames: Frames) -> pd.DataFrame:
    """The most disputed turn of each conversation (see :func:`bench.scores.rules.dispute_of`).

    At most MOST rows, the widest ``gap`` first.
    """
    turns = [*TALK, "turn"]
    by_criterion = frames.counting_scores.groupby([*turns, "criterion"])["score"]
    gaps = (by_criterion.max() - by_criterion.min()).groupby(turns).sum().rename("gap").reset_index()
    ascending = [False, *[True] * 5]
    found: pd.DataFrame = gaps[gaps["gap"] > 0].sort_values(["gap", *turns], ascending=ascending)
    return found.drop_duplicates(TALK).head(MOST).reset_index(drop=True)
