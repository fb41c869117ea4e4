"""How each player's score was calculated, from the scores of single turns to the number on the board."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from bench.records import PlayerInfo
from bench.scores import paper
from bench.scores.board import BoardRow
from bench.site.context import BoardContext
from bench.site.shell import Page


@dataclass(frozen=True)
class Steps:
    """The terms between a player's conversations and its score, for a page to show. The scores themselves are
    those of the board."""

    row: BoardRow
    total: float
    """Sum of the conversations' scores, each times its weight."""
    weight: int
    """Number of conversations, or of answers if the protocol pools turns: the divisor of the mean."""
    median: float
    """Median of the players' mean answer lengths, in characters."""
    span: float
    """Largest minus smallest score on the board."""
    penalty: float
    """Version 1's penalty for length, as a share (0 to -1) of ``span``; 0 for other protocols."""


def audit_pages(context: BoardContext) -> Iterator[Page]:
    """The page with the method and all players, then each player's page."""
    weights = [(name, context.board.weights.get(name, 1.0)) for name in context.board.criteria]
    values = {"rows": context.board.rows, "median": context.board.median_length, "weights": weights}
    yield context.part_page("audit", values)
    sums = {info.player: _sum(context, info.player) for info in context.infos}
    means = [total / weight for total, weight in sums.values() if weight]
    span = max(means, default=0.0) - min(means, default=0.0)
    for info in context.infos:
        yield _player_page(context, info, *sums[info.player], span)


def _sum(context: BoardContext, player: str) -> tuple[float, int]:
    """Sum of the scores of a player's scenes, each times its weight, and sum of the weights."""
    scored = [
        (cell.score, cell.answers if context.rules.pools_turns else 1)
        for cell in context.cells[player].values()
        if cell.score is not None
    ]
    return math.fsum(score * weight for score, weight in scored), sum(weight for _, weight in scored)


def _player_page(context: BoardContext, info: PlayerInfo, total: float, weight: int, span: float) -> Page:
    row = context.evidence.rows.get(info.player)
    steps = None
    if row is not None and row.score is not None:
        median = context.board.median_length or 0.0
        v1 = context.rules.length == "paper_v1"
        penalty = paper.v1_penalty(row.avg_length or 0, median) if v1 else 0.0
        steps = Steps(row, total, weight, median, span, penalty)
    values = {
        "here": "Audit",
        "info": info,
        "steps": steps,
        "cells": [talk for cell in context.cells[info.player].values() for talk in cell.talks],
        "board": context.board,
    }
    title = f"{info.name}: from turns to the board"
    about = f"How the numbers of {info.name} on {context.title} follow from the judges' scores of its turns."
    title_here, path = f"{title} ({context.title})", context.links().audit(info.player)
    return context.page(path, "conversation", "player-audit", values, title_here, title, about)
