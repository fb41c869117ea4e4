"""Find and read the result files of the public ping_pong_bench repository, without trusting them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from bench.errors import UserError
from bench.foreign import Problem, Unreadable, checked, read_text
from bench.interop.pingpong_format import CRITERIA, ResultFile

MAX_BYTES = 64 * 1024 * 1024
"""Largest file that is read; the public ones are below 1 MB."""
MAX_FILES = 20_000

_NAME = re.compile(
    r"judge_(?P<judge>.+?)_player_(?P<player>.+?)(?:_interrogator_(?P<interrogator>.+))?\.json", re.DOTALL
)
_OUTPUTS = re.compile(r'"outputs"\s*:\s*\[')
_NEXT_OUTPUT = re.compile(r"\s*,?\s*(?=\{)")


@dataclass(frozen=True)
class Choice:
    """Which files to read, by the short names in their file names. An empty set means all."""

    judges: frozenset[str] = frozenset()
    interrogators: frozenset[str] = frozenset()

    def takes(self, name: str) -> bool:
        """Whether a file of this name is read."""
        named = _NAME.fullmatch(name)
        wanted = (self.judges, "judge"), (self.interrogators, "interrogator")
        return all(not names or (named is not None and named[key] in names) for names, key in wanted)


def askers(path: Path, choice: Choice) -> list[str]:
    """The interrogators in the names of the chosen files, sorted; "" for files that name none."""
    names = (_NAME.fullmatch(file.name) for file in _candidates(path, []) if choice.takes(file.name))
    return sorted({named["interrogator"] or "" if named else "" for named in names})


def result_files(path: Path, problems: list[Problem], choice: Choice) -> Iterator[ResultFile]:
    """Read the one file ``path``, or the files directly in the folder ``path``, sorted by name.

    Skips links and special files. Adds everything that cannot be read to ``problems``.
    """
    for file in _candidates(path, problems):
        if not choice.takes(file.name):
            continue
        try:
            yield _result_file(file, problems)
        except Unreadable as fault:
            problems.append(Problem(file.name, fault.place, str(fault)))


def _candidates(path: Path, problems: list[Problem]) -> list[Path]:
    if not path.is_dir():
        return [path]
    files: list[Path] = []
    with os.scandir(path) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if not entry.name.endswith(".json") or entry.name.startswith("."):
                continue
            if entry.is_symlink() or not entry.is_file(follow_symlinks=False):
                problems.append(Problem(entry.name, "", "is a link or not a regular file; skipped"))
            else:
                files.append(Path(entry.path))
    if len(files) > MAX_FILES:
        raise UserError(f"holds {len(files)} files; at most {MAX_FILES} are read", where=str(path))
    return files


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def _result_file(path: Path, problems: list[Problem]) -> ResultFile:
    text = read_text(path, MAX_BYTES, path.parent)
    try:
        loaded = _DECODER.decode(text)
    except RecursionError:
        raise Unreadable("is nested too deeply") from None
    except ValueError as error:
        problems.append(Problem(path.name, "", f"is incomplete: {error}"))
        loaded = {"outputs": _complete_outputs(text)}
    if not isinstance(loaded, dict):
        raise Unreadable("should be an object")
    match = _NAME.fullmatch(path.name)
    names = match.groupdict() if match else {}
    interrogator = loaded.get("interrogator") or loaded.get("tester") or {"model_name": "unknown"}
    player = {"model_name": names["player"]} if names else None
    judge = {"model_name": names["judge"]} if names else interrogator  # version 1 names only the latter
    data = {
        "path": path.name,
        "version": _version_of(loaded) if loaded.get("version") is None else loaded["version"],
        "names": names,
        "judge": loaded.get("judge") or judge,
        "player": loaded.get("player") or loaded.get("testee") or player,
        "interrogator": interrogator,
        "outputs": loaded.get("outputs"),
    }
    return checked(ResultFile, data)


def _complete_outputs(text: str) -> list[Any]:
    """The outputs before the point where a file breaks off."""
    start = _OUTPUTS.search(text)
    outputs: list[Any] = []
    at = start.end() if start else len(text)
    while match := _NEXT_OUTPUT.match(text, at):
        try:
            output, at = _DECODER.raw_decode(text, match.end())
        except (ValueError, RecursionError):
            break
        outputs.append(output)
    return outputs


def _version_of(loaded: dict[str, Any]) -> int:
    """The version of a file that does not state it: 1 if it has a name that only version 1 uses."""
    outputs = loaded.get("outputs")
    old = "testee" in loaded or "tester" in loaded
    return 1 if old or (isinstance(outputs, list) and any(map(_is_of_version_1, outputs))) else 2


def _is_of_version_1(output: Any) -> bool:
    scores = output.get("scores") if isinstance(output, dict) else None
    return isinstance(output, dict) and (
        "has_refusal" in output
        or (isinstance(scores, dict) and not scores.keys().isdisjoint(CRITERIA.values()))
    )
