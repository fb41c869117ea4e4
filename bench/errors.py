"""The mistakes a user can make: what is wrong, where it is, and a hint that says what to do.

Only the command line turns them into text; nothing in between catches them broadly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


class UserError(Exception):
    """Something that the user can fix.

    Args:
        what: What is wrong, as a clause without a full stop: ``"invalid date 'x'"``.
        where: The file, table, option or suite it is in; may be empty.
        hint: What to do about it, in full sentences; may be empty.
    """

    status = 1
    """Exit status of the command."""

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what = what
        self.where = where
        self.hint = hint
        super().__init__(self.line())

    def line(self) -> str:
        """The error as one line for a terminal: ``where: what. hint``."""
        head = f"{self.where}: {self.what}" if self.where else self.what
        text = f"{head.rstrip('.')}. {self.hint}" if self.hint else head
        return " ".join(text.split())


class Stopped(UserError):
    """A run was stopped early by a signal or a limit. What had finished is kept."""

    def __init__(self, what: str, *, status: int, hint: str) -> None:
        super().__init__(what, hint=hint)
        self.status = status


class CatalogError(UserError):
    """models.toml, a suite, a card or a situation is malformed, or names something unknown."""

    others: tuple[CatalogError, ...] = ()
    """Faults that were found together with this one."""


def each(work: Callable[[A], B], things: Iterable[A]) -> list[B]:
    """What ``work`` returns for each of ``things``. Raises the first CatalogError, with all others in it."""
    results: list[B] = []
    faults: list[CatalogError] = []
    for thing in things:
        try:
            results.append(work(thing))
        except CatalogError as error:
            faults += [error, *error.others]
    if faults:
        faults[0].others = tuple(faults[1:])
        raise faults[0]
    return results


class ProviderError(UserError):
    """A provider refused a request in a way that a retry cannot fix (key, model id, parameters)."""


class RecordError(UserError):
    """A file in the results tree is damaged, of a newer schema, or in the wrong place."""


class StorageError(UserError):
    """A file cannot be written: the disk is full, or the folder is not writable."""


class SiteError(UserError):
    """The website cannot be built from the results."""
