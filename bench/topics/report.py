"""The result of an analysis: ``topics.json``, and the same as a table."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from bench.records import Record
from bench.tables import csv_table

SCHEMA = 1
COLUMNS = ("topic", "label", "messages", "distinct", "share", "words", "covered_by")
"""Columns of topics.csv."""


class Source(Record):
    """Where the messages came from: counts and a digest, never their text."""

    name: str
    """The file's name, without its folder."""
    sha256: str
    column: str
    language: str
    found: int
    """Messages in the file that are not blank."""
    used: int
    """Messages analysed: all of ``found``, or a random sample."""
    distinct: int
    """Different messages among these, ignoring case and whitespace."""
    blank: int
    malformed: int
    """Rows that could not be read."""


class Match(Record):
    """The similarity of a situation to a topic: cosine, -1 to 1."""

    situation: str
    similarity: float


class Draft(Record):
    """A situation that a model wrote for a topic, or why it failed. Nobody has reviewed it."""

    model: str
    status: Literal["ok", "failed"]
    title: str = ""
    text: str = ""
    failure: str = ""


class Topic(Record):
    """A group of messages about one thing."""

    id: int
    """1 for the largest."""
    words: tuple[str, ...]
    """Typical words, the most characteristic first. Each occurs in several distinct messages."""
    messages: int
    distinct: int
    share: float
    """Share of all messages that were used."""
    nearest: tuple[Match, ...] = ()
    """The most similar situations of the suite."""
    covered_by: tuple[str, ...] | None = None
    """Situations that cover it. None if the analysis was not about a suite."""
    examples: tuple[str, ...] = ()
    """The most typical messages, word for word, if requested."""
    draft: Draft | None = None

    @property
    def label(self) -> str:
        """The title of the draft, or else the first words."""
        if self.draft is not None and self.draft.title:
            return self.draft.title
        return ", ".join(self.words[:3]) or f"topic {self.id}"


class Outliers(Record):
    """Messages that belong to no topic."""

    messages: int
    distinct: int
    share: float


class Coverage(Record):
    """The shares of all messages in topics that a suite's situations cover, and in others."""

    suite: str
    language: str
    by: Literal["similarity", "table"]
    """Proposed from similarity, or stated in a table that a person has reviewed."""
    threshold: float | None = None
    """Minimum similarity for a proposal."""
    covered: float
    uncovered: float
    """Share in topics that no situation covers."""
    outside: float
    """Share in no topic."""
    idle: tuple[str, ...] = ()
    """Situations of the suite that cover no topic."""


class Report(Record):
    """The analysis of one file."""

    schema_version: int = SCHEMA
    source: Source
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    topics: tuple[Topic, ...]
    outliers: Outliers
    coverage: Coverage | None = None


def table(report: Report) -> str:
    """The topics as CSV. The last row, topic 0, counts the messages in no topic."""
    rows: list[list[object]] = [
        [t.id, t.label, t.messages, t.distinct, t.share, " ".join(t.words), " ".join(t.covered_by or ())]
        for t in report.topics
    ]
    rest = report.outliers
    rows.append([0, "(no topic)", rest.messages, rest.distinct, rest.share, "", ""])
    return csv_table(COLUMNS, rows)
