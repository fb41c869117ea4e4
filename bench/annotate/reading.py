"""Label Studio's exports, JSON and JSON-MIN, read without trusting them.

What comes out are ratings by person and item, and a list of what could not be used. A choice that is missing
or cannot be read stays missing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.annotate.label_studio import COMMENT, NO, REFUSAL, YES
from bench.foreign import Problem
from bench.records import Criterion
from bench.results.studies import Annotation, StudyFile

MAX_BYTES = 1024 * 1024 * 1024
"""Largest export that is read."""

MAX_COMMENT = 10_000
"""Characters of a comment that are kept."""


SMALL = range(1000)
"""Whole numbers that can be a rating at all."""

LONGEST = 1e9
"""Most seconds that an annotation can have taken."""


@dataclass(frozen=True)
class Entry:
    """One annotation as it came: whose, of what, where it stood."""

    person: str
    annotation: Annotation
    number: int
    """The annotation tool's number of the annotation; orders annotations of the same time."""
    place: str


@dataclass
class Reading:
    """What was read of some files."""

    entries: list[Entry] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    tasks: int = 0
    drafts: int = 0
    """Drafts that were never handed in: not counted, not kept."""


class Unreadable(Exception):
    """A file or a part of one that cannot be used, and why."""


def read_files(paths: list[Path], study: StudyFile) -> Reading:
    """All annotations of some export files, in their order; a file that is no export is a problem of it."""
    reading = Reading()
    for path in paths:
        try:
            read_export(load_json(path), path.name, study, reading)
        except Unreadable as fault:
            reading.problems.append(Problem(path.name, "", str(fault)))
    return reading


def load_json(path: Path) -> Any:
    """The data of a JSON file. Raises Unreadable."""
    text = read_text(path)
    try:
        return json.loads(text)
    except RecursionError:
        raise Unreadable("is nested too deeply") from None
    except ValueError as error:
        raise Unreadable(f"is not JSON: {error}") from None


def read_text(path: Path) -> str:
    """The text of a file. Raises Unreadable."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise Unreadable(f"is larger than {MAX_BYTES // 1024 // 1024} MB")
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise Unreadable(f"is not UTF-8 at byte {error.start}") from None


def read_export(data: Any, name: str, study: StudyFile, reading: Reading) -> None:
    """Add the annotations of an export, given as its JSON data, to ``reading``."""
    if not isinstance(data, list):
        raise Unreadable("is no export of Label Studio: a list of tasks was expected")
    items = {item.item for item in study.items}
    for n, task in enumerate(data):
        try:
            _read_task(task, name, str(n), study, items, reading)
        except Unreadable as fault:
            reading.problems.append(Problem(name, str(n), str(fault)))


def _read_task(task: Any, name: str, place: str, study: StudyFile, items: set[str], reading: Reading) -> None:
    if not isinstance(task, dict):
        raise Unreadable("is no task")
    reading.tasks += 1
    full = "annotations" in task
    if not full and "annotator" not in task:
        raise Unreadable("has neither annotations nor an annotator")
    data = task.get("data") if full else task
    item = data.get("item") if isinstance(data, dict) else None
    if not isinstance(item, str) or item not in items:
        raise Unreadable(f"is no task of study {study.study}: item {item!r:.40}")
    drafts = task.get("drafts")
    reading.drafts += len(drafts) if full and isinstance(drafts, list) else 0
    annotations = task["annotations"] if full else [task]
    if not isinstance(annotations, list):
        raise Unreadable("its annotations are no list")
    for n, annotation in enumerate(annotations):
        where = f"{place}.annotations.{n}" if full else place
        faults: list[str] = []
        try:
            if not isinstance(annotation, dict):
                raise Unreadable("is no annotation")
            values = _answers(annotation, study, faults) if full else annotation
            reading.entries.append(_entry(annotation, values, item, f"{name}: {where}", study, faults))
        except Unreadable as fault:
            faults.append(str(fault))
        reading.problems.extend(Problem(name, where, fault) for fault in faults)


def _answers(annotation: dict[str, Any], study: StudyFile, faults: list[str]) -> dict[str, Any]:
    """The answers to the study's questions. Raises Unreadable where all are to others."""
    answers = dict(_results(annotation, faults))
    asked = {*(criterion.name for criterion in study.criteria), REFUSAL, COMMENT}
    strange = sorted(answers.keys() - asked)
    if strange and not answers.keys() & asked:
        raise Unreadable(f"answers none of the study's questions, but {', '.join(strange):.80}")
    faults.extend(f"{name:.40} is no question of the study; left out" for name in strange)
    return answers


