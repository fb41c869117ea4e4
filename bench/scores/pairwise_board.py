"""Computes the board by rating from a suite's comparisons."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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
    rater = _Rater(evidence, board, criterion)
    fitted, reason = rater.fitted(rater.rated)
    if rater.counting and not rater.rated:
        reason = "no judge's verdicts depend on the players"
    spread = judges_spread(fitted.data) if fitted is not None else None
    used = None if judges_as == "fixed" else spread
    players, pairs = pd.DataFrame(), pd.DataFrame()
    if fitted is not None:
        players, pairs = pairwise_numbers(fitted, used)
    rows = rater.rows(players, reason)
    return Rating(
        suite=suite[0],
        version=suite[1],
        language=suite[2],
        criteria=evidence.criteria,
        criterion=criterion,
        judges_as="fixed" if used is None else "sample",
        sample_unknown=None if spread is not None else FEW_JUDGES,
        standings=rater.standings(evidence.records),
        rows=rows,
        pairs=rater.pairs(pairs),
        judges=tuple(rater.judge(name, fitted) for name in rater.by_judge),
        length=effect_of(fitted, "length"),
        same_family=effect_of(fitted, "self"),
        separability=None if fitted is None else separability(pairs),
        agreement=rater.agreement({row.player: row.rating for row in rows}, ("rating", criterion)),
        reason=reason,
    )


def quick_ratings(evidence: Evidence) -> pd.DataFrame | None:
    """The players' table of :func:`pairwise_numbers` for these judges; None if nobody can be rated yet."""
    rater = _Rater(evidence, BoardScores({}, {}), MEAN)
    fitted, _ = rater.fitted(rater.rated)
    return None if fitted is None else pairwise_numbers(fitted)[0]


@dataclass(frozen=True)
class _Rater:
    """The comparisons of a board, to be rated by one criterion or by MEAN."""

    evidence: Evidence
    board: BoardScores
    criterion: str

    @cached_property
    def counting(self) -> list[Comparison]:
        return self.evidence.counting()

    @cached_property
    def rated(self) -> list[Comparison]:
        """The comparisons that ratings follow from: by judges who say something about players, and within the
        largest group of players that comparisons connect."""
        usable = [record for record in self.counting if self.by_judge[record.judge][1] is None]
        groups = connected(record.players for record in usable)
        return [record for record in usable if record.players[0] in groups[0]]

    def fitted(self, records: Sequence[Comparison], criterion: str = "") -> tuple[Fit | None, str | None]:
        """The model fitted to ``records``, or why it cannot be."""
        if not records:
            return None, "no comparison counts"
        data = comparisons_of(self.evidence, records, criterion or self.criterion)
        if not data.margin.any():
            return None, UNDECIDED
        return fit(data), None

    def standings(self, records: Sequence[Comparison]) -> dict[str, int]:
        counted: Counter[Standing] = Counter(map(self.evidence.standing, records))
        return {name: counted[name] for name in sorted(counted)}

    @cached_property
    def by_judge(self) -> dict[str, tuple[Habits | None, str | None]]:
        """Each judge's habits, and why its comparisons say nothing about players, if so."""
        found: dict[str, tuple[Habits | None, str | None]] = {}
        for judge in sorted({record.judge for record in self.evidence.records}):
            if judge in self.evidence.other_judges:
                found[judge] = (None, "the suite does not name it as a judge")
                continue
            own = [record for record in self.counting if record.judge == judge]
            if not own:
                standings = self.standings([r for r in self.evidence.records if r.judge == judge])
                found[judge] = (None, _never_counts(standings))
                continue
            habit = habits(comparisons_of(self.evidence, own, self.criterion))[0]
            why = None
            if habit.ties == 1:
                why = "it calls every pair a tie"
            elif habit.by_position == 1 and len(own) >= FEW_PAIRS:
                why = "it always prefers the same place, whichever player is shown there"
            found[judge] = (habit, why)
        return found

    def _criteria(self, players: pd.DataFrame) -> dict[str, Mapping[str, float]]:
        """Ratings on each criterion alone."""
        made: dict[str, Mapping[str, float]] = {}
        for name in self.evidence.criteria if self.rated else ():
            if name == self.criterion:
                scores = players["score"] if len(players) else ()
                made[name] = dict(zip(map(str, players.index), scores, strict=True))
                continue
            fitted, _ = self.fitted(self.rated, name)
            made[name] = {} if fitted is None else dict(zip(fitted.data.players, fitted.theta, strict=True))
        return made

    def rows(self, players: pd.DataFrame, reason: str | None) -> tuple[RatedPlayer, ...]:
        """Every player; ``players``: the numbers of those that are rated; ``reason``: why nobody is."""
        tallies = tallies_of(
            (player, sign * balance_of(record, self.criterion))
            for record in self.counting
            for player, sign in zip(record.players, (1, -1), strict=True)
        )
        refused, unfinished = self.evidence.refused(), self.evidence.unfinished()
        inside = {player for record in self.rated for player in record.players}
        order = {name: n for n, name in enumerate(players.index)}
        table, criteria = players.to_dict("index"), self._criteria(players)
        infos = sorted(self.evidence.players, key=lambda one: (order.get(one.player, len(order)), one.player))
        rows = []
        for info in infos:
            name = info.player
            why = None
            if name not in table:
                apart = name in tallies and name not in inside
                why = reason or (UNCONNECTED if apart else _uncounted(refused[name], unfinished[name]))
            rows.append(
                RatedPlayer(
                    player=name,
                    name=info.name,
                    **rated(table.get(name)),
                    reason=why,
                    criteria={key: known(values.get(name)) for key, values in criteria.items()},
                    tally=tallies[name],
                    refusals=refused[name],
                    unfinished=unfinished[name],
                    score=self.board.scores.get(name),
                    score_rank=self.board.ranks.get(name),
                )
            )
        return tuple(rows)

    def pairs(self, tested: pd.DataFrame) -> tuple[RatedPair, ...]:
        """Every pair with a comparison that counts."""
        own: dict[tuple[str, str], list[tuple[Comparison, float]]] = defaultdict(list)
        for record in self.counting:
            own[record.players].append((record, balance_of(record, self.criterion)))
        tests = {frozenset((row["player"], row["other"])): row for row in tested.to_dict("records")}
        names = self.evidence.criteria
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

    def judge(self, judge: str, fitted: Fit | None) -> RatedJudge:
        """One judge; ``fitted``: the model of all."""
        found, why = self.by_judge[judge]
        alone, _ = self.fitted([record for record in self.counting if record.judge == judge])
        theta = {} if alone is None else dict(zip(alone.data.players, map(float, alone.theta), strict=True))
        return RatedJudge(
            judge=judge,
            standings=self.standings([record for record in self.evidence.records if record.judge == judge]),
            left_out=why,
            **habit_shares(found),
            position=None if why else effect_of(fitted, f"position:{judge}"),
            agreement=self.agreement({} if why else theta, ("judge", judge)),
        )

    def agreement(self, ratings: Mapping[str, float | None], key: Sequence[str | int]) -> Correlation:
        """The correlation of ratings with the scores of the board."""
        scores = self.board.scores
        both = {name: r for name, r in sorted(ratings.items()) if r is not None and name in scores}
        return correlation("spearman", list(both.values()), [scores[name] for name in both], key)


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


def _uncounted(refusals: int, unfinished: int) -> str:
    parts = ["no comparison of it counts"]
    if refusals:
        parts.append(f"it refused in {refusals} comparison{'s' * (refusals > 1)}")
    if unfinished:
        parts.append(f"{unfinished} of its conversations failed")
    return "; ".join(parts)


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
