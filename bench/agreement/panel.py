"""The tables that agreement is measured on: what people and judges said about the same items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from bench.scores.bootstrap import NOISE_DECIMALS

FINAL = "final"
"""Used beside the criteria: the mean of all of them, for an item that has all."""
ITEM_COLUMNS = ("item", "player", "character", "situation", "repeat")


@dataclass(frozen=True)
class Judged:
    """What the judges of one suite and version, or of one table, said about the items."""

    label: str
    """Name for readers."""
    protocol: str
    judges: tuple[str, ...]
    """All judges, including those that judged no item."""
    scores: pd.DataFrame
    """item, judge, criterion, score: float64; NaN or no row without a score."""
    left_out: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Judge to reason to the number of items that have no score by it for that reason."""
    votes: pd.DataFrame = field(default_factory=pd.DataFrame)
    """Judges x players: each judge's mean final of each player over the whole board, NaN if none."""
    own: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Judge to the players that are the same model, if there are any."""
    turns: pd.DataFrame = field(default_factory=pd.DataFrame)
    """item, judge, criterion, turn, score: what the scores are means of; empty if unknown."""
    scenes: Mapping[str, tuple[str, str, str, int]] = field(default_factory=dict)
    """Item to the player, character, situation and repeat of its conversation in this suite."""
    suite: str = ""
    changed: tuple[str, ...] = ()
    """Items whose conversation has changed since people read it."""
    unmatched: tuple[str, ...] = ()
    """Items that are not a conversation of this suite."""


@dataclass(frozen=True)
class Panel:
    """One sample of items, the people who rated it and the judges who judged it."""

    name: str
    suite: str
    language: str
    criteria: tuple[str, ...]
    items: pd.DataFrame
    """One row per item. Columns ITEM_COLUMNS; player, character and situation are None if unknown."""
    ratings: pd.DataFrame
    """item, annotator, criterion, score: float64, NaN if the annotator gave none."""
    judged: tuple[Judged, ...]
    refused: int = 0
    """Items in which an annotator saw a refusal."""
    with_final: bool = True
    """Whether the criteria score the same items, so that their mean is meaningful."""

    @property
    def measured(self) -> tuple[str, ...]:
        """The criteria and, if several score the same items, ``final``."""
        return (*self.criteria, FINAL) if self.with_final and len(self.criteria) > 1 else self.criteria

    @property
    def annotators(self) -> tuple[str, ...]:
        """Everyone who gave at least one score, sorted."""
        return tuple(sorted(set(self.ratings.loc[self.ratings["score"].notna(), "annotator"])))

    def by_annotator(self) -> dict[str, pd.DataFrame]:
        """Items x annotators, for each criterion and final."""
        return self._wide(self.ratings, "annotator", self.annotators)

    def by_judge(self, judged: Judged) -> dict[str, pd.DataFrame]:
        """Items x judges, for each criterion and final."""
        return self._wide(judged.scores, "judge", judged.judges)

    def _wide(self, scores: pd.DataFrame, rater: str, raters: Sequence[str]) -> dict[str, pd.DataFrame]:
        """Scores as items (in the panel's order) x ``raters``, for each criterion and final; NaN if missing.

        A rater's final of an item is the mean of its criteria, if it gave all of them. Values are rounded to
        NOISE_DECIMALS, so that equal means are equal numbers.
        """
        items = pd.Index(self.items["item"], name="item")
        tables: dict[str, pd.DataFrame] = {}
        for criterion in self.criteria:
            rows = scores[scores["criterion"] == criterion]
            table = rows.pivot(index="item", columns=rater, values="score")
            tables[criterion] = table.reindex(index=items, columns=list(raters)).astype("float64")
        if FINAL in self.measured:
            stacked = np.stack([tables[criterion].to_numpy() for criterion in self.criteria])
            tables[FINAL] = pd.DataFrame(stacked.mean(axis=0), index=items, columns=list(raters))
        return {name: table.round(NOISE_DECIMALS) for name, table in tables.items()}


def consensus(by_annotator: Mapping[str, pd.DataFrame], criteria: Sequence[str]) -> pd.DataFrame:
    """Items x criteria (and final): the mean over the annotators who scored the item, as in the paper.

    The final is the mean of the criteria's means, if all exist. NaN if nobody scored the item.
    """
    table = pd.DataFrame({name: by_annotator[name].mean(axis=1).astype("float64") for name in criteria})
    if FINAL in by_annotator:
        table[FINAL] = table[list(criteria)].mean(axis=1, skipna=False)
    return table.round(NOISE_DECIMALS)
