"""Read Label Studio's exports, JSON and JSON-MIN, without trusting them.

The result is ratings by person and item, and a list of what could not be used. A choice that is missing or
invalid stays missing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar
from uuid import UUID

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field, TypeAdapter, ValidationError

from bench.annotate.label_studio import COMMENT, REFUSAL, YES
from bench.annotate.people import Mark
from bench.foreign import Foreign, Problem, Unreadable, checked, read_text
from bench.results.studies import Annotation, StudyFile

MAX_BYTES = 1024 * 1024 * 1024
"""Largest export that is read."""
MAX_COMMENT = 10_000
"""Characters of a comment that are kept."""
LONGEST = 1e9
"""Most seconds that an annotation can have taken."""

T = TypeVar("T")


@dataclass(frozen=True)
class Entry:
    """One annotation as it was read: who, about what, and where it was in the file."""

    person: str
    annotation: Annotation
    number: int
    """The annotation tool's number of it: orders annotations handed in at the same time."""
    place: str
    mark: Mark | None = None
    """By what it is recognised in a later export; None if the source does not number annotations."""


@dataclass
class Reading:
    """What was read from some files."""

    entries: list[Entry] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    tasks: int = 0
    drafts: int = 0
    """Drafts that were never handed in. They are not kept."""


# The format


def _person(who: Any) -> Any:
    """The number of a person, else the address, as text."""
    if isinstance(who, dict):
        who = who.get("id", who.get("email"))
    return str(who) if isinstance(who, int) and not isinstance(who, bool) else who


def _only_choice(value: Any) -> Any:
    """The only one of a list of answers; None for an empty list or text; other values as they are."""
    if isinstance(value, dict) and "choices" in value:
        value = value["choices"]
    if isinstance(value, list) and len(value) < 2:
        value = value[0] if value else None
    return None if value == "" else value


def _number(value: Any) -> Any:
    """The number of a choice such as ``4`` or ``4: agree``."""
    if isinstance(value, bool):
        raise ValueError("a flag is not a rating")
    return value.split(":")[0] if isinstance(value, str) else value


def _in_utc(value: str) -> str:
    """An ISO 8601 time in UTC, always in the same form, so that later times sort after earlier ones."""
    try:
        moment = datetime.fromisoformat(value)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return moment.astimezone(UTC).isoformat(timespec="microseconds")
    except OverflowError:
        raise ValueError("out of range") from None


REFUSED: TypeAdapter[Literal["yes", "no"]] = TypeAdapter(Literal["yes", "no"])
SECONDS: TypeAdapter[float] = TypeAdapter(Annotated[float, Field(strict=True, ge=0, lt=LONGEST)])
TIME: TypeAdapter[str] = TypeAdapter(Annotated[str, Field(strict=True), AfterValidator(_in_utc)])
UNIQUE: TypeAdapter[UUID] = TypeAdapter(UUID)
NUMBER: TypeAdapter[int] = TypeAdapter(Annotated[int, Field(strict=True)])


@cache
def rating(low: int, high: int) -> TypeAdapter[int]:
    """A rating from ``low`` to ``high``."""
    return TypeAdapter(Annotated[int, BeforeValidator(_number), Field(ge=low, le=high)])


class Item(Foreign):
    """The data that a task shows."""

    item: str


class Task(Foreign):
    """A task of the JSON export. The annotations are checked one by one."""

    data: Item
    annotations: list[Any]
    drafts: Any = None


class Head(Foreign):
    """What an annotation of either export says beside the answers."""

    person: Annotated[str, BeforeValidator(_person), Field(pattern=r"\S")] = Field(
        validation_alias=AliasChoices("completed_by", "annotator")
    )
    result: list[Any] | None = None
    """The answers, in the JSON export. In JSON-MIN they are keys of the annotation itself."""
    number: Any = Field(0, validation_alias=AliasChoices("annotation_id", "id"))
    was_cancelled: Any = False
    lead_time: Any = None
    updated_at: Any = None
    created_at: Any = None
    unique_id: Any = None


class Result(Foreign):
    """The answer to one question, in the JSON export."""

    from_name: str
    value: dict[str, Any]


def valid_or_none(adapter: TypeAdapter[T], value: Any, name: str, faults: list[str]) -> T | None:
    """``value`` if ``adapter`` accepts it. None if it is None, or invalid, which is added to ``faults``."""
    if value is None:
        return None
    try:
        return adapter.validate_python(value)
    except ValidationError:
        faults.append(f"{name}: invalid value {value!r:.40}; counted as missing")
        return None


# Reading


def read_files(paths: list[Path], study: StudyFile) -> Reading:
    """All annotations of some export files, in order. A file that is not an export becomes a problem."""
    reading = Reading()
    for path in paths:
        try:
            read_export(load_json(path), path.name, study, reading)
        except Unreadable as fault:
            reading.problems.append(Problem(path.name, "", str(fault)))
    return reading


