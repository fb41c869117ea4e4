"""Human studies in the results tree: which conversations people rated, and what each annotator said.

    results/human/<study>/study.json
    results/human/<study>/annotations/<annotator>.json

``<study>`` and ``<annotator>`` are slugs. Annotators are pseudonyms; see :mod:`bench.annotate.people`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

import pandas as pd
from pydantic import Field

from bench.errors import RecordError, UserError
from bench.files import write_atomically
from bench.records import SCHEMA_VERSION, Criterion, Record, Repeat, messages_sha256
from bench.results import ResultsTree, read_record, record_bytes
from bench.slugs import slug
from bench.toml_entries import did_you_mean

HUMAN = "human"
"""Folder of the results tree that holds the studies."""

Score = Annotated[int, Field(strict=True)] | Annotated[float, Field(strict=True, allow_inf_nan=False)]
"""An annotator's score. Whole, except in imported studies that only give the mean of several annotators."""


class StudyItem(Record):
    """One conversation of a study. ``item`` is its name for annotators; it reveals neither player nor judge.

    In an imported study the scene may be unknown: ``character`` and ``situation`` are then left out.
    """

    item: str = Field(min_length=1)
    player: str = Field(min_length=1)
    character: str | None = None
    situation: str | None = None
    repeat: Repeat = 1
    """Number of the sample; left out where it is 1."""
    conversation_sha256: str
    """SHA-256 of the messages that annotators see (bench.records.messages_sha256)."""


class StudyFile(Record):
    """study.json: which conversations were drawn from which suite, how, and what annotators are asked.

    An imported study has no ``seed``, ``asked`` and ``strata``; its ``origin`` names the source.
    """

    schema_version: int = Field(default=SCHEMA_VERSION, ge=1, le=SCHEMA_VERSION)
    study: str
    suite: str
    version: str
    language: str
    origin: str | None = None
    seed: int | None = None
    asked: int | None = Field(default=None, ge=1)
    """Number of items requested. The study has fewer if there were fewer complete conversations."""
    within_player: int | None = Field(default=None, ge=1)
    """Number of conversations drawn at random from those of each player; left out where the sample was
    balanced over players, characters and situations instead."""
    population: dict[str, int] | None = None
    """With ``within_player``: complete conversations of each player when the sample was drawn."""
    strata: dict[str, dict[str, int]] | None = None
    """Number of items of each player, each character and each situation, when drawn."""
    criteria: tuple[Criterion, ...]
    """What annotators score, each on its own scale (``low`` to ``high``)."""
    guideline: str
    """Version of the guideline that annotators read."""
    items: tuple[StudyItem, ...]
    """Sorted by ``item``, which is also the order of the tasks."""

    @property
    def criterion_names(self) -> tuple[str, ...]:
        return tuple(criterion.name for criterion in self.criteria)


