"""The robust scoring: which differences are significant if characters and situations are samples too.

All players play the same scenes, and a hard character is hard for all of them. So intervals come from
resampling characters and situations (not single conversations), and two players are compared by their
differences on the same scenes. Scores, differences and errors are in points of the protocol's scale.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import optimize, special, stats

from bench.protocol_facts import facts_of
from bench.scores import paper
from bench.scores.bootstrap import (
    CONFIDENCE,
    Array,
    draw_counts,
    interval,
    resampled_grid_means,
    stable_stream,
)
from bench.scores.frame import Frames
from bench.scores.policy import ROBUST, Policy, scene_scores
from bench.scores.weights import Weights

Correction = Literal["holm", "bh", "none"]
ALPHA = 1 - CONFIDENCE
POWER = 0.8
CORRECTION: Correction = "bh"
"""Benjamini-Hochberg: 5% of the pairs called different are expected to be errors. Holm limits the probability
of a single error among all pairs, which detects little among 63 players on 64 scenes."""


@dataclass(frozen=True)
class Grid:
    """Scores as an array players x characters x situations, NaN if missing, and the names of its axes."""

    players: tuple[str, ...]
    characters: tuple[str, ...]
    situations: tuple[str, ...]
    values: Array


def robust_grid(frames: Frames, weights: Weights, policy: Policy = ROBUST) -> Grid:
    """Length-normalised final scores of all players and scenes under ``policy``."""
    finals = scene_scores(frames, weights, policy)["final"]
    terms = paper.length_terms(frames, finals.groupby(level="player").mean())
    terms = terms.reindex(finals.index.get_level_values("player"))
    return grid(finals * terms["factor"].to_numpy() + terms["shift"].to_numpy())


def robust_numbers(
    scores: Grid, *, resamples: int, key: Sequence[str | int], correction: Correction = CORRECTION
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two tables: players (:func:`intervals` and :func:`rank_intervals`, best first), and their pairs
    (:func:`paired_differences`)."""
    pairs = paired_differences(scores, correction)
    players = intervals(scores, resamples, key)
    players = players.join(rank_intervals(players["score"], pairs).drop(columns="score"))
    return players.sort_values("score", ascending=False, kind="stable"), pairs


def grid(scenes: pd.Series) -> Grid:
    """The grid of a series indexed by SCENE."""
    names = [tuple(sorted(set(scenes.index.get_level_values(level)))) for level in range(3)]
    index = pd.MultiIndex.from_product(names, names=scenes.index.names)
    values = scenes.reindex(index).to_numpy(dtype=np.float64).reshape([len(part) for part in names])
    return Grid(players=names[0], characters=names[1], situations=names[2], values=values)


def two_way_means(scores: Grid, resamples: int, key: Sequence[str | int]) -> Array:
    """Means in resamples of characters and situations: an array resamples x players.

    Every resample is the same for all players, so differences between columns are differences on the same
    scenes. A mean is NaN if the resample contains no scene of the player. If every situation has only one
    character, as with the items of a data set, only characters are drawn, as clusters (Cameron and Miller
    2015, section VI.C).
    """
    stream = stable_stream(*key)
    characters = draw_counts(stream, len(scores.characters), resamples)
    packed = _nested(scores.values)
    if packed is not None:
        return resampled_grid_means(packed, characters, np.ones((resamples, packed.shape[2])))
    situations = draw_counts(stream, len(scores.situations), resamples)
    return resampled_grid_means(scores.values, characters, situations)


def _nested(values: Array) -> Array | None:
    """``values`` with only each character's own situations: players x characters x the most that one has.

    None if a situation has several characters, or if there is only one character.
    """
    have: npt.NDArray[np.bool_] = np.asarray(~np.isnan(values).all(axis=0))
    if have.shape[0] < 2 or have.shape[1] < 2 or (have.sum(axis=0) > 1).any():
        return None
    packed = np.full((*values.shape[:2], int(have.sum(axis=1).max())), np.nan)
    for character, situations in enumerate(have):
        packed[:, character, : situations.sum()] = values[:, character, situations]
    return packed


def intervals(scores: Grid, resamples: int, key: Sequence[str | int]) -> pd.DataFrame:
    """``score`` of each player (index), with ``low`` and ``high`` of its two-way bootstrap interval."""
    flat = scores.values.reshape(len(scores.players), -1)
    means = [math.fsum(row[~np.isnan(row)]) / int((~np.isnan(row)).sum()) for row in flat]
    low, high = interval(two_way_means(scores, resamples, key))
    return pd.DataFrame(
        {"score": means, "low": low, "high": high}, index=pd.Index(scores.players, name="player")
    )


