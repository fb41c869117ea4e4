"""Read user messages from a CSV, JSON Lines or Parquet file, without trusting it."""

from __future__ import annotations

import csv
import errno
import hashlib
import importlib.util
import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.chat.requests import scalar_text
from bench.errors import UserError
from bench.foreign import Problem, is_encodable

COLUMNS: Final = ("text", "message", "content", "user_message", "utterance", "prompt", "messages")
"""Names of the column of messages. Without --column, the first of these in the file is used."""

MOST_MESSAGES: Final = 200_000
"""Most messages without --sample. A sample can be taken of any number."""
LONGEST_LINE: Final = 8_000_000
"""Most bytes in a line, or characters in a field."""
ROWS_AT_ONCE: Final = 4096
"""Rows of a Parquet file in memory at a time."""


@dataclass(frozen=True)
class Messages:
    """The messages of a file, in its order, or a random sample of them."""

    name: str
    sha256: str
    column: str
    texts: tuple[str, ...]
    found: int
    """Messages in the file; more than ``texts`` if these are a sample."""
    blank: int
    problems: tuple[Problem, ...]
    """Rows that were left out, in order."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a file: its line, and its values by column or why it is unreadable."""

    line: int
    values: dict[str, Any]
    fault: str = ""


def read_messages(
    path: Path, column: str | None = None, *, sample: int | None = None, seed: int = 1
) -> Messages:
    """Read the messages of a .csv, .tsv, .jsonl, .ndjson or .parquet file.

    A value of ``column`` is a message, or a conversation in the format of chat APIs (a list of objects with
    ``role`` and ``content``); only the user's messages are used. ``sample`` keeps that many messages,
    chosen at random with ``seed``; the file may then be of any length. Unreadable rows are listed.
    Raises UserError if the file type, the column or the number of messages is unsupported.
    """
    rows = _rows(path)
    taker = _Taker(sample, random.Random(seed), str(path))
    problems: list[Problem] = []

    def problem(line: int, fault: str) -> None:
        problems.append(Problem(path.name, f"line {line}", fault))

    for row in rows:
        if row.fault:
            problem(row.line, row.fault)
            continue
        if column is None:
            column = _default(list(row.values), path)
        if column not in row.values:
            if not taker.rows and not problems:
                raise _no_column(f"no column {column!r}", list(row.values), path)
            problem(row.line, f"has no {column!r}")
            continue
        texts = _user_messages(row.values[column])
        if texts is None:
            problem(row.line, f"{column!r} is neither text nor a conversation")
            continue
        taker.take(texts)
    if not taker.texts:
        first = f" ({problems[0].place}: {problems[0].text})" if problems else ""
        hint = "Name the column of the messages with --column."
        raise UserError(f"no messages found{first}", where=str(path), hint=hint)
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
    """Keeps all messages, or a uniform random sample of them (reservoir sampling)."""

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
                        f"more than {MOST_MESSAGES:,} messages",
                        where=self._where,
                        hint="Analyse a random sample, such as --sample 50000.",
                    )
                self.texts.append(text)
            elif len(self.texts) < self._sample:
                self.texts.append(text)
            elif (at := self._dice.randrange(self.found)) < self._sample:
                self.texts[at] = text


def _user_messages(value: object) -> list[str] | None:
    """The user's messages in a value; None if it is neither text nor a conversation."""
    if value is None:
        return [""]
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
        return None
    contents = [part.get("content") for part in value if part.get("role") == "user"]
    return [text for text in contents if isinstance(text, str)] if contents else None


def _default(columns: list[str], path: Path) -> str:
    for name in COLUMNS:
        if name in columns:
            return name
    if len(columns) == 1:
        return columns[0]
    raise _no_column("cannot tell which column holds the messages", columns, path)


def _no_column(fault: str, columns: list[str], path: Path) -> UserError:
    names = ", ".join(f"{name!r}" for name in columns[:30])
    hint = f"Name one with --column; the file has: {names}{', ...' if len(columns) > 30 else ''}."
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
            f"unsupported file type {path.suffix!r}",
            where=str(path),
            hint=f"Supported: {', '.join(readers)}.",
        )
    try:
        if path.exists() and not path.is_file():
            raise OSError(errno.EINVAL, "not a regular file")  # opening a pipe would wait for its writer
        with path.open("rb"):
            pass
    except OSError as error:
        hint = "Name a readable file."
        raise UserError(f"cannot be read: {error.strerror}", where=str(path), hint=hint) from None
    return reader(path)


def _csv(path: Path) -> Iterator[Row]:
    csv.field_size_limit(LONGEST_LINE)
    # Bytes that are not UTF-8 become surrogates, so that only their row is left out.
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
                yield Row(line, {}, f"{len(fields)} fields for {len(heads)} columns")
            elif not all(map(is_encodable, fields)):
                yield Row(line, {}, "not UTF-8")
            else:
                yield Row(line, dict(zip(heads, fields, strict=True)))


def _check_delimiter(heads: list[str], path: Path) -> None:
    """Raise UserError if the columns have another separator. Otherwise a whole row would become a message."""
    marks = {";": "semicolons", "\t": "tabs", "|": "bars"}
    other = next((word for mark, word in marks.items() if len(heads) == 1 and mark in heads[0]), None)
    if other is not None:
        due = "tabs" if path.suffix.lower() == ".tsv" else "commas"
        raise UserError(
            f"columns are separated by {other}, not by {due}",
            where=f"{path}:1",
            hint="Save it with commas as .csv, or with tabs as .tsv.",
        )


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
        return Row(number, {}, "not a JSON object")
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
            f"invalid Parquet file: {str(error).splitlines()[0]}",
            where=str(path),
            hint=f"Write the file again; {number} rows could be read.",
        ) from None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
