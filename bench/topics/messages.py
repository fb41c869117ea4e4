"""User messages out of a file that somebody else made: CSV, JSON Lines or Parquet."""

from __future__ import annotations

import csv
import hashlib
import importlib.util
import json
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.chat.requests import scalar_text
from bench.errors import UserError

COLUMNS: Final = ("text", "message", "content", "user_message", "utterance", "prompt", "messages")
"""Where the messages are looked for when no column is named, the first of these that is there."""

MOST_MESSAGES: Final = 200_000
"""More are not taken in at once; a random part of any number is."""
LONGEST_LINE: Final = 8_000_000
"""Bytes of one line, or characters of one field, that are read."""
ROWS_AT_ONCE: Final = 4096
"""Rows of a Parquet file that are in memory at a time."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A row that could not be read: where, and why."""

    line: int
    fault: str


@dataclass(frozen=True)
class Messages:
    """What a file holds. ``texts`` are in its order, or in a random part of it."""

    name: str
    sha256: str
    column: str
    texts: tuple[str, ...]
    found: int
    """Messages in the file; more than ``texts`` where a random part was taken."""
    blank: int
    problems: tuple[Problem, ...]
    """Rows that were left out, in their order."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a file: its line, and its values by column or what is wrong with it."""

    line: int
    values: dict[str, Any]
    fault: str = ""


def read_messages(
    path: Path, column: str | None = None, *, sample: int | None = None, seed: int = 1
) -> Messages:
    """The messages of ``path``, by its ending: .csv, .tsv, .jsonl, .ndjson, .parquet.

    A value of ``column`` is a message, or a conversation as chat APIs take it (a list of objects with
    ``role`` and ``content``), of which the user's messages count. With ``sample`` a seeded random part of
    that many is kept, and the file may be of any length. Rows that cannot be read are left out and listed.
    Raises UserError for a file, column or length that cannot be used.
    """
    rows = _rows(path)
    taker = _Taker(sample, random.Random(seed), str(path))
    problems: list[Problem] = []
    for row in rows:
        if row.fault:
            problems.append(Problem(row.line, row.fault))
            continue
        if column is None:
            column = _default(list(row.values), path)
        if column not in row.values:
            if not taker.rows and not problems:
                raise _no_column(f"there is no column {column!r}", list(row.values), path)
            problems.append(Problem(row.line, f"it has no {column!r}"))
            continue
        texts = _user_messages(row.values[column])
        if texts is None:
            problems.append(Problem(row.line, f"{column!r} is neither text nor a conversation"))
            continue
        taker.take(texts)
    if not taker.texts:
        first = f" (line {problems[0].line}: {problems[0].fault})" if problems else ""
        raise UserError(
            f"holds no message{first}", where=str(path), hint="Name the column of the messages by --column."
        )
    return Messages(
        name=path.name,
        sha256=_sha256(path),
        column=str(column),
        texts=tuple(taker.texts),
        found=taker.found,
        blank=taker.blank,
        problems=tuple(problems),
    )


class _Taker:
    """Keeps messages, all or a random part in which each has the same chance (reservoir sampling)."""

    def __init__(self, sample: int | None, dice: random.Random, where: str) -> None:
        self.texts: list[str] = []
        self.rows = self.found = self.blank = 0
        self._sample, self._dice, self._where = sample, dice, where

    def take(self, texts: Sequence[str]) -> None:
        self.rows += 1
        for text in map(scalar_text, texts):
            if not text.strip():
                self.blank += 1
                continue
            self.found += 1
            if self._sample is None:
                if self.found > MOST_MESSAGES:
                    raise UserError(
                        f"holds more than {MOST_MESSAGES:,} messages",
                        where=self._where,
                        hint="Take a random part, such as --sample 50000.",
                    )
                self.texts.append(text)
            elif len(self.texts) < self._sample:
                self.texts.append(text)
            elif (at := self._dice.randrange(self.found)) < self._sample:
                self.texts[at] = text


def _user_messages(value: object) -> list[str] | None:
    """The messages in a value; an empty list in a blank one, None in what is neither text nor talk."""
    if value is None:
        return [""]
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
        return None
    said = [part.get("content") for part in value if part.get("role") == "user"]
    return [text for text in said if isinstance(text, str)] if said else None


