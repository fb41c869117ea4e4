"""Linking two versions of a suite through the scenes that both have.

Scores of two versions are on different scales: other prompts, scenes or judges shift them. The link is that
shift, estimated from players that were run in both versions, on the scenes that both versions have (anchors).
Its variance belongs to every comparison across versions.
"""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np
import pandas as pd

from bench.records import Record
from bench.scores.clusters import clustered
from bench.scores.digits import known, published
from bench.scores.distributions import half_width
from bench.scores.frame import SCENE
from bench.scores.ledger import Scene
from bench.scores.robust import Grid

LEAST_SCENES = 16
LEAST_PLAYERS = 6
"""Fewest anchor scenes and players of both versions for a link."""


class WithoutAnchor(Record):
    """The link without one of the anchor scenes."""

    character: str
    situation: str
    link: float


class LinkedScore(Record):
    """A player's scores, on the scale of the newer version. Null where unknown."""

    player: str
    older: float | None
    """Score in the older version, on its own scale."""
    newer: float | None
    linked: float | None
    """``older`` plus the link."""
    low: float | None
    high: float | None
    """95% interval of ``linked``, or of ``newer`` for a player that only the newer version has."""
    change: float | None
    """``newer`` minus ``linked``, of players in both versions."""
    change_low: float | None
    change_high: float | None


class VersionLink(Record):
    """How the scores of two versions of a suite compare."""

    older: str
    newer: str
    """Names of the versions."""
    scenes: int
    """Anchor scenes."""
    players: int
    """Players of both versions, run again, with scores in enough anchor scenes."""
    link: float | None
    """Mean over anchor scenes and players of the newer score minus the older; null if not comparable."""
    error: float | None
    df: float | None
    low: float | None
    high: float | None
    without: tuple[WithoutAnchor, ...]
    """Leave-one-anchor-out, the largest change of the link first."""
    scores: tuple[LinkedScore, ...]
    """Players of either version, best first; empty if not comparable."""
    notes: tuple[str, ...]
    reason: str | None
    """Why the versions are not comparable; null if they are."""


def linked(
    older: Grid,
    newer: Grid,
    anchors: Collection[Scene],
    again: Collection[str],
    *,
    names: tuple[str, str],
    left_out: Collection[tuple[str, str, str]] = (),
    notes: tuple[str, ...] = (),
) -> VersionLink:
    """Link two versions.

    Args:
        older, newer: Robust scores of the two versions.
        anchors: Scenes that are the same in both.
        again: Players that are the same model in the same settings in both.
        names: Names of the versions.
        left_out: Player, character and situation of conversations that were copied instead of run again.
        notes: What a reader should know about the anchors.
    """
    shifts = _shifts(older, newer, anchors, again, left_out)
    scenes = shifts.groupby(level=SCENE[1:]).ngroups
    players = shifts.index.get_level_values("player").nunique()
    empty = VersionLink(
        older=names[0],
        newer=names[1],
        scenes=scenes,
        players=players,
        link=None,
        error=None,
        df=None,
        low=None,
        high=None,
        without=(),
        scores=(),
        notes=notes,
        reason=None,
    )
    if scenes < LEAST_SCENES or players < LEAST_PLAYERS:
        needed = f"needs at least {LEAST_SCENES} and {LEAST_PLAYERS}"
        reason = f"{scenes} anchor scenes and {players} players that were run in both versions: {needed}"
        return empty.model_copy(update={"reason": reason})
    made = clustered(shifts.unstack(SCENE[1:]).to_numpy(dtype=np.float64)[np.newaxis])
    link, error, df = (float(part[0]) for part in (made.mean, made.error, made.df))
    if math.isnan(df):
        return empty.model_copy(
            update={"reason": "every score shifted by the same amount: no error is known"}
        )
    low, high = _interval(link, error**2, df)
    return empty.model_copy(
        update={
            "link": published(link),
            "error": published(error),
            "df": published(df),
            "low": low,
            "high": high,
            "without": _without(shifts, link),
            "scores": _scores(older, newer, link, error**2, df),
        }
    )


def _shifts(
    older: Grid,
    newer: Grid,
    anchors: Collection[Scene],
    again: Collection[str],
    left_out: Collection[tuple[str, str, str]],
) -> pd.Series:
    """Newer minus older score of all that can be a link, indexed by SCENE."""
    both = (_series(newer) - _series(older)).dropna()
    keep = [scene[0] in again and scene[1:] in anchors and scene not in left_out for scene in both.index]
    shifts = both[keep]
    enough = shifts.groupby(level="player").size()
    players = set(enough[enough >= LEAST_SCENES].index)
    kept: pd.Series = shifts[[player in players for player in shifts.index.get_level_values("player")]]
    return kept


def _series(grid: Grid) -> pd.Series:
    index = pd.MultiIndex.from_product([grid.players, grid.characters, grid.situations], names=SCENE)
    return pd.Series(grid.values.ravel(), index=index)


def _without(shifts: pd.Series, link: float) -> tuple[WithoutAnchor, ...]:
    scenes = shifts.groupby(level=SCENE[1:]).agg(["sum", "count"])
    links = (shifts.sum() - scenes["sum"]) / (len(shifts) - scenes["count"])
    rows = [
        WithoutAnchor(character=character, situation=situation, link=published(float(without)))
        for (character, situation), without in zip(links.index, links, strict=True)
    ]
    return tuple(
        sorted(rows, key=lambda row: (-abs(row.link - published(link)), row.character, row.situation))
    )


def _scores(older: Grid, newer: Grid, link: float, variance: float, df: float) -> tuple[LinkedScore, ...]:
    then, now = _means(older), _means(newer)
    rows = []
    for player in sorted(then.keys() | now.keys()):
        old, old_variance, old_df = then.get(player, _UNKNOWN)
        new, new_variance, new_df = now.get(player, _UNKNOWN)
        parts = [(variance, df), (old_variance, old_df)]
        change = new - old - link
        shown = _combined(old + link, parts) if player in then else _interval(new, new_variance, new_df)
        moved = _combined(change, [*parts, (new_variance, new_df)])
        rows.append(
            LinkedScore(
                player=player,
                older=known(old),
                newer=known(new),
                linked=known(old + link),
                low=shown[0],
                high=shown[1],
                change=known(change),
                change_low=moved[0],
                change_high=moved[1],
            )
        )
    return tuple(sorted(rows, key=lambda row: (-_best(row), row.player)))


_UNKNOWN = (math.nan, math.nan, math.nan)


def _best(row: LinkedScore) -> float:
    score = row.newer if row.newer is not None else row.linked
    return -math.inf if score is None else score


def _means(grid: Grid) -> dict[str, tuple[float, float, float]]:
    """Mean, variance and degrees of freedom of each player that has a score."""
    made = clustered(grid.values)
    rows = zip(grid.players, made.mean, made.variance, made.df, strict=True)
    return {player: (float(m), float(v), float(d)) for player, m, v, d in rows if not math.isnan(m)}


def _combined(value: float, parts: list[tuple[float, float]]) -> tuple[float | None, float | None]:
    """Interval of a sum of independent parts, from the variance and degrees of freedom of each."""
    total = math.fsum(variance for variance, _ in parts)
    spread = math.fsum(variance**2 / df for variance, df in parts)
    return _interval(value, total, total**2 / spread)


def _interval(value: float, variance: float, df: float) -> tuple[float | None, float | None]:
    """95% interval; (None, None) if unknown."""
    reach = float(half_width(math.sqrt(variance), df))
    return known(value - reach), known(value + reach)
