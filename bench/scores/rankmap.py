"""Rank maps: our board beside another benchmark's list, over the models that both have.

Models are matched by the alias table alone (see :mod:`bench.scores.external`). Ranks are among the shared
models, 1 the best, equal scores sharing their average rank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from bench.errors import UserError
from bench.records import SCHEMA_VERSION, Record
from bench.scores.board import Board
from bench.scores.correlation import LEAST, Correlation, correlation
from bench.scores.external import Alias, Published
from bench.scores.paper import published

SPAN = 0.5
"""Shared models that span less than this share of a list's scores are warned about."""
MOVERS = 3
"""So many of the largest movers are named."""


Sure = Collection[tuple[str, str]]
"""Pairs (better, worse) of players."""


@dataclass(frozen=True)
class Ours:
    """A player of our side: ``ids`` it may be known by, its score, half the width of its interval."""

    player: str
    name: str
    family: str
    model: str
    score: float
    half: float | None = None


class Matched(Record):
    """One model that both sides have."""

    model: str
    """As the alias table calls it."""
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
    """The ranks among the shared models that the data leave open; see :attr:`RankMap.left_open_by`."""
    their_name: str
    their_score: float
    their_rank: float
    moved: float
    """Our rank minus theirs: positive where they place it higher."""


class Unmatched(Record):
    """A model that is not in the map, and why."""

    side: Literal["ours", "theirs"]
    name: str
    reason: str


class RankMap(Record):
    """Two rankings of the models that both have, how alike they are, and what to keep in mind."""

    schema_version: int = SCHEMA_VERSION
    ours: str
    benchmark: str
    list_name: str
    version: str
    source: str
    date: str
    n: int
    left_open_by: Literal["pairs", "intervals"]
    """What the open ranks rest on: the robust scoring's comparison of every pair of the board on the scenes
    that both have; or, where that is not known, intervals, of which one lies wholly above the other."""
    spearman: Correlation
    kendall: Correlation
    our_span: float | None
    their_span: float | None
    """Which share of the range of all scores of a side the shared models span; null where all are equal."""
    warnings: tuple[str, ...]
    models: tuple[Matched, ...]
    """By our rank."""
    movers: tuple[str, ...]
    """Players that moved most, by two places or more."""
    unmatched: tuple[Unmatched, ...]

    @property
    def drawable(self) -> bool:
        """Whether there are models enough for a figure."""
        return self.n >= LEAST


def ours_of(board: Board) -> list[Ours]:
    """Our side from a board: length-normalised scores with their intervals."""
    return [
        Ours(row.player, row.name, row.family, row.model, row.length_norm_score, row.length_norm_ci)
        for row in board.rows
        if row.length_norm_score is not None
    ]


def board_rank_map(
    board: Board, published_list: Published, aliases: Sequence[Alias], sure: Sure | None = None
) -> RankMap:
    """The rank map of a board against a published list; ``sure`` as in :func:`rank_map`."""
    return rank_map(ours_of(board), published_list, aliases, f"{board.suite} {board.language}", sure)


def board_list(board: Board, other: Board, title: str) -> tuple[Published, tuple[Alias, ...]]:
    """The board ``other`` as a list called ``title``, with an alias for each player that both boards score:
    the same player, by its id."""
    scored = {row.player: row for row in other.rows if row.length_norm_score is not None}
    names = Counter(row.name for row in scored.values())
    called = {player: row.name if names[row.name] == 1 else player for player, row in scored.items()}
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
    """The rank map of scores of ours, called ``title``, against a published list.

    ``sure``: (better, worse) of the pairs of our players that the data tell apart, from
    :func:`bench.scores.robust.told_apart`; without it the intervals decide.
    With fewer than three shared models its correlations are null and say so.
    Raises UserError where an alias names a model that the list does not hold.
    """
    pairs, unmatched = matched(ours, theirs, aliases)
    x, y = [one.score for _, one in pairs], [theirs.scores[alias.names[theirs.name]] for alias, _ in pairs]
    beaten = _cleared([one for _, one in pairs]) if sure is None else sure
    models = _models(pairs, theirs, beaten)
    key: list[str | int] = ["rank-map", title, theirs.name]
    spearman = correlation("spearman", x, y, [*key, "spearman"])
    spans = _span(x, [one.score for one in ours]), _span(y, list(theirs.scores.values()))
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
    """Pairs of what is the same model by the alias table, and all that has no partner, with the reason."""
    pairs: list[tuple[Alias, Ours]] = []
    reasons: dict[str, str] = {}
    for alias in aliases:
        if theirs.name not in alias.names:
            continue
        if alias.names[theirs.name] not in theirs.scores:
            raise UserError(
                f"{theirs.name} holds no {alias.names[theirs.name]!r}, as {alias.model!r} is called there",
                where="aliases.toml",
                hint="Write the name as the list prints it.",
            )
        found = [one for one in ours if one.player in alias.ids]
        found = found or [one for one in ours if one.model in alias.ids]
        if len(found) == 1:
            pairs.append((alias, found[0]))
        for one in found[1:] and found:
            players = ", ".join(sorted(other.player for other in found))
            reasons[one.player] = f"several players are {alias.model}: {players}"
    _check_pairs(pairs)
    left = _unmatched(ours, theirs, pairs, reasons)
    return sorted(pairs, key=lambda pair: (-pair[1].score, pair[1].player)), left


