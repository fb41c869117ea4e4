"""Mean scores by character and situation, before length normalisation: which are hard, for whom."""

from __future__ import annotations

import pandas as pd

from bench.scores.analyses.scenes import scene_finals
from bench.scores.analyses.sure import mean_estimate
from bench.scores.frame import Frames
from bench.scores.paper import published

KINDS = ("character", "situation")
DIFFICULTY_COLUMNS = ["kind", "id", "conversations", "players", "score", "effect", "low", "high", "reason"]


def difficulty(frames: Frames) -> pd.DataFrame:
    """One row per character and per situation (``kind``, ``id``), the hardest of its kind first.

    ``score``: plain mean of the conversations there.
    ``effect``: how far they are above (easier) or below the same players' averages: each conversation minus
    its player's mean, averaged, so players that miss a scene do not distort it. Its interval clusters by
    player and by the other side of the scene.
    """
    finals = scene_finals(frames)
    rest = finals - finals.groupby(level="player").transform("mean")
    rows = []
    for kind in KINDS:
        for name, mine in rest.groupby(level=kind):
            if not name:
                continue  # published scenes have no character
            others = mine.droplevel(kind)
            rows.append(
                {
                    "kind": kind,
                    "id": name,
                    "conversations": len(others),
                    "players": others.index.get_level_values("player").nunique(),
                    "score": published(float(finals.xs(name, level=kind).mean())),
                    **mean_estimate(others).cells("effect"),
                }
            )
    table = pd.DataFrame(rows, columns=DIFFICULTY_COLUMNS)
    return table.sort_values(["kind", "effect", "id"], ignore_index=True)


def side_means(frames: Frames) -> pd.DataFrame:
    """One row per player and character, and per player and situation (``kind``, ``id``)."""
    finals = scene_finals(frames)
    parts = []
    for kind in KINDS:
        if finals.empty or any(finals.index.get_level_values(kind)):
            sides = finals.groupby(level=["player", kind])
            table = pd.DataFrame({"conversations": sides.size(), "score": sides.mean().map(published)})
            parts.append(table.rename_axis(["player", "id"]).reset_index().assign(kind=kind))
    return pd.concat(parts, ignore_index=True)[["player", "kind", "id", "conversations", "score"]]
