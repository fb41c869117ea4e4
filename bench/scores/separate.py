"""Two given players: do they differ significantly, and how many scenes would it take?"""

from __future__ import annotations

from bench.errors import UserError
from bench.records import SCHEMA_VERSION, Record
from bench.scores.analyses.sure import interval_of
from bench.scores.frame import Frames
from bench.scores.paper import published
from bench.scores.robust import (
    CORRECTION,
    POWER,
    Correction,
    paired_differences,
    robust_grid,
    scenes_needed,
)
from bench.scores.weights import EQUAL, Weights, standard_weightings


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
    """Whether ``p_adjusted`` is below 0.05."""
    power: float = POWER
    scenes_needed: int | None = None
    """Scenes with which one comparison would detect a true difference of this size with this power, if the
    numbers of characters and situations grow in proportion. Null if unknown or more than a million."""
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
    difference = float(pair["difference"]) * (1 if pair["player"] == player else -1)
    error, df = float(pair["standard_error"]), float(pair["df"])
    ends = interval_of(difference, error, df, result.scenes)
    if error > 1e-12:
        needed = scenes_needed(difference, error, result.scenes, df)
        reason = None if needed else "there is no difference, or a million scenes would not detect it"
    else:
        needed, reason = None, "the difference is the same in every scene, so its error is unknown"
    return result.model_copy(
        update={
            "difference": published(difference),
            "low": ends.low,
            "high": ends.high,
            "p": published(float(pair["p"])),
            "p_adjusted": published(float(pair["p_adjusted"])),
            "scenes_needed": needed,
            "reason": reason,
        }
    )
