"""Ratings of players from pairwise judgements: one judge, one scene, two answers, a signed margin.

The model of a margin y with answer i shown before answer j is a cumulative logit with symmetric thresholds:
P(y >= k) = F(eta - t_k) and P(y <= -k) = F(-eta - t_k), F the logistic function, with

    eta = theta_i - theta_j + position_judge + length * dlen + self * same

so that without ties and sizes it is the model of Bradley and Terry (1952). Tables of wins, ties and losses
may use Davidson's (1970) model instead. Strengths and effects carry a weak ridge, so that a sparse set of
pairs stays identified. A margin is one observation, however large: taken for several wins it would make
intervals too narrow. Errors are clustered by scene: all judges and both orders of a scene are one cluster
(:mod:`bench.scores.pairwise_errors`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import special

from bench.scores.bootstrap import Array
from bench.scores.clusters import MeanError, Positions
from bench.scores.pairwise_errors import Scenes, errors

Ties = Literal["cumulative", "davidson"]
RIDGE = 0.01
"""Precision of the prior on strengths and effects: a standard deviation of 10, far wider than they ever are.
It keeps the position effect of a judge finite who always prefers the answer shown first."""
FEW = 5
"""A margin given fewer times than this has no threshold of its own."""
MOST_STEPS = 100
IDENTIFIED = 1e-6
"""If less than this part of an effect is left beside all others, it cannot be separated from them: with one
judge, self-preference and the strength of that family are one number."""
CLOSE = 1e-10
"""Newton's steps end where the log-likelihood is expected to grow by less than this."""


@dataclass(frozen=True)
class Comparisons:
    """Verdicts on pairs of answers, as arrays with one entry for each verdict."""

    players: tuple[str, ...]
    scenes: tuple[tuple[str, str], ...]
    """(character, situation) of each scene; a scene outside a grid has its name and ""."""
    judges: tuple[str, ...]
    first: Positions
    """Position in ``players`` of the answer shown first."""
    second: Positions
    scene: Positions
    judge: Positions
    margin: Array
    """Positive where the answer shown first is better, 0 for a tie."""
    longer: Array
    """Standardised relative length, (L_first - L_second) / (L_first + L_second) over its standard deviation;
    0 where a length is unknown."""
    same: Array
    """1 where only the first answer's player is of the judge's family, -1 where only the second's is."""

    def by_judge(self, judge: int) -> Comparisons:
        """The verdicts of one judge."""
        return self.where(self.judge == judge)

    def where(self, chosen: npt.NDArray[np.bool_]) -> Comparisons:
        """The verdicts at the places where ``chosen`` holds."""
        parts = ("first", "second", "scene", "judge", "margin", "longer", "same")
        return replace(self, **{name: getattr(self, name)[chosen] for name in parts})


@dataclass(frozen=True)
class Fit:
    """Estimates of the model: strengths of players, and what else moves a verdict (log odds)."""

    data: Comparisons
    theta: Array
    """Strength by player, mean 0; NaN for a player without a verdict."""
    names: tuple[str, ...]
    """Of the other effects: ``position:<judge>``, ``length``, ``self``; absent where the data cannot tell."""
    effects: Array
    thresholds: Array
    scores: Array
    """Verdicts x parameters: gradient of each verdict's log-likelihood. Parameters: players, effects, then
    thresholds."""
    scenes: Scenes
    penalty: Array

    def effect(self, name: str) -> tuple[float, float, float] | None:
        """(estimate, standard error, degrees of freedom) of an effect by name; None if not in the model.

        The error is NaN where the judged scenes do not tell, such as a single one.
        """
        if name not in self.names:
            return None
        at = self.names.index(name)
        made = self._errors(np.eye(len(self.penalty))[[len(self.theta) + at]])
        return float(self.effects[at]), float(made.error[0]), float(made.df[0])

    def differences(self, first: Positions, second: Positions) -> MeanError:
        """theta[first] - theta[second], with errors that hold for other scenes and these judges."""
        players = np.eye(len(self.theta), len(self.penalty))
        return replace(
            self._errors(players[first] - players[second]), mean=self.theta[first] - self.theta[second]
        )

    def strengths(self) -> MeanError:
        """theta with the error of each, relative to the mean of all players."""
        seen = np.isfinite(self.theta)
        players = np.eye(len(seen), len(self.penalty))
        return replace(self._errors(players - players[seen].mean(axis=0)), mean=self.theta)

    def _errors(self, contrasts: Array) -> MeanError:
        return errors(self.scenes, self.penalty, contrasts)


