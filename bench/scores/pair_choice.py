"""Chooses which pairs of players to compare next, and in which scene.

The next pair is the one with the largest p (1 - p) Var(theta_i - theta_j): a comparison whose outcome is open
and about which little is known. Before the first verdict, strengths come from the order of the board by
score. A share of the pairs is drawn at random, so that a wrong order is seen. All pairs are asked both ways.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bench.scores.bootstrap import Array
from bench.scores.pairwise_data import Slot

RANDOM = 0.2
"""Share of pairs that are drawn at random."""
STEP = 0.25
"""Log odds between neighbours on the board by score, before anything else is known."""
PRIOR = 0.1
"""Precision of each strength before the first verdict."""
NEIGHBOURS = 3

Picked = tuple[str, str, Slot]
"""Two players and the slot in which to compare them."""


@dataclass(frozen=True)
class Choice:
    """What can be compared, and what has been."""

    order: tuple[str, ...]
    """Players, best first on the board by score."""
    slots: Mapping[str, Collection[Slot]]
    """Slots in which each player has a complete conversation."""
    strengths: Mapping[str, float]
    """Ratings so far; players without one get theirs from ``order``."""
    done: Collection[Picked]
    """What the judge has compared, players in any order."""
    neighbours: int = NEIGHBOURS
    """Only pairs within this many ranks are chosen, except at random."""
    mine: Callable[[Picked], bool] = lambda pick: True
    """Whether a comparison may be chosen here: machines that share the work choose different ones."""

    def theta(self) -> Array:
        """The strength of each player of ``order``: its rating if it has one, else from its rank."""
        by_rank: Array = STEP * (len(self.order) / 2 - np.arange(len(self.order), dtype=np.float64))
        known = [n for n, name in enumerate(self.order) if name in self.strengths]
        if not known:
            return by_rank
        rated = np.array([self.strengths[self.order[n]] for n in known])
        found: Array = by_rank - by_rank[known].mean() + rated.mean()
        found[known] = rated
        return found


def pairs_within(players: int, neighbours: int, slots: int) -> int:
    """Number of comparisons of all pairs within this many ranks in this many slots."""
    return slots * sum(max(0, players - distance) for distance in range(1, neighbours + 1))


def choose(choice: Choice, count: int, seed: int = 0) -> list[Picked]:
    """Up to ``count`` comparisons that have not been made. Equal arguments give the same ones."""
    rng = np.random.default_rng([seed, len(choice.done)])
    state = _State(choice)
    picked: list[Picked] = []
    while len(picked) < count:
        random = rng.random() < RANDOM
        pair = state.at_random(rng) if random else state.best()
        pair = pair or state.best() or state.at_random(rng)
        if pair is None:
            break
        picked.append(state.take(*pair, rng))
    return picked


class _State:
    """What is known while comparisons are being chosen, as if each chosen one had been made."""

    def __init__(self, choice: Choice) -> None:
        self.names = choice.order
        count = len(self.names)
        at = {name: n for n, name in enumerate(self.names)}
        theta = choice.theta()
        share = 1 / (1 + np.exp(-(theta[:, None] - theta[None, :])))
        self.open_outcome = share * (1 - share)
        places = np.empty(count)
        places[np.argsort(-theta, kind="stable")] = np.arange(count)
        distance = np.abs(places[:, None] - places[None, :])
        self.close = (distance <= choice.neighbours) & (distance > 0)
        self.covariance = np.eye(count) / PRIOR
        self.scene_use: dict[Slot, int] = {}
        done: dict[tuple[int, int], set[Slot]] = {}
        for one, other, slot in choice.done:
            if one in at and other in at:
                i, j = sorted((at[one], at[other]))
                done.setdefault((i, j), set()).add(slot)
                self._count(i, j, slot)
        self.left: dict[tuple[int, int], list[Slot]] = {}
        self.possible = np.zeros((count, count), dtype=bool)
        for i, j in combinations(range(count), 2):
            one, other = self.names[i], self.names[j]
            shared = set(choice.slots.get(one, ())) & set(choice.slots.get(other, ()))
            left = sorted(shared - done.get((i, j), set()))
            if left := [slot for slot in left if choice.mine((one, other, slot))]:
                self.left[i, j] = left
                self.possible[i, j] = True

    def best(self) -> tuple[int, int] | None:
        """The pair within reach that a comparison tells most about."""
        allowed = self.possible & self.close
        if not allowed.any():
            return None
        spread = np.diag(self.covariance)
        variance = spread[:, None] + spread[None, :] - 2 * self.covariance
        value = np.where(allowed, self.open_outcome * variance, -1.0)
        i, j = divmod(int(value.argmax()), len(self.names))
        return i, j

    def at_random(self, rng: np.random.Generator) -> tuple[int, int] | None:
        """Any pair that can still be compared."""
        pairs = sorted(self.left)
        return pairs[int(rng.integers(len(pairs)))] if pairs else None

    def take(self, i: int, j: int, rng: np.random.Generator) -> Picked:
        """Compare the pair in the slot that has been used least."""
        left = self.left[i, j]
        uses = [self.scene_use.get(slot, 0) for slot in left]
        rarest = [slot for slot, use in zip(left, uses, strict=True) if use == min(uses)]
        slot = rarest[int(rng.integers(len(rarest)))]
        left.remove(slot)
        if not left:
            del self.left[i, j]
            self.possible[i, j] = False
        self._count(i, j, slot)
        return self.names[i], self.names[j], slot

    def _count(self, i: int, j: int, slot: Slot) -> None:
        """Note a comparison: its scene, and what two verdicts add to what is known of the pair."""
        self.scene_use[slot] = self.scene_use.get(slot, 0) + 1
        along = self.covariance[:, i] - self.covariance[:, j]
        weight = 2 * self.open_outcome[i, j]
        self.covariance -= weight / (1 + weight * (along[i] - along[j])) * np.outer(along, along)


def rotated(
    picked: Sequence[Picked], judges: Sequence[str], counts: Mapping[str, int]
) -> dict[str, list[Picked]]:
    """``picked`` dealt out to ``judges`` in turn, those with fewest comparisons first."""
    dealt: dict[str, list[Picked]] = {judge: [] for judge in judges}
    for pick in picked:
        judge = min(judges, key=lambda name: (counts.get(name, 0) + len(dealt[name]), judges.index(name)))
        dealt[judge].append(pick)
    return dealt
