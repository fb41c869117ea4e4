"""The robust scoring: which differences are significant if characters and situations are samples too.

All players play the same scenes, and a hard character is hard for all of them. So errors are clustered by
character and by situation (:func:`bench.scores.clusters.clustered`), and two players are compared by their
differences on the same scenes. Scores, differences and errors are in points of the protocol's scale. Where an
error cannot be known (one scene, or the same difference in every scene), so are interval, p and separation.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import pandas as pd
from scipy import special, stats

from bench.protocol_facts import facts_of
from bench.scores import paper
from bench.scores.bootstrap import CONFIDENCE, NOISE_DECIMALS, Array
from bench.scores.clusters import clustered, clustered_differences
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


def robust_numbers(scores: Grid, correction: Correction = CORRECTION) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two tables: players (:func:`intervals` and :func:`rank_intervals`, best first), and their pairs
    (:func:`paired_differences`)."""
    pairs = paired_differences(scores, correction)
    players = intervals(scores)
    players = players.join(rank_intervals(players["score"], pairs).drop(columns="score"))
    return players.sort_values("score", ascending=False, kind="stable"), pairs


def grid(scenes: pd.Series) -> Grid:
    """The grid of a series indexed by SCENE."""
    names = [tuple(sorted(set(scenes.index.get_level_values(level)))) for level in range(3)]
    index = pd.MultiIndex.from_product(names, names=scenes.index.names)
    values = scenes.reindex(index).to_numpy(dtype=np.float64).reshape([len(part) for part in names])
    return Grid(players=names[0], characters=names[1], situations=names[2], values=values)


def intervals(scores: Grid) -> pd.DataFrame:
    """``score`` of each player (index), with ``low`` and ``high`` of its 95% interval; NaN if unknown.

    Mean plus or minus t standard errors, two-way clustered. In simulations it covers .935 to .965.
    """
    made = clustered(scores.values)
    reach = stats.t.ppf((1 + CONFIDENCE) / 2, made.df) * made.error
    return pd.DataFrame(
        {"score": made.mean.round(NOISE_DECIMALS), "low": made.mean - reach, "high": made.mean + reach},
        index=pd.Index(scores.players, name="player"),
    )


def paired_differences(scores: Grid, correction: Correction = CORRECTION) -> pd.DataFrame:
    """Compare every pair of players on the scenes that both have.

    Returns one row per pair: ``player`` and ``other`` (in the order of the grid), ``scenes`` in common,
    ``difference`` of their means there, its ``standard_error`` and ``df``, ``p`` (t test, two-sided),
    ``p_adjusted`` for all pairs, and whether they are ``separated`` at 5%. What cannot be known is NaN, and
    such a pair is not separated.
    """
    first, second = np.triu_indices(len(scores.players), 1)
    made = clustered_differences(scores.values, first, second)
    table = pd.DataFrame(
        {
            "player": [scores.players[n] for n in first],
            "other": [scores.players[n] for n in second],
            "scenes": made.n.astype(int),
            "difference": made.mean,
            "standard_error": made.error,
            "df": made.df,
        }
    )
    p = 2 * np.asarray(stats.t.sf(np.abs(made.mean) / made.error, made.df))
    table["p"] = p
    table["p_adjusted"] = adjusted(p, correction)
    table["separated"] = table["p_adjusted"] < ALPHA
    return table


def adjusted(p: Array, correction: Correction) -> Array:
    """p values corrected for multiple comparisons; NaN (unknown) do not count."""
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
    """Rank of each player (index), the range that the data allow, and its tie group; best first.

    ``scores``: by player. ``pairs``: from :func:`paired_differences`. ``rank_low`` is 1 + the number of
    significantly better players, ``rank_high`` the number of players that are not significantly worse; both
    are widened to hold ``rank``, which a player with missing scenes might otherwise leave. A tie group
    (``group``: the rank of its leader) ends before the first player significantly worse than that.
    """
    beaten = surely_better(pairs)
    above, below = Counter(worse for _, worse in beaten), Counter(better for better, _ in beaten)
    names = sorted(scores.index, key=lambda name: (-scores[name], name))
    table = pd.DataFrame({"score": [scores[name] for name in names]}, index=pd.Index(names, name="player"))
    table["rank"] = table["score"].rank(ascending=False, method="min").astype(int)
    table["rank_low"] = np.minimum([1 + above[name] for name in names], table["rank"])
    table["rank_high"] = np.maximum([len(names) - below[name] for name in names], table["rank"])
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
    """Share of the pairs of players that differ significantly; None if no pair has a known p."""
    return float(pairs["separated"].mean()) if pairs["p"].notna().any() else None


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