def _check_pairs(pairs: list[tuple[Alias, Ours]]) -> None:
    """One player cannot be two models."""
    seen: dict[str, str] = {}
    for alias, one in pairs:
        if one.player in seen:
            raise UserError(
                f"player {one.player!r} is both {seen[one.player]!r} and {alias.model!r}",
                where="aliases.toml",
                hint="Name it in one table only.",
            )
        seen[one.player] = alias.model


def _unmatched(
    ours: Sequence[Ours], theirs: Published, pairs: list[tuple[Alias, Ours]], reasons: Mapping[str, str]
) -> list[Unmatched]:
    have = {one.player for _, one in pairs}
    taken = {alias.names[theirs.name] for alias, _ in pairs}
    default = f"no alias joins it to a model of {theirs.name}"
    left = [
        Unmatched(side="ours", name=one.player, reason=reasons.get(one.player, default))
        for one in sorted(ours, key=lambda one: one.player)
        if one.player not in have
    ]
    left += [
        Unmatched(side="theirs", name=name, reason="no alias joins it to a scored player of ours")
        for name in sorted(theirs.scores)
        if name not in taken
    ]
    return left


def _models(pairs: list[tuple[Alias, Ours]], theirs: Published, beaten: Sure) -> tuple[Matched, ...]:
    our_ranks = stats.rankdata([-one.score for _, one in pairs])
    their_scores = [theirs.scores[alias.names[theirs.name]] for alias, _ in pairs]
    their_ranks = stats.rankdata([-score for score in their_scores])
    spans = _rank_spans([one for _, one in pairs], beaten)
    return tuple(
        Matched(
            model=alias.model,
            player=one.player,
            name=one.name,
            family=one.family,
            our_score=one.score,
            our_low=None if one.half is None else published(one.score - one.half),
            our_high=None if one.half is None else published(one.score + one.half),
            our_rank=float(our_ranks[n]),
            our_rank_low=spans[n][0],
            our_rank_high=spans[n][1],
            their_name=alias.names[theirs.name],
            their_score=their_scores[n],
            their_rank=float(their_ranks[n]),
            moved=float(our_ranks[n] - their_ranks[n]),
        )
        for n, (alias, one) in enumerate(pairs)
    )


def _cleared(ours: list[Ours]) -> Sure:
    """(better, worse) of those whose intervals lie wholly above and below each other."""
    ends = {one.player: (one.score - (one.half or 0.0), one.score + (one.half or 0.0)) for one in ours}
    return {(a, b) for a, (low, _) in ends.items() for b, (_, high) in ends.items() if low > high}


def _rank_spans(ours: list[Ours], beaten: Sure) -> list[tuple[int, int] | tuple[None, None]]:
    """Ranks among ``ours`` that are left open; unknown for one without an interval."""
    names = [one.player for one in ours]
    return [
        (
            1 + sum((name, one.player) in beaten for name in names),
            len(names) - sum((one.player, name) in beaten for name in names),
        )
        if one.half is not None
        else (None, None)
        for one in ours
    ]


def _span(shared: Sequence[float], every: Sequence[float]) -> float | None:
    """Which share of the range of ``every`` the ``shared`` cover; None where there is no range."""
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
    if spearman.n < LEAST:
        return [f"{spearman.n} shared models are too few: a correlation needs {LEAST}."]
    found = []
    for span, title in zip(spans, titles, strict=True):
        if span is not None and span < SPAN:
            found.append(
                f"The {spearman.n} shared models span only {span:.0%} of the range of {title}: a low "
                "correlation of models so alike says little of how the benchmarks agree over the whole."
            )
    if spearman.value is not None and spearman.critical is None:
        found.append(
            f"With {spearman.n} shared models no correlation, however high, has a p of 0.05 or less."
        )
    elif spearman.critical is not None and spearman.critical > 0.6:
        found.append(
            f"With {spearman.n} shared models only a Spearman correlation of {spearman.critical:.2f} or more "
            "has a p of 0.05 or less."
        )
    names = [model.player for model in models if model.our_rank_low is not None]
    pairs = len(names) * (len(names) - 1) // 2
    open_pairs = pairs - sum(a in names and b in names for a, b in beaten)
    if pairs and open_pairs > pairs / 2:
        found.append(
            f"Our data do not tell {open_pairs} of {pairs} pairs of shared models apart: much of our own "
            "order of them may be chance."
        )
    return found
