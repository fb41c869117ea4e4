"""Analyse messages: their topics, the topics' shares, and what a suite covers of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.errors import CatalogError, UserError
from bench.suites import Situation, Suite
from bench.topics.coverage import by_table, coverage, matches, proposed, read_table, similarities
from bench.topics.embedding import Vectors, check_installed, embedded, versions
from bench.topics.grouping import FEWEST, MOST_GROUPED, default_topic_size, grouped
from bench.topics.messages import Messages
from bench.topics.report import Outliers, Report, Source, Topic

EXAMPLE_LENGTH = 300
"""Most characters of an example."""


@dataclass(frozen=True)
class Choices:
    """Settings of an analysis.

    ``topic_size``: fewest distinct messages in a topic. ``most``: merge similar topics until at most this
    many are left. ``examples``: typical messages to keep of each topic, word for word.
    """

    language: str = "en"
    topic_size: int | None = None
    most: int | None = None
    seed: int = 1
    examples: int = 0


@dataclass(frozen=True)
class Against:
    """A suite, and what covers a topic: ``threshold`` similarity, or what a coverage ``table`` states."""

    suite: Suite
    threshold: float
    table: Path | None = None


def analysed(
    messages: Messages,
    choices: Choices,
    against: Against | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Find the topics of ``messages``, and what a suite covers of them.

    ``on_progress`` gets the number of distinct messages embedded so far, and their total.
    Raises UserError if packages are missing, there are too few messages, or the suite or table does not fit.
    """
    check_installed()
    situations = {} if against is None else _situations(against.suite, choices.language)
    texts, counts = distinct(messages.texts)
    if len(texts) < FEWEST:
        raise UserError(
            f"{len(texts)} different messages are too few for topics; at least {FEWEST} are needed",
            where=messages.name,
            hint="Give a larger file.",
        )
    vectors = embedded(texts, on_progress)
    size = choices.topic_size or default_topic_size(len(texts))
    groups = grouped(
        texts,
        vectors,
        counts,
        language=choices.language,
        topic_size=size,
        most=choices.most,
        seed=choices.seed,
    )
    used = int(counts.sum())
    members = [np.flatnonzero(groups.labels == topic) for topic in range(len(groups.words))]
    centres = np.array([vectors[rows].mean(axis=0) for rows in members])
    report = Report(
        source=_source(messages, choices.language, used, len(texts)),
        settings={
            "packages": dict(versions()),
            "topic_size": size,
            "most_topics": choices.most,
            "grouped": min(len(texts), MOST_GROUPED),
            "seed": choices.seed,
        },
        topics=tuple(
            Topic(
                id=topic + 1,
                words=groups.words[topic],
                examples=_typical(texts, vectors, rows, centres[topic], choices.examples),
                **_size(counts[rows], used),
            )
            for topic, rows in enumerate(members)
        ),
        outliers=Outliers(**_size(counts[groups.labels == -1], used)),
    )
    return report if against is None else _covered(report, centres, vectors, situations, against)


def _source(messages: Messages, language: str, used: int, distinct: int) -> Source:
    return Source(
        name=messages.name,
        sha256=messages.sha256,
        column=messages.column,
        language=language,
        found=messages.found,
        used=used,
        distinct=distinct,
        blank=messages.blank,
        malformed=len(messages.problems),
    )


def _size(counts: NDArray[np.int64], used: int) -> dict[str, Any]:
    messages = int(counts.sum())
    return {"messages": messages, "distinct": len(counts), "share": round(messages / used, 6)}


def distinct(texts: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Each text once, in its first spelling, and how often it occurs (n,), ignoring case and whitespace.

    A thousand copies of "hi" would be a thousand points in one place and would break the neighbour graph.
    """
    first: dict[str, str] = {}
    counts: dict[str, int] = {}
    for text in texts:
        key = " ".join(text.casefold().split())
        first.setdefault(key, text.strip())
        counts[key] = counts.get(key, 0) + 1
    return list(first.values()), np.array(list(counts.values()), dtype=np.int64)


def _typical(
    texts: Sequence[str], vectors: Vectors, members: NDArray[np.int64], centre: Vectors, count: int
) -> tuple[str, ...]:
    """The messages nearest to the centre of their topic."""
    nearness = np.round(vectors[members] @ centre, 5)
    order = sorted(range(len(members)), key=lambda at: (-float(nearness[at]), int(members[at])))
    return tuple(" ".join(texts[members[at]].split())[:EXAMPLE_LENGTH] for at in order[:count])


def _situations(suite: Suite, language: str) -> Mapping[str, Situation]:
    """The situations of ``suite``: others of the language must not change what it covers."""
    situations = suite.language(language).situations
    if not situations:
        raise CatalogError(
            "has no situations, because it plays the items of a data set",
            where=f"suite {suite.id}",
            hint="Name a suite with situations; `bench suites` lists all suites.",
        )
    return situations


def _covered(
    report: Report,
    centres: Vectors,
    vectors: Vectors,
    situations: Mapping[str, Situation],
    against: Against,
) -> Report:
    """Add to ``report`` what the suite's situations cover."""
    topics = list(report.topics)
    if topics:
        cosines = similarities(centres, vectors, situations.values())
        topics = [
            topic.model_copy(update={"nearest": matches(row, list(situations))})
            for topic, row in zip(topics, cosines, strict=True)
        ]
    if against.table is None:
        covered_by = {topic.id: proposed(topic.nearest, against.threshold) for topic in topics}
    else:
        table = read_table(against.table)
        if table.language != report.source.language:
            raise UserError(
                f"is about language {table.language!r}, not {report.source.language!r}",
                where=str(against.table),
                hint="Name that language with --language, or give another table.",
            )
        covered_by = by_table(table, topics, against.suite, against.table)
    topics = [topic.model_copy(update={"covered_by": covered_by[topic.id]}) for topic in topics]
    threshold = against.threshold if against.table is None else None
    shares = coverage(topics, report.source.used, against.suite, report.source.language, threshold)
    return report.model_copy(update={"topics": tuple(topics), "coverage": shares})
