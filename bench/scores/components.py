"""Variance components of a board, and what a design of scenes and judges can separate.

A generalisability study: players, scenes and judges are fully crossed, one score per cell (the mean over
turns). Source of the formulas: Brennan, *Generalizability Theory* (2001), chapters 3 to 5.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import product

import numpy as np

from bench.scores.bootstrap import Array

EFFECTS = ("p", "s", "j", "ps", "pj", "sj", "r")
"""Player, scene, judge, their three interactions, and the residual (three-way interaction and error)."""


@dataclass(frozen=True)
class Cube:
    """Scores of a board, one per player, scene and judge; NaN where a score is missing."""

    players: tuple[str, ...]
    scenes: tuple[tuple[str, str], ...]
    """(character, situation) of each scene."""
    judges: tuple[str, ...]
    values: Array
    """Shape: players x scenes x judges."""
    within: Array | None = None
    """Same shape: variance of a cell's turn scores divided by its number of turns, which is the variance of
    the cell's mean over turns; NaN where a cell has a single turn. None where turns are unknown."""

    def of(self, players: Sequence[int]) -> Cube:
        """The cube of these players, by their positions."""
        within = None if self.within is None else self.within[players]
        names = tuple(self.players[n] for n in players)
        return replace(self, players=names, values=self.values[players], within=within)


@dataclass(frozen=True)
class Components:
    """Variances in squared points, of one randomly chosen player, scene and judge.

    ``variance`` has the keys of EFFECTS, each the variance of that effect. ``negative`` names the estimates
    that came out below 0 and are reported as 0. ``parts`` splits an effect further where the data allow:
    ``pc``, ``pt`` and ``pct`` (player by character, by situation, by both) of ``ps``; ``c``, ``t`` and ``ct``
    of ``s``; ``turn`` and ``psj`` of the residual ``r``.
    """

    players: int
    scenes: int
    judges: int
    scores: int
    """How many there are; fewer than players x scenes x judges where some are missing."""
    variance: Mapping[str, float]
    negative: frozenset[str] = frozenset()
    parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def total(self) -> float:
        """The variance of a single score."""
        return math.fsum(self.variance.values())

    def chance(self) -> dict[str, float]:
        """What the design of this board leaves to chance in a player's mean: the variance due to ``ps``
        (which scenes), ``pj`` (which judges) and ``r`` (single verdicts)."""
        v = self.variance
        each = v["r"] * self.players / self.scores
        return {"ps": v["ps"] / self.scenes, "pj": v["pj"] / self.judges, "r": each}


def components(cube: Cube) -> Components | None:
    """Variance components by Henderson's method I, which uses every score there is.

    Without a missing score these are the estimates by expected mean squares of the analysis of variance.
    None where they do not exist: with fewer than two players, scenes or judges, or too few scores for the
    number of effects (such as one judge for every scene).
    """
    n_p, n_s, n_j = cube.values.shape
    raw = henderson(cube.values, [_AXES[name] for name in EFFECTS]) if min(n_p, n_s, n_j) > 1 else None
    if raw is None:
        return None
    variance, negative = _cut(dict(zip(EFFECTS, raw, strict=True)))
    parts, more = _cut({**_scene_parts(cube), **_turn_parts(cube, variance["r"])})
    scores = int((~np.isnan(cube.values)).sum())
    return Components(n_p, n_s, n_j, scores, variance, frozenset(negative | more), parts)


_AXES = {"p": (0,), "s": (1,), "j": (2,), "ps": (0, 1), "pj": (0, 2), "sj": (1, 2), "r": (0, 1, 2)}


def _cut(raw: Mapping[str, float]) -> tuple[dict[str, float], set[str]]:
    """The estimates with 0 for those below 0, and the names of these."""
    return {name: max(0.0, value) for name, value in raw.items()}, {n for n, v in raw.items() if v < -NOISE}


NOISE = 1e-12
"""Estimates this little below 0 are rounding noise."""


def henderson(values: Array, effects: Sequence[tuple[int, ...]]) -> list[float] | None:
    """Variance of each effect of a random model (Henderson 1953, method I); None if not identified.

    ``values``: one axis per factor, NaN where a score is missing. ``effects``: the axes that an effect
    depends on; the last one depends on all. With T_A the sum over the cells of effect A of total squared by
    count, E(T_A) - E(T_mean) is linear in the variances, with coefficients that follow from the counts.
    """
    have = ~np.isnan(values)
    if not have.any():
        return None
    design = _design(have.shape, have.tobytes(), tuple(effects))
    if design is None:
        return None
    rest = np.where(have, values - values[have].mean(), 0.0)
    counts, table = design
    sums = np.array([float(_ratio(_over(rest, axes) ** 2, counts[axes]).sum()) for axes in (*effects, ())])
    return [float(value) for value in np.linalg.solve(table, sums[:-1] - sums[-1])]