class Annotation(Record):
    """The latest ratings of one item by one annotator.

    A criterion without a score is null in ``scores``; no score is ever filled in. ``is_refusal`` is left out
    if it was not asked or not answered.
    """

    item: str
    scores: dict[str, Score | None]
    """A key for every criterion of the study."""
    is_refusal: bool | None = None
    comment: str = ""
    cancelled: bool = False
    """The annotator skipped the task. Choices made before that are kept but do not count."""
    seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Time spent, as measured by the annotation tool."""
    submitted: str | None = None
    """Time of the last change according to the annotation tool (UTC, ISO 8601). The latest wins."""

    @property
    def complete(self) -> bool:
        """Whether every criterion has a score and the task was not skipped."""
        return not self.cancelled and all(score is not None for score in self.scores.values())


class AnnotatorFile(Record):
    """annotations/<pseudonym>.json: everything one annotator said in a study, sorted by item."""

    schema_version: int = Field(default=SCHEMA_VERSION, ge=1, le=SCHEMA_VERSION)
    study: str
    annotator: str
    origin: str
    """The annotation tool or the published file that the ratings come from."""
    annotations: tuple[Annotation, ...]


STUDY_TYPES: dict[str, type[Record]] = {"study": StudyFile, "annotator": AnnotatorFile}
"""The files of a study, by the name of their schema."""


@dataclass(frozen=True)
class Study:
    """A study and everything that was said in it."""

    file: StudyFile
    annotators: dict[str, AnnotatorFile]
    """By pseudonym, sorted."""

    @cached_property
    def ratings(self) -> pd.DataFrame:
        """Columns item, annotator, criterion, score, sorted by the first three.

        ``score`` is a float64 on the criterion's scale, NaN where the annotator gave none. An item that an
        annotator skipped or never saw has no row.
        """
        rows = [
            (annotation.item, name, criterion, annotation.scores[criterion])
            for name, record in self.annotators.items()
            for annotation in record.annotations
            if not annotation.cancelled
            for criterion in self.file.criterion_names
        ]
        table = pd.DataFrame(rows, columns=["item", "annotator", "criterion", "score"])
        table["score"] = table["score"].astype("float64")
        return table.sort_values(["item", "annotator", "criterion"], kind="stable", ignore_index=True)

    @property
    def refused(self) -> frozenset[str]:
        """Items in which an annotator saw a refusal."""
        return frozenset(
            annotation.item
            for record in self.annotators.values()
            for annotation in record.annotations
            if annotation.is_refusal and not annotation.cancelled
        )


TalkKey = tuple[str, str, str, int]
"""Player, character, situation and repeat of a conversation."""


def message_hashes(tree: ResultsTree, suite: str, language: str, version: str = "") -> dict[TalkKey, str]:
    """SHA-256 of the messages of every complete conversation of a board (of one version if given)."""
    return {
        (talk.player, talk.character, talk.situation, talk.repeat): messages_sha256(talk.messages)
        for info in tree.players(suite, language)
        for talk in tree.conversations(suite, language, info.player)
        if talk.status == "complete" and version in ("", talk.version)
    }


def study_folder(results: Path, study: str) -> Path:
    """Folder of a study. Raises UserError if the name is not a slug."""
    if slug(study) != study:
        raise UserError(
            f"{study!r} cannot name a study",
            hint=f"Use lower-case letters, digits and '-', for example {slug(study)!r}: it names a folder.",
        )
    return results / HUMAN / study


def studies(results: Path) -> tuple[str, ...]:
    """Names of the studies of a results tree, sorted."""
    return tuple(sorted(path.parent.name for path in (results / HUMAN).glob("*/study.json")))


def find_study(results: Path, study: str) -> StudyFile | None:
    """The study.json of a study, or None if it does not exist. Raises as :func:`read_study`."""
    return read_study(results, study) if (study_folder(results, study) / "study.json").exists() else None


def read_study(results: Path, study: str) -> StudyFile:
    """The study.json of a study. Raises UserError if it does not exist, RecordError if it is damaged."""
    path = study_folder(results, study) / "study.json"
    if not path.exists():
        raise UserError(
            f"no study {study!r}",
            where=str(results / HUMAN),
            hint=did_you_mean(study, studies(results))
            or f"Studies: {', '.join(studies(results)) or 'none yet'}. `bench annotate sample` draws one.",
        )
    file = read_record(StudyFile, path, results)
    if file.study != study:
        raise RecordError(f"belongs to study {file.study!r}", where=str(path), hint="Move it back.")
    if len({item.item for item in file.items}) != len(file.items):
        raise RecordError("has duplicate items", where=str(path))
    return file


def write_study(results: Path, file: StudyFile) -> bool:
    """Write study.json; returns whether it is new or changed. Raises StorageError."""
    return write_atomically(study_folder(results, file.study) / "study.json", record_bytes(file))


def read_annotators(results: Path, file: StudyFile) -> dict[str, AnnotatorFile]:
    """The annotators' files of a study by pseudonym, sorted. Raises RecordError as read_annotator does."""
    paths = sorted((study_folder(results, file.study) / "annotations").glob("[!.]*.json"))
    return {record.annotator: record for record in (read_annotator(path, file, results) for path in paths)}


def read_annotator(path: Path, file: StudyFile, results: Path) -> AnnotatorFile:
    """One annotator's file of a study in the folder ``results``.

    Raises RecordError if it is damaged, misplaced, or has items, criteria or scores that the study lacks.
    """
    record = read_record(AnnotatorFile, path, results)
    if fault := _fault(record, file, path.name):
        hint = "Restore it from version control, or delete it and import the annotations again."
        raise RecordError(fault, where=str(path), hint=hint)
    return record


def write_annotator(results: Path, record: AnnotatorFile) -> bool:
    """Write one annotator's file; returns whether it is new or changed. Raises StorageError."""
    folder = study_folder(results, record.study) / "annotations"
    return write_atomically(folder / f"{record.annotator}.json", record_bytes(record))


def load_study(results: Path, study: str) -> Study:
    """A study with all its annotations. Raises UserError or RecordError."""
    file = read_study(results, study)
    return Study(file, read_annotators(results, file))


def _fault(record: AnnotatorFile, file: StudyFile, name: str) -> str | None:
    """How an annotator's file contradicts its file name or its study; None if it does not."""
    if (record.study, f"{record.annotator}.json") != (file.study, name):
        return f"belongs to annotator {record.annotator!r} in study {record.study!r}"
    items = {item.item for item in file.items}
    scales = {criterion.name: criterion for criterion in file.criteria}
    rated: set[str] = set()
    for annotation in record.annotations:
        item = annotation.item
        if item in rated:
            return f"rates item {item} twice"
        if item not in items:
            return f"rates item {item}, which the study does not have"
        rated.add(item)
        if annotation.scores.keys() != scales.keys():
            return f"item {item}: other criteria than the study's"
        for criterion, score in annotation.scores.items():
            if score is not None and not scales[criterion].low <= score <= scales[criterion].high:
                return f"item {item}: {criterion} is off its scale"
    return None
