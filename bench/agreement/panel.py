"""The tables that agreement is measured on: what people and what judges said of the same items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from bench.scores.bootstrap import NOISE_DECIMALS

FINAL = "final"
"""Stands beside the criteria: the mean of all of them, of an item that has all."""


@dataclass(frozen=True)
class Judged:
    """What the judges of one suite and version, or one table, said of the items."""

    label: str
    """How readers tell it from the others."""
    protocol: str
    judges: tuple[str, ...]
    """Also those that judged no item."""
    scores: pd.DataFrame
    """item, judge, criterion, score: float64, NaN or no row where there is none."""
    left_out: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Judge, then why, to how many items of the sample have no score by it for that reason."""
    votes: pd.DataFrame = field(default_factory=pd.DataFrame)
    """Judges x players: each judge's mean final of each player over the whole board, NaN where none."""
    own: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Judge to the players that are the same model, where there are any."""
    turns: pd.DataFrame = field(default_factory=pd.DataFrame)
    """item, judge, criterion, turn, score: what the scores are means of; empty where that is not known."""
    scenes: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)
    """Item to the player, character and situation of its conversation in this suite."""
    suite: str = ""
    changed: tuple[str, ...] = ()
    """Items whose conversation is another now than the one that people read."""
    unmatched: tuple[str, ...] = ()
    """Items that are no conversation of this suite."""


@dataclass(frozen=True)
class Panel:
    """One sample of items, the people who rated it and the judges who judged it."""

    name: str
    suite: str
    language: str
    criteria: tuple[str, ...]
    items: pd.DataFrame
    """item, player, character, situation: the last three None where they are not known. One row an item."""
    ratings: pd.DataFrame
    """item, annotator, criterion, score: float64, NaN where the annotator gave none."""
    judged: tuple[Judged, ...]
    refused: int = 0
    """Items in which an annotator saw a refusal."""
    with_final: bool = True
    """Whether the criteria are of the same items, so that their mean is something."""

    @property
    def measured(self) -> tuple[str, ...]:
        """The criteria and, where there are several of the same items, ``final``."""
        return (*self.criteria, FINAL) if self.with_final and len(self.criteria) > 1 else self.criteria

    @property
    def annotators(self) -> tuple[str, ...]:
        """Who gave at least one score, sorted."""
        return tuple(sorted(set(self.ratings.loc[self.ratings["score"].notna(), "annotator"])))

    def by_annotator(self) -> dict[str, pd.DataFrame]:
        """Per criterion and final: items x annotators."""
        return wide(self, self.ratings, "annotator", self.annotators)

    def by_judge(self, judged: Judged) -> dict[str, pd.DataFrame]:
        """Per criterion and final: items x judges."""
        return wide(self, judged.scores, "judge", judged.judges)


def wide(panel: Panel, scores: pd.DataFrame, rater: str, raters: Sequence[str]) -> dict[str, pd.DataFrame]:
    """Per criterion and final: the scores as items (index, the panel's order) x ``raters``; NaN where none.

    A rater's final of an item is the mean of its criteria, and is there only where all of them are. Values
    are rounded to NOISE_DECIMALS, so that means that are equal are one value; means of these are rounded anew
    where they are ranked (see bench.agreement.figures).
    """
    items = pd.Index(panel.items["item"], name="item")
    tables: dict[str, pd.DataFrame] = {}
    for criterion in panel.criteria:
        mine = scores[scores["criterion"] == criterion]
        table = mine.pivot(index="item", columns=rater, values="score")
        tables[criterion] = table.reindex(index=items, columns=list(raters)).astype("float64")
    if FINAL in panel.measured:
        stacked = np.stack([tables[criterion].to_numpy() for criterion in panel.criteria])
        tables[FINAL] = pd.DataFrame(stacked.mean(axis=0), index=items, columns=list(raters))
    return {name: table.round(NOISE_DECIMALS) for name, table in tables.items()}


def consensus(by_annotator: Mapping[str, pd.DataFrame], criteria: Sequence[str]) -> pd.DataFrame:
    """Items x criteria (and final): the mean over the annotators who scored the item, as the paper takes it.

    The final is the mean of the criteria's means, where all of them are there. NaN where nobody scored.
    """
    table = pd.DataFrame({name: mean_over(by_annotator[name]) for name in criteria})
    if FINAL in by_annotator:
        table[FINAL] = table[list(criteria)].mean(axis=1, skipna=False)
    return table.round(NOISE_DECIMALS)


def mean_over(table: pd.DataFrame) -> pd.Series:
    """The mean of each row over what is there; NaN, without a warning, where nothing is."""
    return table.mean(axis=1, skipna=True) if table.shape[1] else pd.Series(np.nan, index=table.index)
