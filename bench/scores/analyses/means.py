"""Plain means of conversations' scores, before length normalisation: of scenes, and of players by side."""

from __future__ import annotations

import pandas as pd

from bench.scores.analyses.difficulty import KINDS
from bench.scores.analyses.scenes import scene_finals
from bench.scores.frame import Frames
from bench.scores.paper import published

SCENES = ["character", "situation", "players", "score"]
SIDES = ["player", "kind", "id", "conversations", "score"]


def scene_means(frames: Frames) -> pd.DataFrame:
    """One row per scene: the mean ``score`` of the ``players`` that have one there."""
    return _means(scene_finals(frames), ["character", "situation"], "players")[SCENES]


def side_means(frames: Frames) -> pd.DataFrame:
    """One row per player and character, and per player and situation (``kind``, ``id``)."""
    finals = scene_finals(frames)
    parts = [
        _means(finals, ["player", kind], "conversations").rename(columns={kind: "id"}).assign(kind=kind)
        for kind in KINDS
    ]
    return pd.concat(parts, ignore_index=True)[SIDES]


def _means(finals: pd.Series, keys: list[str], count: str) -> pd.DataFrame:
    """Mean ``score`` and ``count`` of values by ``keys``, which become columns."""
    grouped = finals.groupby(level=keys)
    made = pd.DataFrame({count: grouped.size(), "score": grouped.mean().map(published)})
    return made.rename_axis(keys).reset_index()
