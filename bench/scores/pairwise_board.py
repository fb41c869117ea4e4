"""Computes the board by rating from a suite's comparisons."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pandas as pd

from bench.results.comparison_records import Comparison
from bench.scores.correlation import Correlation, correlation
from bench.scores.digits import known, published
from bench.scores.distributions import half_width
from bench.scores.pairwise import Fit, fit
from bench.scores.pairwise_data import (
    MEAN,
    Evidence,
    Standing,
    balance_of,
    comparisons_of,
    connected,
)
from bench.scores.pairwise_ratings import Habits, habits, judges_spread, pairwise_numbers
from bench.scores.pairwise_records import Effect, RatedJudge, RatedPair, RatedPlayer, Rating, Tally
from bench.scores.robust import JudgesAs, separability

K = TypeVar("K")

FEW_PAIRS = 5
"""With fewer comparisons, a habit of a judge may be chance."""
FEW_JUDGES = "it takes four judges who each compared all players"
UNCONNECTED = "no chain of comparisons leads from it to the other players"
UNDECIDED = "no verdict prefers one player"


@dataclass(frozen=True)
class BoardScores:
    """The board by score, to compare with: scores and ranks by player."""

    scores: Mapping[str, float]
    ranks: Mapping[str, int]


def rating_of(
    evidence: Evidence,
    suite: tuple[str, str, str],
    board: BoardScores,
    criterion: str = MEAN,
    judges_as: JudgesAs | None = None,
) -> Rating:
    """The board by rating.

    Args:
        evidence: All comparisons of the board.
        suite: Suite, version and language.
        board: The board by score.
        criterion: One criterion, or MEAN.
        judges_as: How judges count; None: as a sample where that is known.
    """
    counting = evidence.counting()
    by_judge = _by_judge(evidence, counting, criterion)
    rated = _rated(counting, by_judge)
    inside = {player for record in rated for player in record.players}
    fitted, reason = _fitted(evidence, rated, criterion)
    if counting and not rated:
        reason = "no judge's verdicts depend on the players"
    spread = judges_spread(fitted.data) if fitted is not None else None
    used = None if judges_as == "fixed" else spread
    players, pairs = pd.DataFrame(), pd.DataFrame()
    if fitted is not None:
        players, pairs = pairwise_numbers(fitted, used)
    criteria = _by_criterion(evidence, rated, criterion, players)
    rows = _rows(evidence, counting, players, criteria, board, criterion, inside, reason)
    return Rating(
        suite=suite[0],
        version=suite[1],
        language=suite[2],
        criteria=evidence.criteria,
        criterion=criterion,
        judges_as="fixed" if used is None else "sample",
        sample_unknown=None if spread is not None else FEW_JUDGES,
        standings=_standings(evidence, evidence.records),
        rows=rows,
        pairs=_pairs(evidence, counting, pairs, criterion),
        judges=tuple(
            _judge(evidence, judge, found, why, fitted, board, criterion)
            for judge, (found, why) in by_judge.items()
        ),
        length=effect_of(fitted, "length"),
        same_family=effect_of(fitted, "self"),
        separability=None if fitted is None else separability(pairs),
        agreement=_agreement({row.player: row.rating for row in rows}, board, ("rating", criterion)),
        reason=reason,
    )


def quick_ratings(evidence: Evidence) -> pd.DataFrame | None:
    """The players' table of :func:`pairwise_numbers` for these judges; None if nobody can be rated yet."""
    counting = evidence.counting()
    fitted, _ = _fitted(evidence, _rated(counting, _by_judge(evidence, counting, MEAN)), MEAN)
    return None if fitted is None else pairwise_numbers(fitted)[0]


def _rated(
    counting: Sequence[Comparison], by_judge: Mapping[str, tuple[Habits | None, str | None]]
) -> list[Comparison]:
    """The comparisons that ratings follow from: by judges who say something about players, and within the
    largest group of players that comparisons connect."""
    usable = [record for record in counting if by_judge[record.judge][1] is None]
    groups = connected(record.players for record in usable)
    return [record for record in usable if record.players[0] in groups[0]]


