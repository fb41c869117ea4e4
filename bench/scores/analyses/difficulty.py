"""Which characters and situations are hard."""

from __future__ import annotations

import pandas as pd

from bench.scores.analyses.scenes import scene_finals
from bench.scores.analyses.sure import mean_estimate
from bench.scores.frame import Frames
from bench.scores.paper import published

KINDS = ("character", "situation")


def difficulty(frames: Frames) -> pd.DataFrame:
    """One row per character and per situation (``kind``, ``id``), the hardest first within its kind.

    ``score`` is the plain mean there. ``effect`` is how far it lies above (positive: easier) or below what
    the same players score on average: each conversation minus its player's mean, averaged; so players that
    miss a scene do not tilt it. Its interval clusters by player and by the other side of the scene.
    """
    finals = scene_finals(frames)
    rest = finals - finals.groupby(level="player").transform("mean")
    rows = []
    for kind in KINDS:
        found = []
        for name in sorted(set(finals.index.get_level_values(kind))):
            mine = rest.xs(name, level=kind)
            effect = mean_estimate(mine)
            found.append(
                {
                    "kind": kind,
                    "id": name,
                    "conversations": len(mine),
                    "players": mine.index.get_level_values("player").nunique(),
                    "score": published(float(finals.xs(name, level=kind).mean())),
                    **effect.cells("effect"),
                }
            )
        rows += sorted(found, key=lambda row: (row["effect"], row["id"]))
    return pd.DataFrame(rows, columns=COLUMNS)


COLUMNS = ["kind", "id", "conversations", "players", "score", "effect", "low", "high", "reason"]
