"""Two given players: do they differ significantly, and how many scenes would it take?"""

from __future__ import annotations

import math

from bench.errors import UserError
from bench.records import SCHEMA_VERSION, Record
from bench.scores.analyses.sure import interval_of
from bench.scores.frame import Frames
from bench.scores.paper import published
from bench.scores.planning import pair_components, scenes_needed
from bench.scores.robust import CORRECTION, POWER, Correction, paired_differences, robust_grid
from bench.scores.weights import EQUAL, Weights, standard_weightings

NO_NUMBER = "there is no difference, a million scenes would not detect it, or too many scenes are missing"


class Separation(Record):
    """Two players compared on the scenes that both have, by the robust scoring."""

    schema_version: int = SCHEMA_VERSION
    suite: str
    version: str
    language: str
    judges: tuple[str, ...]
    weights: dict[str, float]
    player: str
    other: str
    scenes: int
    """Scenes that both have."""
    difference: float | None = None
    """``player`` minus ``other``, length-normalised, in points; null with fewer than two scenes in common."""
    low: float | None = None
    high: float | None = None
    """95% interval of this difference alone."""
    p: float | None = None
    pairs: int
    """Pairs of players on the board."""
    p_adjusted: float | None = None
    """p corrected for all those pairs."""
    correction: Correction = CORRECTION
    separated: bool
    """Whether ``p_adjusted`` is below 0.05; false if it is unknown."""
    power: float = POWER
    scenes_needed: int | None = None
    """Scenes (as many characters as situations) with which one comparison would detect a true difference of
    this size with this power. Null if unknown or more than a million."""
    scenes_needed_low: int | None = None
    scenes_needed_high: int | None = None
    """80% range of ``scenes_needed``; ``scenes_needed_high`` is null if it is more than a million."""
    reason: str | None
    """Why a number is null."""


def separation(frames: Frames, player: str, other: str, weights: Weights | None = None) -> Separation:
    """Compare ``player`` with ``other``. Raises UserError if one of them has no score.

    ``weights``: of the criteria; None for equal weights.
    """
    used = standard_weightings(frames.criteria)[EQUAL] if weights is None else weights
    grid = robust_grid(frames, used)
    for name in (player, other):
        if name not in grid.players:
            raise UserError(
                f"no player {name!r} with scores on this board",
                where=f"{frames.suite} {frames.language}",
                hint=f"Players: {', '.join(grid.players) or 'none'}.",
            )
    if player == other:
        raise UserError(f"{player!r} is the same player twice", hint="Name two players.")
    table = paired_differences(grid)
    pair = table[table["player"].isin([player, other]) & table["other"].isin([player, other])].iloc[0]
    result = Separation(
        suite=frames.suite,
        version=frames.version,
        language=frames.language,
        judges=frames.judges,
        weights=dict(used),
        player=player,
        other=other,
        scenes=int(pair["scenes"]),
        pairs=len(table),
        separated=bool(pair["separated"]),
        reason="fewer than two scenes in common",
    )
    if result.scenes < 2:
        return result
    sign = 1 if pair["player"] == player else -1
    difference = published(sign * float(pair["difference"]))
    if math.isnan(float(pair["p"])):
        reason = "the difference is the same in every scene, so its error is unknown"
        return result.model_copy(update={"difference": difference, "reason": reason})
    ends = interval_of(difference, float(pair["standard_error"]), float(pair["df"]), result.scenes)
    values = dict(zip(grid.players, grid.values, strict=True))
    needed = scenes_needed(difference, pair_components(values[player] - values[other]))
    return result.model_copy(
        update={
            "difference": difference,
            "low": ends.low,
            "high": ends.high,
            "p": published(float(pair["p"])),
            "p_adjusted": published(float(pair["p_adjusted"])),
            "scenes_needed": needed and needed.scenes,
            "scenes_needed_low": needed and needed.low,
            "scenes_needed_high": needed and needed.high,
            "reason": None if needed else NO_NUMBER,
        }
    )
