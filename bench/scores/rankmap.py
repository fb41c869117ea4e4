"""Rank maps: the ranks of our board beside those of another benchmark, for the models that both have.

Only the alias table says which models are the same (see :mod:`bench.scores.external`). Ranks are among the
shared models; 1 is the best, and equal scores share their average rank.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bench.errors import UserError
from bench.records import SCHEMA_VERSION, Record
from bench.scores.board import Board, BoardRow
from bench.scores.correlation import LEAST, Correlation, average_ranks, correlation
from bench.scores.external import Alias, Published
from bench.scores.paper import published

SPAN = 0.5
"""Warn if the shared models span less than this share of a list's scores."""
MOVERS = 3
"""Number of largest movers that are named."""

Sure = Collection[tuple[str, str]]
"""Pairs (better, worse) of significantly different players."""


@dataclass(frozen=True)
class Ours:
    """A player of our side: its score, and half the width of its interval."""

    player: str
    name: str
    family: str
    model: str
    score: float
    half: float | None = None


class Matched(Record):
    """One model that both sides have."""

    model: str
    """Its name in the alias table."""
    player: str
    name: str
    family: str
    our_score: float
    our_low: float | None
    our_high: float | None
    """The score's 95% interval."""
    our_rank: float
    our_rank_low: int | None
    our_rank_high: int | None
    """Range of ranks among the shared models that the data allow; see :attr:`RankMap.left_open_by`."""
    their_name: str
    their_score: float
    their_rank: float
    moved: float
    """Our rank minus theirs: positive if they place it higher."""


class Unmatched(Record):
    """A model that is not in the map, and why."""

    side: Literal["ours", "theirs"]
    name: str
    reason: str


class RankMap(Record):
    """Two rankings of the models that both sides have, their correlation, and warnings."""

    schema_version: int = SCHEMA_VERSION
    ours: str
    benchmark: str
    list_name: str
    version: str
    source: str
    date: str
    n: int
    left_open_by: Literal["pairs", "intervals"]
    """Basis of the ranges of ranks: the robust comparison of every pair of players on the scenes that both
    have; or, if that is unknown, intervals that do not overlap."""
    spearman: Correlation
    kendall: Correlation
    our_span: float | None
    their_span: float | None
    """Share of the range of a side's scores that the shared models span; null if all scores are equal."""
    warnings: tuple[str, ...]
    models: tuple[Matched, ...]
    """By our rank."""
    movers: tuple[str, ...]
    """Players that moved most, at least two places."""
    unmatched: tuple[Unmatched, ...]

    @property
    def drawable(self) -> bool:
        """Whether there are enough models for a figure."""
        return self.n >= LEAST


def board_rank_map(
    board: Board, published_list: Published, aliases: Sequence[Alias], sure: Sure | None = None
) -> RankMap:
    """The rank map of a board's length-normalised scores; see :func:`rank_map`.

    With ``sure``, scores are those of the robust scoring, so that a rank and its range belong together.
    """
    ours = [
        Ours(row.player, row.name, row.family, row.model, *numbers)
        for row in board.rows
        if (numbers := _numbers(row, robust=sure is not None)) is not None
    ]
    return rank_map(ours, published_list, aliases, f"{board.suite} {board.language}", sure)


def _numbers(row: BoardRow, *, robust: bool) -> tuple[float, float | None] | None:
    """A row's length-normalised score and half the width of its interval; None without a score."""
    if not robust:
        return None if row.length_norm_score is None else (row.length_norm_score, row.length_norm_ci)
    if row.robust is None:
        return None
    score, high = row.robust.score, row.robust.high
    return score, None if high is None else published(high - score)


