"""Where human studies lie, and the one place that reads and writes them.

    results/human/<study>/study.json
    results/human/<study>/annotations/<annotator>.json

``<study>`` and ``<annotator>`` are slugs. The annotators are pseudonyms; see bench.annotate.people.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from bench.annotate.records import Annotation, AnnotatorFile, StudyFile
from bench.errors import RecordError, UserError
from bench.files import write_atomically
from bench.records import Record, canonical
from bench.results import read_record
from bench.slugs import slug

HUMAN = "human"
"""Folder of the results tree that holds the studies."""


@dataclass(frozen=True)
class Study:
    """A study as tables, each sorted by its key columns.

    ``items``        item, suite, language, player, character, situation (the last two missing where unknown)
    ``ratings``      item, annotator, criterion, score: float64 on the criterion's scale, NaN where the
                     annotator gave none. An item that an annotator skipped, or never saw, has no row.
    ``annotations``  item, annotator, is_refusal (nullable boolean), cancelled, comment: also skipped ones
    """

    file: StudyFile
    items: pd.DataFrame
    ratings: pd.DataFrame
    annotations: pd.DataFrame

    @property
    def name(self) -> str:
        return self.file.study

    @property
    def criteria(self) -> tuple[str, ...]:
        """Names of the criteria, in the study's order."""
        return tuple(criterion.name for criterion in self.file.criteria)

    @property
    def annotators(self) -> tuple[str, ...]:
        """Pseudonyms of all who gave at least one rating or skipped one, sorted."""
        return tuple(sorted(set(self.annotations["annotator"])))


def study_folder(results: Path, study: str) -> Path:
    """Folder of a study. Raises UserError where the name is no slug."""
    if slug(study) != study:
        raise UserError(
            f"{study!r} cannot name a study",
            hint=f"Use small letters, digits and '-', as in {slug(study)!r}: a folder gets that name.",
        )
    return results / HUMAN / study


def studies(results: Path) -> tuple[str, ...]:
    """Names of the studies of a results tree, sorted."""
    root = results / HUMAN
    return tuple(sorted(path.parent.name for path in root.glob("*/study.json"))) if root.is_dir() else ()


def read_study(results: Path, study: str) -> StudyFile:
    """The study.json of a study. Raises UserError where there is none, RecordError where it is damaged."""
    path = study_folder(results, study) / "study.json"
    if not path.exists():
        found = ", ".join(studies(results)) or "none yet"
        raise UserError(
            f"there is no study {study!r}",
            where=str(results / HUMAN),
            hint=f"Studies there: {found}. `bench annotate sample` draws one.",
        )
    file = read_record(StudyFile, path)
    if file.study != study:
        raise RecordError(f"is of the study {file.study!r}", where=str(path), hint="Move it back.")
    names = [item.item for item in file.items]
    if len(set(names)) != len(names):
        raise RecordError("names an item twice", where=str(path))
    return file


def write_study(results: Path, file: StudyFile) -> bool:
    """Write study.json; returns whether it is new or changed. Raises StorageError."""
    return _write(study_folder(results, file.study) / "study.json", file)


def read_annotators(results: Path, file: StudyFile) -> dict[str, AnnotatorFile]:
    """The annotators' files of a study by pseudonym, sorted.

    Raises RecordError where one is damaged, misplaced, or speaks of items or criteria that the study lacks.
    """
    found: dict[str, AnnotatorFile] = {}
    folder = study_folder(results, file.study) / "annotations"
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        if not path.name.startswith("."):
            record = read_annotator(path, file)
            found[record.annotator] = record
    return found


def read_annotator(path: Path, file: StudyFile) -> AnnotatorFile:
    """One annotator's file of a study. Raises RecordError as :func:`read_annotators` does."""
    record = read_record(AnnotatorFile, path)
    _check(record, file, path)
    return record


def write_annotator(results: Path, record: AnnotatorFile) -> bool:
    """Write one annotator's file; returns whether it is new or changed. Raises StorageError."""
    folder = study_folder(results, record.study) / "annotations"
    return _write(folder / f"{record.annotator}.json", record)


def load_study(results: Path, study: str) -> Study:
    """A study and all its ratings as tables. Raises UserError or RecordError."""
    file = read_study(results, study)
    return as_tables(file, read_annotators(results, file))


def as_tables(file: StudyFile, annotators: dict[str, AnnotatorFile]) -> Study:
    """The tables of a study's files."""
    said = [
        (entry, record.annotator)
        for record in annotators.values()
        for entry in sorted(record.annotations, key=lambda entry: entry.item)
    ]
    said.sort(key=lambda pair: (pair[0].item, pair[1]))
    return Study(file, _items(file), _ratings(file, said), _annotations(said))


def _items(file: StudyFile) -> pd.DataFrame:
    return pd.DataFrame(
        [
            (item.item, file.suite, file.language, item.player, item.character, item.situation)
            for item in sorted(file.items, key=lambda item: item.item)
        ],
        columns=["item", "suite", "language", "player", "character", "situation"],
        dtype="object",
    )


def _ratings(file: StudyFile, said: list[tuple[Annotation, str]]) -> pd.DataFrame:
    rows = [
        (entry.item, annotator, criterion.name, entry.scores.get(criterion.name))
        for entry, annotator in said
        if not entry.cancelled
        for criterion in file.criteria
    ]
    table = pd.DataFrame(rows, columns=["item", "annotator", "criterion", "score"])
    table["score"] = table["score"].astype("float64")
    return table.sort_values(["item", "annotator", "criterion"], kind="stable", ignore_index=True)


def _annotations(said: list[tuple[Annotation, str]]) -> pd.DataFrame:
    rows = [
        (entry.item, annotator, entry.is_refusal, entry.cancelled, entry.comment) for entry, annotator in said
    ]
    table = pd.DataFrame(rows, columns=["item", "annotator", "is_refusal", "cancelled", "comment"])
    return table.astype({"is_refusal": "boolean", "cancelled": "bool"})


def _check(record: AnnotatorFile, file: StudyFile, path: Path) -> None:
    """Raise RecordError unless an annotator's file fits its name and its study."""
    hint = "Restore it from version control; or delete it and import the annotations again."
    if (record.study, f"{record.annotator}.json") != (file.study, path.name):
        raise RecordError(
            f"is of annotator {record.annotator!r} in study {record.study!r}", where=str(path), hint=hint
        )
    items = {item.item for item in file.items}
    scales = {criterion.name: criterion for criterion in file.criteria}
    seen: set[str] = set()
    for entry in record.annotations:
        if entry.item not in items or entry.item in seen:
            fault = "twice" if entry.item in seen else "but the study does not have it"
            raise RecordError(f"rates item {entry.item} {fault}", where=str(path), hint=hint)
        seen.add(entry.item)
        if entry.scores.keys() != scales.keys():
            raise RecordError(
                f"item {entry.item}: other criteria than the study's", where=str(path), hint=hint
            )
        for name, score in entry.scores.items():
            if score is not None and not scales[name].low <= score <= scales[name].high:
                raise RecordError(f"item {entry.item}: {name} is off its scale", where=str(path), hint=hint)


def _write(path: Path, record: Record) -> bool:
    return write_atomically(path, canonical(record.plain()).encode("utf-8"))
