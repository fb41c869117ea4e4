"""The annotation records of the public ping_pong_bench repository as a study.

JSON Lines: ``messages``, ``player`` {``model_name``} and ``human_scores`` {criterion: score}. What is taken
for granted, since the files do not say it:

- a file is one annotator where its scores are whole numbers, and the mean of several where any is not;
- a list of scores is one score of each annotator, in the same order on every line;
- a record is a conversation of ours where the messages are equal; any other keeps the player it names.

The repository's own conversion wrote 3 where an annotator had chosen nothing; such threes cannot be told
from real ones.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from bench.annotate.people import MEAN
from bench.annotate.reading import Entry, Reading, Unreadable, read_text
from bench.annotate.sample import ITEM_DIGITS
from bench.foreign import Problem
from bench.records import Criterion, Message, messages_sha256, sha256_of
from bench.results import ResultsTree
from bench.results.studies import Annotation, StudyFile, StudyItem

ORIGIN = "ping_pong_bench"
GUIDELINE = "ping-pong-bench"
"""Stands for the guideline of that project, which is not one of ours."""

CRITERIA = (
    Criterion(name="in_character", label="In character", low=1, high=5),
    Criterion(name="entertaining", label="Entertaining", low=1, high=5),
    Criterion(name="fluency", label="Fluency", low=1, high=5),
)


ROLES: dict[Any, Literal["user", "assistant"] | None] = {
    "user": "user",
    "assistant": "assistant",
    "bot": "assistant",
    "system": None,
}
"""Our name of each role; a system prompt is no message of ours."""


@dataclass(frozen=True)
class Line:
    """One record that could be read."""

    place: str
    number: int
    sha256: str
    player: str
    character: str | None
    situation: str | None
    scores: dict[str, list[float | None]]
    """By criterion, one score for each annotator."""
    several: bool
    """Whether the record lists annotators."""


@dataclass
class PublicStudy:
    """A study made of such files, and what they say."""

    file: StudyFile
    reading: Reading
    matched: int = 0
    """Items that are conversations of the results tree."""
    assumed: list[str] = field(default_factory=list)
    """What was taken for granted of each file."""


def read_records(
    tree: ResultsTree,
    paths: list[Path],
    *,
    study: str,
    suites: Sequence[str],
    language: str,
    known: StudyFile | None,
) -> PublicStudy:
    """The study that the records of some files make; ``known`` is what there is of it already.

    Of ``suites`` that one is taken which holds most of the records' conversations, the first among equals. A
    study that was drawn here keeps its items: records of other conversations are reported. An imported one
    takes them in.
    """
    reading = Reading()
    files = [(path, list(_lines(path, reading))) for path in paths]
    said = {line.sha256 for _, lines in files for line in lines}
    boards = [(suite, _cells(tree, suite, language)) for suite in suites]
    suite, cells = max(boards, key=lambda board: len(said & board[1].keys()))  # the first of equals
    items = {item.conversation_sha256: item for item in known.items} if known else {}
    fixed = known is not None and known.origin is None
    made = PublicStudy(_study(study, suite, language, known, items), reading)
    for path, lines in files:
        if not lines:
            continue
        mean = any(not float(score).is_integer() for line in lines for score in _all(line))
        made.assumed.append(f"{path.name}: {_assumption(lines, mean)}")
        for line in lines:
            if line.sha256 not in items:
                if fixed:
                    why = f"is no conversation of study {study}"
                    reading.problems.append(Problem(path.name, f"line {line.number}", why))
                    continue
                items[line.sha256] = _item(study, line, cells.get(line.sha256))
            reading.entries += _entries(line, items[line.sha256].item, path.stem, mean)
    made.file = _study(study, suite, language, known, items)
    made.matched = sum(item.conversation_sha256 in cells for item in made.file.items)
    return made


def _study(
    study: str, suite: str, language: str, known: StudyFile | None, items: Mapping[str, StudyItem]
) -> StudyFile:
    ordered = tuple(sorted(items.values(), key=lambda item: item.item))
    if known is not None:
        return known.model_copy(update={"items": ordered})
    return StudyFile(
        study=study,
        suite=suite,
        version="",
        language=language,
        origin=ORIGIN,
        criteria=CRITERIA,
        guideline=GUIDELINE,
        items=ordered,
    )


def _cells(tree: ResultsTree, suite: str, language: str) -> dict[str, tuple[str, str, str]]:
    """(player, character, situation) of every conversation of a board, by its messages' SHA-256."""
    return {
        messages_sha256(talk.messages): (talk.player, talk.character, talk.situation)
        for info in tree.players(suite, language)
        for talk in tree.conversations(suite, language, info.player)
    }


