"""The mistakes a user can make, each with what is wrong, where, and how to hint it.

Only the command line turns them into text; nothing in between catches them.
"""

from __future__ import annotations


class UserError(Exception):
    """Something the user can put right: ``what`` is wrong, ``where`` it is, how to ``hint`` it."""

    status = 1
    """With which the command ends."""

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what = what
        self.where = where
        self.hint = hint
        super().__init__(self.line())

    def line(self) -> str:
        """One line for a terminal: ``where: what. hint``."""
        head = f"{self.where}: {self.what}" if self.where else self.what
        text = f"{head.rstrip('.')}. {self.hint}" if self.hint else head
        return " ".join(text.split())


class Stopped(UserError):
    """A run was ended before its end, by a signal or a limit: no mistake, and what was finished is kept."""

    def __init__(self, what: str, *, status: int, hint: str) -> None:
        super().__init__(what, hint=hint)
        self.status = status


class CatalogError(UserError):
    """models.toml, a suite, a card or a situation is malformed or names something unknown."""


class ProviderError(UserError):
    """A provider refused a request in a way that no retry mends (key, model id, parameters)."""


class RecordError(UserError):
    """A file of the results tree is damaged, of a newer schema, or not where it belongs."""


class StorageError(UserError):
    """The disk or folder does not take what is written to it."""


class SiteError(UserError):
    """The website cannot be built from what is there."""
