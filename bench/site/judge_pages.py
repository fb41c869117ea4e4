"""The judges' page: agreement, leniency, self-preference, and the largest disagreements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from pydantic import JsonValue

from bench.scores.weights import EQUAL
from bench.site.cells import CellSummary
from bench.site.charts import diverging
from bench.site.context import BoardContext
from bench.site.judge_summary import judge_summary
from bench.site.shell import Page
from bench.site.variance import variance_values

DISPUTES = 20
"""Most disagreements to list."""
ORDER_WORDS = {
    "spread": "Largest minus smallest score of a response, in points",
    "other_band": "Share of responses that fall into different bands",
    "answer_1_first": "Score with the data set's answer 1 first, minus the mean over all orders",
    "answer_2_first": "The same with answer 2 first",
    "answer_3_first": "The same with answer 3 first",
}
"""The measures of :mod:`bench.scores.analyses.orders`, in words."""


@dataclass(frozen=True)
class Spread:
    """A player's score by each judge alone, and largest minus smallest of the judges' means."""

    player: str
    scores: tuple[float | None, ...]
    apart: float


def judges_page(context: BoardContext) -> Page:
    """The page of a board's judges."""
    evidence = context.evidence
    values = {
        "judges": context.board.judges,
        "leniency": evidence.rows_of("leniency"),
        "orders": evidence.rows_of("orders"),
        "order_words": ORDER_WORDS,
        "agreement": _agreement(context),
        "agreement_criteria": list(dict.fromkeys(row["criterion"] for row in evidence.rows_of("agreement"))),
        "judge_pairs": evidence.rows_of("judge_pairs"),
        "preference": evidence.rows_of("preference"),
        "disputes": _most_disputed(context),
        "spread": _spread(context),
        "summary": judge_summary(context),
        "tint": diverging,
        **variance_values(evidence),
    }
    return context.part_page("judges", values)


@dataclass(frozen=True)
class Agreement:
    """How far some judges agree: alpha by criterion."""

    judges: str
    alphas: dict[JsonValue, JsonValue]
    turns: tuple[JsonValue, ...]
    """Their numbers of turns, fewest first."""
    reasons: tuple[JsonValue, ...]


def _agreement(context: BoardContext) -> list[Agreement]:
    """All judges, then each pair."""
    name = context.pages.judge
    names = {f"{a} / {b}": f"{name(a)} / {name(b)}" for a, b in combinations(context.board.judges, 2)}
    found: dict[str, list[Mapping[str, JsonValue]]] = {}
    for row in context.evidence.rows_of("agreement"):
        found.setdefault(str(row["judges"] or ""), []).append(row)
    return [
        Agreement(
            names.get(judges, judges) or "all judges",
            {row["criterion"]: row["alpha"] for row in rows},
            tuple(sorted({row["turns"] for row in rows if isinstance(row["turns"], int)})),
            tuple(dict.fromkeys(row["reason"] for row in rows if row["reason"])),
        )
        for judges, rows in found.items()
    ]


def _most_disputed(context: BoardContext) -> list[CellSummary]:
    talks = [talk for cells in context.cells.values() for cell in cells.values() for talk in cell.talks]
    disputed = [(talk.dispute.gap, talk) for talk in talks if talk.dispute]
    disputed.sort(key=lambda pair: (-pair[0], pair[1].player, pair[1].talk))
    return [cell for _, cell in disputed[:DISPUTES]]


def _spread(context: BoardContext) -> list[Spread]:
    """Players with the largest spread first."""
    evidence = context.evidence
    rows = []
    for player in evidence.rows.keys() & evidence.spread.keys():
        alone = [evidence.by_judge.get(j, {}).get(EQUAL, {}).get(player) for j in context.board.judges]
        scores = tuple(None if numbers is None else numbers.score for numbers in alone)
        rows.append(Spread(player, scores, evidence.spread[player]))
    places = {player: n for n, player in enumerate(evidence.rows)}
    return sorted(rows, key=lambda row: (-row.apart, places[row.player]))