def _fitted(
    evidence: Evidence, records: Sequence[Comparison], criterion: str
) -> tuple[Fit | None, str | None]:
    """The model fitted to ``records``, or why it cannot be."""
    if not records:
        return None, "no comparison counts"
    data = comparisons_of(evidence, records, criterion)
    if not data.margin.any():
        return None, UNDECIDED
    return fit(data), None


def _standings(evidence: Evidence, records: Sequence[Comparison]) -> dict[str, int]:
    counted: Counter[Standing] = Counter(evidence.standing(record) for record in records)
    return {name: counted[name] for name in sorted(counted)}


def _by_judge(
    evidence: Evidence, counting: Sequence[Comparison], criterion: str
) -> dict[str, tuple[Habits | None, str | None]]:
    """Each judge's habits, and why its comparisons say nothing about players, if so."""
    found: dict[str, tuple[Habits | None, str | None]] = {}
    for judge in sorted({record.judge for record in evidence.records}):
        if judge in evidence.other_judges:
            found[judge] = (None, "the suite does not name it as a judge")
            continue
        own = [record for record in counting if record.judge == judge]
        if not own:
            standings = _standings(evidence, [r for r in evidence.records if r.judge == judge])
            found[judge] = (None, _never_counts(standings))
            continue
        habit = habits(comparisons_of(evidence, own, criterion))[0]
        why = None
        if habit.ties == 1:
            why = "it calls every pair a tie"
        elif habit.by_position == 1 and len(own) >= FEW_PAIRS:
            why = "it always prefers the same place, whichever player is shown there"
        found[judge] = (habit, why)
    return found


def _never_counts(standings: Mapping[str, int]) -> str:
    names = {
        "one_order": "answered in one order only",
        "failed": "gave no usable verdict",
        "refusal": "saw a refusal",
        "stale": "compared conversations that have changed since",
    }
    return "it never gave two verdicts that count: it " + ", ".join(
        f"{names[name]} {count} time{'s' * (count > 1)}" for name, count in standings.items()
    )


def _by_criterion(
    evidence: Evidence, records: Sequence[Comparison], criterion: str, players: pd.DataFrame
) -> dict[str, Mapping[str, float]]:
    """Ratings on each criterion alone."""
    made: dict[str, Mapping[str, float]] = {}
    for name in evidence.criteria if records else ():
        if name == criterion:
            made[name] = (
                dict(zip(map(str, players.index), players["score"], strict=True)) if len(players) else {}
            )
            continue
        fitted, _ = _fitted(evidence, records, name)
        made[name] = {} if fitted is None else dict(zip(fitted.data.players, fitted.theta, strict=True))
    return made


def _rows(
    evidence: Evidence,
    counting: Sequence[Comparison],
    players: pd.DataFrame,
    criteria: Mapping[str, Mapping[str, float]],
    board: BoardScores,
    criterion: str,
    inside: set[str],
    reason: str | None,
) -> tuple[RatedPlayer, ...]:
    tallies = tallies_of(
        (player, sign * balance_of(record, criterion))
        for record in counting
        for player, sign in zip(record.players, (1, -1), strict=True)
    )
    refused, unfinished = evidence.refused(), evidence.unfinished()
    order = {name: n for n, name in enumerate(players.index)}
    table = players.to_dict("index")
    rows = []
    for info in sorted(evidence.players, key=lambda info: (order.get(info.player, len(order)), info.player)):
        name = info.player
        numbers = table.get(name)
        why = None
        if numbers is None:
            why = reason or _unrated(name, tallies, inside, refused[name], unfinished[name])
        rows.append(
            RatedPlayer(
                player=name,
                name=info.name,
                **rated(numbers),
                reason=why,
                criteria={key: known(values.get(name)) for key, values in criteria.items()},
                tally=tallies[name],
                refusals=refused[name],
                unfinished=unfinished[name],
                score=board.scores.get(name),
                score_rank=board.ranks.get(name),
            )
        )
    return tuple(rows)


def _unrated(
    player: str, tallies: Mapping[str, Tally], inside: set[str], refusals: int, unfinished: int
) -> str:
    if player in tallies and player not in inside:
        return UNCONNECTED
    parts = []
    if refusals:
        parts.append(f"it refused in {refusals} comparison{'s' * (refusals > 1)}")
    if unfinished:
        parts.append(f"{unfinished} of its conversations failed")
    return "; ".join(["no comparison of it counts", *parts])


