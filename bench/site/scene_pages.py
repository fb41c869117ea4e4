"""Pages of scenes, characters and situations, and the page that lists them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from bench.records import PlayerInfo, Scene
from bench.scores.analyses.items import LEAST_PLAYERS
from bench.site.cells import CellSummary
from bench.site.context import BoardContext, Named
from bench.site.evidence import Difficulty, SideMean
from bench.site.shell import Page
from bench.tables import counted

SHOWN = 5
"""Most scenes to list as the hardest and as the easiest."""


@dataclass(frozen=True)
class SidePlayer:
    """A player in the scenes of a character or situation."""

    info: PlayerInfo
    mean: SideMean
    best: CellSummary
    """Its conversation with the highest score there."""


def scene_pages(context: BoardContext) -> Iterator[Page]:
    """The list, then the page of each character, situation and scene."""
    yield _index(context)
    for kind, sides in (("character", context.characters), ("situation", context.situations)):
        for side in sides:
            yield _side_page(context, kind, side)
    for scene, text in sorted(context.texts.items()):
        yield _scene_page(context, scene, text)


def _probes(context: BoardContext) -> Page:
    """The probes of each character, with the verdict on every player."""
    values = {
        "characters": [
            (side, {scene: cell for scene, cell in context.scenes.items() if cell.character == side.id})
            for side in context.characters
        ],
        "rates": context.evidence.sides,
        "means": context.scene_means,
        "infos": context.infos,
        "cells": context.cells,
    }
    return context.part_page("scenes", values, "probe-scenes")


def _index(context: BoardContext) -> Page:
    if context.rules.probes:
        return _probes(context)
    ordered = sorted(context.scene_means, key=lambda scene: (context.scene_means[scene], scene))
    shown = max(1, min(SHOWN, len(ordered) // 2))
    names = {("character", side.id): side for side in context.characters}
    names |= {("situation", side.id): side for side in context.situations}
    items = context.evidence.scene_items
    keys = {scene: (cell.character, cell.situation) for scene, cell in context.scenes.items()}
    values = {
        "by_item": context.by_item,
        "scenes": context.scenes,
        "characters": context.characters,
        "situations": context.situations,
        "means": context.scene_means,
        "best_of": context.best,
        "sides": {
            kind: [
                (names.get((kind, row.id)), row) for row in context.evidence.difficulty if row.kind == kind
            ]
            for kind in ("character", "situation")
        },
        "items": [(scene, items[key]) for scene, key in keys.items() if key in items],
        "scene_of": {}
        if context.has_sides
        else {cell.situation: scene for scene, cell in context.scenes.items()},
        "least_players": LEAST_PLAYERS,
        "lists": {"Hardest scenes": ordered[:shown], "Easiest scenes": ordered[::-1][:shown]},
    }
    return context.part_page("scenes", values)


def _side_page(context: BoardContext, kind: str, side: Named) -> Page:
    """The page of a character or situation: its scenes, and the players' scores in them."""
    mine = [scene for scene in context.scenes if scene.split(".")[kind == "situation"] == side.key]
    text = context.texts[mine[0]]
    effect = next((r for r in context.evidence.difficulty if (r.kind, r.id) == (kind, side.id)), None)
    values = {
        "here": side.name,
        "kind": kind,
        # the cards of items differ from item to item
        "text": text.situation if kind == "situation" else "" if context.by_item else text.card,
        "summary": text.summary if kind == "character" else "",
        "effect": effect,
        "place": _place(context, effect),
        "scenes": sorted(mine, key=lambda scene: (context.scene_means.get(scene, math.inf), scene)),
        "cells": context.scenes,
        "means": context.scene_means,
        "best_of": context.best,
        "players": _players(context, kind, side, mine),
    }
    path = context.links().side(kind, side.key)
    title = f"{kind.capitalize()}: {side.name}"
    where = f"{counted(len(mine), 'scene')} on {context.title}"
    about = f"{title}: {where}, how hard they are, and who does best there."
    return context.page(path, "scene", "side", values, f"{title} ({context.title})", title, about)


def _place(context: BoardContext, effect: Difficulty | None) -> str:
    """Its place among its kind, hardest first, in words; empty if unknown."""
    if effect is None or effect.effect is None:
        return ""
    kind = effect.kind
    ranked = [r.id for r in context.evidence.difficulty if r.kind == kind and r.effect is not None]
    if len(ranked) < 2:
        return ""
    place = ranked.index(effect.id)
    if place in (0, len(ranked) - 1):
        return f"the {'hardest' if place == 0 else 'easiest'} {kind} of {len(ranked)}"
    return f"number {place + 1} of {len(ranked)} {kind}s, hardest first"


def _players(context: BoardContext, kind: str, side: Named, scenes: list[str]) -> list[SidePlayer]:
    """Players with a score in these scenes, best first."""
    means = context.evidence.sides.get((kind, side.id), {})
    players = []
    for info in context.infos:
        cells = [context.cells[info.player].get(scene) for scene in scenes]
        scored = [cell for cell in cells if cell is not None and cell.score is not None]
        if scored and info.player in means:
            best = min(scored, key=lambda cell: (-(cell.score or 0), cell.scene))
            players.append(SidePlayer(info, means[info.player], best))
    return sorted(players, key=lambda row: (-row.mean.score, row.info.player))


def _scene_page(context: BoardContext, scene: str, text: Scene) -> Page:
    """The page of a scene: what its sides were told, and all players in it."""
    rows = [(info, cells[scene]) for info in context.infos if scene in (cells := context.cells[info.player])]
    rows.sort(key=lambda row: (row[1].score is None, -(row[1].score or 0), row[0].player))
    character, _, situation = scene.partition(".")
    name = ", ".join(filter(None, (text.character_name, text.situation_title)))
    values = {
        "here": name,
        "text": text,
        "sides": {"character": character, "situation": situation},
        "rows": rows,
    }
    about = (
        f"{name}: what the sides were told, and all {len(rows)} players of {context.title} with their scores."
    )
    return context.page(context.links().scene(scene), "scene", "scene", values, name, name, about)