def standard_error(differences: Array) -> tuple[float, float]:
    """Standard error of the mean of an array characters x situations (NaN if missing), degrees of freedom.

    Two-way clustering (Cameron, Gelbach and Miller 2011): the variance over characters, plus that over
    situations, minus that over scenes, and at least the last; degrees of freedom by Satterthwaite.
    """
    have = ~np.isnan(differences)
    n = int(have.sum())
    if n < 2:
        return math.nan, math.nan
    rest = np.where(have, differences - differences[have].mean(), 0.0)
    parts = [_cluster_variance(rest.sum(axis=axis), int(have.any(axis=axis).sum()), n) for axis in (1, 0)]
    scene = (float((rest**2).sum()) * n / (n - 1) / n**2, n - 1)
    if (have.sum(axis=0) <= 1).all():  # no characters share a situation, so the other two terms cancel
        variance, pieces = parts[0][0], parts[0][0] ** 2 / max(parts[0][1], 1)
    else:
        variance = parts[0][0] + parts[1][0] - scene[0]
        pieces = sum(v**2 / df for v, df in (*parts, scene) if df > 0)
    if variance <= scene[0]:
        return math.sqrt(scene[0]), float(scene[1])
    return math.sqrt(variance), variance**2 / pieces


def _cluster_variance(sums: Array, clusters: int, n: int) -> tuple[float, int]:
    """Variance of a mean from the sums of residuals by cluster, and its degrees of freedom."""
    if clusters < 2:
        return 0.0, 0
    return float((sums**2).sum()) * clusters / (clusters - 1) / n**2, clusters - 1


def paired_differences(scores: Grid, correction: Correction = CORRECTION) -> pd.DataFrame:
    """Compare every pair of players on the scenes that both have.

    Returns one row per pair: ``player`` and ``other`` (in the order of the grid), ``scenes`` in common,
    ``difference`` of their means there, its ``standard_error`` and ``df``, ``p`` (t test, two-sided),
    ``p_adjusted`` for all pairs, and whether they are ``separated`` at 5%.
    """
    rows = [
        (scores.players[a], scores.players[b], *_compared(scores.values[a] - scores.values[b]))
        for a, b in combinations(range(len(scores.players)), 2)
    ]
    table = pd.DataFrame(rows, columns=["player", "other", "scenes", "difference", "standard_error", "df"])
    difference, error, df = (
        table[name].to_numpy(dtype=np.float64) for name in ("difference", "standard_error", "df")
    )
    table["p"] = _p_values(difference, error, df)
    table["p_adjusted"] = adjusted(table["p"].to_numpy(dtype=np.float64), correction)
    table["separated"] = table["p_adjusted"] < ALPHA
    return table


def _compared(differences: Array) -> tuple[int, float, float, float]:
    known = differences[~np.isnan(differences)]
    if len(known) < 2:
        return len(known), math.nan, math.nan, math.nan
    return len(known), math.fsum(known) / len(known), *standard_error(differences)


def _p_values(differences: Array, errors: Array, df: Array) -> Array:
    """The p values of all pairs at once. Without any error, p is 0 for a difference and 1 for none."""
    exact = errors <= 1e-12
    tested = 2 * np.asarray(stats.t.sf(np.abs(differences) / np.where(exact, 1.0, errors), df))
    return np.where(exact, np.abs(differences) <= 1e-12, tested)


def adjusted(p: Array, correction: Correction) -> Array:
    """p values corrected for multiple comparisons; NaN (pairs without a common scene) do not count."""
    result = p.copy()
    order = np.argsort(p, kind="stable")[: int((~np.isnan(p)).sum())]
    if correction == "holm":
        stepped = np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1))
        result[order] = np.minimum(stepped, 1.0)
    elif correction == "bh":
        result[order] = stats.false_discovery_control(p[order])
    return result


def surely_better(pairs: pd.DataFrame) -> set[tuple[str, str]]:
    """(better, worse) of every separated pair of :func:`paired_differences`."""
    sure = pairs[pairs["separated"]]
    return {
        (str(player), str(other)) if difference > 0 else (str(other), str(player))
        for player, other, difference in zip(sure["player"], sure["other"], sure["difference"], strict=True)
    }


