"""Changes that people made to a board: players removed or renamed, each with the reason."""

from __future__ import annotations

from datetime import date
from typing import Literal

from pydantic import Field, field_validator

from bench.records import SCHEMA_VERSION, Record

EVENTS_FILE = "changes.json"


class Event(Record):
    """A player that was removed or renamed."""

    action: Literal["removed", "renamed"]
    player: str
    """Its id before."""
    name: str
    """Its name for people."""
    to: str | None = None
    """Its new id, if it was renamed."""
    reason: str = Field(min_length=1, max_length=1000)
    day: str = Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")
    """Date of the change."""

    @field_validator("day")
    @classmethod
    def _a_date(cls, value: str) -> str:
        return date.fromisoformat(value).isoformat()

    @property
    def text(self) -> str:
        """The event in words."""
        done = "removed" if self.action == "removed" else f"renamed: {self.player} is now {self.to}"
        return f"{self.name} {done}. Reason: {self.reason}"


class Events(Record):
    """changes.json of a board: its events, oldest first."""

    schema_version: int = Field(default=SCHEMA_VERSION, ge=1, le=SCHEMA_VERSION)
    events: tuple[Event, ...] = ()

    def renames_since(self, before: Events) -> list[tuple[str, str]]:
        """Old and new id of each player renamed since ``before``, oldest first."""
        known = len(before.events)
        if self.events[:known] != before.events:
            return []
        return [(event.player, event.to) for event in self.events[known:] if event.to is not None]
