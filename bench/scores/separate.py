"""Two given players: are they different, and how many scenes would it take to tell?"""

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
    """Two players of a board compared on the scenes that both have, under the robust scoring."""

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
    difference: float | None
    """``player`` minus ``other``, length-normalised, in points; null without two scenes in common."""
    low: float | None
    high: float | None
    """The 95% interval of this difference alone."""
    p: float | None
    pairs: int
    """Pairs of players on the board."""
    p_adjusted: float | None
    """With all those pairs considered."""
    correction: Correction
    separated: bool
    """Whether ``p_adjusted`` is below 0.05."""
    power: float = POWER
    scenes_needed: int | None
    """Scenes, characters and situations growing alike, with which one comparison would find a true
    difference of this size so often. Null where no number would do, or none can be told."""
    reason: str | None
    """Why a number is null."""


def separation(frames: Frames, player: str, other: str, weights: Weights | None = None) -> Separation:
    """How ``player`` and ``other`` differ. Raises UserError where one has nothing that counts."""
    used = standard_weightings(frames.criteria)[EQUAL] if weights is None else weights
    grid = robust_grid(frames, used)
    for name in (player, other):
        if name not in grid.players:
            raise UserError(
                f"no player {name!r} with scores on this board",
                where=f"{frames.suite} {frames.language}",
                hint=f"There are: {', '.join(grid.players) or 'none'}.",
            )
    if player == other:
        raise UserError(f"{player!r} is the same player twice", hint="Name two players.")
    table = paired_differences(grid)
    pair = table[table["player"].isin([player, other]) & table["other"].isin([player, other])].iloc[0]
    sign = 1 if pair["player"] == player else -1
    scenes, error = int(pair["scenes"]), float(pair["standard_error"])
    made = Separation(
        suite=frames.suite,
        version=frames.version,
        language=frames.language,
        judges=frames.judges,
        weights=dict(used),
        player=player,
        other=other,
        scenes=scenes,
        difference=None,
        low=None,
        high=None,
        p=None,
        pairs=len(table),
        p_adjusted=None,
        correction=CORRECTION,
        separated=bool(pair["separated"]),
        scenes_needed=None,
        reason="fewer than two scenes in common",
    )
    if scenes < 2:
        return made
    difference = sign * float(pair["difference"])
    ends = interval_of(difference, error, float(pair["df"]), scenes)
    needed, reason = _needed(difference, error, scenes, float(pair["df"]))
    return made.model_copy(
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


def _needed(difference: float, error: float, scenes: int, df: float) -> tuple[int | None, str | None]:
    """How many scenes, or why that cannot be told."""
    if error <= 1e-12:
        return None, "the difference is the same in every scene: its error cannot be told"
    needed = scenes_needed(difference, error, scenes, df)
    return needed, None if needed else "no difference is seen, or a million scenes would not find it"
