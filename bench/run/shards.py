"""A suite's cells in several parts, for machines that share nothing: each works into a tree of its own.

Which part a cell belongs to hangs on the suite, the language and the player alone, not on what is done
already nor on which other players are asked for; so parts never overlap, and their trees merge by copying.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bench.protocols import Protocol
from bench.records import Cell, sha256_of


@dataclass(frozen=True)
class Shard:
    """Part ``number`` (from 1) of ``count``."""

    number: int
    count: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.count:
            raise ValueError(f"no part {self.number} of {self.count}")

    @classmethod
    def parse(cls, text: str) -> Shard:
        """The shard that ``K/N`` names. Raises ValueError."""
        match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
        if match is None:
            raise ValueError(f"{text!r} is not K/N")
        return cls(int(match[1]), int(match[2]))

    def cells(self, protocol: Protocol, player: str) -> list[Cell]:
        """The cells of ``player`` that are this part's, in the protocol's order.

        Dealt out longest first, each to the part with the fewest turns so far. Where parts are equal, a hash
        of the player says which comes first, so that no part gets the odd cell of every player.
        """
        cells = protocol.cells(player)
        first = int(sha256_of([protocol.suite.id, protocol.language, player])[:8], 16) % self.count
        turns = [0] * self.count
        mine = set()
        for cell in sorted(cells, key=lambda c: (-protocol.turns(c), c.character, c.situation)):
            part = min(range(self.count), key=lambda k: (turns[k], (k - first) % self.count))
            turns[part] += protocol.turns(cell)
            if part == self.number - 1:
                mine.add(cell)
        return [cell for cell in cells if cell in mine]
