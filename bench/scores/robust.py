"""The robust scoring: which differences are significant if characters and situations are samples too.

All players play the same scenes, and a hard character is hard for all of them. So errors are clustered by
character and by situation (:func:`bench.scores.clusters.clustered`), and two players are compared by their
differences on the same scenes. Scores, differences and errors are in points of the protocol's scale. Where an
error cannot be known (one scene, or the same difference in every scene), so are interval, p and separation.

Judges count in two ways (:data:`JudgesAs`). ``fixed``: these judges, and no others. ``sample``: judges like
these, so that intervals also cover which judges happened to be asked.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd
from scipy import special

from bench.protocol_facts import facts_of
from bench.scores import paper
from bench.scores.analyses.sure import as_array
from bench.scores.bootstrap import CONFIDENCE, NOISE_DECIMALS, Array
from bench.scores.clusters import (
    JudgeSpread,
    MeanError,
    clustered,
    clustered_differences,
    judge_spread,
    widened,
)
from bench.scores.components import Cube
from bench.scores.distributions import benjamini_hochberg, half_width, t_quantile, t_tail
from bench.scores.frame import SCENE, Frames
from bench.scores.policy import ROBUST, Policy, judgement_scores, scene_scores
from bench.scores.weights import Weights

Correction = Literal["holm", "bh", "none"]
JudgesAs = Literal["fixed", "sample"]
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


def robust_cube(
    frames: Frames,
    weights: Weights,
    terms: pd.DataFrame,
    *,
    turns: bool,
    policy: Policy,
    scenes: pd.Index | None,
) -> Cube:
    """Length-normalised final scores under ``policy`` by each judge, without estimates for absent judgements.

    ``terms``: the length rule of each player, from :func:`bench.scores.paper.length_terms`. ``turns``: also
    how far the turns of each judgement differ (``within``). ``scenes``: those that count (an index by SCENE);
    None for all.
    """
    judged = judgement_scores(frames, weights, replace(policy, absent_judgements="left_out"))["final"]
    if scenes is not None:
        own = pd.MultiIndex.from_arrays([judged.index.get_level_values(name) for name in SCENE])
        judged = judged.loc[own.isin(scenes)]
    finals = _normalised(judged.groupby(level=[*SCENE, "judge"]).mean(), terms)  # repeats averaged
    players, judges = pd.Index(terms.index), pd.Index(frames.judges)
    scenes = _scenes_of(finals).unique().sort_values()

    def cells(values: pd.Series) -> Array:
        made = np.full((len(players), len(scenes), len(judges)), np.nan)
        at = values.index
        made[
            players.get_indexer(at.get_level_values("player")),
            scenes.get_indexer(_scenes_of(values)),
            judges.get_indexer(at.get_level_values("judge")),
        ] = values.to_numpy(dtype=np.float64)
        return made

    within = None
    if turns:
        repeats = paper.turn_noise(frames, weights).groupby(level=[*SCENE, "judge"])
        noise: pd.Series = repeats.sum() / repeats.size() ** 2
        within = cells(
            noise * terms["factor"].reindex(noise.index.get_level_values("player")).to_numpy() ** 2
        )
    return Cube(tuple(players), tuple(scenes), tuple(judges), cells(finals), within)


def _scenes_of(values: pd.Series) -> pd.MultiIndex:
    """(character, situation) of each entry."""
    levels = [values.index.get_level_values(name) for name in SCENE[1:]]
    return pd.MultiIndex.from_arrays(levels, names=SCENE[1:])


def _normalised(finals: pd.Series, terms: pd.DataFrame) -> pd.Series:
    """Scores by player and more levels after the protocol's length rule."""
    own = terms.reindex(finals.index.get_level_values("player"))
    normalised: pd.Series = finals * own["factor"].to_numpy() + own["shift"].to_numpy()
    return normalised


