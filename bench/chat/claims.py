"""Claims on requests in flight, so that two processes on one cache do not both send and pay for the same one.

A claim is a lock on one byte of a file in the cache folder; the request's key determines which byte. The
operating system releases it when the process ends, however it ends. On file systems without such locks
nothing is claimed, and every process sends its own requests.
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
PLACE_DIGITS = 15
"""Hexadecimal digits of a key that give its byte: 60 bits, within what a file offset can hold."""


class Claims:
    """The claims of one process on one cache folder. Belongs to one thread."""

    def __init__(self, folder: Path) -> None:
        self._file: int | None = None
        if fcntl is not None:
            with contextlib.suppress(OSError):
                self._file = os.open(folder / FILE_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def take(self, key: str) -> bool:
        """Claim the request with ``key``; False if another process has it in flight."""
        if self._file is None:
            return True
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, int(key[:PLACE_DIGITS], 16))
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                return False
            self.close()  # a file system without locks
        return True

    def give(self, key: str) -> None:
        """Release the claim on ``key``."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, int(key[:PLACE_DIGITS], 16))

    def close(self) -> None:
        """Release all claims."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.close(self._file)
            self._file = None
