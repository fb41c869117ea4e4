"""Imported annotations into a study: the latest of each annotator and item stays; the rest is told."""

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
    """One annotator's row of the summary, over all that the study holds now."""

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

    annotations: int
    """Annotations of the study's items that were read."""
    added: int
    replaced: int
    unchanged: int
    duplicates: tuple[str, ...]
    """What an annotator said of an item before the last time: a line each, it does not count."""
    counts: tuple[AnnotatorCounts, ...]
    written: int
    """Annotators' files that are new or changed."""


def merge(
    results: Path,
    study: StudyFile,
    entries: Sequence[Entry],
    *,
    origin: str,
    new_annotators: bool = False,
) -> MergeReport:
    """Write entries into a study's annotator files.

    Of several annotations of one item by one person the latest handed in stays, also against what an earlier
    import brought. One that says when counts as later than one that does not; of two that say the same the
    later import stays. Raises UserError; also where ``new_annotators`` says that nobody has rated before and
    somebody has.
    """
    kept = read_annotators(results, study)
    people = People(results, study.study, set(kept), new=new_annotators)
    persons = sorted({entry.person for entry in entries}, key=lambda who: (len(who), who))
    if new_annotators:
        people.check_new(persons)
    for person in persons:
        people.pseudonym(person)  # numbers follow the tool's, however the export is ordered
    latest, duplicates = _latest(entries, people)
    if MEAN in (names := {*kept, *latest}) and len(names) > 1:
        raise UserError(
            "some scores are the mean of several annotators, others are single annotators'",
            where=f"study {study.study}",
            hint="A mean is no annotator more: import it into a study of its own.",
        )
    tally: Counter[str] = Counter()
    made: list[AnnotatorFile] = []
    for name in sorted(names):
        held = {said.item: said for said in kept[name].annotations} if name in kept else {}
        for item, entry in latest.get(name, {}).items():
            held[item] = _newer(held.get(item), entry, tally, duplicates)
        made.append(
            AnnotatorFile(
                study=study.study,
                annotator=name,
                origin=kept[name].origin if name in kept else origin,
                annotations=tuple(held[item] for item in sorted(held)),
            )
        )
    people.save()
    written = sum(write_annotator(results, record) for record in made)
    return MergeReport(
        annotations=len(entries),
        added=tally["added"],
        replaced=tally["replaced"],
        unchanged=tally["unchanged"],
        duplicates=tuple(duplicates),
        counts=counts_of(study, made),
        written=written,
    )


def _latest(entries: Sequence[Entry], people: People) -> tuple[dict[str, dict[str, Entry]], list[str]]:
    """(the latest entry by pseudonym and item, a line for each other one)."""
    latest: dict[str, dict[str, Entry]] = {}
    earlier: list[str] = []
    for entry in sorted(entries, key=lambda entry: (entry.annotation.submitted or "", entry.number)):
        name, item = people.pseudonym(entry.person), entry.annotation.item
        before = latest.setdefault(name, {}).get(item)
        if before is not None:
            earlier.append(f"{before.place}: {name} annotated item {item} again later; the latest counts")
        latest[name][item] = entry
    return latest, earlier


def counts_of(study: StudyFile, annotators: Iterable[AnnotatorFile]) -> tuple[AnnotatorCounts, ...]:
    """Each annotator's row of the summary."""
    return tuple(
        AnnotatorCounts(
            annotator=record.annotator,
            complete=sum(said.complete for said in record.annotations),
            partial=sum(not said.complete and not said.cancelled for said in record.annotations),
            cancelled=sum(said.cancelled for said in record.annotations),
            missing=len(study.items) - len(record.annotations),
        )
        for record in annotators
    )


def _newer(before: Annotation | None, entry: Entry, tally: Counter[str], duplicates: list[str]) -> Annotation:
    """Which of two annotations of an item stays: the study's or the one that comes."""
    now = entry.annotation
    if before is None:
        tally["added"] += 1
        return now
    if before == now:
        tally["unchanged"] += 1
        return before
    if _time(now) < _time(before):
        tally["unchanged"] += 1
        held = "a later annotation" if now.submitted else "an annotation with a time, and this has none,"
        duplicates.append(f"{entry.place}: the study holds {held} of item {now.item}")
        return before
    tally["replaced"] += 1
    if now.submitted == before.submitted:
        duplicates.append(f"{entry.place}: replaces an annotation of item {now.item} that says no other time")
    return now


def _time(said: Annotation) -> str:
    return said.submitted or ""
