"""Two given players: do they differ significantly, and how many scenes would it take?"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from bench.errors import UserError
from bench.records import SCHEMA_VERSION, Record
from bench.scores.analyses.sure import interval_of
from bench.scores.frame import Frames
from bench.scores.paper import published
from bench.scores.planning import ScenesNeeded, pair_components, scenes_needed
from bench.scores.robust import CORRECTION, POWER, Correction, JudgesAs, RobustBoard, robust_board
from bench.scores.weights import EQUAL, Weights, standard_weightings
from bench.toml_entries import nearest_or_all

NO_NUMBER = "there is no difference, a million scenes would not detect it, or too many scenes are missing"
TOO_FEW_JUDGES = "with these few judges, no number of scenes would detect it"


class PairTest(Record):
    """What the comparison of two players says with the judges taken in one way."""

    low: float | None = None
    high: float | None = None
    """95% interval of this difference alone."""
    p: float | None = None
    p_adjusted: float | None = None
    """p corrected for all pairs of the board."""
    separated: bool
    """Whether ``p_adjusted`` is below 0.05; false if it is unknown."""
    scenes_needed: int | None = None
    """Scenes (as many characters as situations) with which one comparison would detect a true difference of
    this size with this power. Null if unknown or more than a million."""
    scenes_needed_low: int | None = None
    scenes_needed_high: int | None = None
    """80% range of ``scenes_needed``; ``scenes_needed_high`` is null if it is more than a million."""
    reason: str | None
    """Why a number is null."""


class Separation(PairTest):
    """Two players compared on the scenes that both have, by the robust scoring.

    Its own test takes the judges as ``judges_as`` says.
    """

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
    pairs: int
    """Pairs of players on the board."""
    correction: Correction = CORRECTION
    power: float = POWER
    judges_as: JudgesAs
    fixed: PairTest
    """For these judges, and no others."""
    sample: PairTest | None
    """For judges like these: the judges are a sample too. Null if unknown."""
    sample_unknown: str | None
    """Why nothing is known about judges like these; null if something is."""


def separation(
    frames: Frames,
    player: str,
    other: str,
    weights: Weights | None = None,
    judges_as: JudgesAs | None = None,
) -> Separation:
    """Compare ``player`` with ``other``. Raises UserError if one of them has no score.

    ``weights``: of the criteria; None for equal weights. ``judges_as``: None for a sample if that is known.
    """
    used = standard_weightings(frames.criteria)[EQUAL] if weights is None else weights
    scored = robust_board(frames, used)
    grid = scored.grid
    for name in (player, other):
        if name not in grid.players:
            raise UserError(
                f"no player {name!r} with scores on this board",
                where=f"{frames.suite} {frames.language}",
                hint=nearest_or_all(name, grid.players, "Players"),
            )
    if player == other:
        raise UserError(f"{player!r} is the same player twice", hint="Name two players.")
    way = chosen(scored, judges_as)
    values = dict(zip(grid.players, grid.values, strict=True))
    differences = values[player] - values[other]
    scenes = int((~np.isnan(differences)).sum())
    fixed = _test(scored, player, other, "fixed")
    sample = None if scored.spread is None else _test(scored, player, other, "sample")
    shown = sample if way == "sample" and sample is not None else fixed
    return Separation(
        suite=frames.suite,
        version=frames.version,
        language=frames.language,
        judges=frames.judges,
        weights=dict(used),
        player=player,
        other=other,
        scenes=scenes,
        difference=published(float(np.nanmean(differences))) if scenes > 1 else None,
        pairs=math.comb(len(grid.players), 2),
        judges_as=way,
        fixed=fixed,
        sample=sample,
        sample_unknown=scored.unknown,
        **shown.model_dump(),
    )


def chosen(scored: RobustBoard, judges_as: JudgesAs | None) -> JudgesAs:
    """How judges count; None: the board's default. Raises UserError for a sample that is unknown."""
    if judges_as == "sample" and scored.unknown is not None:
        raise UserError(
            f"judges cannot count as a sample: {scored.unknown}",
            hint="Use --judges-as fixed, or have the same conversations judged by more judges.",
        )
    return judges_as or scored.default


def _test(scored: RobustBoard, player: str, other: str, way: JudgesAs) -> PairTest:
    table = scored.pairs(way)
    pair = table[table["player"].isin([player, other]) & table["other"].isin([player, other])].iloc[0]
    result = PairTest(separated=bool(pair["separated"]), reason="fewer than two scenes in common")
    if pair["scenes"] < 2:
        return result
    sign = 1 if pair["player"] == player else -1
    difference = published(sign * float(pair["difference"]))
    if math.isnan(float(pair["p"])):
        reason = "the difference is the same in every scene, so its error is unknown"
        return result.model_copy(update={"reason": reason})
    ends = interval_of(difference, float(pair["standard_error"]), float(pair["df"]), int(pair["scenes"]))
    needed = needed_for(scored, difference, player, other, way)
    fixed = way == "sample" and needed_for(scored, difference, player, other, "fixed")
    reason = TOO_FEW_JUDGES if fixed else NO_NUMBER
    return result.model_copy(
        update={
            "low": ends.low,
            "high": ends.high,
            "p": published(float(pair["p"])),
            "p_adjusted": published(float(pair["p_adjusted"])),
            "scenes_needed": needed and needed.scenes,
            "scenes_needed_low": needed and needed.low,
            "scenes_needed_high": needed and needed.high,
            "reason": None if needed else reason,
        }
    )


def needed_for(
    scored: RobustBoard, difference: float, player: str, other: str, way: JudgesAs
) -> ScenesNeeded | None:
    """:func:`bench.scores.planning.scenes_needed` of two players; None if unknown."""
    first, second = scored.grid.players.index(player), scored.grid.players.index(other)
    found = pair_components(scored.grid.values[first] - scored.grid.values[second])
    if found is not None and way == "sample" and scored.spread is not None:
        added, df = scored.spread.of_difference(np.array([first]), np.array([second]))
        found = replace(found, judges=float(added[0]), judges_df=df)
    return scenes_needed(difference, found)


def sentence(made: Separation) -> str:
    """Whether the two players differ, and how sure that is, in a sentence."""
    if made.difference is None:
        return f"{made.player} and {made.other} cannot be compared: {made.reason}."
    swapped = made.difference < 0
    ahead, behind = (made.other, made.player) if swapped else (made.player, made.other)
    head = f"{ahead} scores {abs(made.difference):.2f} points higher than {behind}"
    head += f" on the {made.scenes} scenes that both have played"
    if made.p is None or made.low is None or made.high is None:
        return f"{head}; whether that is more than chance is unknown: {made.reason}."
    low, high = (-made.high, -made.low) if swapped else (made.low, made.high)
    sure = f"95% interval {low:+.2f} to {high:+.2f}, p = {made.p_adjusted:.3g}"
    if made.separated:
        return f"{head} ({sure}): they differ."
    return f"{head} ({sure}): chance alone can explain that difference."
