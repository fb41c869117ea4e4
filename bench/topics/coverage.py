"""Which share of the messages a suite's situations cover: proposed by similarity, or said by a person."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench.errors import UserError
from bench.suites import Situation, Suite
from bench.toml_entries import Entry, entry_from, read_toml, unknown_name
from bench.topics.embedding import Vectors, embedded
from bench.topics.report import Coverage, Match, Topic

NEAREST: Final = 3


@dataclass(frozen=True)
class Total:
    """Shares of all messages, 0 to 1, that sum to 1: in covered topics, in others, in none."""

    covered: float
    uncovered: float
    outside: float


def total(topics: Iterable[tuple[float, bool]]) -> Total:
    """The sum over (share, whether covered) of every topic; what is in no topic counts as not covered.

    This is how the paper's appendix C comes to 30%: shares are of the whole set, outliers included.
    """
    shares = list(topics)
    covered = math.fsum(share for share, is_covered in shares if is_covered)
    uncovered = math.fsum(share for share, is_covered in shares if not is_covered)
    return Total(covered, uncovered, max(0.0, 1 - covered - uncovered))


# By similarity


def similarities(
    topics: Vectors, messages: Vectors, situations: Mapping[str, Situation], chosen: Sequence[str]
) -> NDArray[np.float64]:
    """Cosine of every topic (row) with every situation of ``chosen`` (column), both about their own mean.

    ``topics`` (k, d): means of the topics' vectors; ``messages`` (n, d): all vectors. Situations are
    instructions and messages are talk: taking the mean of each kind away leaves what they are about.
    ``situations``: all of the language, so that the mean does not hang on what a small suite chose.
    """
    names = list(situations)
    texts = embedded([situations[name].text.strip() for name in names])
    centre = texts.mean(axis=0) if len(names) > 2 else np.zeros(texts.shape[1], dtype=np.float32)
    ours = _unit(texts - centre)[[names.index(name) for name in chosen]]
    cosines: NDArray[np.float64] = _unit(topics - messages.mean(axis=0)) @ ours.T
    return cosines


def _unit(vectors: Vectors) -> NDArray[np.float64]:
    exact = vectors.astype(np.float64)
    lengths = np.linalg.norm(exact, axis=1, keepdims=True)
    return exact / np.where(lengths > 0, lengths, 1)


def matches(cosines: NDArray[np.float64], situations: Sequence[str]) -> tuple[Match, ...]:
    """A topic's nearest situations, the nearest first; of equally near ones the first by name."""
    rounded = [round(float(cosine), 2) + 0.0 for cosine in cosines]  # + 0.0: no negative zero
    order = sorted(range(len(situations)), key=lambda at: (-rounded[at], situations[at]))
    return tuple(Match(situation=situations[at], similarity=rounded[at]) for at in order[:NEAREST])


def proposed(nearest: Sequence[Match], threshold: float) -> tuple[str, ...]:
    """The situations of ``nearest`` that are near enough."""
    return tuple(match.situation for match in nearest if match.similarity >= threshold)


# By table


class TableRow(Entry):
    """What a person says of one topic. ``words`` shows which topic is meant."""

    words: str
    covered_by: tuple[str, ...] = ()


class CoverageTable(Entry):
    """A coverage table: rows by the number of the topic."""

    suite: str
    language: str
    topics: dict[str, TableRow]


def read_table(path: Path) -> CoverageTable:
    """The table of a file. Raises CatalogError."""
    return entry_from(CoverageTable, read_toml(path), str(path))


def by_table(
    table: CoverageTable, topics: Sequence[Topic], suite: Suite, path: Path
) -> dict[int, tuple[str, ...]]:
    """Situations that cover each topic, by the topic's id. Raises UserError where the table is of another
    suite, of other topics than these, or names situations that the suite does not have."""
    where = str(path)
    if table.suite != suite.id:
        fault = f"is about suite {table.suite!r}, not {suite.id!r}"
        raise UserError(fault, where=where, hint="Name that suite by --suite, or another table.")
    known = list(suite.language(table.language).situations)
    ids = {str(topic.id) for topic in topics}
    for extra in sorted(table.topics.keys() - ids):
        raise _other(f"has a topic {extra} that is not there", where)
    said = {}
    for topic in topics:
        row = table.topics.get(str(topic.id))
        if row is None:
            raise _other(f"has no topic {topic.id}", where)
        if row.words != table_words(topic):
            raise _other(f"topic {topic.id} has other words", where)
        for name in row.covered_by:
            if name not in known:
                raise unknown_name(name, known, "situation", f"{where}: topics.{topic.id}")
        said[topic.id] = row.covered_by
    return said


def table_words(topic: Topic) -> str:
    """What stands for a topic in a table."""
    return ", ".join(topic.words)


def _other(fault: str, where: str) -> UserError:
    return UserError(
        fault,
        where=where,
        hint="The table is of another file or other settings; start from coverage.toml anew.",
    )


def coverage(
    topics: Sequence[Topic], used: int, suite: Suite, language: str, threshold: float | None
) -> Coverage:
    """The shares of ``used`` messages by ``covered_by`` of their topics; ``threshold`` None: by a table."""
    sums = total((topic.messages / used, bool(topic.covered_by)) for topic in topics)
    busy = {name for topic in topics for name in topic.covered_by or ()}
    return Coverage(
        suite=suite.id,
        language=language,
        by="table" if threshold is None else "similarity",
        threshold=threshold,
        covered=round(sums.covered, 6),
        uncovered=round(sums.uncovered, 6),
        outside=round(sums.outside, 6),
        idle=tuple(name for name in suite.language(language).situations if name not in busy),
    )