def told_apart(frames: Frames, weights: Weights) -> set[tuple[str, str]] | None:
    """(better, worse) of every significantly different pair of players, by the robust scoring.

    None if nothing is scored or the protocol's scale is unknown.
    """
    if facts_of(frames.protocol).scale is None or frames.scores.empty:
        return None
    return surely_better(paired_differences(robust_grid(frames, weights)))


def rank_intervals(scores: pd.Series, pairs: pd.DataFrame) -> pd.DataFrame:
    """Range of ranks that the data allow for each player (index), and its tie group; best first.

    ``scores``: by player. ``pairs``: from :func:`paired_differences`. ``rank_low`` is 1 + the number of
    significantly better players, ``rank_high`` the number of players that are not significantly worse. A tie
    group (``group``: the rank of its leader) ends before the first player significantly worse than that.
    """
    beaten = surely_better(pairs)
    above, below = Counter(worse for _, worse in beaten), Counter(better for better, _ in beaten)
    names = sorted(scores.index, key=lambda name: (-scores[name], name))
    table = pd.DataFrame({"score": [scores[name] for name in names]}, index=pd.Index(names, name="player"))
    table["rank_low"] = [1 + above[name] for name in names]
    table["rank_high"] = [len(names) - below[name] for name in names]
    table["group"] = _groups(names, beaten)
    return table


def _groups(names: list[str], beaten: set[tuple[str, str]]) -> list[int]:
    groups: list[int] = []
    leader = ""
    for place, name in enumerate(names, start=1):
        if not groups or (leader, name) in beaten:
            leader = name
            groups.append(place)
        else:
            groups.append(groups[-1])
    return groups


def separability(pairs: pd.DataFrame) -> float | None:
    """Share of the pairs of players that differ significantly; None without any pair."""
    return float(pairs["separated"].mean()) if len(pairs) else None


def power_of(difference: float, error: float, df: float, alpha: float = ALPHA) -> float:
    """Power of a two-sided t test for a true ``difference`` with standard error ``error``."""
    shift = abs(difference) / error
    thresholds = _thresholds(df, alpha)
    found = special.ndtr(shift - thresholds) + special.ndtr(-thresholds - shift)
    return float(found @ _NODE_WEIGHTS) / 2


_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(200)


@lru_cache(maxsize=8192)
def _thresholds(df: float, alpha: float) -> Array:
    """Thresholds of a difference, in true standard errors, over the distribution of the estimated error.

    Averaging over that distribution replaces the noncentral t, which scipy gets wrong for some arguments.
    """
    errors: Array = np.sqrt(stats.chi2.ppf((_NODES + 1) / 2, df) / df)
    return float(stats.t.ppf(1 - alpha / 2, df)) * errors


def detectable_difference(error: float, df: float, power: float = POWER, alpha: float = ALPHA) -> float:
    """Smallest true difference that a comparison with standard error ``error`` detects with ``power``."""
    upper = error
    while power_of(upper, error, df, alpha) < power:
        upper *= 2
    return float(optimize.brentq(lambda d: power_of(d, error, df, alpha) - power, 0.0, upper))


MOST_SCENES = 1_000_000
"""The largest number of scenes that :func:`scenes_needed` considers."""


def scenes_needed(
    difference: float, error: float, scenes: int, df: float | None = None, power: float = POWER
) -> int | None:
    """How many scenes would detect a true ``difference`` with ``power``; None for more than MOST_SCENES.

    Args:
        difference: In points.
        error: Standard error of the difference on the present scenes.
        scenes: Number of present scenes.
        df: Degrees of freedom of ``error``; None for independent scenes.
        power: Probability of detection.

    Assumes that the numbers of characters and situations grow in proportion: the error falls, and the degrees
    of freedom of clusters grow, with the square root of the number of scenes.
    """
    spread = error * math.sqrt(scenes)

    def enough(n: int) -> bool:
        freedom = n - 1 if df is None else max(1, math.floor(df * math.sqrt(n / scenes)))
        return power_of(difference, spread / math.sqrt(n), freedom) >= power

    if difference == 0 or not enough(MOST_SCENES):
        return None
    # The normal distribution needs a little fewer scenes than Student's t: search upwards from its answer.
    reach = float(special.ndtri(1 - ALPHA / 2) + special.ndtri(power))
    low = max(1, min(math.ceil((reach * spread / difference) ** 2) - 1, MOST_SCENES - 1))
    step = max(1, low // 8)
    high = min(low + step, MOST_SCENES)
    while not enough(high):
        low, step = high, 2 * step
        high = min(low + step, MOST_SCENES)
    return bisect_left(range(high), True, lo=low + 1, key=enough)
