"""The output of `bench annotate` after an import: problems, what changed, and how far each annotator is."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bench.cli.output import print_json
from bench.foreign import MOST_PRINTED, problem_lines
from bench.tables import counted, printable, text_table

if TYPE_CHECKING:
    from bench.annotate.merging import AnnotatorCounts, MergeReport
    from bench.annotate.reading import Reading
    from bench.annotate.sample import Sample
    from bench.results.studies import StudyFile


def print_import(study: str, reading: Reading, report: MergeReport | None) -> None:
    """Print what was read and merged. Exits with status 1 if a whole file could not be read, or if nothing
    was imported because of problems. ``report``: None if there was no annotation."""
    for line in problem_lines(reading.problems):
        click.echo(line, err=True)
    if report is None:
        click.echo(f"{reading.tasks} tasks or records, no annotation of study {study}; nothing changed")
        sys.exit(1 if reading.problems else 0)
    for line in report.duplicates[:MOST_PRINTED]:
        click.echo(printable(line), err=True)
    if len(report.duplicates) > MOST_PRINTED:
        click.echo(f"... and {len(report.duplicates) - MOST_PRINTED} more", err=True)
    click.echo(
        f"{counted(len(reading.entries), 'annotation')} of {reading.tasks} tasks or records:"
        f" {report.added} new, {report.replaced} replaced, {report.unchanged} unchanged;"
        f" {counted(len(report.duplicates), 'duplicate')}, {counted(len(reading.problems), 'problem')}"
    )
    if reading.drafts:
        click.echo(f"{reading.drafts} unsubmitted drafts were left out")
    print_counts(report.counts)
    if any(not problem.place for problem in reading.problems):
        sys.exit(1)


def print_sample(drawn: Sample, new: bool, folder: Path) -> None:
    """What was drawn, and how evenly; ``new``: it was not in ``folder`` before."""
    count, asked = len(drawn.file.items), drawn.file.asked or 0
    if count < asked:
        click.echo(f"only {count} complete conversations for {asked}: all are in the sample", err=True)
    for margin, levels in (drawn.file.strata or {}).items():
        low, high = min(levels.values()), max(levels.values())
        each = f"{low}" if low == high else f"{low} to {high}"
        click.echo(f"{margin + 's':<12}{len(levels):>4}, with {each} conversations each")
    click.echo(f"{count} of {drawn.pool} conversations {'in' if new else 'already in'} {folder}")


def print_status(file: StudyFile, counts: Sequence[AnnotatorCounts], form: str) -> None:
    """A study, and how far each annotator is, as a table or JSON (``form``)."""
    if form == "json":
        study = file.model_dump(include={"study", "suite", "language", "seed", "origin"})
        print_json(study | {"items": len(file.items), "annotators": [asdict(row) for row in counts]})
        return
    drawn = f"drawn with seed {file.seed}" if file.origin is None else f"imported from {file.origin}"
    click.echo(
        f"{file.study}: {counted(len(file.items), 'conversation')} of {file.suite} {file.language}, {drawn}"
    )
    print_counts(counts)


def print_counts(counts: Sequence[AnnotatorCounts]) -> None:
    """How far each annotator is, as a table."""
    heads = ("annotator", "complete", "partial", "cancelled", "not seen")
    rows = [
        (row.annotator, str(row.complete), str(row.partial), str(row.cancelled), str(row.missing))
        for row in counts
    ]
    click.echo(text_table(heads, rows, left={0}) if rows else "no annotations yet\n", nl=False)
