"""Pages of scenes, characters and situations, and the list of them all."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any

from bench.records import Conversation, Scene
from bench.results import read_record
from bench.site import paths
from bench.site.cells import CellSummary
from bench.site.context import BoardContext, Named, Page, remarks, score_of
from bench.site.evidence import Row

SHOWN = 5
"""At most so many of the hardest and easiest scenes are named."""


def scene_pages(context: BoardContext) -> Iterator[Page]:
    """The list, then each character's, situation's and scene's page."""
    told = {scene: _told(context, cell) for scene, cell in context.scenes.items()}
    yield _index(context)
    for kind, found in (("character", context.characters), ("situation", context.situations)):
        for one in found:
            yield _side_page(context, kind, one, told)
    for scene in context.scenes:
        yield _scene_page(context, scene, told[scene])


def _told(context: BoardContext, cell: CellSummary) -> Scene:
    """What the sides of a scene were told, from one conversation of it."""
    folder = context.tree.player_folder(context.place.suite, context.place.language, cell.player)
    return read_record(Conversation, folder / "conversations" / f"{cell.scene}.json").scene


def _index(context: BoardContext) -> Page:
    page = paths.board_part(context.place.suite, context.place.language, "scenes")
    sides = {
        kind: [
            {**row, **_named(context, kind, str(row["id"]), page)}
            for row in context.evidence.difficulty
            if row["kind"] == kind
        ]
        for kind in ("character", "situation")
    }
    ordered = sorted(context.scene_means.items(), key=lambda item: (item[1], item[0]))
    shown = max(1, min(SHOWN, len(ordered) // 2))
    values = {
        "situations": [(s, context.side_href("situation", s.key, page)) for s in context.situations],
        "matrix": [_mean_row(context, c, page) for c in context.characters],
        "items": _items(context, page) if context.by_item else None,
        "sides": sides,
        "hardest": [_scene(context, scene, page) for scene, _ in ordered[:shown]],
        "easiest": [_scene(context, scene, page) for scene, _ in ordered[::-1][:shown]],
    }
    return context.part_page("scenes", "scenes", values)


def _items(context: BoardContext, page: str) -> list[dict[str, Any]]:
    """Every item of a data set, by character."""
    names = {character.id: character for character in context.characters}
    return [
        {
            "character": names[cell.character],
            "character_href": context.side_href("character", names[cell.character].key, page),
            "name": cell.situation_title,
            "href": context.scene_href(scene, page),
            "score": context.scene_means.get(scene),
        }
        for scene, cell in context.scenes.items()
    ]


def _named(context: BoardContext, kind: str, ident: str, page: str) -> dict[str, str]:
    found = context.characters if kind == "character" else context.situations
    one = next((one for one in found if one.id == ident), None)
    if one is None:
        return {"name": ident, "href": ""}
    return {"name": one.name, "href": context.side_href(kind, one.key, page)}


def _mean_row(context: BoardContext, character: Named, page: str) -> dict[str, Any]:
    cells = []
    for situation in context.situations:
        scene = f"{character.key}.{situation.key}"
        href = context.scene_href(scene, page) if scene in context.scenes else ""
        cells.append({"situation": situation.name, "score": context.scene_means.get(scene), "href": href})
    return {
        "character": character,
        "href": context.side_href("character", character.key, page),
        "cells": cells,
    }


def _scene(context: BoardContext, scene: str, page: str) -> dict[str, Any]:
    """A scene in a list: its names, mean and best conversation."""
    cell = context.scenes[scene]
    return {
        "name": f"{cell.character_name}, {cell.situation_title}",
        "href": context.scene_href(scene, page),
        "score": context.scene_means.get(scene),
        "best": _best(context, scene, page),
    }


def _best(context: BoardContext, scene: str, page: str) -> dict[str, Any] | None:
    found = [cells[scene] for cells in context.cells.values() if score_of(cells.get(scene)) is not None]
    if not found:
        return None
    best = min(found, key=lambda cell: (-(cell.score or 0), cell.player))
    return {
        "name": context.name_of(best.player),
        "href": context.conversation_href(best, page),
        "score": best.score,
    }


def _side_page(context: BoardContext, kind: str, one: Named, told: Mapping[str, Scene]) -> Page:
    """A character's or situation's page: its scenes and how each player did in them."""
    page = paths.side_page(context.place.suite, context.place.language, kind, one.key)
    mine = [scene for scene in context.scenes if scene.split(".")[kind == "situation"] == one.key]
    rated = sorted(mine, key=lambda scene: (context.scene_means.get(scene, math.inf), scene))
    scene = told[mine[0]]
    row = next((r for r in context.evidence.difficulty if (r["kind"], r["id"]) == (kind, one.id)), None)
    text = scene.card if kind == "character" else scene.situation
    if kind == "character" and context.by_item:
        text = ""  # what the player is told differs from item to item
    values = {
        "here": one.name,
        "kind": kind,
        "summary": scene.summary if kind == "character" else "",
        "text": text,
        "effect": row,
        "place": _place(context, kind, row),
        "scenes": [_scene(context, scene, page) for scene in rated],
        "other": "Situation" if kind == "character" else "Character",
        "players": _players(context, mine, page),
    }
    title = f"{kind.capitalize()}: {one.name}"
    return context.made(page, "scene", "side", values, f"{title} ({context.title})", title)


def _place(context: BoardContext, kind: str, row: Row | None) -> str:
    """Where it stands among its kind, the hardest first."""
    ranked = [r["id"] for r in context.evidence.difficulty if r["kind"] == kind and r["effect"] is not None]
    if row is None or row["id"] not in ranked or len(ranked) < 2:
        return ""
    at = ranked.index(row["id"])
    if at in (0, len(ranked) - 1):
        return f"the {'hardest' if at == 0 else 'easiest'} {kind} of {len(ranked)}"
    return f"number {at + 1} of {len(ranked)} {kind}s, the hardest first"


def _players(context: BoardContext, scenes: list[str], page: str) -> list[dict[str, Any]]:
    """Each player's mean over these scenes, best first, with its best conversation there."""
    rows = []
    for info in context.infos:
        found = [
            c for s in scenes if (c := context.cells[info.player].get(s)) is not None and c.score is not None
        ]
        if found:
            best = min(found, key=lambda cell: (-(cell.score or 0), cell.scene))
            rows.append(
                {
                    "name": info.name,
                    "weights": info.weights,
                    "href": context.player_href(info.player, page),
                    "mean": fmean(cell.score or 0 for cell in found),
                    "count": len(found),
                    "best": f"{best.character_name}, {best.situation_title}",
                    "best_score": best.score,
                    "best_href": context.conversation_href(best, page),
                    "player": info.player,
                }
            )
    return sorted(rows, key=lambda row: (-row["mean"], row["player"]))


def _scene_page(context: BoardContext, scene: str, told: Scene) -> Page:
    place = context.place
    page = paths.scene_page(place.suite, place.language, scene)
    found = [(info, cells[scene]) for info in context.infos if scene in (cells := context.cells[info.player])]
    found.sort(key=lambda pair: (pair[1].score is None, -(pair[1].score or 0), pair[0].player))
    here = f"{told.character_name}, {told.situation_title}"
    character, situation = scene.split(".")
    values = {
        "here": here,
        "scene": told,
        "character_href": context.side_href("character", character, page),
        "situation_href": context.side_href("situation", situation, page),
        "rows": [
            {
                "href": context.conversation_href(cell, page),
                "name": info.name,
                "weights": info.weights,
                "summary": cell,
                "remarks": remarks(cell),
            }
            for info, cell in found
        ],
    }
    return context.made(page, "scene", "scene", values, here, here)
