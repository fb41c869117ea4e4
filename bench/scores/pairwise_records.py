"""The records of the board by rating: players, pairs and judges."""

from __future__ import annotations

from bench.records import SCHEMA_VERSION, Record
from bench.scores.correlation import Correlation
from bench.scores.robust import JudgesAs


class Effect(Record):
    """What moves verdicts besides the answers, in log odds, with a 95% interval; null where unknown."""

    estimate: float
    low: float | None
    high: float | None


class Tally(Record):
    """Comparisons of a pair, as the first player sees them."""

    wins: int = 0
    ties: int = 0
    losses: int = 0

    def plus(self, balance: float) -> Tally:
        """With one more comparison, which the first player leads by ``balance``."""
        name = "wins" if balance > 0 else "losses" if balance < 0 else "ties"
        return self.model_copy(update={name: getattr(self, name) + 1})

    def added(self, other: Tally) -> Tally:
        """With all comparisons of ``other``."""
        return Tally(
            wins=self.wins + other.wins, ties=self.ties + other.ties, losses=self.losses + other.losses
        )

    @property
    def turned(self) -> Tally:
        """The same, as the second player sees them."""
        return Tally(wins=self.losses, ties=self.ties, losses=self.wins)

    @property
    def total(self) -> int:
        """All comparisons."""
        return self.wins + self.ties + self.losses


class RatedPlayer(Record):
    """One player of the board by rating. An unknown number is null."""

    player: str
    name: str
    rating: float | None
    """Log odds relative to the mean of all rated players: one rated 1 above another wins about 73% of their
    comparisons that are not ties."""
    low: float | None
    high: float | None
    """95% interval, clustered by character and situation."""
    rank: int | None
    rank_low: int | None
    rank_high: int | None
    """Range of ranks that the data allow."""
    reason: str | None
    """Why there is no rating."""
    criteria: dict[str, float | None]
    """Rating on each criterion alone."""
    tally: Tally
    refusals: int
    """Comparisons that do not count because a judge saw this player refuse."""
    unfinished: int
    """Failed conversations."""
    score: float | None
    score_rank: int | None
    """On the board by score."""


class RatedPair(Record):
    """Two players compared directly."""

    player: str
    other: str
    tally: Tally
    by_criterion: dict[str, Tally]
    by_character: dict[str, Tally]
    by_situation: dict[str, Tally]
    difference: float | None
    """Of their ratings."""
    p_adjusted: float | None
    separated: bool


class RatedJudge(Record):
    """One judge's comparisons, and what moves its verdicts. Shares are null where nothing was counted."""

    judge: str
    standings: dict[str, int]
    """Comparisons by what they are worth: counts, or a key of NOT_COUNTED."""
    left_out: str | None
    """Why none of its comparisons moves a rating."""
    ties: float | None
    first: float | None
    """Share of verdicts, ties aside, that prefer the conversation shown first."""
    flipped: float | None
    """Share of comparisons whose verdict depends on the order."""
    by_position: float | None
    """Share of comparisons in which the same place is preferred in both orders."""
    cycles: float | None
    """Share of circular triples; random verdicts give 1/4."""
    position: Effect | None
    agreement: Correlation
    """Of the ratings by this judge alone with the scores of the board."""


class Rating(Record):
    """The board by rating of one suite and language."""

    schema_version: int = SCHEMA_VERSION
    suite: str
    version: str
    language: str
    criteria: tuple[str, ...]
    criterion: str
    """The criterion that is rated; "mean" for the mean of all."""
    judges_as: JudgesAs
    """``sample``: intervals also cover which judges happened to be asked."""
    sample_unknown: str | None
    """Why nothing is known about other judges."""
    standings: dict[str, int]
    rows: tuple[RatedPlayer, ...]
    """Best first, then those without a rating."""
    pairs: tuple[RatedPair, ...]
    judges: tuple[RatedJudge, ...]
    length: Effect | None
    """Per standard deviation of relative length; null where the data cannot tell."""
    same_family: Effect | None
    """Extra log odds of a player of the judge's own family."""
    separability: float | None
    agreement: Correlation
    """Of ratings with the scores of the board."""
    reason: str | None
    """Why nobody has a rating."""
