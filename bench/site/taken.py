"""What the build keeps of the players of a board, once their conversations have pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.records import PlayerInfo, Scene
from bench.results import ResultsTree
from bench.scores.frame import Frames, frames_of
from bench.scores.rows import PlayerRows
from bench.site.conversation_pages import PlayerResult, PlayerSummary
from bench.site.output import OutputFolder
from bench.site.places import BoardPlace


@dataclass(frozen=True)
class Taken:
    """What is kept of a board's players."""

    frames: Frames | None
    """None once nothing needs it any more."""
    players: tuple[PlayerSummary, ...]
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
    players: list[PlayerSummary] = []
    texts: dict[str, Scene] = {}
    for result in results:
        folder.add(result.files, result.written, result.stamps)
        rows.append(result.rows)
        players.append(result.summary)
        texts = result.texts | texts
    return Taken(frames_of(tree, place.suite, place.language, infos, rows), tuple(players), texts)
