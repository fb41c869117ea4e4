"""The annotation records of the public ping_pong_bench repository as a study.

JSON Lines, each a :class:`PublicRecord`. The files leave some things open; these are the assumptions:

- a file is one annotator if its scores are whole numbers, and the mean of several if any is not;
- a list of scores has one score per annotator, in the same order on every line;
- a record belongs to a conversation of the results tree if the messages are equal; other records keep the
  player they name.

The repository's own conversion wrote 3 where an annotator had chosen nothing; such a 3 cannot be recognised.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError, WrapValidator
from pydantic.functional_validators import ModelWrapValidatorHandler

from bench.annotate.merging import MergeReport, merge
from bench.annotate.people import MEAN
from bench.annotate.reading import MAX_BYTES, Entry, Reading, valid_or_none
from bench.annotate.sample import ITEM_DIGITS
from bench.foreign import AnyText, Foreign, Id, Problem, Text, Unreadable, checked, read_text, situation_id
from bench.records import Criterion, Message, messages_sha256, sha256_of
from bench.results import ResultsTree
from bench.results.studies import (
    Annotation,
    StudyFile,
    StudyItem,
    TalkKey,
    find_study,
    message_hashes,
    write_study,
)

ORIGIN = "ping_pong_bench"
GUIDELINE = "ping-pong-bench"
"""Used as the guideline, which is that project's own."""
SUITES = ("ping-pong-bench", "ping-pong-bench-v1")
"""Suites that hold imported results of version 2 and 1."""
LOW, HIGH = 1, 5
CRITERIA = tuple(
    Criterion(name=name, label=label, low=LOW, high=HIGH)
    for name, label in (
        ("in_character", "In character"),
        ("entertaining", "Entertaining"),
        ("fluency", "Fluency"),
    )
)
SCORE: TypeAdapter[float] = TypeAdapter(Annotated[float, Field(strict=True, ge=LOW, le=HIGH)])


def _none_if_invalid(value: Any, validate: ModelWrapValidatorHandler[Any]) -> Any:
    try:
        return validate(value)
    except ValidationError:
        return None


class Player(Foreign):
    """The player's model."""

    model_name: Id


class PublicMessage(Foreign):
    """A message. A system prompt does not count as one."""

    role: Literal["user", "assistant", "bot", "system"]
    content: AnyText


class Character(Foreign):
    """The character card. Only its name is used."""

    char_name: Text


class Situation(Foreign):
    """The situation."""

    text: Text


class PublicRecord(Foreign):
    """A rated conversation."""

    messages: list[PublicMessage]
    player: Annotated[Player, BeforeValidator(lambda p: {"model_name": p} if isinstance(p, str) else p)]
    human_scores: dict[str, Any]
    """By criterion, a score or a list with one score per annotator."""
    character: Annotated[Character | None, WrapValidator(_none_if_invalid)] = None
    situation: Annotated[Situation | None, WrapValidator(_none_if_invalid)] = None

    def scene(self) -> tuple[str | None, str | None]:
        """Character and situation, with the ids that the import of results gives them; None if unknown."""
        if self.character is None or self.situation is None:
            return None, None
        return self.character.char_name, situation_id(self.situation.text)

    def sha256(self) -> str:
        """SHA-256 of the messages without a system prompt. Raises Unreadable if there are none."""
        messages = [
            Message(role="user" if message.role == "user" else "assistant", content=message.content)
            for message in self.messages
            if message.role != "system"
        ]
        if not messages:
            raise Unreadable("has no messages")
        return messages_sha256(tuple(messages))


@dataclass(frozen=True)
class Line:
    """A line that could be read."""

    number: int
    sha256: str
    record: PublicRecord
    scores: dict[str, list[float | None]]
    """By criterion, one score per annotator."""

    @property
    def several(self) -> bool:
        """Whether the record lists annotators."""
        return any(isinstance(value, list) for value in self.record.human_scores.values())


@dataclass
class PublicStudy:
    """A study made of such files, and what they say."""

    file: StudyFile
    reading: Reading
    matched: int = 0
    """Items that are conversations of the results tree."""
    assumed: list[str] = field(default_factory=list)
    """The assumptions about each file."""


def import_records(
    tree: ResultsTree,
    paths: list[Path],
    *,
    study: str,
    suite: str | None,
    language: str,
    new_annotators: bool = False,
) -> tuple[PublicStudy, MergeReport | None]:
    """Create or extend a study from files of records, and merge their ratings into it.

    ``suite``: where to look up the conversations, if the study does not exist yet; by default the one of
    SUITES that holds most. The report is None if there is no rating. Raises UserError.
    """
    known = find_study(tree.root, study)
    suite = known.suite if known else suite
    language = known.language if known else language
    suites = (suite,) if suite else SUITES
    public = read_records(tree, paths, study=study, suites=suites, language=language, known=known)
    if public.file.items:
        write_study(tree.root, public.file)
    entries = public.reading.entries
    if not entries:
        return public, None
    return public, merge(tree.root, public.file, entries, origin=ORIGIN, new_annotators=new_annotators)


