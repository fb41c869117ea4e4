"""What `bench annotate` prints of an import: problems, what changed, and how far each annotator is."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from bench.cli.options import Places
from bench.tables import text_table

if TYPE_CHECKING:
    from bench.annotate.merging import AnnotatorCounts
    from bench.annotate.reading import Reading
    from bench.results.studies import StudyFile

MOST = 50
"""Problems of an import that are printed one by one."""


def merge_and_tell(
    where: Places, file: StudyFile, reading: Reading, origin: str, new_annotators: bool
) -> None:
    """Merge what was read into a study, and print what came of it."""
    from bench.annotate.merging import merge

    _print_some([problem.line() for problem in reading.problems])
    if not reading.entries:
        click.echo(f"{reading.tasks} tasks or records, no annotation of study {file.study}; nothing changed")
        sys.exit(1 if reading.problems else 0)
    report = merge(where.results, file, reading.entries, origin=origin, new_annotators=new_annotators)
    _print_some(report.duplicates)
    click.echo(
        f"{report.annotations} annotations of {reading.tasks} tasks or records: {report.added} new,"
        f" {report.replaced} replaced, {report.unchanged} as they were; {len(report.duplicates)} duplicates,"
        f" {len(reading.problems)} problems"
    )
    if reading.drafts:
        click.echo(f"{reading.drafts} drafts were never handed in: left out")
    print_counts(report.counts)
    if any(not problem.place for problem in reading.problems):
        sys.exit(1)  # a whole file could not be read


def _print_some(lines: Sequence[str]) -> None:
    for line in lines[:MOST]:
        click.echo("".join(c if c.isprintable() else "?" for c in line), err=True)
    if len(lines) > MOST:
        click.echo(f"... and {len(lines) - MOST} more", err=True)


def print_counts(counts: Sequence[AnnotatorCounts]) -> None:
    """How far each annotator is, as a table."""
    heads = ("annotator", "complete", "partial", "cancelled", "not seen")
    rows = [
        (row.annotator, str(row.complete), str(row.partial), str(row.cancelled), str(row.missing))
        for row in counts
    ]
    click.echo(text_table(heads, rows, left={0}) if rows else "no annotations yet\n", nl=False)
