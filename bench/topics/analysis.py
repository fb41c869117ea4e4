"""From messages to topics, their shares and their coverage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.errors import CatalogError, UserError
from bench.suites import Situation, Suite
from bench.toml_entries import entry_from, read_toml
from bench.topics.coverage import by_table, coverage, matches, proposed, read_table, similarities
from bench.topics.embedding import Vectors, check_installed, embedded, versions
from bench.topics.grouping import FEWEST, MOST_GROUPED, default_topic_size, grouped
from bench.topics.messages import Messages
from bench.topics.report import Outliers, Report, Source, Topic

EXAMPLE_LENGTH = 300
"""Characters of an example that are kept."""


@dataclass(frozen=True)
class Choices:
    """How topics are looked for. ``examples``: typical messages that are kept of each, word for word."""

    language: str = "en"
    topic_size: int | None = None
    most: int | None = None
    seed: int = 1
    examples: int = 0


@dataclass(frozen=True)
class Against:
    """What coverage is asked of: a suite, by similarity from ``threshold`` on, or by a person's ``table``."""

    suite: Suite
    threshold: float
    table: Path | None = None


def analysed(
    messages: Messages,
    choices: Choices,
    against: Against | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Report:
    """The topics of ``messages``. ``on_progress`` hears how many distinct ones are embedded, of how many.

    Raises UserError where packages are missing, messages are too few, or the suite or table does not fit.
    """
    check_installed()
    situations = {} if against is None else _situations(against.suite, choices.language)
    texts, counts = distinct(messages.texts)
    if len(texts) < FEWEST:
        raise UserError(
            f"{len(texts)} different messages are too few for topics; it takes {FEWEST}",
            where=messages.name,
            hint="Give a larger set.",
        )
    vectors = embedded(texts, on_progress)
    size = choices.topic_size or default_topic_size(len(texts))
    found = grouped(
        texts,
        vectors,
        counts,
        language=choices.language,
        topic_size=size,
        most=choices.most,
        seed=choices.seed,
    )
    all_messages = int(counts.sum())
    topics, centres = [], []
    for at, words in enumerate(found.words):
        members = np.flatnonzero(found.labels == at)
        centre = vectors[members].mean(axis=0)
        centres.append(centre)
        topics.append(
            Topic(
                id=at + 1,
                words=words,
                messages=int(counts[members].sum()),
                distinct=len(members),
                share=round(int(counts[members].sum()) / all_messages, 6),
                examples=_typical(texts, vectors, members, centre, choices.examples),
            )
        )
    rest = found.labels == -1
    report = Report(
        source=Source(
            name=messages.name,
            sha256=messages.sha256,
            column=messages.column,
            language=choices.language,
            found=messages.found,
            used=all_messages,
            distinct=len(texts),
            blank=messages.blank,
            malformed=len(messages.problems),
        ),
        settings={
            "packages": dict(versions()),
            "topic_size": size,
            "most_topics": choices.most,
            "grouped": min(len(texts), MOST_GROUPED),
            "seed": choices.seed,
        },
        topics=tuple(topics),
        outliers=Outliers(
            messages=int(counts[rest].sum()),
            distinct=int(rest.sum()),
            share=round(int(counts[rest].sum()) / all_messages, 6),
        ),
    )
    if against is None:
        return report
    return _covered(report, np.array(centres), vectors, situations, against)


def distinct(texts: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Each text once, as it first comes, and how often it comes (n,); case and blanks make no difference.

    A thousand times "hi" would be a thousand points in one place, which no layout of neighbours can bear.
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
    """The messages nearest to the middle of their topic."""
    nearness = np.round(vectors[members] @ centre, 5)
    order = sorted(range(len(members)), key=lambda at: (-float(nearness[at]), int(members[at])))
    return tuple(" ".join(texts[members[at]].split())[:EXAMPLE_LENGTH] for at in order[:count])


def _situations(suite: Suite, language: str) -> dict[str, Situation]:
    """All situations of a language, those of ``suite`` among them."""
    if not suite.language(language).situations:
        raise CatalogError(
            "has no situations: it plays the items of a data set",
            where=f"suite {suite.id}",
            hint="Ask about a suite that has some; `bench suites` lists all.",
        )
    paths = sorted((suite.prompts / "situations" / language).glob("*.toml"))
    return {path.stem: entry_from(Situation, read_toml(path), str(path)) for path in paths}


def _covered(
    report: Report,
    centres: Vectors,
    vectors: Vectors,
    situations: Mapping[str, Situation],
    against: Against,
) -> Report:
    """``report`` with what the suite's situations cover."""
    chosen = list(against.suite.language(report.source.language).situations)
    topics = list(report.topics)
    if topics:
        cosines = similarities(centres, vectors, situations, chosen)
        topics = [
            topic.model_copy(update={"nearest": matches(row, chosen)})
            for topic, row in zip(topics, cosines, strict=True)
        ]
    if against.table is None:
        said = {topic.id: proposed(topic.nearest, against.threshold) for topic in topics}
    else:
        table = read_table(against.table)
        if table.language != report.source.language:
            raise UserError(
                f"is about language {table.language!r}, not {report.source.language!r}",
                where=str(against.table),
                hint="Name that language by --language, or another table.",
            )
        said = by_table(table, topics, against.suite, against.table)
    topics = [topic.model_copy(update={"covered_by": said[topic.id]}) for topic in topics]
    threshold = against.threshold if against.table is None else None
    made = coverage(topics, report.source.used, against.suite, report.source.language, threshold)
    return report.model_copy(update={"topics": tuple(topics), "coverage": made})
