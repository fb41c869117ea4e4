"""The turns of a situation, and what the user does in given turns only."""

from __future__ import annotations

from pydantic import Field, ValidationInfo, field_validator

from bench.records import Attack, Plant
from bench.toml_entries import Entry


class Script(Entry):
    """The number of turns, and what the interrogator learns turn by turn."""

    num_turns: int = Field(ge=1, le=64)
    plants: tuple[Plant, ...] = ()
    """Facts that the user mentions and later asks for; the interrogator learns of each in its turns only."""
    attacks: tuple[Attack, ...] = ()
    """What the user does in one turn to break the character; the interrogator learns of it in that turn."""

    @field_validator("plants", "attacks")
    @classmethod
    def _in_time(cls, value: tuple[Plant | Attack, ...], info: ValidationInfo) -> tuple[Plant | Attack, ...]:
        turns = info.data.get("num_turns", 0)
        for number, entry in enumerate(value if turns else (), 1):
            what, last = ("plant", entry.ask) if isinstance(entry, Plant) else ("attack", entry.turn)
            if last > turns:
                raise ValueError(f"{what} {number} needs turn {last}, but there are only {turns}")
        return value

    def within(self, turns: int) -> tuple[tuple[Plant, ...], tuple[Attack, ...]]:
        """The plants that are asked for within ``turns`` turns, and the attacks within them."""
        return (
            tuple(plant for plant in self.plants if plant.ask <= turns),
            tuple(attack for attack in self.attacks if attack.turn <= turns),
        )
