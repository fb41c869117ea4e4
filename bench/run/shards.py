"""Divides a suite's cells into parts for machines that share nothing; each writes a results tree of its own.

The part of a cell depends only on suite, language and player, not on what is done already or on the other
players. So parts never overlap, and their trees merge by copying.
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
        """This part's cells of ``player``, in the protocol's order.

        Cells are dealt out longest first, each to the part with the fewest turns so far. Ties start at a part
        chosen by a hash of the player, so that no part gets the odd cell of every player.
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
