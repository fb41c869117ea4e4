"""Where people and judges disagree most: the items, and the turn that shows it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from bench.agreement.panel import ITEM_COLUMNS, Judged, Panel
from bench.records import Record, Repeat
from bench.scores.paper import DIGITS, published

LIMIT = 30
VALUES = ("judge_score", "people", "judge_place", "people_place")


class Dispute(Record):
    """One judge and the people on one item, on the criterion where they differ most.

    A place is the share of the judge's items that are lower (ties count half), from 0 to 1, so scales and
    leniency cancel out. 0.9 against 0.2 means: near the top for the judge, near the bottom for people.
    """

    label: str
    suite: str
    """Suite of the conversation; empty if the sample is a table."""
    judge: str
    item: str
    player: str | None
    character: str | None
    situation: str | None
    repeat: Repeat = 1
    criterion: str
    people: float
    """Mean score of the annotators."""
    people_place: float
    annotators: int
    judge_score: float
    judge_place: float
    gap: float
    """The judge's place minus that of people: positive if the judge is kinder."""
    turn: int | None
    """The turn whose score by the judge goes furthest in its direction; null if turns are not known."""


def disputes(
    panel: Panel, judged: Judged, people: pd.DataFrame, by_annotator: Mapping[str, pd.DataFrame]
) -> list[Dispute]:
    """The LIMIT largest gaps between a judge and people, one per judge and item, largest first."""
    tables = panel.by_judge(judged)
    gaps = [
        _gaps(tables[criterion][judge], people[criterion], by_annotator[criterion]).assign(
            judge=judge, criterion=criterion
        )
        for criterion in panel.criteria
        for judge in judged.judges
    ]
    if not gaps:
        return []
    table = pd.concat(gaps, ignore_index=True)
    sizes = table["gap"].abs()
    least = sizes.nlargest(LIMIT * len(panel.criteria)).min() - 10.0**-DIGITS  # ties are broken once rounded
    table = table[sizes >= least]
    table = table.assign(**{name: table[name].map(published) for name in (*VALUES, "gap")})
    table = table.assign(size=table["gap"].abs())
    largest = table.sort_values("size", ascending=False, kind="stable").drop_duplicates(["judge", "item"])
    largest = largest.sort_values(["size", "judge", "item"], ascending=[False, True, True]).head(LIMIT)
    items = panel.items[list(ITEM_COLUMNS)].astype("object")
    rows = items.where(items.notna(), None).itertuples(index=False, name=None)
    scenes = {item: tuple(scene) for item, *scene in rows} | dict(judged.scenes)
    return [
        Dispute(
            label=judged.label,
            suite=judged.suite,
            **dict(zip(ITEM_COLUMNS[1:], scenes[row["item"]], strict=True)),
            turn=_turn(judged.turns, row),
            **{name: row[name] for name in (*VALUES, "item", "judge", "criterion", "annotators", "gap")},
        )
        for row in largest.to_dict("records")
    ]


def _gaps(scores: pd.Series, people: pd.Series, raters: pd.DataFrame) -> pd.DataFrame:
    """Item, VALUES, annotators and gap of every item that both a judge and people scored.

    Empty if either side gave all items the same score.
    """
    both = pd.DataFrame({"judge_score": scores, "people": people}).dropna()
    if (both.nunique() < 2).any():
        both = both.iloc[:0]
    places = (both.rank() - 0.5) / len(both)
    return both.assign(
        judge_place=places["judge_score"],
        people_place=places["people"],
        gap=places["judge_score"] - places["people"],
        annotators=raters.notna().sum(axis=1).loc[both.index],
    ).reset_index(names="item")


def _turn(turns: pd.DataFrame, gap: Mapping[Hashable, Any]) -> int | None:
    """The first turn with the judge's highest score if it is kinder than people, else with its lowest."""
    if turns.empty:
        return None
    keys = ["item", "judge", "criterion"]
    rows = turns[(turns[keys] == [gap[key] for key in keys]).all(axis=1)].sort_values("turn")
    if rows.empty:
        return None
    extreme = rows["score"].max() if gap["gap"] > 0 else rows["score"].min()
    return int(rows.loc[rows["score"] == extreme, "turn"].iloc[0])
