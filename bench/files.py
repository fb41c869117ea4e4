"""Files written whole or not at all."""

from __future__ import annotations

import itertools
import os
import re
import socket
from pathlib import Path

from bench.errors import StorageError

_count = itertools.count()
_HOST = re.sub(r"[^A-Za-z0-9]", "", socket.gethostname())[:32] or "host"
_TEMPORARY = re.compile(r"\.tmp-(?P<host>[A-Za-z0-9]+)-(?P<pid>\d+)-\d+")


def write_atomically(path: Path, data: bytes, *, replace: bool = True) -> bool:
    """Write ``data`` to ``path``: a reader, or a crash at any moment, sees all of it or nothing.

    Args:
        path: The file; its folders are created.
        data: Its bytes. Equal bytes are not written again.
        replace: If False, an existing file is kept, even one that another process creates meanwhile.

    Returns:
        Whether the file is new or changed.

    Raises:
        StorageError: The disk is full, or the folder is not writable.
    """
    temporary = path.parent / _temporary_name()
    try:
        if path.exists() and (not replace or path.read_bytes() == data):
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if replace:
                temporary.replace(path)
                return True
            return _link(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise storage_error(error, path) from None


def _temporary_name() -> str:
    return f".tmp-{_HOST}-{os.getpid()}-{next(_count)}"


def _link(temporary: Path, path: Path) -> bool:
    """Give the written file its name, unless another process has taken the name. Returns whether it did."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        temporary.replace(path)
    return True


class BulkWriter:
    """Writes thousands of files that can be recreated after a crash.

    Each file appears whole, but is only flushed to the disk at the end of the ``with`` block; flushing each
    one would take minutes.
    """

    def __init__(self) -> None:
        self.written = 0
        """How many files were new or changed."""
        self._names: dict[str, set[str]] = {}

    def __enter__(self) -> BulkWriter:
        return self

    def __exit__(self, *_: object) -> None:
        if self.written:
            os.sync()

    def write(self, path: str, data: bytes) -> None:
        """Write a file unless it already has these bytes. Raises StorageError."""
        folder, name = os.path.split(path)
        try:
            if folder not in self._names:
                os.makedirs(folder, exist_ok=True)  # noqa: PTH103 - for 12,000 paths, text is faster
                self._names[folder] = set(os.listdir(folder))  # noqa: PTH208
            if name in self._names[folder] and Path(path).read_bytes() == data:
                return
            temporary = f"{folder}/{_temporary_name()}"
            try:
                _write_new(temporary, data)
                os.replace(temporary, path)  # noqa: PTH105
            except OSError:
                Path(temporary).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise storage_error(error, Path(path)) from None
        self.written += 1


def _write_new(path: str, data: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        at = 0
        while at < len(data):
            at += os.write(handle, data[at:])
    finally:
        os.close(handle)


def storage_error(error: OSError, path: Path) -> StorageError:
    """The StorageError for an operating-system error at ``path``."""
    reason = error.strerror or str(error)
    return StorageError(
        f"cannot be written: {reason}",
        where=str(path),
        hint="Free some space, or name a writable folder. Finished work is kept.",
    )


def remove_leftovers(root: Path) -> int:
    """Delete temporary files that killed processes of this machine left below ``root``; return how many."""
    removed = 0
    for path in root.rglob(".tmp-*"):
        match = _TEMPORARY.fullmatch(path.name)
        if match and match["host"] == _HOST and path.is_file() and not _alive(int(match["pid"])):
            path.unlink(missing_ok=True)
            removed += 1
    return removed


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
