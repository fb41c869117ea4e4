"""A decision study: what other numbers of scenes and judges would separate, and the cheapest design."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Literal

from scipy import special

from bench.errors import UserError
from bench.records import SCHEMA_VERSION, Record
from bench.scores.analyses.variance import VarianceStudy
from bench.scores.clusters import OWN_FROM
from bench.scores.components import Components, Design, design
from bench.scores.digits import known, published
from bench.scores.distributions import t_quantile
from bench.scores.frame import Frames
from bench.scores.planning import detectable_difference
from bench.scores.policy import scale_of
from bench.scores.robust import ALPHA
from bench.tables import decimals

SCENES = (16, 32, 64, 128, 256, 512)
JUDGES = (1, 2, 4, 8)
"""Designs of the table."""
MOST_SCENES = 10_000
"""Largest number of scenes of the cheapest design."""

Goal = Literal["separability", "erho2", "difference"]
GOALS: tuple[Goal, ...] = ("separability", "erho2", "difference")


class DesignRow(Record):
    """What one design would separate. Judges count as a sample: claims are about judges like these."""

    scenes: int
    judges: int
    per_scene: int
    """Judges of each scene: all of them (crossed), or fewer in turn, in balance (rotated)."""
    rotated: bool
    erho2: float | None
    """Generalisability: share of the variance of differences between players' means that is real."""
    phi: float | None
    """Dependability: the same for the scores themselves, with the leniency of judges and scenes."""
    se_difference: float
    """Standard error of the difference between two players, in points."""
    se_these_judges: float
    """The same for these judges and no others."""
    separability: float
    """Share of the pairs of players that the board would separate, expected."""
    detectable_difference: float | None
    """Smallest true difference that the board would separate with a power of 80%, after correction for all
    pairs; null if even the width of the scale would not be."""
    judge_calls: int
    """Judgements of all players."""
    cost: str | None
    """US dollars of the judgements, as a decimal string; null if a price is unknown."""


class DesignStudy(Record):
    """The decision study of one board."""

    schema_version: int = SCHEMA_VERSION
    suite: str
    version: str
    language: str
    players: int
    components: dict[str, float]
    """Variances in squared points: p player, s scene, j judge, ps, pj, sj, r residual."""
    negative: tuple[str, ...]
    """Components whose estimate was below 0, which count as 0."""
    cost_of_judgement: str | None
    """Mean over the judges, at catalogue prices for the tokens that judgements used; null if unknown."""
    designs: tuple[DesignRow, ...]
    goal: Goal | None
    goal_value: float | None
    cheapest: DesignRow | None
    """The design with the fewest judgements that reaches the goal; null without a goal, or out of reach."""
    reason: str | None
    """Why there are no designs, or why none is the cheapest; null otherwise."""


def design_study(
    frames: Frames, study: VarianceStudy, price: Decimal | None, goal: tuple[Goal, float] | None = None
) -> DesignStudy:
    """The decision study of a board.

    Args:
        frames: The evidence.
        study: Its variance components.
        price: US dollars of one judgement, None if unknown.
        goal: What the cheapest design must reach, at least (a difference: at most).
    """
    found = study.every
    field = _Field(found, len(frames.players), _width(frames), price) if found else None
    rows = field.table() if field else []
    cheapest = field.cheapest(*goal) if field and goal else None
    unreached = f"no design with up to {max(JUDGES)} judges and {MOST_SCENES:,} scenes reaches this"
    return DesignStudy(
        suite=frames.suite,
        version=frames.version,
        language=frames.language,
        players=len(frames.players),
        components={} if found is None else {k: published(v) for k, v in found.variance.items()},
        negative=() if found is None else tuple(sorted(found.negative & found.variance.keys())),
        cost_of_judgement=None if price is None else decimals(price),
        designs=tuple(rows),
        goal=goal[0] if goal else None,
        goal_value=goal[1] if goal else None,
        cheapest=cheapest,
        reason=study.reason or (unreached if goal and cheapest is None else None),
    )


def _width(frames: Frames) -> float:
    low, high = scale_of(frames)
    return high - low


