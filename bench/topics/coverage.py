"""The share of messages that a suite's situations cover, proposed from similarity or stated by a person."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench.errors import UserError
from bench.suites import Situation, Suite
from bench.toml_entries import Entry, check_known, entry_from, read_toml
from bench.topics.embedding import Vectors, embedded
from bench.topics.report import Coverage, Match, Topic

NEAREST: Final = 3
"""Situations that are listed for a topic."""


@dataclass(frozen=True)
class Total:
    """Shares of all messages, which sum to 1: in covered topics, in uncovered ones, in no topic."""

    covered: float
    uncovered: float
    outside: float


def total(topics: Iterable[tuple[float, bool]]) -> Total:
    """Sum the (share, is covered) of every topic.

    Shares are of all messages, including those in no topic, as in the paper's appendix C (30% covered).
    """
    shares = list(topics)
    covered = math.fsum(share for share, is_covered in shares if is_covered)
    uncovered = math.fsum(share for share, is_covered in shares if not is_covered)
    return Total(covered, uncovered, max(0.0, 1 - covered - uncovered))


# By similarity


def similarities(topics: Vectors, messages: Vectors, situations: Iterable[Situation]) -> NDArray[np.float64]:
    """Cosine similarity of every topic (row) with every situation (column).

    Both are centred first. Situations are instructions and messages are talk; subtracting each kind's mean
    leaves the subject.

    Args:
        topics: Mean vector of each topic (k, d).
        messages: Vectors of all messages (n, d).
        situations: The suite's. Their mean is subtracted if there are more than two.
    """
    texts = embedded([situation.text.strip() for situation in situations])
    centre = texts.mean(axis=0) if len(texts) > 2 else np.zeros(texts.shape[1], dtype=np.float32)
    cosines: NDArray[np.float64] = _unit(topics - messages.mean(axis=0)) @ _unit(texts - centre).T
    return cosines


def _unit(vectors: Vectors) -> NDArray[np.float64]:
    exact = vectors.astype(np.float64)
    lengths = np.linalg.norm(exact, axis=1, keepdims=True)
    return exact / np.where(lengths > 0, lengths, 1)


def matches(cosines: NDArray[np.float64], situations: Sequence[str]) -> tuple[Match, ...]:
    """A topic's most similar situations, the most similar first, ties by name."""
    rounded = [round(float(cosine), 2) + 0.0 for cosine in cosines]  # + 0.0: no negative zero
    order = sorted(range(len(situations)), key=lambda at: (-rounded[at], situations[at]))
    return tuple(Match(situation=situations[at], similarity=rounded[at]) for at in order[:NEAREST])


def proposed(nearest: Sequence[Match], threshold: float) -> tuple[str, ...]:
    """The situations of ``nearest`` with at least ``threshold`` similarity."""
    return tuple(match.situation for match in nearest if match.similarity >= threshold)


# By table


class TableRow(Entry):
    """What a person stated about one topic. ``words`` identifies the topic."""

    words: str
    covered_by: tuple[str, ...] = ()


class CoverageTable(Entry):
    """A coverage table: rows by topic number."""

    suite: str
    language: str
    topics: dict[str, TableRow]


def read_table(path: Path) -> CoverageTable:
    """Read a coverage table. Raises CatalogError if it is malformed."""
    return entry_from(CoverageTable, read_toml(path), str(path))


def by_table(
    table: CoverageTable, topics: Sequence[Topic], suite: Suite, path: Path
) -> dict[int, tuple[str, ...]]:
    """Situations that cover each topic, by topic id.

    Raises UserError if the table is about another suite or other topics, or names an unknown situation.
    """
    where = str(path)
    if table.suite != suite.id:
        fault = f"is about suite {table.suite!r}, not {suite.id!r}"
        raise UserError(fault, where=where, hint="Name that suite with --suite, or give another table.")
    known = list(suite.language(table.language).situations)
    ids = {str(topic.id) for topic in topics}
    for extra in sorted(table.topics.keys() - ids):
        raise _other(f"topic {extra} does not exist", where)
    covered_by = {}
    for topic in topics:
        row = table.topics.get(str(topic.id))
        if row is None:
            raise _other(f"has no topic {topic.id}", where)
        if row.words != table_words(topic):
            raise _other(f"topic {topic.id} has other words", where)
        check_known(row.covered_by, known, "situation", f"{where}: topics.{topic.id}")
        covered_by[topic.id] = row.covered_by
    return covered_by


def table_words(topic: Topic) -> str:
    """The words that identify a topic in a table."""
    return ", ".join(topic.words)


def _other(fault: str, where: str) -> UserError:
    return UserError(
        fault,
        where=where,
        hint="The table belongs to another file or other settings. Start again from the new coverage.toml.",
    )


def coverage(
    topics: Sequence[Topic], used: int, suite: Suite, language: str, threshold: float | None
) -> Coverage:
    """The shares of ``used`` messages by whether their topics are covered.

    ``threshold``: least similarity of a proposal; None if a table states what covers what.
    """
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