def fit(data: Comparisons, ties: Ties = "cumulative", ridge: float = RIDGE) -> Fit:
    """Fit the model by penalised maximum likelihood.

    Raises:
        ValueError: Nothing but ties, or ``ties`` is "davidson" and there are margins besides -1, 0 and 1.
    """
    if not data.margin.any():
        raise ValueError("no verdict that prefers one answer")
    linear, names = _design(data)
    if ties == "davidson":
        if not set(np.unique(data.margin)) <= {-1.0, 0.0, 1.0}:
            raise ValueError("Davidson's model knows wins, ties and losses only, not margins")
        model: _Cumulative | _Davidson = _Davidson(linear, data.margin)
    else:
        model = _Cumulative(linear, data.margin)
    count = len(data.players)
    penalty = np.zeros(linear.shape[1] + model.shapes)
    penalty[: linear.shape[1]] = ridge
    found = _newton(model, penalty)
    scores, pieces = model.derivatives(found)
    seen = np.zeros(count, dtype=bool)
    seen[data.first] = seen[data.second] = True
    return Fit(
        data=data,
        theta=np.where(seen, found[:count] - found[:count][seen].mean(), np.nan),
        names=names,
        effects=found[count : linear.shape[1]],
        thresholds=model.thresholds(found),
        scores=scores,
        scenes=_scenes(data, scores, pieces),
        penalty=penalty,
    )


Pieces = list[tuple[Array, Array]]
"""Rows and weights by verdict: minus the Hessian is the sum of weight x row' row over both."""


def _information(pieces: Pieces, chosen: Any = slice(None)) -> Array:
    """Minus the Hessian of the ``chosen`` verdicts' log-likelihood."""
    total: Array = sum(rows[chosen].T @ (weights[chosen, None] * rows[chosen]) for rows, weights in pieces)
    return total


def _scenes(data: Comparisons, scores: Array, pieces: Pieces) -> Scenes:
    judged = [np.flatnonzero(data.scene == n) for n in np.unique(data.scene)]
    names = np.array([data.scenes[data.scene[rows[0]]] for rows in judged])
    return Scenes(
        scores=np.array([scores[rows].sum(axis=0) for rows in judged]),
        information=np.array([_information(pieces, rows) for rows in judged]),
        character=np.unique(names[:, 0], return_inverse=True)[1],
        situation=np.unique(names[:, 1], return_inverse=True)[1],
    )


def _design(data: Comparisons) -> tuple[Array, tuple[str, ...]]:
    """The linear part of the model (verdicts x parameters), and the names of the effects behind players."""
    rows = np.arange(len(data.margin))
    players = np.zeros((len(rows), len(data.players)))
    players[rows, data.first] += 1
    players[rows, data.second] -= 1
    effects = {
        f"position:{name}": (data.judge == judge).astype(np.float64) for judge, name in enumerate(data.judges)
    }
    effects |= {"length": data.longer, "self": data.same}
    linear = players
    names: list[str] = []
    for name, column in effects.items():
        rest = _apart(linear, _apart(linear, column))  # twice, as once leaves an error of rounding
        if np.linalg.norm(rest) > IDENTIFIED * np.linalg.norm(column):
            linear, names = np.column_stack([linear, column]), [*names, name]
    return linear, tuple(names)


def _apart(linear: Array, column: Array) -> Array:
    """The part of ``column`` that the columns of ``linear`` do not explain. By their products, which takes a
    tenth of the time of least squares over all verdicts."""
    inverse = np.linalg.pinv(linear.T @ linear, rcond=1e-10, hermitian=True)
    rest: Array = column - linear @ (inverse @ (linear.T @ column))
    return rest


class _Cumulative:
    """Margins as ordered levels, with thresholds t_1 < t_2 < ... on both sides of 0; t_1 is 0 without ties.

    A loss by k under eta is as likely as a win by k under -eta, so every loss is turned into a win.
    """

    def __init__(self, linear: Array, margin: Array) -> None:
        sizes = _sizes(margin)
        level = np.where(margin == 0, 0, np.maximum(np.searchsorted(sizes, np.abs(margin), side="right"), 1))
        self.tied = bool((level == 0).any())
        self.shapes = len(sizes) - (not self.tied)
        self._level = level
        self._turned = linear * np.where(margin < 0, -1.0, 1.0)[:, None]
        known = np.eye(len(sizes))[:, len(sizes) - self.shapes :]  # row k - 1 picks t_k out of the shapes
        self._below = np.where(level[:, None] == 0, -known[0], known[np.maximum(level, 1) - 1])
        self._above = known[np.minimum(level, len(sizes) - 1)]
        self._top = level == len(sizes)

    def start(self) -> Array:
        """Thresholds that give the margins' shares, everything else 0."""
        beyond = np.array([(self._level >= k).mean() / 2 for k in range(1, self._level.max() + 1)])
        cuts = special.logit(1 - np.clip(beyond, 1e-6, 0.5))
        return np.concatenate([np.zeros(self._turned.shape[1]), cuts[len(cuts) - self.shapes :]])

    def _edges(self, at: Array) -> tuple[Array, Array]:
        """What lies between the noise and the edges below and above each verdict."""
        eta, shapes = np.split(at, [self._turned.shape[1]])
        eta = self._turned @ eta
        return self._below @ shapes - eta, np.where(self._top, np.inf, self._above @ shapes - eta)

    def _shares(self, below: Array, above: Array) -> Array:
        """The likelihood of each verdict, from the tail where it is exact."""
        flip = below > 0
        return special.expit(np.where(flip, -below, above)) - special.expit(np.where(flip, -above, below))

    def likelihood(self, at: Array) -> float:
        """The log-likelihood; minus infinity where thresholds are out of order."""
        p = self._shares(*self._edges(at))
        return float(np.log(p).sum()) if (p > 0).all() else -np.inf

    def derivatives(self, at: Array) -> tuple[Array, Pieces]:
        """Gradient of each verdict's log-likelihood (verdicts x parameters), and minus its Hessian."""
        below, above = self._edges(at)
        p = self._shares(below, above)
        scores = np.zeros((len(p), len(at)))
        pieces = [(scores, np.ones(len(p)))]
        for edge, shapes, sign in ((above, self._above, 1.0), (below, self._below, -1.0)):
            share = special.expit(edge)
            density = np.where(np.isinf(edge), 0.0, share * (1 - share)) * sign / p
            rows = np.column_stack([-self._turned, shapes])
            scores += density[:, None] * rows
            pieces.append((rows, -density * (1 - 2 * share)))
        return scores, pieces

    def thresholds(self, at: Array) -> Array:
        """t_1, t_2, ... in log odds."""
        shapes = at[self._turned.shape[1] :]
        return shapes if self.tied else np.concatenate([[0.0], shapes])


