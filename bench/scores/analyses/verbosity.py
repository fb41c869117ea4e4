"""Do longer answers score higher? Between players, and within each player's own conversations."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from bench.scores.analyses.scenes import scene_finals
from bench.scores.analyses.sure import Estimate, interval_of
from bench.scores.bootstrap import Array
from bench.scores.correlation import correlation, rho
from bench.scores.digits import known, published
from bench.scores.frame import SCENE, Frames


def verbosity(frames: Frames) -> pd.DataFrame:
    """Score (before length normalisation) against answer length in characters.

    Rows by ``kind``:

    ``between``  Spearman over players of mean score and mean answer length, with bootstrap interval and p
    ``within``   points per doubling of the length: slope over all conversations after each player's and each
                 scene's own level is taken out, with a two-way clustered interval
    ``player``   Spearman over the player's conversations, each measured from its scene's mean over players;
                 no interval, since conversations of one character are not independent
    """
    table = _lengths(frames)
    rows = [_between(frames, table), _within(table)]
    level = table - table.groupby(level=SCENE[1:]).transform("mean")
    shared = table["final"].groupby(level=SCENE[1:]).transform("count") > 1
    for player in sorted(set(table.index.get_level_values("player"))):
        mine = level[shared].loc[shared[shared].index.get_level_values("player") == player]
        value = rho(mine["doublings"].tolist(), mine["final"].tolist())
        lacking = "fewer than three scenes that others played too, or all alike" if value is None else None
        row = {"kind": "player", "player": player, "n": len(mine), "value": known(value), "reason": lacking}
        rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS)


COLUMNS = ["kind", "player", "n", "value", "low", "high", "p", "reason"]


def _lengths(frames: Frames) -> pd.DataFrame:
    """Per scored conversation: ``final``, and ``doublings``, log2 of its mean answer length."""
    finals = scene_finals(frames)
    lengths = frames.conversations.groupby(SCENE)["mean_answer_characters"].mean().reindex(finals.index)
    written = lengths[lengths > 0].index
    doublings = np.log2(lengths.loc[written].to_numpy(dtype=np.float64))
    return pd.DataFrame({"final": finals.loc[written], "doublings": doublings}, index=written)


def _between(frames: Frames, table: pd.DataFrame) -> dict[str, object]:
    means = table["final"].groupby(level="player").mean()
    lengths = frames.answer_lengths
    names = [str(name) for name in means.index]
    made = correlation(
        "spearman",
        [lengths[name] for name in names],
        means.tolist(),
        ["verbosity", frames.suite, frames.language],
    )
    return {**made.model_dump(), "kind": "between", "player": ""}


def _within(table: pd.DataFrame) -> dict[str, object]:
    estimate = within_slope(table)
    return {"kind": "within", "player": "", "n": estimate.n, **estimate.cells()}


def within_slope(table: pd.DataFrame) -> Estimate:
    """Points per doubling with player and scene effects, clustered by character and situation."""
    n = len(table)
    index = table.index.to_frame(index=False)
    scenes = index["character"] + "\0" + index["situation"]
    effects = [pd.get_dummies(index["player"], dtype=float), pd.get_dummies(scenes, dtype=float)]
    design = np.hstack([part.to_numpy() for part in effects])
    values = table[["doublings", "final"]].to_numpy(dtype=np.float64)
    fitted, _, rank, _ = np.linalg.lstsq(design, values, rcond=None)
    free = n - int(rank) - 1
    if free < 1:
        return Estimate(None, n=n, reason="too few conversations beside the players and scenes")
    x, y = (values - design @ fitted).T
    weight = float(x @ x)
    if weight < 1e-9:
        return Estimate(None, n=n, reason="answer lengths do not vary beside players and scenes")
    slope = float(x @ y) / weight
    error, df = _clustered(x * (y - slope * x), index["character"], index["situation"])
    if df < 1:
        return Estimate(published(slope), n=n, reason="one character or one situation: no interval")
    return interval_of(slope, error * math.sqrt((n - 1) / free) / weight, df, n)


def _clustered(pulls: Array, first: pd.Series, second: pd.Series) -> tuple[float, float]:
    """Standard error of a sum, clustered two ways, and the degrees of freedom of the coarser side."""
    both = first + "\0" + second
    parts = []
    for clusters in (first, second, both):
        sums = pd.Series(pulls).groupby(clusters.to_numpy()).sum()
        count = len(sums)
        parts.append((float((sums**2).sum()) * count / max(count - 1, 1), count))
    variance = max(parts[0][0] + parts[1][0] - parts[2][0], parts[2][0])
    return math.sqrt(variance), float(min(parts[0][1], parts[1][1]) - 1)
