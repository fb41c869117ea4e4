"""Which requests are in flight, so that two processes on one cache do not send, and pay, the same one twice.

A claim is a lock on one byte of a file in the cache's folder, at the place that the request's key names. The
system gives it back when its process ends, however it ends. Where there are no such locks, nothing is claimed
and every process sends for itself.
"""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

FILE_NAME = "in-flight.lock"
_TAKEN = (errno.EAGAIN, errno.EACCES)
_PLACE_DIGITS = 15
"""Hexadecimal digits of a key that name its place: 60 bits, as a file may be long."""


class Claims:
    """The claims of one process on one cache folder. Belongs to one thread."""

    def __init__(self, folder: Path) -> None:
        self._file: int | None = None
        if fcntl is not None:
            with contextlib.suppress(OSError):
                self._file = os.open(folder / FILE_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def take(self, key: str) -> bool:
        """Claim the request of ``key``; False where another process has it in flight."""
        if self._file is None:
            return True
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(key))
        except OSError as error:
            if error.errno in _TAKEN:
                return False
            self.close()  # a file system without locks
        return True

    def give(self, key: str) -> None:
        """Give the claim on ``key`` back."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _place(key))

    def close(self) -> None:
        """Give all claims back."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.close(self._file)
            self._file = None


def _place(key: str) -> int:
    return int(key[:_PLACE_DIGITS], 16)