class _Davidson:
    """Wins, ties and losses: P(win) : P(loss) : P(tie) = exp(eta / 2) : exp(-eta / 2) : nu."""

    def __init__(self, linear: Array, margin: Array) -> None:
        self.linear = linear
        self._outcome = np.where(margin > 0, 0, np.where(margin < 0, 1, 2))  # win, loss, tie
        self.shapes = int((margin == 0).any())

    def start(self) -> Array:
        return np.zeros(self.linear.shape[1] + self.shapes)

    def _shares(self, at: Array) -> tuple[Array, Array, Array, Array]:
        """Probabilities of win, loss and tie, and the log-likelihood of each verdict."""
        eta = self.linear @ at[: self.linear.shape[1]]
        tie = at[-1] if self.shapes else -np.inf
        logs = np.stack([eta / 2, -eta / 2, np.full_like(eta, tie)])
        logs -= special.logsumexp(logs, axis=0)
        win, loss, tied = np.exp(logs)
        found = logs[self._outcome, np.arange(logs.shape[1])]
        return win, loss, tied, found

    def likelihood(self, at: Array) -> float:
        return float(self._shares(at)[3].sum())

    def derivatives(self, at: Array) -> tuple[Array, Pieces]:
        win, loss, tied, _ = self._shares(at)
        pieces = []
        for sign, share in ((1.0, win), (-1.0, loss), (0.0, tied)):
            along = (sign - (win - loss)) / 2
            tie = (float(sign == 0) - tied)[:, None][:, : self.shapes]
            pieces.append((np.column_stack([along[:, None] * self.linear, tie]), share))
        scores: Array = np.stack([rows for rows, _ in pieces])[self._outcome, np.arange(len(win))]
        return scores, pieces

    def thresholds(self, at: Array) -> Array:
        """The log of nu; empty without ties."""
        return at[self.linear.shape[1] :]


def _sizes(margin: Array) -> Array:
    """The sizes of margins that have a threshold of their own, smallest first.

    A size given fewer than FEW times counts as the next smaller one, or as the next larger if it is the
    smallest.
    """
    sizes, counts = np.unique(np.abs(margin[margin != 0]), return_counts=True)
    kept: Array = sizes[counts >= FEW]
    return kept if len(kept) else sizes[:1]


def _newton(model: _Cumulative | _Davidson, penalty: Array) -> Array:
    """The parameters with the largest penalised likelihood."""
    at = model.start()
    value = model.likelihood(at) - float(penalty @ at**2) / 2
    for _ in range(MOST_STEPS):
        scores, pieces = model.derivatives(at)
        gradient = scores.sum(axis=0) - penalty * at
        curved = _information(pieces) + np.diag(penalty + 1e-9)
        step = np.linalg.solve(curved, gradient)
        expected = float(step @ gradient)
        if expected < CLOSE:
            break
        size = 1.0
        while size > 1e-8:
            tried = at + size * step
            reached = model.likelihood(tried) - float(penalty @ tried**2) / 2
            if reached >= value:
                break
            size /= 2
        at, value = tried, reached
    return at


def standardised_lengths(first: Any, second: Any) -> Array:
    """(L_first - L_second) / (L_first + L_second) over its standard deviation; 0 where one is missing."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        relative = (a - b) / (a + b)
    spread = np.nanstd(relative) if np.isfinite(relative).any() else 0.0
    made: Array = np.nan_to_num(relative / spread) if spread > 0 else np.zeros(len(a))
    return made
