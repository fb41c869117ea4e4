"""The board by rating of pairwise judgements that another project published."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bench.results.compared import ComparedTable
from bench.scores.correlation import Correlation
from bench.scores.pairwise import Comparisons, Fit, fit
from bench.scores.pairwise_board import (
    FEW_JUDGES,
    UNCONNECTED,
    UNDECIDED,
    compared_by,
    effect_of,
    habit_shares,
    rated,
    tallies_of,
)
from bench.scores.pairwise_data import MEAN, connected
from bench.scores.pairwise_ratings import habits, judges_spread, pairwise_numbers
from bench.scores.pairwise_records import RatedJudge, RatedPair, RatedPlayer, Rating
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
        sample_unknown=None if spread is not None else FEW_JUDGES,
        standings={"counts": len(table.lines)},
        rows=_rows(table, players, groups[0]),
        pairs=_pairs(table, pairs),
        judges=_judges(table, data, fitted),
        length=None,
        same_family=None,
        separability=None if fitted is None else separability(pairs),
        agreement=NO_SCORES,
        reason=None if fitted is not None else UNDECIDED,
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
    tallies = tallies_of(
        side for line in table.lines for side in ((line.first, line.margin), (line.second, -line.margin))
    )
    found = players.to_dict("index")
    order = [*map(str, found), *sorted(set(tallies) - set(found))]
    return tuple(
        RatedPlayer(
            player=name,
            name=name,
            **rated(found.get(name)),
            reason=None if name in found else UNDECIDED if name in inside else UNCONNECTED,
            criteria={},
            tally=tallies[name],
            refusals=0,
            unfinished=0,
            score=None,
            score_rank=None,
        )
        for name in order
    )


def _pairs(table: ComparedTable, tested: pd.DataFrame) -> tuple[RatedPair, ...]:
    tallies = tallies_of(
        ((line.first, line.second), line.margin)
        if line.first < line.second
        else ((line.second, line.first), -line.margin)
        for line in table.lines
    )
    tests = {(row["player"], row["other"]): row for row in tested.to_dict("records")}
    return tuple(
        RatedPair(
            player=player,
            other=other,
            tally=tally,
            by_criterion={},
            by_character={},
            by_situation={},
            **compared_by(tests.get((player, other)), player),
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
            **habit_shares(habit, order_known=known),
            position=effect_of(fitted, f"position:{habit.judge}") if known else None,
            agreement=NO_SCORES,
        )
        for habit in habits(data)
    )
