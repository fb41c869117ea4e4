"""Ways to combine several judges' scores into one. No method is fitted on the items it is tested on.

All are computed over the items that every judge scored, so that they are compared on equal terms.
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
"""With fewer players, folds consist of conversations."""
MEAN = "mean"


@dataclass(frozen=True)
class Ensemble:
    """One ensemble's score of each item, or None and the reason.

    ``weights``: each judge's weight, adding up to 1, one mapping per fold (one in all without folds). Empty
    if the method has no weights.
    """

    scores: pd.Series | None
    weights: tuple[Mapping[str, float], ...] = ()
    reason: str | None = None


@dataclass(frozen=True)
class Material:
    """The input of ensembles, for one criterion."""

    judges: pd.DataFrame
    """Items x judges, without missing cells."""
    people: pd.Series
    """The human score of each item. Only :func:`cross_validated` uses it, and only of training items."""
    folds: pd.Series
    """The fold of each item."""
    votes: pd.DataFrame
    own: Mapping[str, Sequence[str]]
    """``votes`` and ``own`` as :func:`bench.agreement.peers.peer_weights` takes them."""


def mean(material: Material) -> Ensemble:
    """The plain mean, as in the paper and on the boards."""
    names = list(material.judges.columns)
    return Ensemble(material.judges.mean(axis=1), (dict.fromkeys(names, 1 / len(names)),))


def median(material: Material) -> Ensemble:
    """The median; for two judges this is their mean."""
    return Ensemble(material.judges.median(axis=1))


def normalised(material: Material) -> Ensemble:
    """The mean of standard scores: each judge's scores minus their mean, divided by their standard deviation.

    A judge that gives every item the same score carries no information and is left out. Uses no human score.
    """
    spread = material.judges.std(ddof=0).round(NOISE_DECIMALS)
    informative = spread[spread > 0].index
    if len(informative) == 0:
        return Ensemble(None, reason="every judge gives all items the same score")
    table = material.judges[informative]
    return Ensemble(((table - table.mean()) / spread[informative]).mean(axis=1))


def cross_validated(material: Material) -> Ensemble:
    """The mean weighted by each judge's correlation with people, measured on the other folds.

    In each fold a judge's weight is its Spearman correlation with people over the items of all other folds,
    or 0 if that is negative or undefined. If all are 0, all judges weigh the same. An item's score is its
    rank among all items under the weights of its fold, scaled to 0 to 1: weighted scores of two folds are on
    different levels, so mixing them would break ties and sort by fold.
    """
    names = list(material.judges.columns)
    folds = sorted(set(material.folds))
    if len(folds) < 2:
        return Ensemble(None, reason="one group of items: none can be held out to learn weights")
    scores = pd.Series(np.nan, index=material.judges.index)
    weights = []
    for fold in folds:
        test = material.folds == fold
        training, people = material.judges[~test], material.people[~test].tolist()
        raw = {name: max(rho(training[name].tolist(), people) or 0.0, 0.0) for name in names}
        total = sum(raw.values())
        share = {name: raw[name] / total if total > 0 else 1 / len(names) for name in names}
        weighted = _weighted(material.judges, share)
        scores[test] = ((weighted.rank() - 0.5) / len(weighted))[test]
        weights.append(share)
    return Ensemble(scores, tuple(weights))


def by_pagerank(material: Material) -> Ensemble:
    """The mean weighted by PageRank over the judge-player graph (:mod:`bench.agreement.peers`)."""
    weights, reason = peer_weights(material.votes, material.own, list(material.judges.columns))
    if weights is None:
        return Ensemble(None, reason=reason)
    return Ensemble(_weighted(material.judges, weights), (weights,))


def _weighted(judges: pd.DataFrame, weights: Mapping[str, float]) -> pd.Series:
    total = sum((weights[str(name)] * judges[name] for name in judges.columns), pd.Series(0.0, judges.index))
    return total.round(NOISE_DECIMALS)


METHODS: dict[str, tuple[str, Callable[[Material], Ensemble]]] = {
    MEAN: ("Plain mean", mean),
    "median": ("Median", median),
    "weighted": ("Weighted by correlation, cross-validated", cross_validated),
    "normalised": ("Judge-normalised mean", normalised),
    "pagerank": ("Weighted by PageRank", by_pagerank),
}
"""Ways to combine judges, by name: the name for readers, and the function."""


def ensemble(method: str, material: Material) -> Ensemble:
    """The ensemble of a method of METHODS; scores are rounded to NOISE_DECIMALS, so that equal ones tie."""
    combined = METHODS[method][1](material)
    if combined.scores is None:
        return combined
    return Ensemble(combined.scores.round(NOISE_DECIMALS), combined.weights)


def folds_of(items: pd.DataFrame, key: Sequence[str | int]) -> pd.Series:
    """The fold of each item (columns item, player). Players stay whole if there are enough of them.

    Conversations of one player are alike, so weights learnt on one would be tested on known material. Groups
    are assigned from the largest to the smallest, each to the emptiest fold; ``key`` seeds the order of
    groups of equal size.
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
