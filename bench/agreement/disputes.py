"""Where people and judges disagree most: the items, and the turn that shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from bench.agreement.panel import ITEM_COLUMNS, Judged, Panel
from bench.records import Record
from bench.scores.paper import published

LIMIT = 30


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


class _Gap(NamedTuple):
    judge: str
    item: str
    criterion: str
    judge_score: float
    people: float
    judge_place: float
    people_place: float

    @property
    def size(self) -> float:
        return published(self.judge_place - self.people_place)


def disputes(
    panel: Panel, judged: Judged, people: pd.DataFrame, by_annotator: Mapping[str, pd.DataFrame]
) -> list[Dispute]:
    """The LIMIT largest gaps between a judge and people, one per judge and item, largest first."""
    tables = panel.by_judge(judged)
    largest: dict[tuple[str, str], _Gap] = {}
    for criterion in panel.criteria:
        for judge in judged.judges:
            for gap in _gaps(judge, criterion, tables[criterion][judge], people[criterion]):
                known = largest.get((judge, gap.item))
                if known is None or abs(gap.size) > abs(known.size):
                    largest[judge, gap.item] = gap
    chosen = sorted(largest.values(), key=lambda gap: (-abs(gap.size), gap.judge, gap.item))[:LIMIT]
    items = panel.items[list(ITEM_COLUMNS)].astype("object")
    rows = items.where(items.notna(), None).itertuples(index=False, name=None)
    scenes = {item: scene for item, *scene in rows} | {item: [*s] for item, s in judged.scenes.items()}
    raters = {name: table.notna().sum(axis=1).to_dict() for name, table in by_annotator.items()}
    result: list[Dispute] = []
    for gap in chosen:
        player, character, situation = scenes[gap.item]
        result.append(
            Dispute(
                label=judged.label,
                suite=judged.suite,
                judge=gap.judge,
                item=gap.item,
                player=player,
                character=character,
                situation=situation,
                criterion=gap.criterion,
                people=published(gap.people),
                people_place=published(gap.people_place),
                annotators=raters[gap.criterion][gap.item],
                judge_score=published(gap.judge_score),
                judge_place=published(gap.judge_place),
                gap=gap.size,
                turn=_turn(judged.turns, gap),
            )
        )
    return result


def _gaps(judge: str, criterion: str, scores: pd.Series, people: pd.Series) -> list[_Gap]:
    """The gap of every item that both scored; none if either side gave all items the same score."""
    both = pd.DataFrame({"judge": scores, "people": people}).dropna()
    if both["judge"].nunique() < 2 or both["people"].nunique() < 2:
        return []
    values = both.join(((both.rank() - 0.5) / len(both)).add_suffix("_place"))
    return [_Gap(judge, str(item), criterion, *row) for item, *row in values.itertuples(name=None)]


def _turn(turns: pd.DataFrame, gap: _Gap) -> int | None:
    """The first turn with the judge's highest score if it is kinder than people, else with its lowest."""
    if turns.empty:
        return None
    of_judge = (turns["item"] == gap.item) & (turns["judge"] == gap.judge)
    rows = turns[of_judge & (turns["criterion"] == gap.criterion)].sort_values("turn")
    if rows.empty:
        return None
    extreme = rows["score"].max() if gap.size > 0 else rows["score"].min()
    return int(rows.loc[rows["score"] == extreme, "turn"].iloc[0])
