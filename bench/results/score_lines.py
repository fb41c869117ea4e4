"""Tables of scores or verdicts that others published: their lines and what is said about their source.

Lines are read from tables that others wrote, checked one by one, and written again.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import AfterValidator

from bench.errors import RecordError
from bench.files import MOST_BYTES, read_bytes
from bench.slugs import slug
from bench.toml_entries import Entry

SCENE_FIELDS = ("player", "scene", "judge", "criterion", "score")
GRID_FIELDS = ("player", "character", "situation", "judge", "criterion", "score")
"""Columns of a table: its scenes are independent, or are characters in situations."""

MOST_ROWS = 2_000_000
MOST_NAME = 200
"""Longest name of a player, scene, judge or criterion, in characters."""

_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_LFS = "version https://git-lfs"
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8})*")
_URL = re.compile(r"https?://[^\s<>\"']{1,500}")
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")

Rows = tuple[list[str], Iterator[tuple[int, list[str]]]]
"""Column names, and rows with their line numbers."""


def _one_line(value: str, most: int) -> str:
    if not value.strip() or len(value) > most or not value.isprintable():
        raise ValueError(f"must be one line of at most {most} printable characters")
    return value


def _code(value: str) -> str:
    if not _LANGUAGE.fullmatch(value) or slug(value) != value:
        raise ValueError(f"{value!r} is not a language code; write one such as ja or pt-br")
    return value


def _address(value: str) -> str:
    if not _URL.fullmatch(value) or not value.isprintable():
        raise ValueError(f"{value!r} is not an address; write one that starts with https://")
    return value


def _sha256(value: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{64}", value):
        raise ValueError("must be a SHA-256 in hexadecimal")
    return value


Name = Annotated[str, AfterValidator(partial(_one_line, most=MOST_NAME))]
Sentence = Annotated[str, AfterValidator(partial(_one_line, most=1000))]
Language = Annotated[str, AfterValidator(_code)]
Address = Annotated[str, AfterValidator(_address)]
Digest = Annotated[str, AfterValidator(_sha256)]
"""Types of the fields of a source.toml."""


def source_text(source: Entry) -> str:
    """The content of source.toml."""
    values = source.model_dump()
    return "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in values.items())


def sealed_rows(path: Path, root: Path, digest: str, what: str) -> Rows:
    """:func:`csv_rows` of a table. Raises RecordError if ``digest`` is not that of its ``what``."""
    data = read_table(path, root)
    if hashlib.sha256(data).hexdigest() != digest:
        hint = f"Restore both files from version control, or import the {what} again."
        raise RecordError(f"the {what} do not match the digest in source.toml", where=str(path), hint=hint)
    return csv_rows(data, str(path))


def csv_bytes(rows: Iterable[Sequence[object]]) -> bytes:
    """Rows as canonical CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().encode()


class ScoreLine(NamedTuple):
    """One score. ``character`` is empty in a table whose scenes are independent."""

    player: str
    character: str
    situation: str
    judge: str
    criterion: str
    score: int | float


def read_table(path: Path, root: Path | None = None) -> bytes:
    """The bytes of a table that someone else wrote, decompressed if it is a gzip file. Raises RecordError."""
    where = str(path)
    try:
        data = read_bytes(path, root)
    except OSError as error:
        raise RecordError(f"cannot be read: {error.strerror}", where=where) from None
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error):
        raise RecordError("is a damaged gzip file", where=where, hint="Download it again.") from None
    if len(data) > MOST_BYTES:
        raise RecordError(f"larger than {MOST_BYTES // 1000:,} kB when decompressed", where=where)
    return data


