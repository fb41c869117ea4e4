"""Read files that other programs wrote, without trusting them.

A feature declares a foreign format as subclasses of :class:`Foreign` and reads it with :func:`checked`. What
it cannot use becomes a :class:`Problem`; the rest is imported.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints, ValidationError
from pydantic_core import PydanticCustomError

from bench.errors import UserError
from bench.files import read_bytes

M = TypeVar("M", bound=BaseModel)

MOST_PRINTED = 50
"""Problems of a file that are printed one by one."""

_LFS = "version https://git-lfs"


@dataclass(frozen=True)
class Problem:
    """Something that was not imported: the file, the place in it (may be empty), and the reason."""

    path: str
    place: str
    text: str

    def line(self) -> str:
        """One line for a terminal, without control characters."""
        line = f"{self.path}: {self.place}: {self.text}" if self.place else f"{self.path}: {self.text}"
        return "".join(c if c.isprintable() else "?" for c in line)


class Unreadable(Exception):
    """A file, or the part of it at ``place``, cannot be used."""

    def __init__(self, text: str, place: str = "") -> None:
        self.place = place
        super().__init__(text)


class Foreign(BaseModel):
    """Base of foreign formats: exact types; unknown keys are ignored."""

    model_config = ConfigDict(strict=True, protected_namespaces=())


def is_encodable(text: str) -> bool:
    """Whether ``text`` can be written as UTF-8: it may hold half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _encodable(text: str) -> str:
    if not is_encodable(text):
        raise PydanticCustomError("unicode", "half of a surrogate pair")
    return text


AnyText = Annotated[str, AfterValidator(_encodable)]
Text = Annotated[AnyText, StringConstraints(pattern=r"\S")]
"""Text that is not blank."""
Id = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
"""The name of a model, judge, player or interrogator."""


def checked(kind: type[M], data: object, place: str = "", **context: object) -> M:
    """``data`` as a model of ``kind``. Raises Unreadable with the first fault and its dotted place."""
    try:
        return kind.model_validate(data, context=context)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        text = "Input should be an object" if first["type"] == "model_type" else first["msg"]
        parts = [place] if place else []
        raise Unreadable(text, ".".join([*parts, *map(str, first["loc"])])) from None


def situation_id(text: str) -> str:
    """The id of an imported situation. Only its text is known."""
    return f"situation-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def parquet_modules(instead: str) -> tuple[Any, Any]:
    """``pyarrow`` and ``pyarrow.parquet``. Raises UserError, which offers ``instead``, without them."""
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise UserError(
            "parquet needs pyarrow, which is not installed",
            hint=f"Install it with `make parquet`, or {instead}.",
        ) from None


def read_text(path: Path, most_bytes: int, root: Path | None = None) -> str:
    """Return the text of a UTF-8 file, without its byte order mark.

    Raises Unreadable where the file cannot be read (see :func:`bench.files.read_bytes`), is a Git LFS
    pointer, or is not UTF-8.
    """
    try:
        data = read_bytes(path, root, most_bytes)
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"is not UTF-8 at byte {error.start}") from None
    if text.startswith(_LFS):
        raise Unreadable("is a Git LFS pointer, not the file: run `git lfs pull` there")
    return text


def problem_lines(problems: Sequence[Problem], most: int = MOST_PRINTED) -> Iterator[str]:
    """Lines for a terminal: the first ``most`` problems, and how many more there are."""
    yield from (problem.line() for problem in problems[:most])
    if len(problems) > most:
        yield f"... and {len(problems) - most} more"
