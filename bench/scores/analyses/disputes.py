"""The turns on which judges differ most."""

from __future__ import annotations

import pandas as pd

from bench.scores.frame import TALK, Frames
from bench.scores.rules import most_disputed

MOST = 20
"""Number of turns listed."""
DISPUTE_COLUMNS = [*TALK, "turn", "gap"]


def disputes(frames: Frames) -> pd.DataFrame:
    """The most disputed turn of each conversation (see :func:`bench.scores.rules.most_disputed`).

    At most MOST rows, the widest ``gap`` first.
    """
    scenes: dict[tuple[object, ...], dict[int, dict[str, dict[str, int]]]] = {}
    columns = (frames.counting_scores[name] for name in (*TALK, "turn", "judge", "criterion", "score"))
    for *scene, turn, judge, criterion, score in zip(*columns, strict=True):
        turns = scenes.setdefault(tuple(scene), {})
        turns.setdefault(turn, {}).setdefault(judge, {})[criterion] = score
    rows = [
        (*scene, dispute.turn, dispute.gap)
        for scene, turns in scenes.items()
        if (dispute := most_disputed(turns))
    ]
    found = pd.DataFrame(rows, columns=DISPUTE_COLUMNS)
    ascending = [False, *[True] * 5]
    return found.sort_values(["gap", *TALK, "turn"], ascending=ascending, ignore_index=True).head(MOST)