def load_json(path: Path) -> Any:
    """The data of a JSON file. Raises Unreadable."""
    text = read_text(path, MAX_BYTES)
    try:
        return json.loads(text)
    except RecursionError:
        raise Unreadable("is nested too deeply") from None
    except ValueError as error:
        raise Unreadable(f"is not JSON: {error}") from None


def read_export(data: Any, name: str, study: StudyFile, reading: Reading) -> None:
    """Add the annotations of an export, given as its JSON data, to ``reading``. Raises Unreadable."""
    if not isinstance(data, list):
        raise Unreadable("is not an export of Label Studio: a list of tasks was expected")
    items = {item.item for item in study.items}
    for n, source in enumerate(data):
        reading.tasks += isinstance(source, dict)
        try:
            full = not isinstance(source, dict) or "annotations" in source or "annotator" not in source
            task = checked(Task, source) if full else None
            item = task.data.item if task else checked(Item, source).item
            if item not in items:
                raise Unreadable(f"not a task of study {study.study}: item {item!r:.40}")
        except Unreadable as fault:
            reading.problems.append(Problem(name, str(n), _located(fault)))
            continue
        if task is None:
            _read_annotation(source, item, name, str(n), study, reading, full=False)
            continue
        reading.drafts += len(task.drafts) if isinstance(task.drafts, list) else 0
        for m, annotation in enumerate(task.annotations):
            _read_annotation(annotation, item, name, f"{n}.annotations.{m}", study, reading, full=True)


def _located(fault: Unreadable) -> str:
    return f"{fault.place}: {fault}" if fault.place else str(fault)


def _read_annotation(
    source: Any, item: str, name: str, place: str, study: StudyFile, reading: Reading, *, full: bool
) -> None:
    """Add one annotation to ``reading``, and its faults."""
    faults: list[str] = []
    try:
        head = checked(Head, source)
        answers = _answers(head.result, study, faults) if full else source
        annotation = _annotation(head, answers, item, study, faults)
        number = valid_or_none(NUMBER, head.number, "id", [])
        mark = _mark(head, number) if number is not None else None
        reading.entries.append(Entry(head.person, annotation, number or 0, f"{name}: {place}", mark))
    except Unreadable as fault:
        faults.append(_located(fault))
    reading.problems.extend(Problem(name, place, fault) for fault in faults)


def _mark(head: Head, number: int) -> Mark:
    """The marks of an annotation. If its unique id is not a UUID, neither id nor time is trusted."""
    unique_id = valid_or_none(UNIQUE, head.unique_id, "unique_id", [])
    time = head.created_at if unique_id or not head.unique_id else None
    created = valid_or_none(TIME, time, "created_at", [])
    return Mark(number, str(unique_id or ""), created or "")


def _answers(results: list[Any] | None, study: StudyFile, faults: list[str]) -> dict[str, Any]:
    """The answers to the study's questions. Raises Unreadable if there is no list of answers, or if all are
    to other questions."""
    if results is None:
        raise Unreadable("has no result")
    answers: dict[str, Any] = {}
    for part in results:
        try:
            result = checked(Result, part)
        except Unreadable:
            faults.append("a result without name or value")
            continue
        if result.from_name in answers:
            faults.append(f"{result.from_name} is answered twice; the last answer counts")
        kinds = [kind for kind in ("choices", "rating", "number", "text") if kind in result.value]
        answers[result.from_name] = result.value[kinds[0]] if kinds else None
    asked = {*study.criterion_names, REFUSAL, COMMENT}
    strange = sorted(answers.keys() - asked)
    if strange and not answers.keys() & asked:
        raise Unreadable(f"answers other questions than the study's: {', '.join(strange):.80}")
    faults.extend(f"{name:.40} is not a question of the study; left out" for name in strange)
    return answers


def _annotation(
    head: Head, answers: dict[str, Any], item: str, study: StudyFile, faults: list[str]
) -> Annotation:
    scores: dict[str, int | float | None] = {}
    for criterion in study.criteria:
        choice = _only_choice(answers.get(criterion.name))
        scores[criterion.name] = valid_or_none(
            rating(criterion.low, criterion.high), choice, criterion.name, faults
        )
    refusal = valid_or_none(REFUSED, _only_choice(answers.get(REFUSAL)), REFUSAL, faults)
    comment = answers.get(COMMENT)
    parts = [part for part in (comment if isinstance(comment, list) else [comment]) if isinstance(part, str)]
    seconds = valid_or_none(SECONDS, head.lead_time, "lead_time", [])
    return Annotation(
        item=item,
        scores=scores,
        is_refusal=None if refusal is None else refusal == YES,
        comment="\n".join(parts).strip().encode("utf-8", "replace").decode()[:MAX_COMMENT],
        cancelled=head.was_cancelled is True,
        seconds=None if seconds is None else round(seconds, 1),
        submitted=valid_or_none(TIME, head.updated_at, "updated_at", faults)
        or valid_or_none(TIME, head.created_at, "created_at", faults),
    )
