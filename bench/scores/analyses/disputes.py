"""The single turns on which judges lie furthest apart."""

from __future__ import annotations

import pandas as pd

from bench.scores.analyses.scenes import turn_scores
from bench.scores.frame import SCENE, Frames

MOST = 20
"""Turns that are listed."""
COLUMNS = [*SCENE, "turn", "gap"]


def disputes(frames: Frames) -> pd.DataFrame:
    """The most disputed turn of each conversation, the first of equals; of these the MOST most disputed.

    ``gap``: the largest minus the smallest score of a criterion, added up over the criteria.
    """
    rows = turn_scores(frames)
    if rows.empty:
        return pd.DataFrame(columns=COLUMNS)
    by_criterion = rows.groupby([*SCENE, "turn", "criterion"])["score"]
    spans = by_criterion.max() - by_criterion.min()
    gaps = spans.groupby(level=[*SCENE, "turn"]).sum().rename("gap").reset_index()
    gaps = gaps[gaps["gap"] > 0].sort_values(["gap", *SCENE, "turn"], ascending=[False, *[True] * 4])
    worst = gaps.drop_duplicates(SCENE).head(MOST)
    return worst.reset_index(drop=True)[COLUMNS]