def read_records(
    tree: ResultsTree,
    paths: list[Path],
    *,
    study: str,
    suites: Sequence[str],
    language: str,
    known: StudyFile | None,
) -> PublicStudy:
    """The study in some files of records; ``known`` is the study if it exists already.

    Takes the first of ``suites`` that holds the most of the records' conversations. A study that was drawn
    here keeps its items, and records of other conversations are reported. An imported one gets new items.
    """
    reading = Reading()
    files = [(path, list(_lines(path, reading))) for path in paths]
    hashes = {line.sha256 for _, lines in files for line in lines}
    boards = {suite: message_hashes(tree, suite, language) for suite in suites}
    suite = max(boards, key=lambda name: len(hashes & set(boards[name].values())))
    scenes = {sha256: scene for scene, sha256 in boards[suite].items()}
    items = {item.conversation_sha256: item for item in known.items} if known else {}
    drawn = known is not None and known.origin is None
    assumed = []
    for path, lines in files:
        if not lines:
            continue
        mean = any(score % 1 for line in lines for row in line.scores.values() for score in row if score)
        assumed.append(f"{path.name}: {_assumption(lines, mean)}")
        for line in lines:
            if line.sha256 not in items and drawn:
                fault = f"not a conversation of study {study}"
                reading.problems.append(Problem(path.name, f"line {line.number}", fault))
                continue
            item = items.setdefault(line.sha256, _item(study, line, scenes.get(line.sha256)))
            reading.entries += _entries(line, item.item, path, mean)
    file = known or StudyFile(
        study=study,
        suite=suite,
        version="",
        language=language,
        origin=ORIGIN,
        criteria=CRITERIA,
        guideline=GUIDELINE,
        items=(),
    )
    file = file.model_copy(update={"items": tuple(sorted(items.values(), key=lambda item: item.item))})
    return PublicStudy(file, reading, sum(sha256 in scenes for sha256 in items), assumed)


def _item(study: str, line: Line, scene: TalkKey | None) -> StudyItem:
    player, character, situation, repeat = scene or (line.record.player.model_name, *line.record.scene(), 1)
    return StudyItem(
        item=sha256_of(["item", study, line.sha256])[:ITEM_DIGITS],
        player=player,
        character=character,
        situation=situation,
        repeat=repeat,
        conversation_sha256=line.sha256,
    )


def _assumption(lines: list[Line], mean: bool) -> str:
    if mean:
        return "scores are not whole, so each is taken as the mean of several annotators"
    if any(line.several for line in lines):
        return "a list of scores is taken as one score per annotator, in the same order"
    return "taken as the scores of one annotator"


def _entries(line: Line, item: str, path: Path, mean: bool) -> Iterator[Entry]:
    """A record's ratings, one entry per annotator."""
    for n in range(max(map(len, line.scores.values()), default=0)):
        scores: dict[str, int | float | None] = {}
        for name, given in line.scores.items():
            score = given[n] if n < len(given) else None
            scores[name] = int(score) if score is not None and score.is_integer() else score
        person = f"{path.stem}/{n}" if line.several else MEAN if mean else path.stem
        if any(score is not None for score in scores.values()):
            annotation = Annotation(item=item, scores=scores)
            yield Entry(person, annotation, line.number, f"{path.name}: line {line.number}")


def _lines(path: Path, reading: Reading) -> Iterator[Line]:
    """The usable records of a file; the others become problems."""
    try:
        text = read_text(path, MAX_BYTES)
    except Unreadable as fault:
        reading.problems.append(Problem(path.name, "", str(fault)))
        return
    for number, source in enumerate(text.split("\n"), 1):
        if not source.strip():
            continue
        reading.tasks += 1
        faults: list[str] = []
        try:
            record = checked(PublicRecord, json.loads(source))
            yield Line(number, record.sha256(), record, _scores(record.human_scores, faults))
        except Unreadable as fault:
            faults.append(f"{fault.place}: {fault}" if fault.place else str(fault))
        except (ValueError, RecursionError):
            faults.append("is not JSON")
        reading.problems.extend(Problem(path.name, f"line {number}", fault) for fault in faults)


def _scores(given: Mapping[str, Any], faults: list[str]) -> dict[str, list[float | None]]:
    """By criterion, one score per annotator; None, and a fault, if it is not on the scale."""
    rows = {name: given.get(name) for name in (criterion.name for criterion in CRITERIA)}
    return {
        name: [
            valid_or_none(SCORE, score, name, faults) for score in (row if isinstance(row, list) else [row])
        ]
        for name, row in rows.items()
    }