def board_list(board: Board, other: Board, title: str) -> tuple[Published, tuple[Alias, ...]]:
    """The board ``other`` as a list called ``title``, and an alias for each player that both boards score."""
    scored = {row.player: row for row in other.rows if row.length_norm_score is not None}
    names = Counter(row.name for row in scored.values())
    called = {
        player: row.name if names[row.name] == 1 and row.name not in scored else player
        for player, row in scored.items()
    }
    name = f"board-{other.suite}"
    made = Published(
        name=name,
        benchmark=title,
        version="",
        source=f"suite {other.suite}, {other.language}",
        date=f"version {other.version}",
        scores={called[player]: row.length_norm_score or 0.0 for player, row in scored.items()},
    )
    both = [row.player for row in board.rows if row.length_norm_score is not None and row.player in scored]
    return made, tuple(Alias(model=player, ids=(player,), names={name: called[player]}) for player in both)


def rank_map(
    ours: Sequence[Ours],
    theirs: Published,
    aliases: Sequence[Alias],
    title: str,
    sure: Sure | None = None,
) -> RankMap:
    """Compare our scores, called ``title``, with a published list.

    ``sure``: significantly different pairs of our players, from :func:`bench.scores.robust.told_apart`; if
    None, the intervals decide. With fewer than three shared models the correlations are null.
    Raises UserError if an alias names a model that the list does not have.
    """
    pairs, unmatched = matched(ours, theirs, aliases)
    x = [player.score for _, player in pairs]
    y = [theirs.scores[alias.names[theirs.name]] for alias, _ in pairs]
    beaten = _disjoint([player for _, player in pairs]) if sure is None else sure
    models = _models(pairs, theirs, beaten)
    key: list[str | int] = ["rank-map", title, theirs.name]
    spearman = correlation("spearman", x, y, [*key, "spearman"])
    spans = _span(x, [player.score for player in ours]), _span(y, list(theirs.scores.values()))
    return RankMap(
        ours=title,
        benchmark=theirs.benchmark,
        list_name=theirs.name,
        version=theirs.version,
        source=theirs.source,
        date=theirs.date,
        n=len(pairs),
        left_open_by="intervals" if sure is None else "pairs",
        spearman=spearman,
        kendall=correlation("kendall", x, y, [*key, "kendall"]),
        our_span=spans[0],
        their_span=spans[1],
        warnings=tuple(_warnings(models, beaten, spearman, spans, (title, theirs.title))),
        models=models,
        movers=_movers(models),
        unmatched=tuple(unmatched),
    )


def matched(
    ours: Sequence[Ours], theirs: Published, aliases: Sequence[Alias]
) -> tuple[list[tuple[Alias, Ours]], list[Unmatched]]:
    """Pairs of the same model, best first, and all models without a partner, with the reason."""
    pairs: list[tuple[Alias, Ours]] = []
    reasons: dict[str, str] = {}
    for alias in aliases:
        if theirs.name not in alias.names:
            continue
        if alias.names[theirs.name] not in theirs.scores:
            raise UserError(
                f"{theirs.name} has no {alias.names[theirs.name]!r}, the alias of {alias.model!r}",
                where="aliases.toml",
                hint="Write the name as the list prints it.",
            )
        players = [player for player in ours if player.player in alias.ids]
        players = players or [player for player in ours if player.model in alias.ids]
        if len(players) == 1:
            _check_once(pairs, alias, players[0])
            pairs.append((alias, players[0]))
        elif players:
            names = ", ".join(sorted(player.player for player in players))
            reasons |= {player.player: f"several players are {alias.model}: {names}" for player in players}
    have = {player.player for _, player in pairs}
    taken = {alias.names[theirs.name] for alias, _ in pairs}
    default = f"no alias joins it to a model of {theirs.name}"
    unmatched = [
        Unmatched(side="ours", name=name, reason=reasons.get(name, default))
        for name in sorted(player.player for player in ours)
        if name not in have
    ] + [
        Unmatched(side="theirs", name=name, reason="no alias joins it to a scored player of ours")
        for name in sorted(theirs.scores)
        if name not in taken
    ]
    return sorted(pairs, key=lambda pair: (-pair[1].score, pair[1].player)), unmatched