class _Field:
    """The components of a board, and all that turns a design into a row."""

    def __init__(self, found: Components, players: int, width: float, price: Decimal | None) -> None:
        self.found, self.players, self.width, self.price = found, players, width, price

    def table(self) -> list[DesignRow]:
        """SCENES x JUDGES, crossed, and rotated with one judge per scene and with half of them."""
        return [
            self.row(design(self.found, scenes, judges, each))
            for scenes in SCENES
            for judges in JUDGES
            for each in sorted({judges, 1, max(1, judges // 2)}, reverse=True)
        ]

    def row(self, made: Design) -> DesignRow:
        share = self.separability(made)
        calls = made.judge_calls * self.players
        return DesignRow(
            scenes=made.scenes,
            judges=made.judges,
            per_scene=made.per_scene,
            rotated=made.rotated,
            erho2=known(made.erho2),
            phi=known(made.phi),
            se_difference=published(made.se_difference),
            se_these_judges=published(made.se_these_judges),
            separability=published(share),
            detectable_difference=known(self._detectable(made, share)),
            judge_calls=calls,
            cost=None if self.price is None else decimals(self.price * calls),
        )

    def separability(self, made: Design) -> float:
        """The expected share: players' true means are normal, and a pair is tested at 5% of the share of
        pairs that are separated (Benjamini-Hochberg)."""
        spread = math.sqrt(2 * self.found.variance["p"] + made.se_difference**2)
        if spread == 0:
            return 0.0
        share, df = 1.0, self._df(made)
        for _ in range(200):
            reach = -float(t_quantile(self._alpha(share) / 2, df)) * made.se_difference
            before, share = share, 2 * float(special.ndtr(-reach / spread))
            if abs(before - share) < 1e-7:
                break
        return share

    def _detectable(self, made: Design, share: float) -> float | None:
        """The smallest difference that the board would separate if it separates this ``share`` of pairs."""
        if made.se_difference <= 0:
            return None
        alpha = self._alpha(share)
        return detectable_difference(made.se_difference, self._df(made), width=self.width, alpha=alpha)

    def cheapest(self, goal: Goal, value: float) -> DesignRow | None:
        """The design with the fewest judgements that reaches ``value``; None if none does."""
        reached = [made for made in self._reaching(self._test(goal, value)) if made is not None]
        best = min(reached, key=lambda made: (made.judge_calls, made.scenes, made.judges), default=None)
        return None if best is None else self.row(best)

    def _reaching(self, enough: Callable[[Design], bool]) -> Iterator[Design | None]:
        """For each number of judges, in all and per scene, the fewest scenes that are enough."""
        for judges in range(1, max(JUDGES) + 1):
            for each in range(1, judges + 1):
                if not enough(design(self.found, MOST_SCENES, judges, each)):
                    yield None
                    continue
                low, high = max(1, judges - 1), MOST_SCENES  # every judge has a scene
                while high - low > 1:
                    middle = (low + high) // 2
                    fits = enough(design(self.found, middle, judges, each))
                    low, high = (low, middle) if fits else (middle, high)
                yield design(self.found, high, judges, each)

    def _test(self, goal: Goal, value: float) -> Callable[[Design], bool]:
        if goal == "erho2":
            return lambda made: made.erho2 is not None and made.erho2 >= value
        if goal == "separability":
            return lambda made: self.separability(made) >= value
        return lambda made: (self._detectable(made, self.separability(made)) or math.inf) <= value

    def _alpha(self, share: float) -> float:
        return ALPHA * max(share, 1 / max(1, math.comb(self.players, 2)))

    def _df(self, made: Design) -> float:
        """Satterthwaite's, of scenes and judges; those of one judge are unknown and count as many."""
        these = made.se_these_judges**2
        judges = made.se_difference**2 - these
        parts = [(these, made.scenes - 1)]
        if made.judges > 1:
            own = made.judges >= OWN_FROM
            parts.append((judges, (2 if own else self.players - 1) * (made.judges - 1)))
        pieces = sum(value**2 / df for value, df in parts if df > 0)
        return made.se_difference**4 / pieces if pieces > 0 else 1e6


def goal_of(text: str) -> tuple[Goal, float]:
    """The goal in ``text``, such as ``separability=0.6``. Raises UserError if it is invalid."""
    name, _, number = text.partition("=")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    goal = next((goal for goal in GOALS if goal == name.strip()), None)
    most = math.inf if goal == "difference" else 1.0
    if goal is None or not 0 < value < most:
        raise UserError(
            f"invalid goal {text!r}",
            hint="Write separability=0.6 or erho2=0.9 (between 0 and 1), or difference=0.2 (points).",
        )
    return goal, value