def text_of(data: bytes, where: str) -> str:
    """``data`` as text, without a byte order mark. Raises RecordError if it is not UTF-8."""
    if data.startswith(_UTF_16):
        raise RecordError("is UTF-16", where=where, hint="Save it as UTF-8.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RecordError("is not UTF-8", where=f"{where}:{line}", hint="Save it as UTF-8.") from None
    if text.startswith(_LFS):
        hint = "Run `git lfs pull` there."
        raise RecordError("is a Git LFS pointer, not the file", where=where, hint=hint)
    return text


def csv_rows(data: bytes, where: str, delimiter: str = ",") -> Rows:
    """The column names of a CSV file, and its rows with their line numbers. Raises RecordError."""
    reader = csv.reader(io.StringIO(text_of(data, where), newline=""), delimiter=delimiter, strict=True)

    def rows() -> Iterator[tuple[int, list[str]]]:
        start, width = 1, 0
        try:
            for row in reader:
                width = width or len(row)
                if row and len(row) != width:
                    fault = f"has {len(row)} fields; the first line has {width}"
                    hint = "Quote fields that contain the delimiter."
                    raise RecordError(fault, where=f"{where}:{start}", hint=hint)
                if row:
                    yield start, row
                start = reader.line_num + 1
        except csv.Error as error:
            raise RecordError(f"invalid CSV: {error}", where=f"{where}:{start}") from None

    every = rows()
    _, heads = next(every, (1, []))
    return heads, every


def checked_lines(
    rows: Iterable[tuple[int, Sequence[object]]], fields: Sequence[str], scale: tuple[int, int], where: str
) -> tuple[ScoreLine, ...]:
    """The scores in ``rows``, sorted.

    Args:
        rows: Line number and values.
        fields: What the values are: SCENE_FIELDS or GRID_FIELDS.
        scale: Lowest and highest score.
        where: The file.

    Raises RecordError that names the line: a name is empty or unusable, a score is not a number or off the
    scale, a column mixes text and numbers, or a score occurs twice.
    """
    low, high = scale
    seen: dict[tuple[str, ...], int] = {}
    kinds: dict[str, tuple[bool, int]] = {}
    lines = []
    for line, values in rows:
        place = f"{where}:{line}"
        for name, value in zip(fields, values, strict=True):
            is_text, first = kinds.setdefault(name, (isinstance(value, str), line))
            if is_text != isinstance(value, str):
                words = ("text", "a number") if is_text else ("a number", "text")
                fault = f"{name} {value!r} is {words[1]}, but {words[0]} on line {first}"
                raise RecordError(fault, where=place, hint="Write one type throughout a column.")
        key = tuple(_name(name, value, place) for name, value in zip(fields[:-1], values, strict=False))
        score = _score(values[-1], place)
        if not low <= score <= high:
            fault = f"score {score:g} is outside the scale {low} to {high}"
            raise RecordError(fault, where=place, hint="Correct the score or the scale.")
        if (first_line := seen.setdefault(key, line)) != line:
            fault = f"repeats the score of line {first_line}: {', '.join(key)}"
            hint = "Keep one score for each player, scene, judge and criterion."
            raise RecordError(fault, where=place, hint=hint)
        if len(seen) > MOST_ROWS:
            raise RecordError(f"more than {MOST_ROWS:,} scores", where=place, hint="Split the table.")
        player, *scene, judge, criterion = key
        character, situation = scene if len(scene) > 1 else ("", scene[0])
        lines.append(ScoreLine(player, character, situation, judge, criterion, score))
    if not lines:
        raise RecordError("holds no scores", where=where)
    return tuple(sorted(lines))


def _name(field: str, value: object, place: str) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        shown = "missing" if value is None else f"{value!r:.80}"
        raise RecordError(f"{field} is {shown}", where=place, hint="Write a name or a whole number.")
    text = str(value).strip()
    if not text:
        raise RecordError(f"{field} is empty", where=place, hint="Fill it in, or remove the line.")
    if len(text) > MOST_NAME or not text.isprintable():
        fault = f"{field} {text!r:.80} is not one line of at most {MOST_NAME} printable characters"
        raise RecordError(fault, where=place, hint="Shorten the name.")
    return text


def _score(value: object, place: str) -> int | float:
    """A score; a whole number is an integer."""
    number = float("nan")
    if (isinstance(value, str) and _NUMBER.fullmatch(value.strip())) or (
        isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300
    ):
        number = float(value)
    if not abs(number) < float("inf"):
        shown = "missing" if value is None or value == "" else f"{value!r:.80}, not a number"
        hint = "Write digits and a decimal point, or leave the line out where there is no score."
        raise RecordError(f"score is {shown}", where=place, hint=hint)
    return int(number) if number.is_integer() else number


def csv_of(lines: Iterable[ScoreLine]) -> bytes:
    """The lines as canonical CSV."""
    ordered = sorted(lines)
    grid = any(line.character for line in ordered)
    rows = (line if grid else (line.player, *line[2:]) for line in ordered)
    return csv_bytes([GRID_FIELDS if grid else SCENE_FIELDS, *rows])
