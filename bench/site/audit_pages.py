"""From the scores of single turns to the number that a board prints, step by step, one page a player.

The arithmetic here is plain Python on the records, apart from the code that makes the board: that both
come to the same number is part of what the page shows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from bench.records import PlayerInfo
from bench.scores import paper
from bench.scores.board import BoardRow
from bench.scores.weights import EQUAL
from bench.site import paths
from bench.site.cells import CellSummary, Verdicts
from bench.site.context import BoardContext, Page


@dataclass(frozen=True)
class Recomputed:
    """A player's numbers made again from its records."""

    scenes: int
    weight: int
    """Conversations, or answers where the protocol pools turns: what the mean divides by."""
    total: float
    score: float
    criteria: dict[str, float]
    length: int
    median: float
    factor: float
    """What version 2's length rule multiplies with; else 1."""
    span: float
    """Largest minus smallest score of the board's players."""
    penalty: float
    """Version 1's penalty as a share (0 to -1) of ``span``; else 0."""
    norm: float

    def agrees(self, row: BoardRow) -> bool:
        """Whether the board has the same numbers, to the last published digit."""
        pairs = [(self.score, row.score), (self.norm, row.length_norm_score)]
        pairs += [(self.criteria[name], row.criteria.get(name)) for name in self.criteria]
        return self.length == row.avg_length and all(
            theirs is not None and paper.published(ours) == theirs for ours, theirs in pairs
        )


def audit_pages(context: BoardContext) -> Iterator[Page]:
    """The board's page, on which a player is chosen, then each player's."""
    page = paths.board_part(context.place.suite, context.place.language, "audit")
    chosen = []
    found = recomputed(context)
    for row in context.board.rows:
        target = paths.player_audit(context.place.suite, context.place.language, row.player)
        made = found.get(row.player)
        chosen.append(
            {
                "row": row,
                "href": paths.relative(target, page),
                "agrees": None if made is None else made.agrees(row),
            }
        )
    values = {"rows": chosen, "suite_id": context.place.suite, "median": context.board.median_length}
    yield context.part_page("audit", "audit", {**values, "weights": _weights(context)})
    for info in context.infos:
        yield _player_audit(context, info, found.get(info.player))


def _weights(context: BoardContext) -> list[tuple[str, float]]:
    return [(name, context.board.weights.get(name, 1.0)) for name in context.criteria]


def recomputed(context: BoardContext) -> dict[str, Recomputed]:
    """The numbers of every player of which something counts, by the rules of the board's protocol."""
    means = {
        player: _mean(context, [cell for cell in cells.values() if cell.score is not None], None)
        for player, cells in context.cells.items()
    }
    scores = {player: mean[0] / mean[1] for player, mean in means.items() if mean is not None}
    span = max(scores.values(), default=0.0) - min(scores.values(), default=0.0)
    return {player: _recomputed(context, player, span) for player in scores}


def _recomputed(context: BoardContext, player: str, span: float) -> Recomputed:
    cells = [cell for cell in context.cells[player].values() if cell.score is not None]
    complete = [cell for cell in context.cells[player].values() if cell.state != "failed"]
    answers = sum(cell.answers for cell in complete)
    length = sum(cell.characters for cell in complete) // answers if answers else 0
    median, rule = context.board.median_length or 0.0, context.rules.length
    factor = paper.length_factor(length, median) if rule == "paper_v2" else 1.0
    penalty = min(0.0, math.tanh((median - length) / (3 * median))) if rule == "paper_v1" and median else 0.0
    total, weight = _mean(context, cells, None) or (0.0, 1)
    score = total / weight
    criteria = {
        name: mean[0] / mean[1]
        for name in context.criteria
        if (mean := _mean(context, cells, name)) is not None
    }
    return Recomputed(
        scenes=len(cells),
        weight=weight,
        total=total,
        score=score,
        criteria=criteria,
        length=length,
        median=median,
        factor=factor,
        span=span,
        penalty=penalty,
        norm=score * factor + span * penalty,
    )


def _mean(
    context: BoardContext, cells: Sequence[CellSummary], criterion: str | None
) -> tuple[float, int] | None:
    """Sum and weight of a criterion's means over conversations (None: of the finals); None without any."""
    found = []
    for cell in cells:
        value = _scene_final(cell) if criterion is None else _scene_criterion(cell, criterion)
        if value is not None:
            found.append((value, cell.answers if context.rules.pools_turns else 1))
    return (math.fsum(v * n for v, n in found), sum(n for _, n in found)) if found else None


def _counting(cell: CellSummary) -> list[Verdicts]:
    return [one for one in cell.verdicts if one.standing == "counts" and one.scores]


def _scene_final(cell: CellSummary) -> float:
    return fmean(final for one in _counting(cell) if (final := one.final) is not None)


def _scene_criterion(cell: CellSummary, name: str) -> float | None:
    means = [one.means[name] for one in _counting(cell) if name in one.scores]
    return fmean(means) if means else None


def _player_audit(context: BoardContext, info: PlayerInfo, made: Recomputed | None) -> Page:
    place = context.place
    page = paths.player_audit(place.suite, place.language, info.player)
    row = context.evidence.rows.get(info.player)
    player_page = paths.player_page(place.suite, place.language, info.player)
    values: dict[str, Any] = {
        "here": "Audit",
        "info": info,
        "row": row,
        "made": made,
        "agrees": made is not None and row is not None and made.agrees(row),
        "cells": [_steps(context, cell, page) for cell in context.cells[info.player].values()],
        "player_href": paths.relative(player_page, page),
        "audit_href": context.part("audit", page),
        "resamples": context.board.resamples,
        "confidence": context.board.confidence,
        "weighting": EQUAL,
        "suite_id": place.suite,
    }
    title = f"{info.name}: from turns to the board"
    return context.made(page, "conversation", "player-audit", values, f"{title} ({context.title})", title)


def _steps(context: BoardContext, cell: CellSummary, page: str) -> dict[str, Any]:
    """One conversation: each judge's turns, means and final, then the conversation's."""
    return {
        "name": f"{cell.character_name}, {cell.situation_title}",
        "href": context.conversation_href(cell, page),
        "score": cell.score,
        "state": cell.state,
        "verdicts": [
            {
                "judge": one.judge,
                "standing": one.standing,
                "criteria": [
                    (name, " ".join(map(str, one.scores[name])), one.means[name])
                    for name in context.criteria
                    if name in one.scores
                ],
                "final": one.final,
            }
            for one in cell.verdicts
        ],
    }
