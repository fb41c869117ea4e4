"""What a board.json of an earlier commit says, whatever version of this program wrote it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from bench.records import Record
from bench.results.events import Events


class Place(Record):
    """A player's rank and length-normalised score on a board; null without a score."""

    rank: int | None
    score: float | None


NOWHERE = Place(rank=None, score=None)


@dataclass(frozen=True)
class PastBoard:
    """A published board."""

    version: str
    judges: tuple[str, ...]
    places: Mapping[str, Place] = field(default_factory=dict)
    """By player."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Player to name."""

    def renamed(self, player: str, to: str) -> PastBoard:
        """The board with another id of a player."""

        def named(name: str) -> str:
            return to if name == player else name

        places = {named(name): place for name, place in self.places.items()}
        names = {named(name): text for name, text in self.names.items()}
        return PastBoard(self.version, self.judges, places, names)


def past_board(data: bytes) -> PastBoard | None:
    """The board in a board.json; None if it is not one."""
    try:
        board = json.loads(data)
        version, judges = board["version"], board["judges"]
        rows = [(row["player"], row["name"], row["rank"], row["length_norm_score"]) for row in board["rows"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    texts = [version, *judges, *(text for player, name, *_ in rows for text in (player, name))]
    if not all(isinstance(text, str) for text in texts):
        return None
    try:
        places = {player: Place(rank=rank, score=score) for player, _, rank, score in rows}
    except ValueError:
        return None
    return PastBoard(version, tuple(judges), places, {player: name for player, name, *_ in rows})


def past_events(data: bytes) -> Events:
    """The events in a changes.json; none if it is not one."""
    try:
        return Events.model_validate_json(data)
    except ValueError:
        return Events()
