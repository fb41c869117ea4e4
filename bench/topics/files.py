"""Write the files of an analysis, without overwriting those that a person may have edited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import tomli

from bench.files import holds, write_atomically
from bench.records import canonical
from bench.slugs import slug
from bench.suites import Situation
from bench.tables import printable
from bench.toml_entries import entry_from, toml_string
from bench.topics.coverage import table_words
from bench.topics.report import Draft, Report, Topic, table
from bench.topics.writing import TURNS

COVERAGE_FILE = "coverage.toml"


@dataclass(frozen=True)
class Written:
    """All files of the analysis, and those of them that were kept because somebody may have edited them."""

    files: tuple[Path, ...]
    kept: tuple[Path, ...]


def write_report(report: Report, folder: Path, figures: Mapping[str, bytes]) -> Written:
    """Write topics.json, topics.csv, the figures, the coverage table to edit, and the drafted situations.

    ``figures``: file name to bytes. Drafts become situations/topic-NUMBER-TITLE.toml. Neither a draft nor the
    coverage table is ever overwritten. Raises StorageError.
    """
    files = {
        folder / "topics.json": canonical(report.model_dump(mode="json", exclude_none=True)).encode(),
        folder / "topics.csv": table(report).encode("utf-8-sig"),  # with a byte order mark, for spreadsheets
    }
    files |= {folder / name: data for name, data in figures.items()}
    for path, data in files.items():
        write_atomically(path, data)
    owned = {}
    if report.coverage is not None and report.topics:
        owned[folder / COVERAGE_FILE] = coverage_text(report)
    for topic in report.topics:
        if topic.draft is not None and topic.draft.status == "ok":
            owned[folder / "situations" / draft_name(topic, topic.draft)] = draft_text(topic, topic.draft)
    kept = [
        path
        for path, text in owned.items()
        if not write_atomically(path, text.encode(), replace=False) and not holds(path, text.encode())
    ]
    return Written((*files, *owned), tuple(kept))


def draft_name(topic: Topic, draft: Draft) -> str:
    """The draft's file name: number and title, or only the number if the title has no Latin letters."""
    title = draft.title.lower()
    plain = "-".join("".join(c if c.isascii() and c.isalnum() else " " for c in title).split())[:40].strip(
        "-"
    )
    return f"{slug(f'topic-{topic.id}-{plain}' if plain else f'topic-{topic.id}')}.toml"


def draft_text(topic: Topic, draft: Draft) -> str:
    """A draft as a situation file."""
    text = "\n".join(
        [
            f"# A draft by {printable(draft.model)}, not reviewed by anybody. Review and edit it, then",
            "# move it to prompts/situations/<language>/ under a name of your choice, and list it",
            "# in a suite.",
            f"# Topic {topic.id}, {topic.share:.1%} of the messages: {printable(', '.join(topic.words))}",
            f"title = {toml_string(draft.title)}",
            f"text = {toml_string(draft.text)}",
            'kind = "common"',
            f"num_turns = {TURNS}",
            f'tags = ["topic-{topic.id}"]',
            "",
        ]
    )
    entry_from(Situation, tomli.loads(text), draft.model)
    return text


def coverage_text(report: Report) -> str:
    """The coverage table of a report, to be reviewed and passed back with ``--coverage``."""
    coverage = report.coverage
    assert coverage is not None
    lines = [
        "# Which situations cover which topic, proposed from their similarity. Check it, edit covered_by,",
        "# then pass this file to `bench topics` with --coverage.",
        f"suite = {toml_string(coverage.suite)}",
        f"language = {toml_string(coverage.language)}",
    ]
    for topic in report.topics:
        near = ", ".join(f"{printable(match.situation)} {match.similarity:.2f}" for match in topic.nearest)
        names = ", ".join(toml_string(name) for name in topic.covered_by or ())
        lines += [
            "",
            f"[topics.{topic.id}] # {topic.share:.1%} of the messages; nearest: {near}",
            f"words = {toml_string(table_words(topic))}",
            f"covered_by = [{names}]",
        ]
    return "\n".join(lines) + "\n"