def _check_once(pairs: list[tuple[Alias, Ours]], alias: Alias, player: Ours) -> None:
    """Raise UserError if the player or the listed model is already matched."""
    for other, taken in pairs:
        for name, listed in sorted(set(other.names.items()) & set(alias.names.items())):
            raise UserError(
                f"players {taken.player!r} and {player.player!r} are both {listed!r} of {name}",
                where="aliases.toml",
                hint="Two players cannot be one listed model: keep one of the two names.",
            )
        if taken.player == player.player:
            raise UserError(
                f"player {player.player!r} is both {other.model!r} and {alias.model!r}",
                where="aliases.toml",
                hint="Name it in one table only.",
            )


def _models(pairs: list[tuple[Alias, Ours]], theirs: Published, beaten: Sure) -> tuple[Matched, ...]:
    names = [alias.names[theirs.name] for alias, _ in pairs]
    scores = [[player.score for _, player in pairs], [theirs.scores[name] for name in names]]
    our_ranks, their_ranks = average_ranks(-np.array(scores))
    players = [player.player for _, player in pairs]
    models = []
    for n, (alias, player) in enumerate(pairs):
        above = sum((other, player.player) in beaten for other in players)
        below = sum((player.player, other) in beaten for other in players)
        known = player.half is not None
        half = player.half or 0.0
        models.append(
            Matched(
                model=alias.model,
                player=player.player,
                name=player.name,
                family=player.family,
                our_score=player.score,
                our_low=published(player.score - half) if known else None,
                our_high=published(player.score + half) if known else None,
                our_rank=float(our_ranks[n]),
                our_rank_low=min(1 + above, math.floor(our_ranks[n])) if known else None,
                our_rank_high=max(len(pairs) - below, math.ceil(our_ranks[n])) if known else None,
                their_name=names[n],
                their_score=theirs.scores[names[n]],
                their_rank=float(their_ranks[n]),
                moved=float(our_ranks[n] - their_ranks[n]),
            )
        )
    return tuple(models)


def _disjoint(ours: list[Ours]) -> Sure:
    """(better, worse) of the players whose intervals do not overlap."""
    ends = {one.player: (one.score - (one.half or 0.0), one.score + (one.half or 0.0)) for one in ours}
    return {(a, b) for a, (low, _) in ends.items() for b, (_, high) in ends.items() if low > high}


def _span(shared: Sequence[float], every: Sequence[float]) -> float | None:
    """Share of the range of ``every`` that ``shared`` covers; None if the range is 0."""
    whole = float(np.ptp(every)) if len(every) else 0.0
    if whole == 0 or not shared:
        return None
    return published(float(np.ptp(shared)) / whole)


def _movers(models: tuple[Matched, ...]) -> tuple[str, ...]:
    moved = sorted((m for m in models if abs(m.moved) >= 2), key=lambda m: (-abs(m.moved), m.player))
    return tuple(m.player for m in moved[:MOVERS])


def _warnings(
    models: tuple[Matched, ...],
    beaten: Sure,
    spearman: Correlation,
    spans: tuple[float | None, float | None],
    titles: tuple[str, str],
) -> list[str]:
    n = spearman.n
    if n < LEAST:
        return [f"{n} shared models are too few: a correlation needs {LEAST}."]
    warnings = [
        f"The {n} shared models span only {span:.0%} of the range of {title}: among models this similar, a "
        "low correlation says little about how the benchmarks agree overall."
        for span, title in zip(spans, titles, strict=True)
        if span is not None and span < SPAN
    ]
    if spearman.value is not None and spearman.critical is None:
        warnings.append(f"With {n} shared models, no correlation can have a p of 0.05 or less.")
    elif spearman.critical is not None and spearman.critical > 0.6:
        warnings.append(
            f"With {n} shared models, only a Spearman correlation of {spearman.critical:.2f} or more has a p "
            "of 0.05 or less."
        )
    names = [model.player for model in models if model.our_rank_low is not None]
    pairs = len(names) * (len(names) - 1) // 2
    alike = pairs - sum(a in names and b in names for a, b in beaten)
    if pairs and alike > pairs / 2:
        warnings.append(
            f"On our side, {alike} of {pairs} pairs of shared models do not differ significantly: much of "
            "our order may be chance."
        )
    return warnings