@dataclass(frozen=True)
class RobustBoard:
    """The robust scoring of a board, for these judges and for judges like these."""

    grid: Grid
    cube: Cube

    @cached_property
    def spread(self) -> JudgeSpread | None:
        """How much players' scores depend on the judge; None if unknown (see :attr:`unknown`)."""
        return judge_spread(self.cube.values)

    @property
    def unknown(self) -> str | None:
        """Why nothing is known about other judges; None if something is."""
        if self.spread is not None:
            return None
        if len(self.cube.judges) < 2:
            return "there is only one judge, so nothing shows how others would differ"
        if len(self.cube.players) < 2:
            return "there is only one player"
        return "too few scenes are scored by more than one judge, or by each of the judges"

    @property
    def default(self) -> JudgesAs:
        """The wider of the two where it is known."""
        return "fixed" if self.spread is None else "sample"

    def pairs(self, judges_as: JudgesAs | None = None) -> pd.DataFrame:
        """:func:`paired_differences`; None: the default."""
        return paired_differences(self.grid, spread=self._used(judges_as))

    def players(self, pairs: pd.DataFrame, judges_as: JudgesAs | None = None) -> pd.DataFrame:
        """:func:`intervals` and :func:`rank_intervals`, best first. ``pairs``: from :meth:`pairs`."""
        return with_ranks(intervals(self.grid, self._used(judges_as)), pairs)

    def _used(self, judges_as: JudgesAs | None) -> JudgeSpread | None:
        return self.spread if (judges_as or self.default) == "sample" else None


def robust_board(
    frames: Frames,
    weights: Weights,
    *,
    turns: bool = False,
    policy: Policy = ROBUST,
    lengths: Frames | None = None,
    length_rule: bool = True,
) -> RobustBoard:
    """The robust scoring of ``frames``. The protocol's scale must be known and something scored.

    Args:
        frames: The evidence.
        weights: Weight of each criterion.
        turns: See :func:`robust_cube`.
        policy: What refusals, failures and missing judgements count for.
        lengths: The evidence whose answer lengths the length rule uses; None for ``frames``.
        length_rule: Whether the protocol's length rule applies.
    """
    finals = scene_scores(frames, weights, policy)["final"]
    terms = paper.length_terms(lengths or frames, finals.groupby(level="player").mean())
    if not length_rule:
        terms = terms.assign(factor=1.0, shift=0.0)
    counted = finals.index if policy.scenes == "shared" else None
    cube = robust_cube(frames, weights, terms, turns=turns, policy=policy, scenes=counted)
    return RobustBoard(grid(_normalised(finals, terms)), cube)


def grid(scenes: pd.Series) -> Grid:
    """The grid of a series indexed by SCENE."""
    (players, characters, situations), values = as_array(scenes)
    return Grid(players, characters, situations, values)


def intervals(scores: Grid, spread: JudgeSpread | None = None) -> pd.DataFrame:
    """``score`` of each player (index), with ``low`` and ``high`` of its 95% interval; NaN if unknown.

    Mean plus or minus t standard errors, two-way clustered. In simulations it covers .935 to .965. With
    ``spread`` the judges are a sample: the interval covers how a player would fare with other judges relative
    to the other players, not how lenient those would be to all.
    """
    made = clustered(scores.values)
    if spread is not None:
        made = widened(made, *spread.of_means(len(scores.players)))
    return interval_table(scores.players, made)


def interval_table(players: Sequence[str], made: MeanError) -> pd.DataFrame:
    """``score``, ``low`` and ``high`` of each player (index) from its mean."""
    reach = half_width(made.error, made.df)
    return pd.DataFrame(
        {"score": made.mean.round(NOISE_DECIMALS), "low": made.mean - reach, "high": made.mean + reach},
        index=pd.Index(players, name="player"),
    )


def paired_differences(
    scores: Grid, correction: Correction = CORRECTION, spread: JudgeSpread | None = None
) -> pd.DataFrame:
    """Compare every pair of players on the scenes that both have. With ``spread`` the judges are a sample.

    Returns the table of :func:`pair_table`; ``difference`` is that of their means on these scenes.
    """
    first, second = np.triu_indices(len(scores.players), 1)
    these = clustered_differences(scores.values, first, second)
    if spread is None:
        return pair_table(scores.players, these, p_values(these), correction)
    made = widened(these, *spread.of_difference(first, second))
    return pair_table(scores.players, made, np.maximum(p_values(these), p_values(made)), correction)


