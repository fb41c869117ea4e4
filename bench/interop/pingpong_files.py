"""The result files of the public ping_pong_bench repository, read without trusting them.

One JSON file per (judge, player) in version 2, per player in version 1. Nothing here knows our records: what
comes out is plain data whose outer shape is checked, and a list of what could not be read.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from bench.chat.secrets import REDACTED, redacted
from bench.errors import UserError
from bench.foreign import Problem, Unreadable, read_text

MAX_BYTES = 64 * 1024 * 1024
"""Largest file that is read; the public ones are below 1 MB."""

MAX_FILES = 20_000
MAX_DEPTH = 24
"""Deepest nesting that is read; the format needs 6."""

MAX_ID = 200
"""Longest name of a model or player."""

_NAME = re.compile(
    r"judge_(?P<judge>.+?)_player_(?P<player>.+?)(?:_interrogator_(?P<interrogator>.+))?\.json", re.DOTALL
)
_SECRET_NAME = re.compile(r"(?i)key|token$|secret|passw|auth|credential|cookie")

CRITERIA = {
    "in_character": "stay_in_character",
    "entertaining": "entertainment",
    "fluency": "language_fluency",
}
"""Name of each criterion in version 2, which is ours too, to that in version 1."""

_OUTPUTS = re.compile(r'"outputs"\s*:\s*\[')


@dataclass(frozen=True)
class ModelFacts:
    """What a file says of a model that took part."""

    name: str
    system_prompt: str = ""
    params: dict[str, str | int | float | bool] = field(default_factory=dict)


@dataclass(frozen=True)
class ResultFile:
    """One file: who judged whom, and its outputs as they came."""

    path: str
    version: int
    judge: str
    """Short name from the file's name where it has one, else the model's."""
    player: str
    judge_model: ModelFacts
    player_model: ModelFacts
    interrogator: ModelFacts
    asker: str
    """The interrogator's short name, where the file's name has one: the file is of an experiment in which
    the same scenes were played with several."""
    outputs: tuple[Any, ...]


@dataclass(frozen=True)
class Choice:
    """Whose files to read, by the short names of their file names; empty: all."""

    judges: frozenset[str] = frozenset()
    interrogators: frozenset[str] = frozenset()

    def takes(self, name: str) -> bool:
        """Whether a file of this name is read."""
        named = _NAME.fullmatch(name)
        wanted = (self.judges, "judge"), (self.interrogators, "interrogator")
        return all(not names or (named is not None and named[key] in names) for names, key in wanted)


def askers(path: Path, choice: Choice) -> list[str]:
    """The interrogators that the names of the chosen files have, sorted; empty for files that name none."""
    found = (_NAME.fullmatch(file.name) for file in _candidates(path, []) if choice.takes(file.name))
    return sorted({named["interrogator"] or "" if named else "" for named in found})


def result_files(path: Path, problems: list[Problem], choice: Choice) -> Iterator[ResultFile]:
    """The result files of a folder (not of folders in it) or the one file ``path``, by name.

    Links and special files are not read. What is wrong goes to ``problems``.
    """
    for file in _candidates(path, problems):
        if not choice.takes(file.name):
            continue
        try:
            found = _result_file(file, problems)
        except Unreadable as fault:
            problems.append(Problem(file.name, fault.place, str(fault)))
        else:
            yield found


def _candidates(path: Path, problems: list[Problem]) -> list[Path]:
    if not path.is_dir():
        return [path]
    found: list[Path] = []
    with os.scandir(path) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if not entry.name.endswith(".json") or entry.name.startswith("."):
                continue
            if entry.is_symlink() or not entry.is_file(follow_symlinks=False):
                problems.append(Problem(entry.name, "", "is a link or no regular file; not read"))
            else:
                found.append(Path(entry.path))
    if len(found) > MAX_FILES:
        raise UserError(f"holds {len(found)} files; at most {MAX_FILES} are read", where=str(path))
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def _result_file(path: Path, problems: list[Problem]) -> ResultFile:
    text = read_text(path, MAX_BYTES, follow_links=False)
    try:
        loaded = _DECODER.decode(text)
    except RecursionError:
        raise Unreadable("is nested too deeply") from None
    except ValueError as error:
        problems.append(Problem(path.name, "", f"is not whole: {error}"))
        loaded = {"outputs": _salvaged(text)}
    if _depth(loaded, MAX_DEPTH) > MAX_DEPTH:
        raise Unreadable("is nested too deeply")
    return _shaped(path.name, loaded)


def _salvaged(text: str) -> list[Any]:
    """The outputs of a file that breaks off, as far as they are whole."""
    start = _OUTPUTS.search(text)
    found: list[Any] = []
    at = start.end() if start else len(text)
    while match := re.compile(r"\s*,?\s*(?=\{)").match(text, at):
        try:
            output, at = _DECODER.raw_decode(text, match.end())
        except (ValueError, RecursionError):
            break
        found.append(output)
    return found


def _depth(value: Any, most: int) -> int:
    """How deeply containers nest, counted no further than one beyond ``most``."""
    level, depth = [value], 0
    while level and depth <= most:
        level = [
            inner
            for item in level
            if isinstance(item, (dict, list))
            for inner in (item.values() if isinstance(item, dict) else item)
            if isinstance(inner, (dict, list))
        ]
        depth += 1
    return depth


def _shaped(name: str, loaded: Any) -> ResultFile:
    if not isinstance(loaded, dict):
        raise Unreadable("holds no JSON object")
    sound(name, "")
    outputs = loaded.get("outputs")
    if not isinstance(outputs, list) or not outputs:
        raise Unreadable("there are none", "outputs")
    named = _NAME.fullmatch(name)
    player = _model(loaded, "player", "testee", default=named["player"] if named else None)
    asker = _model(loaded, "interrogator", "tester", default="unknown")
    judge_due = named["judge"] if named else asker.name
    judge = _model(loaded, "judge", "judge", default=judge_due)
    return ResultFile(
        path=name,
        version=_version(loaded, outputs),
        judge=_id(named["judge"] if named else judge.name, "judge"),
        player=_id(named["player"] if named else player.name, "player"),
        judge_model=judge,
        player_model=player,
        interrogator=asker,
        asker=_id(named["interrogator"], "interrogator") if named and named["interrogator"] else "",
        outputs=tuple(outputs),
    )


def _version(loaded: dict[str, Any], outputs: list[Any]) -> int:
    """1 or 2: as the file says, else by what only one of them has."""
    stated = loaded.get("version")
    if stated is None:
        old = "testee" in loaded or "tester" in loaded or any(map(_is_of_version_1, outputs))
        return 1 if old else 2
    if isinstance(stated, bool) or str(stated) not in ("1", "2"):
        raise Unreadable(f"is {json.dumps(stated)[:40]}; 1 and 2 can be imported", "version")
    return int(stated)


def _is_of_version_1(output: Any) -> bool:
    scores = output.get("scores") if isinstance(output, dict) else None
    return isinstance(output, dict) and (
        "has_refusal" in output
        or (isinstance(scores, dict) and not scores.keys().isdisjoint(CRITERIA.values()))
    )


def _model(loaded: dict[str, Any], key: str, old_key: str, *, default: str | None) -> ModelFacts:
    key = key if key in loaded else old_key
    facts = loaded.get(key)
    if facts is None and default is not None:
        return ModelFacts(default)
    if not isinstance(facts, dict) or not isinstance(facts.get("model_name"), str):
        raise Unreadable("names no model", key)
    prompt = facts.get("system_prompt")
    params = facts.get("params")
    return ModelFacts(
        name=_id(facts["model_name"], f"{key}.model_name"),
        system_prompt=sound(prompt, key) if isinstance(prompt, str) else "",
        params={
            sound(name, key): _public(name, sound(value, key)) if isinstance(value, str) else value
            for name, value in (params if isinstance(params, dict) else {}).items()
            if isinstance(value, (str, int, bool)) or (isinstance(value, float) and math.isfinite(value))
        },
    )


def _public(name: str, value: str) -> str:
    """A parameter's text without what must not be published: some clients take keys and headers there."""
    return REDACTED if _SECRET_NAME.search(name) else redacted(value, ())


def _id(name: str, place: str) -> str:
    if not name.strip() or len(name) > MAX_ID:
        raise Unreadable(f"is empty or longer than {MAX_ID} characters", place)
    return sound(name.strip(), place)


def sound(text: str, place: str) -> str:
    """``text``, unless it cannot be written as UTF-8: JSON can escape half a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Unreadable("holds half a surrogate pair", place) from None
    return text