def _pairs(
    evidence: Evidence, counting: Sequence[Comparison], tested: pd.DataFrame, criterion: str
) -> tuple[RatedPair, ...]:
    """Every pair with a comparison that counts."""
    own: dict[tuple[str, str], list[tuple[Comparison, float]]] = defaultdict(list)
    for record in counting:
        own[record.players].append((record, balance_of(record, criterion)))
    tests = {frozenset((row["player"], row["other"])): row for row in tested.to_dict("records")}
    names = evidence.criteria
    return tuple(
        RatedPair(
            player=player,
            other=other,
            tally=tallies_of((player, balance) for _, balance in led)[player],
            by_criterion=tallies_of((name, balance_of(r, name)) for r, _ in led for name in names),
            by_character=tallies_of((record.character, balance) for record, balance in led),
            by_situation=tallies_of((record.situation, balance) for record, balance in led),
            **compared_by(tests.get(frozenset((player, other))), player),
        )
        for (player, other), led in sorted(own.items(), key=lambda pair: pair[0])
    )


def _judge(
    evidence: Evidence,
    judge: str,
    found: Habits | None,
    why: str | None,
    fitted: Fit | None,
    board: BoardScores,
    criterion: str,
) -> RatedJudge:
    own = [record for record in evidence.records if record.judge == judge]
    alone, _ = _fitted(evidence, [r for r in evidence.counting() if r.judge == judge], criterion)
    theta = {} if alone is None else dict(zip(alone.data.players, map(float, alone.theta), strict=True))
    position = None if why else effect_of(fitted, f"position:{judge}")
    return RatedJudge(
        judge=judge,
        standings=_standings(evidence, own),
        left_out=why,
        **habit_shares(found),
        position=position,
        agreement=_agreement({} if why else theta, board, ("judge", judge)),
    )


def _agreement(
    ratings: Mapping[str, float | None], board: BoardScores, key: Sequence[str | int]
) -> Correlation:
    both = [name for name, rating in sorted(ratings.items()) if rating is not None and name in board.scores]
    values = [value for name in both if (value := ratings[name]) is not None]
    return correlation("spearman", values, [board.scores[name] for name in both], key)


def effect_of(fitted: Fit | None, name: str) -> Effect | None:
    """An effect of the model by name; None if it is not known."""
    found = None if fitted is None else fitted.effect(name)
    if found is None:
        return None
    estimate, error, df = found
    reach = float(half_width(error, df))
    return Effect(estimate=published(estimate), low=known(estimate - reach), high=known(estimate + reach))


def tallies_of(balances: Iterable[tuple[K, float]]) -> dict[K, Tally]:
    """The tally of each key, from comparisons by key and by how much its side leads."""
    tallies: dict[K, Tally] = defaultdict(Tally)
    for key, balance in balances:
        tallies[key] = tallies[key].plus(balance)
    return tallies


def rated(row: Mapping[Hashable, Any] | None) -> dict[str, Any]:
    """Fields of RatedPlayer from its row in the players' table of :func:`pairwise_numbers`; None: no row."""
    values = dict(row or {})
    return {
        "rating": known(values.get("score")),
        **{name: known(values.get(name)) for name in ("low", "high")},
        **{name: values.get(name) for name in ("rank", "rank_low", "rank_high")},
    }


def compared_by(row: Mapping[Hashable, Any] | None, player: str) -> dict[str, Any]:
    """Fields of RatedPair from its row in the pairs' table, as ``player`` sees them; None: no row."""
    if row is None:
        return {"difference": None, "p_adjusted": None, "separated": False}
    sign = 1 if row["player"] == player else -1
    return {
        "difference": known(sign * row["difference"]),
        "p_adjusted": known(row["p_adjusted"]),
        "separated": row["separated"],
    }


def habit_shares(found: Habits | None, *, order_known: bool = True) -> dict[str, float | None]:
    """Fields of RatedJudge; None where nothing was counted, or where it takes the order of the answers."""
    by_order = ("first", "flipped", "by_position")
    names = ("ties", *by_order, "cycles")
    shown = names if order_known else ("ties", "cycles")
    return {name: known(getattr(found, name, None)) if name in shown else None for name in names}
