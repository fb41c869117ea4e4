"""Ways to make one score out of several judges' scores, none of them fitted on what it is tested on.

All are made over the items that every judge of the ensemble scored, so that they are compared on equal terms.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bench.agreement.peers import peer_weights
from bench.records import sha256_of
from bench.scores.bootstrap import NOISE_DECIMALS
from bench.scores.correlation import rho

FOLDS = 5
LEAST_PLAYERS = 3
"""With fewer players, folds are made of conversations."""


@dataclass(frozen=True)
class Ensemble:
    """One ensemble's score of each item (NaN where a judge is missing), or why there is none.

    ``weights``: what each judge counts, adding up to 1, one mapping a fold, or one where there are no folds;
    empty where the method has no weights.
    """

    scores: pd.Series | None
    weights: tuple[Mapping[str, float], ...] = ()
    reason: str | None = None


@dataclass(frozen=True)
class Material:
    """What ensembles are made of, for one criterion."""

    judges: pd.DataFrame
    """Items x judges, without a missing cell."""
    people: pd.Series
    """The human score of each item. Only :func:`cross_validated` looks at it, and at training items only."""
    folds: pd.Series
    """The fold of each item."""
    votes: pd.DataFrame
    own: Mapping[str, Sequence[str]]


def mean(material: Material) -> Ensemble:
    """The plain mean, as the paper and the boards take it."""
    names = list(material.judges.columns)
    return Ensemble(material.judges.mean(axis=1), (dict.fromkeys(names, 1 / len(names)),))


def median(material: Material) -> Ensemble:
    """The median; of two judges it is their mean."""
    return Ensemble(material.judges.median(axis=1))


def normalised(material: Material) -> Ensemble:
    """The mean of standard scores: each judge's scores minus their mean, by their standard deviation.

    A judge that gives everything the same score has nothing to say and stays out. No human score enters.
    """
    spread = material.judges.std(ddof=0).round(NOISE_DECIMALS)
    telling = spread[spread > 0].index
    if len(telling) == 0:
        return Ensemble(None, reason="every judge gives all items the same score")
    table = material.judges[telling]
    return Ensemble(((table - table.mean()) / spread[telling]).mean(axis=1))


def cross_validated(material: Material) -> Ensemble:
    """The mean weighted by each judge's correlation with people, which is taken from the other folds.

    In each fold a judge weighs its Spearman correlation with people over the items of all other folds, or
    nothing where that is negative or does not exist; if no judge has one, all weigh the same. An item's score
    is its place, from 0 to 1, among all items by the weights of its fold: weighted scores of two folds lie on
    two levels, and their mixture would break ties and order by the fold.
    """
    names = list(material.judges.columns)
    folds = sorted(set(material.folds))
    if len(folds) < 2:
        return Ensemble(None, reason="one group of items: nothing can be held out to learn weights from")
    scores = pd.Series(np.nan, index=material.judges.index)
    weights = []
    for fold in folds:
        test = material.folds == fold
        training, people = material.judges[~test], material.people[~test]
        found = {name: rho(training[name].tolist(), people.tolist()) for name in names}
        raw = {name: max(value or 0.0, 0.0) for name, value in found.items()}
        total = sum(raw.values())
        share = {name: raw[name] / total if total > 0 else 1 / len(names) for name in names}
        scores[test] = _places(_weighted(material.judges, share))[test]
        weights.append(share)
    return Ensemble(scores, tuple(weights))


def by_pagerank(material: Material) -> Ensemble:
    """The mean weighted by PageRank over the judge-player graph (:mod:`bench.agreement.peers`)."""
    names = list(material.judges.columns)
    weights, reason = peer_weights(material.votes, material.own, names)
    if weights is None:
        return Ensemble(None, reason=reason)
    return Ensemble(_weighted(material.judges, weights), (weights,))


def _weighted(judges: pd.DataFrame, weights: Mapping[str, float]) -> pd.Series:
    total = sum((weights[str(name)] * judges[name] for name in judges.columns), pd.Series(0.0, judges.index))
    return total.round(NOISE_DECIMALS)


def _places(scores: pd.Series) -> pd.Series:
    return (scores.rank() - 0.5) / len(scores)


MEAN = "mean"
METHODS: dict[str, tuple[str, Callable[[Material], Ensemble]]] = {
    MEAN: ("Plain mean", mean),
    "median": ("Median", median),
    "weighted": ("Weighted by correlation, cross-validated", cross_validated),
    "normalised": ("Judge-normalised mean", normalised),
    "pagerank": ("Weighted by PageRank", by_pagerank),
}
"""Ways to combine judges, by name: what readers call them, and how they are made."""


def ensemble(method: str, material: Material) -> Ensemble:
    """The ensemble of a method of METHODS; scores are rounded to NOISE_DECIMALS, so that equal ones tie."""
    made = METHODS[method][1](material)
    if made.scores is None:
        return made
    return Ensemble(made.scores.round(NOISE_DECIMALS), made.weights)


def folds_of(items: pd.DataFrame, key: Sequence[str | int]) -> pd.Series:
    """The fold of each item (columns item, player): whole players together where there are enough of them.

    Two conversations of one player are alike, so weights learnt on one would be tested on what they know.
    The largest groups are dealt out first, each to the emptiest fold, equal ones in an order that ``key``
    draws.
    """
    players = items["player"]
    grouped = bool(players.notna().all()) and players.nunique() >= LEAST_PLAYERS
    groups = players if grouped else items["item"]
    sizes = groups.value_counts()
    order = sorted(sizes.index, key=lambda group: (-sizes[group], sha256_of([*key, str(group)])))
    held = [0] * min(FOLDS, len(order))
    fold: dict[Hashable, int] = {}
    for group in order:
        emptiest = held.index(min(held))
        fold[group] = emptiest
        held[emptiest] += int(sizes[group])
    return pd.Series([fold[group] for group in groups], index=pd.Index(items["item"], name="item"))
