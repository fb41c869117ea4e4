"""How far annotators agree: with each other, with the mean of all, with the mean of the others."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from bench.agreement.alpha import NOBODY, ONE, alpha_figure
from bench.agreement.figures import Against, Figure, Resampling
from bench.records import Record
from bench.scores.bootstrap import NOISE_DECIMALS


class AnnotatorPair(Figure):
    """Spearman's rho of two annotators over the items that both scored."""

    criterion: str
    annotator: str
    other: str


class AnnotatorFigure(Record):
    """One annotator against the rest, over items that at least one other scored too."""

    criterion: str
    annotator: str
    items: int
    """Items that the annotator scored."""
    with_mean_of_all: Figure
    """The paper's row: the mean contains the annotator's own scores, so this is too high."""
    with_mean_of_others: Figure
    """Nobody is compared with itself."""


class Alpha(Figure):
    """Krippendorff's alpha, ordinal, of all annotators."""

    criterion: str
    annotators: int


class People(Record):
    """Agreement of the annotators of one sample."""

    annotators: tuple[str, ...]
    alpha: tuple[Alpha, ...]
    pairs: tuple[AnnotatorPair, ...]
    each: tuple[AnnotatorFigure, ...]
    reason: str | None
    """Why there is no pair; null where there is one."""


def people_of(tables: Mapping[str, pd.DataFrame], resampling: Mapping[str, Resampling]) -> People:
    """The agreement of annotators; ``tables``: per criterion and final, items x annotators."""
    names = tuple(map(str, next(iter(tables.values())).columns)) if tables else ()
    pairs: list[AnnotatorPair] = []
    each: list[AnnotatorFigure] = []
    alphas: list[Alpha] = []
    for criterion, table in tables.items():
        draws = resampling[criterion]
        made = alpha_figure(table, draws)
        alphas.append(Alpha(criterion=criterion, annotators=len(names), **made.model_dump()))
        each += [_annotator(criterion, table, name, draws) for name in names]
        for first, second in combinations(names, 2):
            figure = Against(table[first], table[[second]], draws).figure(second)
            pair = AnnotatorPair(criterion=criterion, annotator=first, other=second, **figure.model_dump())
            pairs.append(pair)
    return People(
        annotators=names,
        alpha=tuple(alphas),
        pairs=tuple(pairs),
        each=tuple(each),
        reason=None if len(names) > 1 else ONE if names else NOBODY,
    )


def _annotator(criterion: str, table: pd.DataFrame, name: str, draws: Resampling) -> AnnotatorFigure:
    rest = table.drop(columns=name)
    shared = rest.notna().any(axis=1)
    mine = table[name].where(shared)
    if rest.shape[1] == 0:
        none = Figure(n=0, value=None, reason=ONE)
        return AnnotatorFigure(
            criterion=criterion,
            annotator=name,
            items=int(table[name].notna().sum()),
            with_mean_of_all=none,
            with_mean_of_others=none,
        )
    means = pd.DataFrame({"all": table.mean(axis=1), "others": rest.mean(axis=1)}).round(NOISE_DECIMALS)
    means = means.where(shared, np.nan)
    against = Against(mine, means, draws)
    return AnnotatorFigure(
        criterion=criterion,
        annotator=name,
        items=int(table[name].notna().sum()),
        with_mean_of_all=against.figure("all"),
        with_mean_of_others=against.figure("others"),
    )
