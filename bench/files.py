"""Writes files whole or not at all, reads untrusted files, and writes JSON as canonical text."""

from __future__ import annotations

import errno
import itertools
import json
import os
import re
import shutil
import socket
import stat
from collections.abc import Callable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

from bench.errors import StorageError

T = TypeVar("T")

_count = itertools.count()
_HOST = re.sub(r"[^A-Za-z0-9]", "", socket.gethostname())[:32] or "host"
_TEMPORARY = re.compile(r"\.tmp-(?P<host>[A-Za-z0-9]+)-(?P<pid>\d+)-\d+")

IGNORE_ALL = b"*"
"""A line of a ``.gitignore`` that hides its whole folder."""
MOST_BYTES = 100_000_000
"""Size limit of a file that someone else may have written."""
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
"""Opening a pipe must not wait for a writer."""


def read_bytes(path: Path, root: Path | None = None, most: int = MOST_BYTES) -> bytes:
    """Return the content of a file that someone else may have written.

    Args:
        path: A regular file.
        root: A folder that neither ``path`` nor the target of a link may lead out of. None: not checked,
            for a path that the user has typed.
        most: Size limit in bytes.

    Raises:
        OSError: Missing, unreadable, too large, outside ``root``, or a pipe, device or folder. ``strerror``
            says which.
    """
    name = os.fspath(path)
    if "\0" in name:  # Python would raise ValueError
        raise OSError(errno.EINVAL, "no path may have a NUL character", name)
    if root is None:
        return _content(name, 0, most)
    check_inside(os.path.dirname(name) or ".", root)  # noqa: PTH120 - for 10,000 files, text is faster
    try:
        return _content(name, _NO_LINK, most)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
    target = os.path.realpath(name)
    check_inside(target, root, shown=name)
    return _content(target, _NO_LINK, most)


def check_inside(path: str | Path, root: Path, shown: str = "") -> None:
    """Raise OSError if an existing ``path`` leads out of the folder ``root``, by links or by ``..``.

    ``shown``: the path to name in the error.
    """
    name, top = str(path), str(root)
    if name == top:
        return
    if name.startswith(top + os.sep) and f"{os.sep}.." not in name[len(top) :]:
        at = len(top)
        while at > 0:  # lstat of a few folders takes a quarter of the time of realpath
            at = name.find(os.sep, at + 1)
            if stat.S_ISLNK(os.lstat(name if at < 0 else name[:at]).st_mode):
                break
        else:
            return
    top = os.path.realpath(root)
    if os.path.commonpath((top, os.path.realpath(name, strict=True))) != top:
        raise OSError(errno.EXDEV, f"leads out of the folder {root}", shown or name)


def _content(name: str, flags: int, most: int) -> bytes:
    handle = os.open(name, os.O_RDONLY | os.O_CLOEXEC | _NO_WAIT | flags)
    try:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", name)
        size, data = state.st_size, b""
        while size <= most and (more := os.read(handle, size - len(data) + 4096)):
            data += more
            size = max(size, len(data))
        if size > most:
            raise OSError(errno.EFBIG, f"larger than {most // 1000:,} kB", name)
        return data
    finally:
        os.close(handle)


def hide_from_git(folder: Path) -> None:
    """Have git ignore everything in ``folder``. Raises StorageError."""
    if not hidden_from_git(folder):
        write_atomically(folder / ".gitignore", IGNORE_ALL + b"\n")


def hidden_from_git(folder: Path) -> bool:
    """Whether a ``.gitignore`` in ``folder`` ignores everything there."""
    try:
        return IGNORE_ALL in read_bytes(folder / ".gitignore", folder).splitlines()
    except OSError:
        return False


def holds(path: Path | str, data: bytes) -> bool:
    """Whether ``path`` is a regular file with these bytes. Reads no more, and follows no link."""
    try:
        state = os.lstat(path)
        if not stat.S_ISREG(state.st_mode) or state.st_size != len(data):
            return False
        return _content(os.fspath(path), _NO_LINK, len(data)) == data
    except OSError:
        return False


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
        if holds(path, data) or (not replace and path.exists()):
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


def write_folder(path: Path, files: Mapping[str, bytes], *, replace: bool = False) -> None:
    """Write a folder of files: a reader sees all of them or none.

    Args:
        path: The folder.
        files: Name to content.
        replace: Replace an existing folder. Without it, ``path`` must not exist.

    Raises StorageError.
    """
    temporary, old = path.parent / _temporary_name(), path.parent / _temporary_name()
    try:
        temporary.mkdir(parents=True)
        try:
            for name, data in files.items():
                write_atomically(temporary / name, data)
            if replace and path.exists():
                path.rename(old)
            try:
                temporary.rename(path)
            except OSError:
                if old.exists():
                    old.rename(path)
                raise
        finally:
            for folder in (temporary, old):
                shutil.rmtree(folder, ignore_errors=True)
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
            if name in self._names[folder] and holds(path, data):
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
    if error.errno == errno.ENAMETOOLONG:
        return StorageError("the path is too long", where=str(path), hint="Use shorter names.")
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


_LEAVES: dict[type, Callable[[Any], str]] = {
    str: json.encoder.encode_basestring,
    int: repr,
    float: json.JSONEncoder(allow_nan=False).encode,
    bool: {False: "false", True: "true"}.__getitem__,
    type(None): {None: "null"}.__getitem__,
}


def finite(value: T) -> T:
    """``value``, plain data. Raises ValueError for NaN and infinity, which Python reads in JSON."""
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, float) and not isfinite(item):
            raise ValueError(f"{item} is not a JSON number")
        stack += item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    return value


def indented_json(data: Any, line: str = "\n") -> str:
    """JSON text of plain data, whose keys are text, sorted and indented by two spaces.

    It equals that of json.dumps, which writes indented text in Python and takes half as long again.

    Args:
        data: Text, numbers, booleans, None, and lists and dictionaries of them.
        line: A line break with the indentation of ``data``.

    Raises TypeError for anything else, and ValueError for a number that JSON lacks.
    """
    if (leaf := _LEAVES.get(type(data))) is not None:
        return leaf(data)
    inner = f"{line}  "
    if isinstance(data, dict):
        ends, texts, quoted = "{}", [], json.encoder.encode_basestring
        for key in sorted(data):  # most values are leaves, and a call for each takes a third of the time
            value = data[key]
            leaf = _LEAVES.get(type(value))
            texts.append(f"{quoted(key)}: {leaf(value) if leaf else indented_json(value, inner)}")
    elif isinstance(data, (list, tuple)):
        ends, texts = "[]", [indented_json(value, inner) for value in data]
    else:
        raise TypeError(f"{type(data).__name__} is not plain data")
    return f"{ends[0]}{inner}{f',{inner}'.join(texts)}{line}{ends[1]}" if texts else ends
