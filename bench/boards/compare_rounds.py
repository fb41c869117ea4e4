"""Notes in the cache folder: comparisons that have been chosen and are not stored yet.

Which pairs come next depends on the comparisons so far. A command that was killed may have paid for answers
to comparisons that the next one would not choose. So each round is noted before it is asked, and
the next command finds it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from bench.errors import StorageError
from bench.files import read_bytes, write_atomically
from bench.records import Record, canonical, sha256_of
from bench.run.comparing import CompareWork
from bench.scores.pairwise_data import Slot

FOLDER = "rounds"


class Chosen(Record):
    """One comparison: the judge, the players in the order of their slugs, and their slot."""

    judge: str
    players: tuple[str, str]
    slot: Slot


class _Round(Record):
    chosen: tuple[Chosen, ...]


class Rounds:
    """The notes of one suite in one language; without ``cache``, which keeps answers, nothing is noted."""

    def __init__(self, cache: Path | None, suite: str, language: str) -> None:
        self._folder = None if cache is None else cache / FOLDER / suite / language

    def missing(self, made: Collection[Chosen]) -> Iterator[Chosen]:
        """What was chosen and is not among ``made``. Removes notes of rounds that are complete; an unreadable
        note is skipped, as it can only save money."""
        for path in sorted(self._folder.glob("*.json")) if self._folder else ():
            with contextlib.suppress(OSError, ValidationError):
                left = set(_Round.model_validate_json(read_bytes(path)).chosen).difference(made)
                if not left:
                    path.unlink()
                yield from sorted(left, key=lambda item: (item.judge, item.players, item.slot))

    def note(self, work: Sequence[CompareWork]) -> None:
        """Note that ``work`` is about to be asked."""
        if self._folder is None or not work:
            return
        made = [Chosen(judge=item.judge, players=item.players, slot=item.slot) for item in work]
        note = _Round(chosen=tuple(made)).plain()
        with contextlib.suppress(StorageError):
            write_atomically(self._folder / f"{sha256_of(note)[:16]}.json", canonical(note).encode())
