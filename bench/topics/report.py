"""What is kept of an analysis: ``topics.json``, and the same as a table."""

from __future__ import annotations

import csv
import io
from typing import Literal

from pydantic import Field, JsonValue

from bench.records import Record

SCHEMA = 1


class Source(Record):
    """Where the messages came from: counts and a digest, never what they say."""

    name: str
    """The file's name, without its folder."""
    sha256: str
    column: str
    language: str
    found: int
    """Messages in the file that are not blank."""
    used: int
    """Those that were looked at: all, or a random part."""
    distinct: int
    """Different ones among these; case and blanks aside."""
    blank: int
    malformed: int
    """Rows that could not be read."""


class Match(Record):
    """How near a situation is to a topic: cosine, -1 to 1."""

    situation: str
    similarity: float


class Draft(Record):
    """A situation as a model wrote it for a topic, or why there is none. Nobody has reviewed it."""

    model: str
    status: Literal["ok", "failed"]
    title: str = ""
    text: str = ""
    failure: str = ""


class Topic(Record):
    """What a part of the messages is about."""

    id: int
    """1 for the largest."""
    words: tuple[str, ...]
    """Typical words, the most telling first; each is in several distinct messages."""
    messages: int
    distinct: int
    share: float
    """Of all messages that were used."""
    nearest: tuple[Match, ...] = ()
    """The suite's situations that are nearest to it."""
    covered_by: tuple[str, ...] | None = None
    """Situations that cover it; None where no suite was asked about."""
    examples: tuple[str, ...] = ()
    """The most typical messages, word for word, where they were asked for."""
    draft: Draft | None = None

    @property
    def label(self) -> str:
        """The title that a model gave it, or its first words."""
        if self.draft is not None and self.draft.title:
            return self.draft.title
        return ", ".join(self.words[:3]) or f"topic {self.id}"


class Outliers(Record):
    """Messages that belong to no topic."""

    messages: int
    distinct: int
    share: float


class Coverage(Record):
    """Which share of all messages belongs to topics that a suite's situations cover."""

    suite: str
    language: str
    by: Literal["similarity", "table"]
    """Proposed by similarity, or said by a table that a person has edited."""
    threshold: float | None = None
    """Similarity from which a situation is proposed."""
    covered: float
    uncovered: float
    """In topics that no situation covers."""
    outside: float
    """In no topic."""
    idle: tuple[str, ...] = ()
    """Situations of the suite that cover no topic that was found."""


class Report(Record):
    """An analysis of one file."""

    schema_version: int = SCHEMA
    source: Source
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    topics: tuple[Topic, ...]
    outliers: Outliers
    coverage: Coverage | None = None


def table(report: Report) -> str:
    """The topics as CSV, the outliers in the last row (topic 0)."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["topic", "label", "messages", "distinct", "share", "words", "covered_by"])
    for topic in report.topics:
        covered = "" if topic.covered_by is None else " ".join(topic.covered_by)
        row = [topic.id, topic.label, topic.messages, topic.distinct, topic.share, " ".join(topic.words)]
        writer.writerow([*map(_inert, row), covered])
    rest = report.outliers
    writer.writerow([0, "(no topic)", rest.messages, rest.distinct, rest.share, "", ""])
    return out.getvalue()


def _inert(value: object) -> object:
    """A cell that no spreadsheet takes for a formula: a model may have written it."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