def _results(annotation: dict[str, Any], faults: list[str]) -> Iterator[tuple[str, Any]]:
    """(name of a question, its value) of an annotation in the JSON export."""
    results = annotation.get("result")
    if not isinstance(results, list):
        raise Unreadable("its result is no list")
    seen: set[str] = set()
    for result in results:
        value = result.get("value") if isinstance(result, dict) else None
        name = result.get("from_name") if isinstance(result, dict) else None
        if not isinstance(value, dict) or not isinstance(name, str):
            faults.append("a result without name or value")
            continue
        if name in seen:
            faults.append(f"{name} is answered twice; the last one counts")
        seen.add(name)
        kind = next((key for key in ("choices", "rating", "number", "text") if key in value), None)
        yield name, value.get(kind) if kind else None


def _entry(
    annotation: dict[str, Any],
    values: Mapping[str, Any],
    item: str,
    place: str,
    study: StudyFile,
    faults: list[str],
) -> Entry:
    number = annotation.get("id", 0) if "result" in annotation else annotation.get("annotation_id", 0)
    said = Annotation(
        item=item,
        scores={
            criterion.name: _score(values.get(criterion.name), criterion, faults)
            for criterion in study.criteria
        },
        is_refusal=_refusal(values.get(REFUSAL), faults),
        comment=_comment(values.get(COMMENT)),
        cancelled=annotation.get("was_cancelled") is True,
        seconds=_seconds(annotation.get("lead_time")),
        submitted=_submitted(annotation, faults),
    )
    return Entry(_person(annotation), said, number if isinstance(number, int) else 0, place)


def _person(annotation: dict[str, Any]) -> str:
    """Who it was: the annotation tool's number of the person, else the address."""
    who = annotation.get("completed_by", annotation.get("annotator"))
    if isinstance(who, dict):
        who = who.get("id", who.get("email"))
    if isinstance(who, bool) or not isinstance(who, (int, str)) or not str(who).strip():
        raise Unreadable("does not say who annotated")
    return str(who)


def _single(value: Any) -> Any:
    """The only one of a list of answers; the value itself where it is no list."""
    if isinstance(value, dict) and "choices" in value:
        value = value["choices"]
    if isinstance(value, list):
        return value[0] if len(value) == 1 else (value if value else None)
    return value


def _score(value: Any, criterion: Criterion, faults: list[str]) -> int | None:
    """The rating of a criterion; None, and a fault, where it is not one whole number of its scale."""
    value = _single(value)
    if value is None or value == "":
        return None
    score: int | None = None
    if isinstance(value, str):
        head = value.strip().split(":")[0]
        score = int(head) if head.isascii() and head.isdigit() and len(head) < 4 else None
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and value in SMALL:
        score = int(value)
    if score is None or not criterion.low <= score <= criterion.high:
        faults.append(f"{criterion.name}: {value!r:.40} is no rating; taken as missing")
        return None
    return score


def _refusal(value: Any, faults: list[str]) -> bool | None:
    value = _single(value)
    if value is None or value == "":
        return None
    if value in (YES, NO):
        return bool(value == YES)
    faults.append(f"{REFUSAL}: {value!r:.40} is neither yes nor no; taken as missing")
    return None


def _comment(value: Any) -> str:
    parts = value if isinstance(value, list) else [value]
    text = "\n".join(part for part in parts if isinstance(part, str)).strip()
    return text.encode("utf-8", "replace").decode()[:MAX_COMMENT]


def _seconds(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < LONGEST:
        return None
    return round(float(value), 1)


def _submitted(annotation: dict[str, Any], faults: list[str]) -> str | None:
    """When it was last changed, or else made; None where that is not said."""
    for key in ("updated_at", "created_at"):
        if annotation.get(key) is not None:
            moment = _time(annotation[key])
            if moment is not None:
                return moment
            faults.append(f"{key}: {annotation[key]!r:.40} is no time")
    return None


def _time(value: Any) -> str | None:
    """A time in UTC, ISO 8601, always of the same form, so that later is greater."""
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC).isoformat(timespec="microseconds")
    except OverflowError:
        return None
