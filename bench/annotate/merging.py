"""Merge imported annotations into a study: the latest of each annotator and item stays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.annotate.people import MEAN, People
from bench.annotate.reading import Entry
from bench.errors import UserError
from bench.results.studies import Annotation, AnnotatorFile, StudyFile, read_annotators, write_annotator


@dataclass(frozen=True)
class AnnotatorCounts:
    """One annotator's row of the summary, over everything in the study."""

    annotator: str
    complete: int
    partial: int
    """Handed in with a rating missing."""
    cancelled: int
    missing: int
    """Items of the study that the annotator has not touched."""


@dataclass(frozen=True)
class MergeReport:
    """What an import changed."""

    added: int
    replaced: int
    unchanged: int
    duplicates: tuple[str, ...]
    """A line for each annotation that does not count because the annotator has a later one of the item."""
    counts: tuple[AnnotatorCounts, ...]
    written: int
    """Annotators' files that are new or changed."""


def merge(
    results: Path,
    study: StudyFile,
    entries: Sequence[Entry],
    *,
    origin: str,
    server: str | None = None,
    new_annotators: bool = False,
) -> MergeReport:
    """Write entries into a study's annotator files.

    ``server``: the annotation tool that they come from; see :meth:`People.choose_server`.

    Of several annotations of one item by one person, the one handed in last stays, also against earlier
    imports. One with a time counts as later than one without; if the times are equal, the later import wins.
    Raises UserError, also if ``new_annotators`` states that nobody has rated before and somebody has.
    """
    kept = read_annotators(results, study)
    people = People(results, study.study, set(kept), new=new_annotators)
    people.choose_server(server, [entry.mark for entry in entries if entry.mark])
    persons = sorted({entry.person for entry in entries}, key=lambda who: (len(who), who))
    if new_annotators:
        people.check_new(persons)
    for person in persons:
        people.pseudonym(person)  # pseudonyms follow the tool's numbers, whatever the order of the export
    latest, duplicates = _latest(entries, people)
    names = sorted({*kept, *latest})
    if MEAN in names and len(names) > 1:
        raise UserError(
            "some scores are the mean of several annotators, others are of single annotators",
            where=f"study {study.study}",
            hint="A mean is not an annotator: import it into a study of its own.",
        )
    tally: Counter[str] = Counter()
    files: list[AnnotatorFile] = []
    for name in names:
        held = {annotation.item: annotation for annotation in kept[name].annotations} if name in kept else {}
        for item, entry in latest.get(name, {}).items():
            if held.get(item, entry.annotation) != entry.annotation:
                people.check_sure(item, entry.person)
            held[item] = _newer(held.get(item), entry, tally, duplicates)
        files.append(
            AnnotatorFile(
                study=study.study,
                annotator=name,
                origin=kept[name].origin if name in kept else origin,
                annotations=tuple(held[item] for item in sorted(held)),
            )
        )
    people.save()
    written = sum(write_annotator(results, record) for record in files)
    return MergeReport(
        added=tally["added"],
        replaced=tally["replaced"],
        unchanged=tally["unchanged"],
        duplicates=tuple(duplicates),
        counts=counts_of(study, files),
        written=written,
    )


def counts_of(study: StudyFile, annotators: Iterable[AnnotatorFile]) -> tuple[AnnotatorCounts, ...]:
    """Each annotator's row of the summary."""
    return tuple(
        AnnotatorCounts(
            annotator=record.annotator,
            complete=sum(a.complete for a in record.annotations),
            partial=sum(not a.complete and not a.cancelled for a in record.annotations),
            cancelled=sum(a.cancelled for a in record.annotations),
            missing=len(study.items) - len(record.annotations),
        )
        for record in annotators
    )


def _latest(entries: Sequence[Entry], people: People) -> tuple[dict[str, dict[str, Entry]], list[str]]:
    """(the latest entry by pseudonym and item, a line for each other one)."""
    latest: dict[str, dict[str, Entry]] = {}
    earlier: list[str] = []
    for entry in sorted(entries, key=lambda entry: (_time(entry.annotation), entry.number)):
        name, item = people.pseudonym(entry.person), entry.annotation.item
        before = latest.setdefault(name, {}).get(item)
        if before is not None:
            earlier.append(f"{before.place}: {name} annotated item {item} again later; the latest counts")
        latest[name][item] = entry
    return latest, earlier


def _newer(before: Annotation | None, entry: Entry, tally: Counter[str], duplicates: list[str]) -> Annotation:
    """The annotation of an item that stays: the study's or the imported one."""
    now = entry.annotation
    if before is None:
        tally["added"] += 1
        return now
    if before == now or _time(now) < _time(before):
        tally["unchanged"] += 1
        if before != now:
            held = "a later annotation" if now.submitted else "one with a time (this has none)"
            duplicates.append(f"{entry.place}: the study already has {held} of item {now.item}")
        return before
    tally["replaced"] += 1
    if now.submitted == before.submitted:
        duplicates.append(f"{entry.place}: replaces an annotation of item {now.item} with the same time")
    return now


def _time(annotation: Annotation) -> str:
    return annotation.submitted or ""