@lru_cache(maxsize=8)
def _design(
    shape: tuple[int, ...], have: bytes, effects: tuple[tuple[int, ...], ...]
) -> tuple[Mapping[tuple[int, ...], Array], Array] | None:
    """What :func:`henderson` takes from the places of scores alone, which is the same for most players.

    Returns counts of scores by the axes of each effect, and the coefficients; None if not identified.
    """
    sets = [*effects, ()]
    there = np.frombuffer(have, dtype=bool).reshape(shape).astype(np.float64)
    unions = {tuple(sorted({*one, *other})) for one, other in product(sets, repeat=2)}
    counts = {axes: _over(there, axes) for axes in unions}

    def weight(one: tuple[int, ...], other: tuple[int, ...]) -> float:
        shared = counts[tuple(sorted({*one, *other}))]
        return float(_ratio(shared**2, counts[one]).sum())

    table = np.array([[weight(one, other) for other in effects] for one in sets])
    table = table[:-1] - table[-1]
    return (counts, table) if np.linalg.matrix_rank(table) == len(effects) else None


def _over(values: Array, axes: tuple[int, ...]) -> Array:
    """Sums over all other axes, which stay with length 1."""
    summed: Array = values.sum(axis=tuple(n for n in range(values.ndim) if n not in axes), keepdims=True)
    return summed


def _ratio(above: Array, below: Array) -> Array:
    """``above`` / ``below``; 0 where ``below`` is 0."""
    below = np.broadcast_to(below, above.shape)
    ratio: Array = np.divide(above, below, out=np.zeros_like(above), where=below > 0)
    return ratio


_GRID = {
    "p": (0,), "c": (1,), "t": (2,), "ct": (1, 2), "j": (3,), "pc": (0, 1), "pt": (0, 2), "pct": (0, 1, 2),
    "pj": (0, 3), "sj": (1, 2, 3), "r": (0, 1, 2, 3),
}  # fmt: skip


def _scene_parts(cube: Cube) -> dict[str, float]:
    """Player by character, by situation and by both, and the same of the scene; only on a full grid."""
    characters, situations = (sorted({scene[k] for scene in cube.scenes}) for k in (0, 1))
    n_c, n_t = len(characters), len(situations)
    if n_c < 2 or n_t < 2 or len(cube.scenes) != n_c * n_t:
        return {}
    at = {scene: n for n, scene in enumerate(cube.scenes)}
    order = [at[c, t] for c in characters for t in situations]
    n_p, _, n_j = cube.values.shape
    made = henderson(cube.values[:, order].reshape(n_p, n_c, n_t, n_j), list(_GRID.values()))
    if made is None:
        return {}
    found = dict(zip(_GRID, made, strict=True))
    return {name: found[name] for name in ("c", "t", "ct", "pc", "pt", "pct")}


def _turn_parts(cube: Cube, residual: float) -> dict[str, float]:
    """The part of the residual that is noise of single turns, and the rest."""
    if cube.within is None or np.isnan(cube.within).all():
        return {}
    turn = min(float(np.nanmean(cube.within)), residual)
    return {"psj": residual - turn, "turn": turn}


@dataclass(frozen=True)
class Design:
    """What ``scenes`` scenes and ``judges`` judges can separate. ``per_scene``: judges of each scene.

    ``per_scene`` equal to ``judges`` is the crossed design; fewer are rotated in balance over the scenes.
    """

    scenes: int
    judges: int
    per_scene: int
    se_difference: float
    """Standard error of the difference of two players, judges being a sample too."""
    se_these_judges: float
    """The same for these judges only: how their number limits the claim is left out."""
    erho2: float | None
    """Generalisability of differences: share of the variance of players' means that is real; None where
    players do not vary."""
    phi: float | None
    """Dependability of the scores themselves."""

    @property
    def rotated(self) -> bool:
        return self.per_scene < self.judges

    @property
    def judge_calls(self) -> int:
        """Judgements per player."""
        return self.scenes * self.per_scene


def design(found: Components, scenes: int, judges: int, per_scene: int | None = None) -> Design:
    """The decision study of one design (Brennan 2001, chapter 4; rotation as an incomplete block design)."""
    v, each = found.variance, judges if per_scene is None else per_scene
    cells = scenes * each
    these = 2 * (v["ps"] / scenes + v["r"] / cells)
    difference = these + 2 * v["pj"] / judges
    absolute = difference / 2 + v["s"] / scenes + v["j"] / judges + v["sj"] / cells
    return Design(
        scenes=scenes,
        judges=judges,
        per_scene=each,
        se_difference=math.sqrt(difference),
        se_these_judges=math.sqrt(these),
        erho2=_share(v["p"], difference / 2),
        phi=_share(v["p"], absolute),
    )


def _share(true: float, error: float) -> float | None:
    return true / (true + error) if true + error > 0 else None
