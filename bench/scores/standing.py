"""The robust scoring of a board as records: for these judges, and for judges like these."""

from __future__ import annotations

from typing import Any

import pandas as pd

from bench.protocol_facts import facts_of
from bench.records import Record
from bench.scores.bootstrap import Array
from bench.scores.chances import chances
from bench.scores.digits import known, published
from bench.scores.frame import Frames
from bench.scores.planning import typical_difference
from bench.scores.robust import CORRECTION, JudgesAs, RobustBoard, robust_board, separability
from bench.scores.weights import Weights


class Standing(Record):
    """A player's interval and place; unknown numbers are null."""

    low: float | None
    high: float | None
    """95% interval, clustered by character and situation; null if its width cannot be known: with one scene,
    or the same score in every scene."""
    rank: int
    """Rank by the robust score."""
    rank_low: int
    rank_high: int
    """Range of ranks that the data allow."""
    group: int
    """Tie group: the rank of its leader; no member differs significantly from the leader."""
    first: float | None
    """Probability of the first place: share of the resamples of the scenes."""
    top_three: float | None
    """Probability of one of the first three places."""

    @property
    def ranks(self) -> str:
        """The rank and, in brackets, the ranks that the player could plausibly hold."""
        low, high = self.rank_low, self.rank_high
        return f"{self.rank} ({low})" if low == high else f"{self.rank} ({low}–{high})"


class RobustScore(Standing):
    """A player's numbers under the robust scoring: refusals count, characters and situations are sampled.

    Its own fields are for these judges and no others.
    """

    score: float
    """Length-normalised, comparable with ``length_norm_score``."""
    sample: Standing | None
    """The same for judges like these: the judges are a sample too. Null if unknown."""

    def standing(self, judges_as: JudgesAs | None = None) -> Standing:
        """For judges taken in one way; None: as a sample where that is known."""
        return self if judges_as == "fixed" or self.sample is None else self.sample


class Separability(Record):
    """What a board separates."""

    separability: float | None
    """Share of the pairs of players that differ significantly."""
    standard_error: float | None
    """Of the difference of a typical pair: the root of the mean variance over pairs."""
    detectable_difference: float | None
    """Smallest true difference of such a pair that the board separates with a power of 80%, after correction
    for all pairs; null if even the width of the scale would not be detected."""


class RobustSummary(Separability):
    """The robust scoring's figures for a whole board. Its own fields are for these judges and no others."""

    correction: str
    """Correction for multiple comparisons: bh (Benjamini-Hochberg) or holm."""
    pairs: int
    judges_as: JudgesAs
    """What pages and tables show unless asked: ``sample`` where it is known."""
    sample: Separability | None
    """The same for judges like these. Null if unknown."""
    sample_unknown: str | None
    """Why nothing is known about judges like these; null if something is."""
    judge_variance: float | None
    """Variance of player x judge, squared points: how much players' scores depend on which judge is asked."""

    def view(self, judges_as: JudgesAs | None = None) -> Separability:
        """For judges taken in one way; None: as a sample where that is known."""
        return self if judges_as == "fixed" or self.sample is None else self.sample


def robust_records(
    frames: Frames, weights: Weights, *, resamples: int, seed: int
) -> tuple[RobustSummary | None, dict[str, RobustScore]]:
    """The board's summary and the numbers of each scored player; (None, {}) if the scale is unknown or
    nothing is scored."""
    scale = facts_of(frames.protocol).scale
    if scale is None or frames.scores.empty:
        return None, {}
    scored = robust_board(frames, weights)
    width, count = scale[1] - scale[0], len(scored.grid.players)
    pairs = scored.pairs("fixed")
    error = typical_difference(pairs, width=width)[0]
    fixed = _standings(scored, "fixed", pairs, _chances(scored, error, None, resamples, seed))
    sample, sampled = None, None
    if scored.spread is not None:
        wider = scored.pairs("sample")
        found = _chances(scored, error, scored.spread.of_means(count)[0], resamples, seed)
        sampled = _standings(scored, "sample", wider, found)
        sample = Separability(**_summary(wider, width))
    means = fixed["score"].map(published)
    return RobustSummary(
        **_summary(pairs, width),
        correction=CORRECTION,
        pairs=len(pairs),
        judges_as=scored.default,
        sample=sample,
        sample_unknown=scored.unknown,
        judge_variance=None if scored.spread is None else published(scored.spread.pooled),
    ), {
        str(player): RobustScore(
            **_fields(fixed.loc[player]),
            score=means[player],
            sample=None if sampled is None else Standing(**_fields(sampled.loc[player])),
        )
        for player in fixed.index
    }


def _summary(pairs: pd.DataFrame, width: float) -> dict[str, Any]:
    """Fields of Separability."""
    error, least = typical_difference(pairs, width=width)
    return {
        "separability": known(separability(pairs)),
        "standard_error": known(error),
        "detectable_difference": known(least),
    }


def _standings(
    scored: RobustBoard, way: JudgesAs, pairs: pd.DataFrame, found: dict[str, Array]
) -> pd.DataFrame:
    """The numbers of each player (index), best first: columns of Standing, and ``score``."""
    own = pd.DataFrame(found, index=pd.Index(scored.grid.players, name="player"))
    return scored.players(pairs, way).join(own.reindex(columns=["first", "top_three"]))


def _chances(
    scored: RobustBoard, error: float | None, added: Array | None, resamples: int, seed: int
) -> dict[str, Array]:
    found = chances(scored.grid, None if error is None else error**2, added, resamples, seed)
    return {} if found is None else dict(zip(("first", "top_three"), found, strict=True))


def _fields(row: pd.Series) -> dict[str, Any]:
    """Fields of Standing."""
    numbers = {name: known(row[name]) for name in ("low", "high", "first", "top_three")}
    return numbers | {name: int(row[name]) for name in ("rank", "rank_low", "rank_high", "group")}