def _default(columns: list[str], path: Path) -> str:
    for name in COLUMNS:
        if name in columns:
            return name
    if len(columns) == 1:
        return columns[0]
    raise _no_column("no column is named as messages usually are", columns, path)


def _no_column(fault: str, columns: list[str], path: Path) -> UserError:
    names = ", ".join(f"{name!r}" for name in columns[:30])
    hint = f"Name one by --column; there are: {names}{', ...' if len(columns) > 30 else ''}."
    return UserError(fault, where=str(path), hint=hint)


# Files to rows


def _rows(path: Path) -> Iterator[Row]:
    readers: dict[str, Callable[[Path], Iterator[Row]]] = {
        ".csv": _csv,
        ".tsv": _csv,
        ".jsonl": _json_lines,
        ".ndjson": _json_lines,
        ".parquet": _parquet,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise UserError(
            f"the ending {path.suffix!r} is none that is read",
            where=str(path),
            hint=f"Give it one that says what it is: {', '.join(readers)}.",
        )
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        hint = "Name a file that can be read."
        raise UserError(f"cannot be read: {error.strerror}", where=str(path), hint=hint) from None
    return reader(path)


def _csv(path: Path) -> Iterator[Row]:
    csv.field_size_limit(LONGEST_LINE)
    # Bytes that are no UTF-8 become surrogates here, so that the row they are in can be named.
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        reader = csv.reader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",", strict=True)
        heads: list[str] | None = None
        while True:
            line = reader.line_num + 1
            try:
                fields = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield Row(line, {}, f"malformed CSV: {error}")
                continue
            if heads is None:
                heads = fields
                _check_delimiter(heads, path)
                continue
            if not fields:
                continue
            if len(fields) != len(heads):
                yield Row(line, {}, f"{len(fields)} fields under {len(heads)} heads")
            elif not all(map(_sound, fields)):
                yield Row(line, {}, "not UTF-8")
            else:
                yield Row(line, dict(zip(heads, fields, strict=True)))


def _check_delimiter(heads: list[str], path: Path) -> None:
    """Raise UserError where the heads are plainly divided by something else: a row read as one message would
    pass unseen."""
    marks = {";": "semicolons", "\t": "tabs", "|": "bars"}
    other = next((word for mark, word in marks.items() if len(heads) == 1 and mark in heads[0]), None)
    if other is not None:
        due = "tabs" if path.suffix.lower() == ".tsv" else "commas"
        raise UserError(
            f"its columns are divided by {other}, not by {due}",
            where=f"{path}:1",
            hint="Save it with commas as .csv, or with tabs as .tsv.",
        )


def _sound(text: str) -> bool:
    """Whether ``text`` can be written as UTF-8."""
    with suppress(UnicodeEncodeError):
        text.encode()
        return True
    return False


def _json_lines(path: Path) -> Iterator[Row]:
    with path.open("rb") as file:
        number = 0
        while data := file.readline(LONGEST_LINE + 1):
            number += 1
            if len(data) > LONGEST_LINE:
                while data and not data.endswith(b"\n"):
                    data = file.readline(LONGEST_LINE)
                yield Row(number, {}, f"longer than {LONGEST_LINE:,} bytes")
            elif data.strip():
                yield _json_row(number, data)


def _json_row(number: int, data: bytes) -> Row:
    try:
        value = json.loads(data.decode("utf-8-sig" if number == 1 else "utf-8"))
    except UnicodeDecodeError:
        return Row(number, {}, "not UTF-8")
    except (ValueError, RecursionError) as error:
        return Row(number, {}, f"malformed JSON: {error}")
    if isinstance(value, str):
        return Row(number, {"text": value})
    if not isinstance(value, dict):
        return Row(number, {}, "no JSON object")
    return Row(number, value)


def _parquet(path: Path) -> Iterator[Row]:
    if importlib.util.find_spec("pyarrow") is None:
        raise UserError(
            "Parquet needs the package pyarrow",
            where=str(path),
            hint="Install it with `make parquet`, or convert the file to CSV or JSONL.",
        )
    import pyarrow
    import pyarrow.parquet

    number = 0
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(ROWS_AT_ONCE):
                for values in batch.to_pylist():
                    number += 1
                    yield Row(number, values)
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"is no sound Parquet file: {str(error).splitlines()[0]}",
            where=str(path),
            hint=f"Write it anew; {number} rows could be read.",
        ) from None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
