"""The mistakes a user can make, each with what is wrong, where, and how to mend it.

Only the command line turns them into text; nothing in between catches them.
"""

from __future__ import annotations


class UserError(Exception):
    """Something the user can put right: ``what`` is wrong, ``where`` it is, how to ``mend`` it."""

    status = 1
    """With which the command ends."""

    def __init__(self, what: str, *, where: str = "", mend: str = "") -> None:
        self.what = what
        self.where = where
        self.mend = mend
        super().__init__(self.line())

    def line(self) -> str:
        """One line for a terminal: ``where: what. mend``."""
        head = f"{self.where}: {self.what}" if self.where else self.what
        text = f"{head.rstrip('.')}. {self.mend}" if self.mend else head
        return " ".join(text.split())


class Stopped(UserError):
    """A run was ended before its end, by a signal or a limit: no mistake, and what was finished is kept."""

    def __init__(self, what: str, *, status: int, mend: str) -> None:
        super().__init__(what, mend=mend)
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
