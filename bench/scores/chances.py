"""The chance that each player is the best, or among the best three, from resampled scenes."""

from __future__ import annotations

from math import comb

import numpy as np
import numpy.typing as npt
from scipy import special

from bench.scores.bootstrap import NOISE_DECIMALS, Array, draw_counts, stable_stream
from bench.scores.robust import Grid

TOP = 3
FEWEST_DRAWS = 100
"""Different draws of the scenes that a chance needs, which is printed in percent. Two scenes have only three,
so that a player that is worse in one and equal in the other would never be first."""


def chances(
    scores: Grid, pair_variance: float | None, added: Array | None, resamples: int, seed: int
) -> tuple[Array, Array] | None:
    """(probability of the first place, of the first three) of each player.

    Characters and situations are resampled; players that tie share the place. Resampling both counts the
    noise of single scenes more than once, so deviations are scaled until a difference of two players varies
    by ``pair_variance``, the mean clustered variance over pairs. ``added``: variance that sampling judges
    adds to each player's mean; None for these judges. Returns None if the variance is unknown, if no resample
    shows it, or if fewer than FEWEST_DRAWS of them differ.
    """
    if pair_variance is None or len(scores.players) < 2:
        return None
    have = ~np.isnan(scores.values)
    if _different_draws(have) < FEWEST_DRAWS:
        return None
    flat = np.where(have, scores.values, 0.0).reshape(len(have), -1)
    means = flat.sum(axis=1) / have.sum(axis=(1, 2))
    weights = _scene_weights(have, resamples, seed)
    counts = weights @ have.reshape(len(have), -1).T
    drawn = np.divide(weights @ flat.T, counts, out=np.tile(means, (resamples, 1)), where=counts > 0)
    deviations = drawn - means
    relative = deviations - deviations.mean(axis=1, keepdims=True)
    varies = 2 * float(relative.var(axis=0).sum()) / (len(have) - 1)
    if varies == 0 < pair_variance:
        return None
    drawn = means + deviations * np.sqrt(pair_variance / varies if varies > 0 else 0.0)
    if added is not None:
        drawn += _normals("judges", seed, resamples, len(have)) * np.sqrt(added)
    drawn = np.round(drawn, NOISE_DECIMALS)
    return _share_in_top(drawn, 1), _share_in_top(drawn, TOP)


def _scene_weights(have: npt.NDArray[np.bool_], resamples: int, seed: int) -> Array:
    """How often each scene is drawn (resamples x scenes). If each situation belongs to one of several
    characters, only characters are drawn."""
    _, characters, situations = have.shape
    weights = draw_counts(stable_stream("chances", "characters", seed), characters, resamples)[:, :, None]
    if _is_crossed(have):
        weights = (
            weights
            * draw_counts(stable_stream("chances", "situations", seed), situations, resamples)[:, None]
        )
    return np.broadcast_to(weights, (resamples, characters, situations)).reshape(resamples, -1)


def _is_crossed(have: npt.NDArray[np.bool_]) -> bool:
    """Whether situations are drawn besides characters."""
    return have.shape[1] == 1 or bool((have.any(axis=0).sum(axis=0) > 1).any())


def _different_draws(have: npt.NDArray[np.bool_]) -> int:
    """How many draws with replacement differ."""
    _, characters, situations = have.shape
    draws = comb(2 * characters - 1, characters)
    return draws * comb(2 * situations - 1, situations) if _is_crossed(have) else draws


def _normals(what: str, seed: int, rows: int, columns: int) -> Array:
    """Standard normal numbers from the raw stream, by the inverse of their distribution."""
    raw = stable_stream("chances", what, seed).random_raw(rows * columns)
    normals: Array = special.ndtri(((raw >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53)
    return normals.reshape(rows, columns)


def _share_in_top(drawn: Array, places: int) -> Array:
    """Share of the rows in which each column is among the largest ``places``; ties share what is left."""
    count = drawn.shape[1]
    if count <= places:
        return np.ones(count)
    last = np.partition(drawn, count - places, axis=1)[:, count - places, None]
    better, level = drawn > last, drawn == last
    left = places - better.sum(axis=1, keepdims=True)
    share: Array = (better + level * (left / level.sum(axis=1, keepdims=True))).mean(axis=0)
    return share
