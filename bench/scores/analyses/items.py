"""Scenes as items of a test: whether they spread the players and agree with the other scenes."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from bench.scores.analyses.scenes import scene_finals
from bench.scores.bootstrap import Array
from bench.scores.frame import Frames
from bench.scores.paper import published

LEAST_PLAYERS = 10
"""Fewest players for an item-rest correlation."""
LOW_SPREAD = 0.25
"""A scene hardly spreads the players if its spread is below this share of the median scene's."""
UNRELATED = 0.3
"""A scene is unrelated to the others if the whole 95% interval of its correlation lies below this."""
NORMAL = 1.959963984540054
"""Quantile of the standard normal distribution for a 95% interval."""
COLUMNS = [
    "character",
    "situation",
    "players",
    "score",
    "spread",
    "item_rest",
    "low",
    "high",
    "flag",
    "reason",
]


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
    spreads = [_spread(values[:, n]) for n in range(values.shape[1])]
    known = [spread for spread in spreads if spread is not None]
    middle = float(np.median(known)) if known else 0.0
    rows = []
    for n, (character, situation) in enumerate(table.index):
        scores = values[~np.isnan(values[:, n]), n]
        value, low, high, reason = _item_rest(values, n)
        rows.append(
            {
                "character": character,
                "situation": situation,
                "players": len(scores),
                "score": published(math.fsum(scores) / len(scores)),
                "spread": spreads[n],
                "item_rest": value,
                "low": low,
                "high": high,
                "flag": _flag(spreads[n], high, middle, len(scores)),
                "reason": reason,
            }
        )
    return pd.DataFrame(rows, columns=COLUMNS)


def _spread(column: Array) -> float | None:
    """Standard deviation of what is known; None of fewer than two."""
    known = column[~np.isnan(column)]
    return published(float(known.std(ddof=1))) if len(known) > 1 else None


def _item_rest(values: Array, scene: int) -> tuple[float | None, float | None, float | None, str | None]:
    """(correlation, low, high, reason) of a scene; ``values``: players x scenes."""
    have = ~np.isnan(values)
    centred = np.where(have, values - _column_means(values, have), 0.0)
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


def _column_means(values: Array, have: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> Array:
    means: Array = np.where(have, values, 0.0).sum(axis=0) / np.maximum(have.sum(axis=0), 1)
    return means


def _flag(spread: float | None, high: float | None, middle: float, players: int) -> str | None:
    if players < LEAST_PLAYERS or spread is None:
        return None
    if spread < LOW_SPREAD * middle or spread == 0:
        return "spread"
    return "unrelated" if high is not None and high < UNRELATED else ""