def pair_table(
    players: Sequence[str], made: MeanError, p: Array, correction: Correction = CORRECTION
) -> pd.DataFrame:
    """One row per pair of ``players``, from the difference of each pair in order.

    Columns: ``player`` and ``other``, ``scenes`` in common, their ``difference``, its ``standard_error`` and
    ``df``, ``p`` (t test, two-sided), ``p_adjusted`` for all pairs, and whether they are ``separated`` at 5%.
    What cannot be known is NaN, and such a pair is not separated.
    """
    pairs = list(combinations(players, 2))
    corrected = adjusted(p, correction)
    return pd.DataFrame(
        {
            "player": [player for player, _ in pairs],
            "other": [other for _, other in pairs],
            "scenes": made.n.astype(int),
            "difference": made.mean,
            "standard_error": made.error,
            "df": made.df,
            "p": p,
            "p_adjusted": corrected,
            "separated": corrected < ALPHA,
        }
    )


def p_values(made: MeanError) -> Array:
    """Two-sided p of each mean by its t test."""
    p: Array = 2 * t_tail(np.abs(made.mean) / made.error, made.df)
    return p


def adjusted(p: Array, correction: Correction) -> Array:
    """p values corrected for multiple comparisons; NaN (unknown) do not count."""
    result = p.copy()
    order = np.argsort(p, kind="stable")[: int((~np.isnan(p)).sum())]
    if correction == "holm":
        stepped = np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1))
        result[order] = np.minimum(stepped, 1.0)
    elif correction == "bh":
        result[order] = benjamini_hochberg(p[order])
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

    Judges are a sample where there are several. None if nothing is scored or the scale is unknown.
    """
    if facts_of(frames.protocol).scale is None or frames.scores.empty:
        return None
    return surely_better(robust_board(frames, weights).pairs())


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
    table["group"] = paper.group_places(names, lambda leader, name: (leader, name) in beaten)
    return table


def with_ranks(table: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """``table`` (``score`` by player) with the columns of :func:`rank_intervals`, best first."""
    ranked = table.join(rank_intervals(table["score"], pairs).drop(columns="score"))
    return ranked.sort_values("score", ascending=False, kind="stable")


def separability(pairs: pd.DataFrame) -> float | None:
    """Share of the pairs of players that differ significantly; None if no pair has a known p."""
    return float(pairs["separated"].mean()) if pairs["p"].notna().any() else None


def power_of(difference: float, error: float, df: float, alpha: float = ALPHA) -> float:
    """Power of a two-sided t test for a true ``difference`` with standard error ``error``."""
    shift = abs(difference) / error
    thresholds, weights = _thresholds(df, alpha)
    found = special.ndtr(shift - thresholds) + special.ndtr(-thresholds - shift)
    return float(found @ weights)


@lru_cache(maxsize=256)
def _thresholds(df: float, alpha: float) -> tuple[Array, Array]:
    """Thresholds of a difference, in true standard errors, and how likely each is with an estimated error.

    Averaging over them replaces the noncentral t, which scipy gets wrong for some arguments. With u the
    logarithm of the estimated variance over the true one, chi-squared with ``df`` degrees of freedom gives u
    a density proportional to exp(df (u - exp(u)) / 2). It is below e^-38 of its highest value outside the
    range taken here, and so smooth that the trapezoid rule is right to 1e-8.
    """
    depth = 2 * 38 / df
    low, high = -depth - math.sqrt(2 * depth), math.log1p(depth + math.sqrt(2 * depth))
    u = np.linspace(low, high, 100 + int((high - low) / 0.1))
    weights = np.exp(df / 2 * (u - np.expm1(u)))
    return float(t_quantile(1 - alpha / 2, df)) * np.exp(u / 2), weights / weights.sum()
