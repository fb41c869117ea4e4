"""What the build keeps of the players of a board, once their conversations have pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.records import PlayerInfo, Scene
from bench.results import ResultsTree
from bench.scores.frame import Frames, frames_of
from bench.scores.player_measures import PlayerMeasures
from bench.scores.rows import PlayerRows
from bench.site.cells import CellSummary
from bench.site.conversation_pages import PlayerResult
from bench.site.output import OutputFolder
from bench.site.places import BoardPlace


@dataclass(frozen=True)
class Taken:
    """What is kept of a board's players."""

    frames: Frames | None
    """None once nothing needs it any more."""
    cells: dict[str, dict[str, CellSummary]]
    """Player, then scene."""
    measures: dict[str, PlayerMeasures]
    texts: dict[str, Scene]
    """What the sides were told, by scene: as the first player with it has it."""


def taken(
    tree: ResultsTree,
    folder: OutputFolder,
    place: BoardPlace,
    infos: Sequence[PlayerInfo],
    results: Iterable[PlayerResult],
) -> Taken:
    """What is kept of ``results``: not their rows, and each text once, because together they are large."""
    rows: list[PlayerRows] = []
    cells: dict[str, dict[str, CellSummary]] = {}
    measures: dict[str, PlayerMeasures] = {}
    texts: dict[str, Scene] = {}
    for result in results:
        folder.add(result.files, result.written, result.stamps)
        rows.append(result.rows)
        cells[result.player], measures[result.player] = result.cells, result.measures
        texts = result.texts | texts
    return Taken(frames_of(tree, place.suite, place.language, infos, rows), cells, measures, texts)