def _item(study: str, line: Line, cell: tuple[str, str, str] | None) -> StudyItem:
    player, character, situation = cell or (line.player, line.character, line.situation)
    return StudyItem(
        item=sha256_of(["item", study, line.sha256])[:ITEM_DIGITS],
        player=player,
        character=character,
        situation=situation,
        conversation_sha256=line.sha256,
    )


def _all(line: Line) -> Iterator[float]:
    return (score for scores in line.scores.values() for score in scores if score is not None)


def _assumption(lines: list[Line], mean: bool) -> str:
    if mean:
        return "scores are not whole, so it is taken as the mean of several annotators"
    if any(line.several for line in lines):
        return "the scores that a record lists are taken as one for each annotator, in the same order"
    return "taken as the scores of one annotator"


def _entries(line: Line, item: str, stem: str, mean: bool) -> Iterator[Entry]:
    """A record's ratings, one entry for each annotator."""
    for n in range(max(map(len, line.scores.values()), default=0)):
        scores = {name: given[n] if n < len(given) else None for name, given in line.scores.items()}
        whole = {
            name: int(score) if score is not None and float(score).is_integer() else score
            for name, score in scores.items()
        }
        person = f"{stem}/{n}" if line.several else stem
        if all(score is None for score in whole.values()):
            continue
        said = Annotation(item=item, scores=whole)
        yield Entry(MEAN if mean and not line.several else person, said, line.number, line.place)


def _lines(path: Path, reading: Reading) -> Iterator[Line]:
    """The records of a file that can be used; the others become problems."""
    try:
        text = read_text(path)
        if text.startswith("version https://git-lfs"):
            raise Unreadable("is a Git LFS pointer, not the file: run `git lfs pull` there")
    except Unreadable as error:
        reading.problems.append(Problem(path.name, "", str(error)))
        return
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        reading.tasks += 1
        faults: list[str] = []
        try:
            yield _line(json.loads(line), number, f"{path.name}: line {number}", faults)
        except Unreadable as error:
            faults.append(str(error))
        except (ValueError, RecursionError):
            faults.append("is not JSON")
        reading.problems.extend(Problem(path.name, f"line {number}", fault) for fault in faults)


def _line(data: Any, number: int, place: str, faults: list[str]) -> Line:
    if not isinstance(data, dict):
        raise Unreadable("is no record")
    scores = data.get("human_scores")
    if not isinstance(scores, dict):
        raise Unreadable("has no human_scores")
    player = data.get("player")
    name = player.get("model_name") if isinstance(player, dict) else player
    if not isinstance(name, str) or not name.strip() or len(name) > 200:
        raise Unreadable("does not name the player's model")
    character, situation = _scene(data)
    return Line(
        place=place,
        number=number,
        sha256=messages_sha256(_messages(data.get("messages"))),
        player=name.strip(),
        character=character,
        situation=situation,
        scores={
            criterion.name: _scores(scores.get(criterion.name), criterion, faults) for criterion in CRITERIA
        },
        several=any(isinstance(value, list) for value in scores.values()),
    )


def _messages(source: Any) -> tuple[Message, ...]:
    """A record's messages without a system prompt, which ours do not hold either."""
    if not isinstance(source, list):
        raise Unreadable("has no messages")
    made = []
    for message in source:
        role, content = (
            (message.get("role"), message.get("content")) if isinstance(message, dict) else ("", "")
        )
        if not isinstance(role, str) or role not in ROLES or not isinstance(content, str):
            raise Unreadable("has a message that is no text of user or assistant")
        if any("\ud800" <= char <= "\udfff" for char in content):
            raise Unreadable("has a message with half a surrogate pair")
        if ours := ROLES[role]:
            made.append(Message(role=ours, content=content))
    if not made:
        raise Unreadable("has no messages")
    return tuple(made)


def _scene(data: dict[str, Any]) -> tuple[str | None, str | None]:
    """(character, situation) of a record that has them, named as the import of result files names them."""
    character, situation = data.get("character"), data.get("situation")
    name = character.get("char_name") if isinstance(character, dict) else None
    text = situation.get("text") if isinstance(situation, dict) else None
    if not (isinstance(name, str) and name.strip() and isinstance(text, str) and text.strip()):
        return None, None
    return name, f"situation-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:12]}"


def _scores(value: Any, criterion: Criterion, faults: list[str]) -> list[float | None]:
    """One score for each annotator; None, and a fault, where one is not on the scale."""
    found: list[float | None] = []
    for score in value if isinstance(value, list) else [value]:
        if isinstance(score, bool) or not isinstance(score, (int, float)):
            if score is not None:
                faults.append(f"{criterion.name}: {score!r:.40} is no score; taken as missing")
            found.append(None)
        elif criterion.low <= score <= criterion.high:
            found.append(score)
        else:
            faults.append(f"{criterion.name}: {score!r:.40} is off the scale; taken as missing")
            found.append(None)
    return found
