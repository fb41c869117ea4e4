"""Variance components of a board: how much scores depend on player, scene, judge, and their combinations."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bench.protocol_facts import facts_of
from bench.scores.bootstrap import Array
from bench.scores.components import Components, components
from bench.scores.frame import Frames
from bench.scores.robust import robust_board
from bench.scores.weights import EQUAL, Weights, standard_weightings

TOP = 10
ALL, TOP_TEN = "all", f"top {TOP}"
"""Whose scores the components are of."""

EFFECTS: dict[str, tuple[str, str]] = {
    "p": ("player", ""),
    "s": ("scene", ""),
    "c": ("character", "scene"),
    "t": ("situation", "scene"),
    "ct": ("character x situation", "scene"),
    "j": ("judge", ""),
    "ps": ("player x scene", ""),
    "pc": ("player x character", "player x scene"),
    "pt": ("player x situation", "player x scene"),
    "pct": ("player x character x situation", "player x scene"),
    "pj": ("player x judge", ""),
    "sj": ("scene x judge", ""),
    "r": ("residual", ""),
    "psj": ("player x scene x judge", "residual"),
    "turn": ("turn", "residual"),
}
"""Key in :class:`bench.scores.components.Components` to the effect's name, and the effect it is part of."""

COLUMNS = ("players", "effect", "part_of", "variance", "share", "negative", "reason")
NEGATIVE = "the estimate is below 0 and counts as 0"


@dataclass(frozen=True)
class VarianceStudy:
    """The components of a board's scores."""

    means: Array
    """Robust scores of the players, from best to worst."""
    every: Components | None
    """Of all players; None if unknown."""
    top: Components | None
    """Of the first TOP players; None if there are no more than these, or if unknown."""
    reason: str | None
    """Why ``every`` is None."""
    unasked: int = 0
    """Scores that no judge was asked for, because judges take turns."""

    def by_players(self) -> Iterator[tuple[str, Components]]:
        """(whose, components): of all players, and of the best."""
        if self.every is not None:
            yield ALL, self.every
        if self.top is not None:
            yield TOP_TEN, self.top


def variance_study(frames: Frames, weights: Weights | None = None) -> VarianceStudy:
    """The components of length-normalised final scores, refusals as the lowest score (robust scoring).

    ``weights``: of the criteria; None for equal weights.
    """
    if facts_of(frames.protocol).scale is None or frames.scores.empty:
        return VarianceStudy(np.zeros(0), None, None, "nothing is scored, or the scale is unknown")
    used = standard_weightings(frames.criteria)[EQUAL] if weights is None else weights
    scored = robust_board(frames, used, turns=True)
    cube, means = scored.cube, np.nanmean(scored.grid.values, axis=(1, 2))
    order = [int(n) for n in np.argsort(-means, kind="stable")]
    every = components(cube)
    few = next((n for n, size in zip(_AXES, cube.values.shape, strict=True) if size < 2), None)
    reason = f"it takes two {few}" if few else "too few scores: each scene needs two judges"
    if every and not every.total > 0:
        every, reason = None, "all scores are the same"
    top = components(cube.of(order[:TOP])) if every and len(order) > TOP else None
    unasked = sum(len(cube.judges) - len(frames.judges_of(scene)) for scene in cube.scenes)
    return VarianceStudy(means[order], every, top, None if every else reason, unasked * len(cube.players))


_AXES = ("players", "scenes", "judges")


def variance_table(study: VarianceStudy) -> pd.DataFrame:
    """One row for each effect: its variance in squared points, and its share of the variance of a score."""
    rows = []
    for whose, found in study.by_players():
        values = {**found.variance, **found.parts}
        for key, (effect, part_of) in EFFECTS.items():
            if key in values:
                negative = key in found.negative
                share = values[key] / found.total if found.total > 0 else None
                reason = NEGATIVE if negative else None
                rows.append((whose, effect, part_of, values[key], share, negative, reason))
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    table.attrs["notes"] = notes(study)
    table.attrs["empty"] = study.reason
    return table


SOURCES = {
    "ps": "which scenes were played",
    "pj": "which judges were asked",
    "r": "chance in single verdicts",
}
"""What separates two players by chance, in words."""
MOST = SOURCES | {"pj": "which judge was asked"}


def notes(study: VarianceStudy) -> list[str]:
    """What the components mean, in sentences, and what is missing."""
    made = [sentence(study, whose, found) for whose, found in study.by_players()]
    if (found := study.every) is not None:
        missing = found.players * found.scenes * found.judges - found.scores - study.unasked
        lost = f"; {missing:,} more scores are missing" if missing > 0 else ""
        turns = " who take turns" if study.unasked else ""
        made.append(
            f"From {found.scores:,} scores of {found.players} players in {found.scenes} scenes by"
            f" {found.judges} judges{turns}{lost}."
        )
    return made


def sentence(study: VarianceStudy, whose: str, found: Components) -> str:
    """What separates players that are next to each other on the board, for a reader without statistics."""
    where = "on this board" if whose == ALL else f"among the first {found.players}"
    chance = found.chance()
    error = math.fsum(chance.values())
    if error <= 0:
        return f"Nothing but the players themselves separates neighbours {where}."
    gap = float((np.diff(study.means[: found.players]) ** 2).mean())
    first, *_ = order = sorted(chance, key=lambda key: -chance[key])
    shares = ", ".join(f"{SOURCES[key]} {chance[key] / error:.0%}" for key in order)
    if gap > 4 * error:  # twice the variance of a difference between two players
        return f"Neighbours {where} differ by more than chance. The chance part: {shares}."
    if chance[first] > error / 2:
        return f"Most of what separates neighbours {where} is {MOST[first]} ({shares})."
    return f"What separates neighbours {where} is mostly chance: {shares}."
