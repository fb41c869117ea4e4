"""Scenes as items of a test: whether they spread the players and agree with the other scenes."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from bench.scores.analyses.scenes import scene_finals
from bench.scores.bootstrap import Array
from bench.scores.clusters import mean_of_known
from bench.scores.digits import published
from bench.scores.frame import SCENE, Frames

LEAST_PLAYERS = 10
"""Fewest players for an item-rest correlation."""
LOW_SPREAD = 0.25
"""A scene hardly spreads the players if its spread is below this share of the median scene's."""
UNRELATED = 0.3
"""A scene is unrelated to the others if the whole 95% interval of its correlation lies below this."""
NORMAL = 1.959963984540054
"""Quantile of the standard normal distribution for a 95% interval."""
COLUMNS = [*SCENE[1:], "players", "score", "spread", "item_rest", "low", "high", "flag", "reason"]


def scene_items(frames: Frames) -> pd.DataFrame:
    """One row per scene, by character and situation.

    ``score``, ``spread``: mean and standard deviation of the ``players`` that have a score there.
    ``item_rest``: Pearson correlation, over these players, of the scene's score with the mean of the player's
    other scenes (each minus the mean of all players in it, so that it does not matter which are missing),
    with its 95% interval by Fisher's transformation. ``flag``: ``spread`` or ``unrelated``, see LOW_SPREAD
    and UNRELATED; empty if neither, missing with too few players.
    """
    finals = scene_finals(frames)
    if finals.empty:
        return pd.DataFrame(columns=COLUMNS)
    table = finals.unstack("player")
    values = table.to_numpy(dtype=np.float64).T
    counts, means, spreads = table.count(axis=1), table.mean(axis=1), table.std(axis=1).map(published)
    middle = float(np.median(spreads.dropna().to_numpy(dtype=np.float64))) if spreads.notna().any() else 0.0
    rows = []
    for n, (scene, count, mean, spread) in enumerate(zip(table.index, counts, means, spreads, strict=True)):
        value, low, high, reason = _item_rest(values, n)
        flag = _flag(spread, high, middle, count)
        rows.append((*scene, count, published(mean), spread, value, low, high, flag, reason))
    return pd.DataFrame(rows, columns=COLUMNS)


def _item_rest(values: Array, scene: int) -> tuple[float | None, float | None, float | None, str | None]:
    """(correlation, low, high, reason) of a scene; ``values``: players x scenes."""
    have = ~np.isnan(values)
    centred = np.where(have, values - mean_of_known(values), 0.0)
    others = np.delete(np.arange(values.shape[1]), scene)
    counts = have[:, others].sum(axis=1)
    both = have[:, scene] & (counts > 0)
    if (n := int(both.sum())) < LEAST_PLAYERS:
        players = "1 player has" if n == 1 else f"{n} players have"
        return None, None, None, f"only {players} other scenes: a correlation needs {LEAST_PLAYERS}"
    x = values[both, scene]
    rest = centred[np.ix_(both, others)].sum(axis=1) / counts[both]
    a, b = x - x.mean(), rest - rest.mean()
    size = math.sqrt(float((a**2).sum() * (b**2).sum()))
    if size < 1e-12:
        return None, None, None, "the same score for every player: no correlation"
    value = max(-1.0, min(1.0, float((a * b).sum()) / size))
    if abs(value) > 1 - 1e-9:
        return published(value), None, None, "a perfect correlation: no interval"
    low, high = (math.tanh(math.atanh(value) + side * NORMAL / math.sqrt(n - 3)) for side in (-1, 1))
    return published(value), published(low), published(high), None


def _flag(spread: float, high: float | None, middle: float, players: int) -> str | None:
    if players < LEAST_PLAYERS or math.isnan(spread):
        return None
    if spread < LOW_SPREAD * middle or spread == 0:
        return "spread"
    return "unrelated" if high is not None and high < UNRELATED else ""
