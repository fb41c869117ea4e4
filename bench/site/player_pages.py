"""A player's page: both languages, matrix, score by turn, provenance."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from bench.records import PlayerInfo
from bench.scores.analyses.turns import ALL
from bench.site import paths
from bench.site.board_table import row_values
from bench.site.cells import CellSummary
from bench.site.context import BoardContext, Named, Page, mean_of, remarks, score_of
from bench.site.evidence import Row
from bench.site.figures import Mark, Series, line_figure
from bench.site.labels import language_name
from bench.site.stamp import record_link


def player_pages(context: BoardContext) -> Iterator[Page]:
    """The page of every player."""
    for info in context.infos:
        yield player_page(context, info)


def player_page(context: BoardContext, info: PlayerInfo) -> Page:
    """One player's page."""
    place = context.place
    page = paths.player_page(place.suite, place.language, info.player)
    cells = context.cells[info.player]
    row = context.evidence.rows.get(info.player)
    record = context.tree.player_folder(place.suite, place.language, info.player) / "player.json"
    link = record_link(context.tree, context.source_url, record)
    characters, situations = context.characters, context.situations
    turns = context.evidence.turns.get(info.player, ())
    values = {
        "info": info,
        "row": None if row is None else row_values(row, context.evidence, context.criteria, ""),
        "players": len(context.board.rows),
        "languages": _languages(context, info, page),
        "situations": [(s, context.side_href("situation", s.key, page)) for s in situations],
        "matrix": [_matrix_row(context, c, cells, page) for c in characters],
        "situation_means": [mean_of(cells.get(f"{c.key}.{s.key}") for c in characters) for s in situations],
        "items": _items(context, cells, page) if context.by_item else None,
        "turns": turns,
        "figure": turn_figure(info.name, turns, context.evidence.turns.get(ALL, ())),
        "sampling": json.dumps(info.sampling, sort_keys=True, ensure_ascii=False),
        "record": link.text,
        "source": link.href,
        "audit_href": "audit.html",
        "compare_href": f"{context.part('compare', page)}?p={paths.slug(info.player)}",
    }
    return context.made(page, "conversation", "player", values, f"{info.name}: {context.title}", info.name)


def _languages(context: BoardContext, info: PlayerInfo, page: str) -> list[dict[str, Any]]:
    """The player's rows on all boards of the suite that have it."""
    found = []
    for language, evidence in context.siblings.items():
        row = evidence.rows.get(info.player)
        if row is not None:
            href = paths.relative(paths.player_page(context.place.suite, language, info.player), page)
            found.append(
                {
                    "language": language_name(language),
                    "here": language == context.place.language,
                    "of": len(evidence.board.rows),
                    **row_values(row, evidence, context.criteria, href),
                }
            )
    return found


def _matrix_row(
    context: BoardContext, character: Named, cells: Mapping[str, CellSummary], page: str
) -> dict[str, Any]:
    row = []
    for situation in context.situations:
        cell = cells.get(f"{character.key}.{situation.key}")
        shown: dict[str, Any] = {"summary": cell, "situation": situation.name}
        if cell is not None:
            shown |= {"href": context.conversation_href(cell, page), **_in_short(cell)}
        row.append(shown)
    return {
        "character": character,
        "href": context.side_href("character", character.key, page),
        "cells": row,
        "mean": mean_of(cells.get(f"{character.key}.{s.key}") for s in context.situations),
    }


def _items(context: BoardContext, cells: Mapping[str, CellSummary], page: str) -> list[dict[str, Any]]:
    """Every item of a data set, by character."""
    names = {character.id: character for character in context.characters}
    found = []
    for scene, one in context.scenes.items():
        cell, character = cells.get(scene), names[one.character]
        found.append(
            {
                "character": character,
                "character_href": context.side_href("character", character.key, page),
                "name": one.situation_title,
                "href": None if cell is None else context.conversation_href(cell, page),
                "score": score_of(cell),
                "said": "no response yet" if cell is None else remarks(cell),
            }
        )
    return found


def _in_short(cell: CellSummary) -> dict[str, str]:
    """What a matrix cell shows, its mark, and the words for both."""
    score = None if cell.score is None else f"{cell.score:.1f}"
    short = "✕" if cell.state == "failed" else score or ("R" if cell.refusal else "?")
    mark = "R" if cell.refusal and score else "J" if cell.failed_judgements else ""
    return {"short": short, "mark": mark, "said": remarks(cell, score or "")}


def turn_figure(name: str, turns: Sequence[Row], average: Sequence[Row]) -> Markup:
    """Score by turn, of the player and of all players; each mark leads to its row of the table."""
    if len(turns) < 2:
        return Markup("")
    series = [
        Series("other", [_mark(row, "average of all players") for row in average]),
        Series("main", [_mark(row, "this player") for row in turns]),
    ]
    ends = turns[0], turns[-1]
    about = (
        f"Mean score of each turn, from {ends[0]['score']:.2f} in turn {ends[0]['turn']}"
        f" to {ends[1]['score']:.2f} in turn {ends[1]['turn']}, with 95% intervals; the thin line is the"
        " average of all players. The numbers are in the table below."
    )
    return line_figure("turn-figure", "Score by turn", about, series)


def _mark(row: Row, who: str) -> Mark:
    turn, value = int(str(row["turn"])), float(str(row["score"]))
    low, high = (None if row[end] is None else float(str(row[end])) for end in ("low", "high"))
    return Mark(turn, value, low, high, f"#turn-{turn}", f"Turn {turn}, {who}: {value:.2f}")
