"""Published scores of other benchmarks, one number per player, scene, judge and criterion:

    results/published/<name>/scores.csv.gz
    results/published/<name>/source.toml
    results/published/<name>/LICENSE

The conversations behind the scores are elsewhere; ``source.toml`` says where.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Self

from pydantic import model_validator

from bench.errors import RecordError
from bench.protocol_facts import published_protocol
from bench.records import PlayerInfo
from bench.results.score_lines import (
    GRID_FIELDS,
    SCENE_FIELDS,
    Address,
    Digest,
    Language,
    Name,
    ScoreLine,
    Sentence,
    checked_lines,
    csv_of,
    sealed_rows,
    source_text,
)
from bench.toml_entries import Entry, entry_from, read_toml

SCORES, SOURCE, LICENSE = "scores.csv.gz", "source.toml", "LICENSE"
"""The files of a table."""


class ScoreSource(Entry):
    """Where a table comes from: source.toml."""

    title: Name
    description: Sentence
    language: Language
    """Code of the language of the conversations, such as ``ja``."""
    url: Address
    """Page of the project that published the scores."""
    commit: Name
    """Its commit; or the version, or the date of the download."""
    licence: Name
    """Name of the licence of the scores. Its text is in the file LICENSE."""
    changes: Sentence
    """What was done to the scores on the way here."""
    conversations: Address
    """Page where the conversations can be read."""
    scale: tuple[int, int]
    """Lowest and highest score of every criterion."""
    digest: Digest
    """SHA-256 of scores.csv, decompressed."""

    @model_validator(mode="after")
    def _has_width(self) -> Self:
        if not self.scale[0] < self.scale[1]:
            raise ValueError("scale: the first number must be below the second")
        return self

    @property
    def notice(self) -> str:
        """What a reader must know, in sentences."""
        return (
            f"Scores that another project published ({self.url}, licence {self.licence})."
            f" The conversations are not here: {self.conversations}"
        )


@dataclass(frozen=True)
class ScoreTable:
    """A table of published scores, sorted."""

    name: str
    source: ScoreSource
    lines: tuple[ScoreLine, ...]

    @property
    def protocol(self) -> str:
        """The protocol of its board, which says no more than the scale."""
        return published_protocol(*self.source.scale)

    @cached_property
    def criteria(self) -> tuple[str, ...]:
        return tuple(sorted({line.criterion for line in self.lines}))

    @cached_property
    def players(self) -> tuple[PlayerInfo, ...]:
        """What is known of the players: their names."""
        return tuple(
            PlayerInfo(
                player=name,
                provider="unknown",
                model=name,
                name=name,
                family="unknown",
                weights="unknown",
                licence="unknown",
                sampling={},
            )
            for name in sorted({line.player for line in self.lines})
        )

    @cached_property
    def verdicts(self) -> dict[tuple[str, str, str], dict[str, dict[str, int | float]]]:
        """(player, character, situation) to judge to criterion to score."""
        verdicts: dict[tuple[str, str, str], dict[str, dict[str, int | float]]] = {}
        for line in self.lines:
            judges = verdicts.setdefault((line.player, line.character, line.situation), {})
            judges.setdefault(line.judge, {})[line.criterion] = line.score
        return verdicts

    @property
    def incomplete(self) -> int:
        """Verdicts (player, scene and judge) that lack a criterion. They do not count."""
        return sum(
            len(scores) < len(self.criteria)
            for judges in self.verdicts.values()
            for scores in judges.values()
        )

    @property
    def missing(self) -> int:
        """Verdicts that do not exist, of all players, scenes and judges of the table."""
        scenes = {(line.character, line.situation) for line in self.lines}
        judges = {line.judge for line in self.lines}
        return len(self.players) * len(scenes) * len(judges) - sum(map(len, self.verdicts.values()))


def read_score_table(folder: Path, root: Path) -> ScoreTable:
    """The table in ``folder``, which must not lead out of ``root``.

    Raises CatalogError for a fault of source.toml, RecordError for one of the scores.
    """
    source = read_source(folder, root)
    path = folder / SCORES
    try:
        stamp = path.stat()
    except OSError as error:
        raise RecordError(f"cannot be read: {error.strerror}", where=str(path)) from None
    return _table(folder, root, source, (stamp.st_mtime_ns, stamp.st_size, stamp.st_ino))


def read_source(folder: Path, root: Path) -> ScoreSource:
    """The source.toml of a table. Raises CatalogError."""
    path = folder / SOURCE
    return entry_from(ScoreSource, read_toml(path, root=root), str(path))


@lru_cache(maxsize=8)
def _table(folder: Path, root: Path, source: ScoreSource, stamp: tuple[int, ...]) -> ScoreTable:
    """``stamp`` changes with the file, so that a changed file is read again."""
    path = folder / SCORES
    heads, rows = sealed_rows(path, root, source.digest, "scores")
    if tuple(heads) not in (SCENE_FIELDS, GRID_FIELDS):
        hint = f"The columns must be {', '.join(SCENE_FIELDS)}. Make the file with `bench import scores`."
        raise RecordError(f"unexpected columns: {', '.join(heads)}", where=str(path), hint=hint)
    return ScoreTable(folder.name, source, checked_lines(rows, heads, source.scale, str(path)))


def source_of(lines: Iterable[ScoreLine], about: Mapping[str, object], where: str) -> ScoreSource:
    """The source.toml of a table. ``about``: its fields, but for the digest.

    Raises CatalogError, naming ``where``, for a missing or unusable field.
    """
    digest = hashlib.sha256(csv_of(lines)).hexdigest()
    return entry_from(ScoreSource, {**about, "digest": digest}, where)


def table_files(table: ScoreTable, licence: str) -> dict[str, bytes]:
    """The files of a table: name to content. ``licence``: the text of its licence."""
    return {
        SCORES: gzip.compress(csv_of(table.lines), 9, mtime=0),
        SOURCE: source_text(table.source).encode(),
        LICENSE: licence.encode(),
    }
