"""Where people and judges disagree most: the items, and the turn that shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from bench.agreement.panel import Judged, Panel
from bench.records import Record
from bench.scores.paper import published

LIMIT = 30


class Dispute(Record):
    """One judge and the people on one item, on the criterion where they lie furthest apart.

    A place is the share of the judge's items that lie below (ties by half), 0 to 1: so scales and leniency
    drop out, and 0.9 against 0.2 says the judge puts the item near the top, people near the bottom.
    """

    label: str
    suite: str
    """Whose conversation it is; empty where the sample is a table."""
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
    """The judge's place minus that of people: positive where the judge is kinder."""
    turn: int | None
    """The turn whose score by the judge goes furthest in its direction; null where turns are not known."""


@dataclass(frozen=True)
class _Gap:
    judge: str
    item: str
    criterion: str
    scores: tuple[float, float]
    """The judge's, and that of people."""
    places: tuple[float, float]

    @property
    def size(self) -> float:
        return published(self.places[0] - self.places[1])


def disputes(
    panel: Panel, judged: Judged, people: pd.DataFrame, by_annotator: Mapping[str, pd.DataFrame]
) -> list[Dispute]:
    """The LIMIT largest gaps between a judge and people, each (judge, item) once, the largest first."""
    tables = panel.by_judge(judged)
    largest: dict[tuple[str, str], _Gap] = {}
    for criterion in panel.criteria:
        for judge in judged.judges:
            for gap in _gaps(judge, criterion, tables[criterion][judge], people[criterion]):
                known = largest.get((judge, gap.item))
                if known is None or abs(gap.size) > abs(known.size):
                    largest[judge, gap.item] = gap
    chosen = sorted(largest.values(), key=lambda gap: (-abs(gap.size), gap.judge, gap.item))[:LIMIT]
    about = panel.items.set_index("item")[["player", "character", "situation"]].astype("object")
    about = about.where(about.notna(), None)
    scenes = {str(item): tuple(about.loc[item].tolist()) for item in about.index} | dict(judged.scenes)
    raters = {name: table.notna().sum(axis=1).to_dict() for name, table in by_annotator.items()}
    return [
        Dispute(
            label=judged.label,
            suite=judged.suite,
            judge=gap.judge,
            item=gap.item,
            player=scenes[gap.item][0],
            character=scenes[gap.item][1],
            situation=scenes[gap.item][2],
            criterion=gap.criterion,
            people=published(gap.scores[1]),
            people_place=published(gap.places[1]),
            annotators=int(raters[gap.criterion][gap.item]),
            judge_score=published(gap.scores[0]),
            judge_place=published(gap.places[0]),
            gap=gap.size,
            turn=_turn(judged.turns, gap),
        )
        for gap in chosen
    ]


def _gaps(judge: str, criterion: str, scores: pd.Series, people: pd.Series) -> list[_Gap]:
    """The gap of every item that both scored; none where a side is the same for all."""
    both = pd.DataFrame({"judge": scores, "people": people}).dropna()
    if both["judge"].nunique() < 2 or both["people"].nunique() < 2:
        return []
    places = ((both.rank() - 0.5) / len(both)).to_numpy().tolist()
    return [
        _Gap(judge, str(item), criterion, (score[0], score[1]), (place[0], place[1]))
        for item, score, place in zip(both.index, both.to_numpy().tolist(), places, strict=True)
    ]


def _turn(turns: pd.DataFrame, gap: _Gap) -> int | None:
    """The first turn that the judge scored highest where it is kinder than people, else lowest."""
    if turns.empty:
        return None
    here = (turns["item"] == gap.item) & (turns["judge"] == gap.judge)
    mine = turns[here & (turns["criterion"] == gap.criterion)].sort_values("turn")
    if mine.empty:
        return None
    scores = mine["score"].tolist()
    at = scores.index(max(scores) if gap.size > 0 else min(scores))
    return int(mine["turn"].tolist()[at])
