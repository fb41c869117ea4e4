"""Variance components of a board, and what a design of scenes and judges can separate.

A generalisability study: players, scenes and judges are fully crossed, one score per cell (the mean over
turns). Source of the formulas: Brennan, *Generalizability Theory* (2001), chapters 3 to 5.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

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

    def part(self, players: Sequence[int], scenes: Sequence[int], judges: Sequence[int]) -> Cube:
        """The cube of these players, scenes and judges, by their positions."""
        at = np.ix_(players, scenes, judges)
        return Cube(
            players=tuple(self.players[n] for n in players),
            scenes=tuple(self.scenes[n] for n in scenes),
            judges=tuple(self.judges[n] for n in judges),
            values=self.values[at],
            within=None if self.within is None else self.within[at],
        )


@dataclass(frozen=True)
class Dropped:
    """What had to be left out so that every remaining player has a score for every scene by every judge."""

    players: tuple[str, ...] = ()
    scenes: tuple[tuple[str, str], ...] = ()
    judges: tuple[str, ...] = ()


def complete_part(cube: Cube) -> tuple[Cube, Dropped]:
    """The part of ``cube`` without missing cells, and what was dropped to get it.

    Drops the player, scene or judge with the largest share of missing cells until none is missing. Judges go
    last among equals, players first.
    """
    keep = [list(range(size)) for size in cube.values.shape]
    missing = np.isnan(cube.values)
    while (holes := missing[np.ix_(*keep)]).any():
        shares = [holes.mean(axis=tuple(a for a in range(3) if a != axis)) for axis in range(3)]
        axis = max(range(3), key=lambda a: (shares[a].max(), -a))
        keep[axis].pop(int(shares[axis].argmax()))
    players, scenes, judges = keep
    dropped = Dropped(
        players=tuple(name for n, name in enumerate(cube.players) if n not in players),
        scenes=tuple(scene for n, scene in enumerate(cube.scenes) if n not in scenes),
        judges=tuple(name for n, name in enumerate(cube.judges) if n not in judges),
    )
    return cube.part(*keep), dropped


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
    mean: float
    mean_squares: Mapping[str, float]
    variance: Mapping[str, float]
    negative: frozenset[str] = frozenset()
    parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def total(self) -> float:
        """The variance of a single score."""
        return math.fsum(self.variance.values())


def mean_squares(values: Array) -> dict[str, float]:
    """Mean squares of the three-way analysis of variance without replication, by effect.

    ``values``: players x scenes x judges without NaN, at least 2 of each.
    """
    effects, df = _effects(values), _degrees(values.shape)
    size = values.size
    return {
        name: size / effect.size * float((effect**2).sum()) / df[name] for name, effect in effects.items()
    }


def _effects(values: Array) -> dict[str, Array]:
    """Deviations attributed to each effect, each broadcast-ready in three dimensions."""
    axes = {"p": (1, 2), "s": (0, 2), "j": (0, 1), "ps": (2,), "pj": (1,), "sj": (0,), "r": ()}
    means = {name: values.mean(axis=axis, keepdims=True) for name, axis in axes.items() if axis}
    grand = values.mean(keepdims=True)
    effects = {name: means[name] - grand for name in ("p", "s", "j")}
    for name in ("ps", "pj", "sj"):
        effects[name] = means[name] - means[name[0]] - means[name[1]] + grand
    effects["r"] = values - grand - sum(effects[name] for name in EFFECTS[:-1])
    return effects


def _degrees(shape: tuple[int, ...]) -> dict[str, int]:
    p, s, j = (size - 1 for size in shape)
    return {"p": p, "s": s, "j": j, "ps": p * s, "pj": p * j, "sj": s * j, "r": p * s * j}


def components(cube: Cube) -> Components:
    """Variance components of a complete cube by expected mean squares.

    Raises ValueError where there are fewer than two players, scenes or judges, or a score is missing.
    """
    values = cube.values
    if min(values.shape) < 2 or np.isnan(values).any():
        raise ValueError("variance components need a complete cube of at least 2 x 2 x 2")
    n_p, n_s, n_j = values.shape
    ms = mean_squares(values)
    raw = {
        "p": (ms["p"] - ms["ps"] - ms["pj"] + ms["r"]) / (n_s * n_j),
        "s": (ms["s"] - ms["ps"] - ms["sj"] + ms["r"]) / (n_p * n_j),
        "j": (ms["j"] - ms["pj"] - ms["sj"] + ms["r"]) / (n_p * n_s),
        "ps": (ms["ps"] - ms["r"]) / n_j,
        "pj": (ms["pj"] - ms["r"]) / n_s,
        "sj": (ms["sj"] - ms["r"]) / n_p,
        "r": ms["r"],
    }
    variance = {name: max(0.0, value) for name, value in raw.items()}
    negative = {name for name, value in raw.items() if value < 0}
    parts: dict[str, float] = {}
    for name, value in (*_scene_parts(cube, ms["r"]), *_turn_parts(cube, variance["r"])):
        parts[name] = max(0.0, value)
        if value < 0:
            negative.add(name)
    return Components(n_p, n_s, n_j, float(values.mean()), ms, variance, frozenset(negative), parts)


def _scene_parts(cube: Cube, residual: float) -> Iterator[tuple[str, float]]:
    """Player by character, by situation and by both, and the same of the scene; only on a full grid."""
    characters, situations = (sorted({scene[k] for scene in cube.scenes}) for k in (0, 1))
    n_c, n_t, (n_p, _, n_j) = len(characters), len(situations), cube.values.shape
    if n_c < 2 or n_t < 2 or len(cube.scenes) != n_c * n_t:
        return
    at = {scene: n for n, scene in enumerate(cube.scenes)}
    order = [at[c, t] for c in characters for t in situations]
    grid = cube.values[:, order].mean(axis=2).reshape(n_p, n_c, n_t)  # per player, over judges
    ms = {name: value * n_j for name, value in mean_squares(grid).items()}
    # players x characters x situations: "s" stands for characters here and "j" for situations
    pct = (ms["r"] - residual) / n_j
    yield "pc", (ms["ps"] - ms["r"]) / (n_t * n_j)
    yield "pt", (ms["pj"] - ms["r"]) / (n_c * n_j)
    yield "pct", pct
    yield "c", (ms["s"] - ms["ps"] - ms["sj"] + ms["r"]) / (n_p * n_t * n_j)
    yield "t", (ms["j"] - ms["pj"] - ms["sj"] + ms["r"]) / (n_p * n_c * n_j)
    yield "ct", (ms["sj"] - ms["r"]) / (n_p * n_j)


def _turn_parts(cube: Cube, residual: float) -> Iterator[tuple[str, float]]:
    """The part of the residual that is noise of single turns, and the rest."""
    if cube.within is None or np.isnan(cube.within).all():
        return
    turn = min(float(np.nanmean(cube.within)), residual)
    yield "turn", turn
    yield "psj", residual - turn


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


SCENES = (16, 32, 64, 128, 256, 512)
JUDGES = (1, 2, 4, 8)


def design_table(found: Components) -> list[Design]:
    """Designs of SCENES x JUDGES, crossed, and rotated with one judge per scene."""
    table = []
    for scenes in SCENES:
        for judges in JUDGES:
            table.append(design(found, scenes, judges))
            if judges > 1:
                table.append(design(found, scenes, judges, 1))
    return table
