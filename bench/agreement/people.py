"""How far annotators agree: with each other, with the mean of all, with the mean of the others."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from bench.agreement.coefficients import Against, Coefficient, Resampling
from bench.records import Record
from bench.scores.alpha import ResampledAlpha, ordinal_alpha
from bench.scores.bootstrap import NOISE_DECIMALS

NOBODY = "nobody annotated it"
ONE_ANNOTATOR = "only one annotator, so there is nothing to compare"


class AnnotatorPair(Coefficient):
    """Spearman's rho of two annotators, over the items that both scored."""

    criterion: str
    annotator: str
    other: str


class AnnotatorAgreement(Record):
    """One annotator against the rest, over the items that at least one other scored too."""

    criterion: str
    annotator: str
    items: int
    """Items that the annotator scored."""
    with_mean_of_all: Coefficient
    """The paper's row. Too high, because the mean contains the annotator's own scores."""
    with_mean_of_others: Coefficient


class Alpha(Coefficient):
    """Krippendorff's alpha, ordinal, of all annotators."""

    criterion: str
    annotators: int


class People(Record):
    """Agreement of the annotators of one sample."""

    annotators: tuple[str, ...]
    alpha: tuple[Alpha, ...]
    pairs: tuple[AnnotatorPair, ...]
    each: tuple[AnnotatorAgreement, ...]
    reason: str | None
    """Why there is no pair; null if there is one."""

    def pair_of(self, criterion: str) -> dict[tuple[str, str], AnnotatorPair]:
        """The pairs of one criterion by their two annotators, in either order."""
        pairs = [pair for pair in self.pairs if pair.criterion == criterion]
        there = {(pair.annotator, pair.other): pair for pair in pairs}
        return there | {(pair.other, pair.annotator): pair for pair in pairs}

    def each_of(self, criterion: str) -> list[AnnotatorAgreement]:
        """Every annotator against the rest, on one criterion."""
        return [row for row in self.each if row.criterion == criterion]


def people_of(tables: Mapping[str, pd.DataFrame], resampling: Mapping[str, Resampling]) -> People:
    """The agreement of annotators. ``tables``: items x annotators for each criterion and final."""
    names = tuple(map(str, next(iter(tables.values())).columns)) if tables else ()
    pairs: list[AnnotatorPair] = []
    each: list[AnnotatorAgreement] = []
    alphas: list[Alpha] = []
    for criterion, table in tables.items():
        draws = resampling[criterion]
        alpha = alpha_of(table, draws)
        alphas.append(Alpha(criterion=criterion, annotators=len(names), **alpha.model_dump()))
        each += [_against_the_rest(criterion, table, name, draws) for name in names]
        for first, second in combinations(names, 2):
            rho = Against(table[first], table[[second]], draws).coefficient(second)
            pairs.append(
                AnnotatorPair(criterion=criterion, annotator=first, other=second, **rho.model_dump())
            )
    return People(
        annotators=names,
        alpha=tuple(alphas),
        pairs=tuple(pairs),
        each=tuple(each),
        reason=None if len(names) > 1 else ONE_ANNOTATOR if names else NOBODY,
    )


def alpha_of(table: pd.DataFrame, resampling: Resampling) -> Coefficient:
    """Alpha of a table of items x annotators; ``n`` counts the items that at least two scored.

    1: all give the same scores; 0: no better than scores assigned at random; below 0: worse than random.
    """
    values = table.to_numpy(dtype=np.float64)
    mask = (~np.isnan(values)).sum(axis=1) > 1
    scored = values[mask]
    n = len(scored)
    if table.shape[1] < 2:
        return Coefficient(n=n, value=None, reason=ONE_ANNOTATOR if table.shape[1] else NOBODY)
    if n == 0:
        return Coefficient(n=0, value=None, reason="no item was scored by two annotators")
    if len(np.unique(scored[~np.isnan(scored)])) < 2:
        return Coefficient(n=n, value=None, reason="all scores are the same, so alpha is undefined")
    low, high, reason = resampling.interval(mask, lambda: resampling.over(mask, scored, ResampledAlpha))
    return Coefficient(n=n, value=ordinal_alpha(scored), low=low, high=high, reason=reason)


def _against_the_rest(
    criterion: str, table: pd.DataFrame, name: str, draws: Resampling
) -> AnnotatorAgreement:
    rest = table.drop(columns=name)
    if rest.shape[1]:
        shared = rest.notna().any(axis=1)
        means = pd.DataFrame({"all": table.mean(axis=1), "others": rest.mean(axis=1)})
        against = Against(table[name].where(shared), means.round(NOISE_DECIMALS).where(shared), draws)
        with_all, with_others = against.coefficient("all"), against.coefficient("others")
    else:
        with_all = with_others = Coefficient(n=0, value=None, reason=ONE_ANNOTATOR)
    return AnnotatorAgreement(
        criterion=criterion,
        annotator=name,
        items=int(table[name].notna().sum()),
        with_mean_of_all=with_all,
        with_mean_of_others=with_others,
    )
