"""A player's page: its scores in all languages, its conversations, scores by turn, and the model."""

from __future__ import annotations

import json
from collections.abc import Sequence

from markupsafe import Markup

from bench.records import PlayerInfo
from bench.results.score_tables import SCORES
from bench.scores.analyses.turns import ALL
from bench.scores.long_forms import figure_tables
from bench.site import paths
from bench.site.charts import diverging
from bench.site.context import BoardContext
from bench.site.embeds import embed_row
from bench.site.evidence import TurnScore
from bench.site.figures import Mark, Series, line_figure
from bench.site.measures import measure_rows
from bench.site.places import record_link
from bench.site.probes import probe_table, verdicts_by_character
from bench.site.shell import Page
from bench.site.why import why_of


def player_page(context: BoardContext, info: PlayerInfo) -> Page:
    """One player's page."""
    place, evidence = context.place, context.evidence
    path = context.links().player(info.player)
    record = context.tree.player_folder(place.suite, place.language, info.player) / "player.json"
    if context.published:
        record = context.tree.table_folder(place.suite) / SCORES
    turns = evidence.turns.get(info.player, [])
    mine = context.cells[info.player]
    probes = probe_table(context.board)
    verdicts, by_character = verdicts_by_character(mine[scene] for scene in context.scenes if scene in mine)
    values = {
        "info": info,
        "row": evidence.rows.get(info.player),
        "stale": context.board.stale.players.get(info.player) if context.board.stale else None,
        "boards": {
            language: board for language, board in context.siblings.items() if info.player in board.rows
        },
        "players": len(context.board.rows),
        "by_item": context.by_item,
        "probes": probes,
        "entry": next((e for e in probes.rows if e.row.player == info.player), None) if probes else None,
        "scenes": context.scenes,
        "cells": mine,
        "verdicts": verdicts,
        "by_character": by_character,
        "characters": context.characters,
        "situations": context.situations,
        "means": {side: row[info.player].score for side, row in evidence.sides.items() if info.player in row},
        "model_page": paths.relative(paths.model_page(info.player), path),
        "why": why_of(context, info.player),
        "tint": lambda apart: diverging(apart, (context.rules.high - context.rules.low) / 4),
        "part_keys": context.part_titles,
        "apart": context.apart(info.player),
        "measures": measure_rows(context.measures[info.player], context.measures.values()),
        "lengths": context.measures[info.player].lengths,
        "phrases": context.measures[info.player].phrases,
        "figures": list(figure_tables(context.board, info.player)),
        "measures_page": paths.relative(paths.MEASURES, path),
        "turns": turns,
        "figure": turn_figure(turns, evidence.turns.get(ALL, []), (context.rules.low, context.rules.high)),
        "sampling": json.dumps(info.sampling, sort_keys=True, ensure_ascii=False),
        "record": record_link(context.tree, context.source_url, record),
    }
    title = f"{info.name}: {context.title}"
    return context.page(path, "conversation", "player", values, title, info.name, _about(context, info))


def _about(context: BoardContext, info: PlayerInfo) -> str:
    row = embed_row(context.evidence.rows[info.player]) if info.player in context.evidence.rows else None
    if row is None or row.rank is None or row.value is None:
        return f"{info.name} on {context.title}: its conversations, with every verdict."
    place = f"rank {row.rank} of {len(context.board.rows)}, {context.rules.number} {row.value:.2f}"
    return f"{info.name} on {context.title}: {place}; with every conversation."


def turn_figure(
    turns: Sequence[TurnScore], average: Sequence[TurnScore], bounds: tuple[float, float]
) -> Markup:
    """Score by turn, of a player and of all players. Each mark links to its row of the table."""
    if len(turns) < 2:
        return Markup("")
    series = [
        Series("other", [_mark(row, "average of all players") for row in average]),
        Series("main", [_mark(row, "this player") for row in turns]),
    ]
    first, last = turns[0], turns[-1]
    about = (
        f"Mean score of each turn, from {first.score:.2f} in turn {first.turn} to {last.score:.2f} in turn"
        f" {last.turn}, with 95% intervals. The thin line is the average of all players. The numbers are in"
        " the table below."
    )
    return line_figure("turn-figure", "Score by turn", about, series, bounds)


def _mark(row: TurnScore, series: str) -> Mark:
    label = f"Turn {row.turn}, {series}: {row.score:.2f}"
    return Mark(row.turn, row.score, row.low, row.high, f"#turn-{row.turn}", label)
