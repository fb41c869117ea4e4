"""The board by rating of pairwise judgements that another project published."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import numpy as np
import pandas as pd

from bench.results.compared import ComparedTable
from bench.scores.correlation import Correlation
from bench.scores.pairwise import Comparisons, Fit, fit
from bench.scores.pairwise_board import effect_of, named
from bench.scores.pairwise_data import MEAN, connected
from bench.scores.pairwise_ratings import habits, judges_spread, pairwise_numbers
from bench.scores.pairwise_records import RatedJudge, RatedPair, RatedPlayer, Rating, Tally
from bench.scores.paper import published
from bench.scores.robust import JudgesAs, separability

NO_SCORES = Correlation(kind="spearman", n=0, value=None, reason="there is no board by score")


def table_rating(table: ComparedTable, judges_as: JudgesAs | None = None) -> Rating:
    """The board by rating of ``table``.

    Every line counts, whether or not its pair was asked in both orders: another project may have drawn the
    order at random. Wins, ties and losses use Davidson's model, margins the ordered logistic one. Answer
    lengths and families are unknown.
    """
    data = arrays_of(table)
    groups = connected((line.first, line.second) for line in table.lines)
    inside = np.array([name in groups[0] for name in data.players])
    rated = data.where(inside[data.first])
    fitted: Fit | None = None
    if rated.margin.any():
        wins_only = set(np.unique(rated.margin)) <= {-1.0, 0.0, 1.0}
        fitted = fit(rated, "davidson" if wins_only else "cumulative")
    spread = None if fitted is None or judges_as == "fixed" else judges_spread(fitted.data)
    players, pairs = pairwise_numbers(fitted, spread) if fitted is not None else (pd.DataFrame(),) * 2
    return Rating(
        suite=table.name,
        version=table.source.commit[:12],
        language=table.source.language,
        criteria=(),
        criterion=MEAN,
        judges_as="fixed" if spread is None else "sample",
        sample_unknown=None if spread is not None else "it takes four judges who each compared all players",
        standings={"counts": len(table.lines)},
        rows=_rows(table, players, groups[0]),
        pairs=_pairs(table, pairs),
        judges=_judges(table, data, fitted),
        length=None,
        same_family=None,
        separability=None if fitted is None else separability(pairs),
        agreement=NO_SCORES,
        reason=None if fitted is not None else "no verdict prefers one player",
    )


def arrays_of(table: ComparedTable) -> Comparisons:
    """The lines as arrays."""
    columns = list(zip(*table.lines, strict=True))
    names = sorted({*columns[2], *columns[3]})
    places = [sorted(set(columns[0])), sorted(set(columns[1])), names, names]
    scene, judge, first, second = (
        pd.Index(known).get_indexer(list(column)) for known, column in zip(places, columns, strict=False)
    )
    count = len(table.lines)
    return Comparisons(
        players=tuple(names),
        scenes=tuple((name, "") for name in places[0]),
        judges=tuple(places[1]),
        first=first,
        second=second,
        scene=scene,
        judge=judge,
        margin=np.array(columns[4], dtype=np.float64),
        longer=np.zeros(count),
        same=np.zeros(count),
    )


def _rows(table: ComparedTable, players: pd.DataFrame, inside: set[str]) -> tuple[RatedPlayer, ...]:
    tallies: dict[str, Tally] = defaultdict(Tally)
    for line in table.lines:
        tallies[line.first] = tallies[line.first].plus(line.margin)
        tallies[line.second] = tallies[line.second].plus(-line.margin)
    found: dict[str, dict[str, Any]] = {
        str(name): named(row) for name, row in players.to_dict("index").items()
    }
    order = [*found, *sorted(set(tallies) - set(found))]
    why = "no chain of comparisons leads from it to the other players"
    return tuple(
        RatedPlayer(
            player=name,
            name=name,
            rating=_known(row, "score"),
            low=_known(row, "low"),
            high=_known(row, "high"),
            rank=None if row is None else int(row["rank"]),
            rank_low=None if row is None else int(row["rank_low"]),
            rank_high=None if row is None else int(row["rank_high"]),
            reason=None
            if row is not None
            else why
            if name not in inside
            else "no verdict prefers one player",
            criteria={},
            tally=tallies[name],
            refusals=0,
            unfinished=0,
            score=None,
            score_rank=None,
        )
        for name in order
        for row in [found.get(name)]
    )


def _pairs(table: ComparedTable, tested: pd.DataFrame) -> tuple[RatedPair, ...]:
    tallies: dict[tuple[str, str], Tally] = defaultdict(Tally)
    for line in table.lines:
        first, second = sorted((line.first, line.second))
        sign = 1 if first == line.first else -1
        tallies[first, second] = tallies[first, second].plus(sign * line.margin)
    rows: list[dict[str, Any]] = [named(row) for row in tested.to_dict("records")]
    tests = {(row["player"], row["other"]): row for row in rows}
    return tuple(
        RatedPair(
            player=player,
            other=other,
            tally=tally,
            by_criterion={},
            by_character={},
            by_situation={},
            difference=_known(tests.get((player, other)), "difference"),
            p_adjusted=_known(tests.get((player, other)), "p_adjusted"),
            separated=bool((tests.get((player, other)) or {}).get("separated", False)),
        )
        for (player, other), tally in sorted(tallies.items())
    )


def _judges(table: ComparedTable, data: Comparisons, fitted: Fit | None) -> tuple[RatedJudge, ...]:
    """Habits of the judges. Where the order is unknown, nothing is said about it."""
    known = table.source.order_known
    return tuple(
        RatedJudge(
            judge=habit.judge,
            standings={"counts": habit.verdicts},
            left_out=None,
            ties=_rounded(habit.ties),
            first=_rounded(habit.first) if known else None,
            flipped=_rounded(habit.flipped) if known else None,
            by_position=_rounded(habit.by_position) if known else None,
            cycles=_rounded(habit.cycles),
            position=effect_of(fitted, f"position:{habit.judge}") if known else None,
            agreement=NO_SCORES,
        )
        for habit in habits(data)
    )


def _known(row: dict[str, Any] | None, name: str) -> float | None:
    return None if row is None or math.isnan(row[name]) else published(float(row[name]))


def _rounded(share: float | None) -> float | None:
    return None if share is None else published(share)
