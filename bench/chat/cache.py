"""The response cache: replies on disk, so that nothing is paid for twice. JSON text only, never a pickle.

The cache only saves money: if anything is wrong with it, the run continues without it, with one warning.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any, NoReturn

import diskcache
from pydantic import ValidationError

from bench.chat.answers import Answer
from bench.chat.claims import Claims
from bench.records import Record

CACHE_VERSION = 1
"""Part of every key: entries of another version are never read."""
LOCK_SECONDS = 2.0
"""Longest wait while another process writes; after that, new entries wait in memory."""
RETRY_LOCKED_SECONDS = 1.0
CHECKED = 1
"""``user_version`` of a database whose rows all have a checksum. Versions before 0.2.0 wrote none."""
MOST_UNSAVED = 10_000
LONGEST_PATH = 480
"""Characters of a folder in which SQLite can open a database."""
SMALLEST_SPACE = 2**16
"""Bytes. With less of them, the disk is full for a database."""

SETTINGS: dict[str, int | str] = {
    "eviction_policy": "none",
    "size_limit": 2**50,
    "cull_limit": 0,
    "statistics": 0,
    "tag_index": 0,
    "disk_min_file_size": 2**40,  # values of any size stay in the database
    "sqlite_auto_vacuum": 0,
    "sqlite_mmap_size": 0,  # so that a truncated file raises an error instead of crashing the process
    "sqlite_journal_mode": "wal",
    "sqlite_synchronous": 1,
}
_FAULTS = (sqlite3.Error, OSError, diskcache.Timeout, ValueError, TypeError, KeyError, AttributeError)
"""What diskcache raises for a damaged, foreign or unwritable database."""

_UNWRITABLE = ("readonly", "read-only", "permission", "not permitted", "unable to open")
_ANOTHER = "Name another folder by --cache, or delete this one."
_REASONS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("locked",), "another process has locked it", "It will be used again once that process has ended."),
    (
        ("full", "no space", "quota"),
        "the disk is full",
        "Free some space, or name another folder by --cache.",
    ),
    (
        ("readonly", "read-only", "permission", "not permitted"),
        "it cannot be written",
        "Change its permissions, or name another folder by --cache.",
    ),
    (("too long",), "its path is too long", "Name a folder with a shorter path by --cache."),
    (("file exists", "not a directory"), "there is a file in its place", "Name a folder by --cache."),
    (
        ("unable to open",),
        "its database cannot be opened",
        "Check its permissions, name another folder by --cache, or delete this one.",
    ),
    (("refused",), "it holds an entry that Dramaturg did not write", _ANOTHER),
    (("",), "its content is damaged, or was not written by Dramaturg", _ANOTHER),
)
"""What words in an error mean to a user, and what to do; the first match counts."""


class JsonTextDisk(diskcache.Disk):  # type: ignore[misc]
    """Keys and values are text in the database. A row in any other mode is refused, above all a pickle."""

    def put(self, key: object) -> tuple[str, bool]:
        if type(key) is not str:
            _refuse("key")
        return key, True

    def get(self, key: object, raw: object) -> str:
        if not raw or type(key) is not str:
            _refuse("key")
        return key

    def store(self, value: object, read: bool, key: object = None) -> tuple[int, int, None, str]:
        if type(value) is not str or read:
            _refuse("value")
        return 0, diskcache.core.MODE_RAW, None, value

    def fetch(self, mode: object, filename: object, value: object, read: bool) -> str:
        if mode != diskcache.core.MODE_RAW or filename is not None or type(value) is not str or read:
            _refuse("value")
        return value

    def remove(self, file_path: object) -> None:
        """Do nothing: our entries have no files, and a foreign row may name any path."""


def _refuse(what: str) -> NoReturn:
    raise ValueError(f"a cache {what} that is not plain text is refused")


class _ReadOnlyDisk:
    """Reads the database of a cache that this user cannot write, such as a shared or a mounted one."""

    def __init__(self, database: Path) -> None:
        uri = database.resolve().as_uri()
        try:
            self._connection = _tried(f"{uri}?mode=ro")
        except sqlite3.Error:  # a log must be made beside the database, which cannot be
            self._connection = _tried(f"{uri}?mode=ro&immutable=1")
        self._rules = JsonTextDisk(str(database.parent))
        self.checked = _is_checked(self._connection)

    def get(self, key: str) -> str | None:
        """The row of ``key``; None without one. Raises ValueError for one in another mode."""
        found = self._connection.execute(
            "SELECT mode, filename, value FROM Cache WHERE key = ? AND raw = 1", (key,)
        ).fetchone()
        if found is None:
            return None
        mode, filename, value = found
        return self._rules.fetch(mode, filename, value, read=False)

    def close(self) -> None:
        self._connection.close()


def _tried(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=LOCK_SECONDS)
    try:
        connection.execute("SELECT key, raw, mode, filename, value FROM Cache LIMIT 1").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


class _Entry(Record):
    key: str
    answer: Answer
    sha256: str = ""
    """Of the row before this field."""

    def row(self) -> str:
        """The text that is stored."""
        head = self.model_dump_json(exclude_none=True, exclude={"sha256"})[:-1]
        return f'{head},"sha256":"{_sha256(head)}"}}'

    @classmethod
    def of(cls, row: str, key: str, *, checked: bool) -> _Entry | None:
        """The entry in a row; None if a newer version has written it. Raises ValueError if it was altered,
        or if it has no checksum although it must be ``checked``."""
        head, _, checksum = row.rpartition(',"sha256":"')
        whole = bool(head) and checksum == f'{_sha256(head)}"}}'
        try:
            entry = cls.model_validate_json(row)
        except ValidationError:
            if whole:
                return None
            raise ValueError("altered") from None
        if entry.key != key or not (whole or (not checked and not entry.sha256)):
            raise ValueError("altered")
        return entry


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class ResponseCache:
    """Answers by request. A context manager that belongs to one thread; other processes may share the folder.

    Args:
        folder: Created if missing, for its owner only.
        warn: Called once with a message if the cache cannot be used.
        without: What that message says will happen then.
    """

    def __init__(
        self,
        folder: Path,
        warn: Callable[[str], None] = lambda message: None,
        *,
        without: str = "The run goes on without it.",
    ) -> None:
        self.folder = folder
        self._warn_user = warn
        self._without = without
        self._warned = False
        self._altered = False
        self._unsaved: dict[str, str] = {}
        self._save_again_at = 0.0
        self._writable = True
        self._disk: Any = None
        self._claims: Claims | None = None
        self._checked = True
        try:
            self._disk, self._checked = _opened(folder)
        except _FAULTS as error:
            self._open_read_only(error)
        else:
            self._claims = Claims(folder)

    def __enter__(self) -> ResponseCache:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @staticmethod
    def key(base_url: str, body: str, sample: int, repeat: int = 1) -> str:
        """SHA-256 of the canonical JSON of [version, base URL, sample, body]; ``body`` is canonical JSON.

        From repeat 2 on, its number follows ``sample``.
        """
        parts = [CACHE_VERSION, base_url, sample, *([repeat] if repeat > 1 else [])]
        head = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(f"{head[:-1]},{body}]".encode()).hexdigest()

    def get(self, key: str) -> Answer | None:
        """The answer to the request with ``key``; None if it is missing or its row is broken or foreign."""
        text = self._unsaved.get(key)
        if text is None and self._disk is not None:
            try:
                text = self._disk.get(key)
            except ValueError as error:  # refused by JsonTextDisk: only this row is bad
                self._warn(error, "The entry is left out.")
            except _FAULTS as error:
                self._warn(error, self._without)
                self._close_disk()
        if text is None:
            return None
        try:
            entry = _Entry.of(text, key, checked=self._checked)
        except ValueError:
            self._warn_of_alterations()
            return None
        return None if entry is None else entry.answer

    def put(self, key: str, answer: Answer) -> None:
        """Store ``answer`` under ``key``; while the database is locked, keep it in memory."""
        if self._disk is None or not self._writable:
            return
        if len(self._unsaved) < MOST_UNSAVED:
            self._unsaved[key] = _Entry(key=key, answer=answer).row()
        if monotonic() >= self._save_again_at:
            self._save()

    def claim(self, key: str) -> bool:
        """Claim the request with ``key`` before sending it, and :meth:`release` it later.

        Returns False if another process has it in flight, so that its answer will be here soon.
        """
        return self._claims is None or self._claims.take(key)

    def release(self, key: str) -> None:
        """Release the claim on ``key``, after its answer was put."""
        if self._claims is not None:
            self._claims.give(key)

    def close(self) -> None:
        """Save the entries in memory, and close the database."""
        if self._claims is not None:
            self._claims.close()
            self._claims = None
        if self._disk is not None:
            self._save()
            self._close_disk()

    def _save(self) -> None:
        """Write all entries in memory to the database."""
        if not self._unsaved:
            return
        try:
            with self._disk.transact():
                for key, text in self._unsaved.items():
                    self._disk.set(key, text)
        except _FAULTS as error:
            if _is_lock(error):
                self._warn(error, "Its entries wait in memory.")
                self._save_again_at = monotonic() + RETRY_LOCKED_SECONDS
                return
            # The disk is full or not writable; existing entries can still be read.
            self._writable = False
            self._warn(error, "Answers from now on are not kept.")
        self._unsaved.clear()

    def _open_read_only(self, error: BaseException) -> None:
        """After ``error``, only read the database, if writing is what failed."""
        if any(sign in str(error).lower() for sign in _UNWRITABLE):
            with contextlib.suppress(*_FAULTS):
                self._disk = disk = _ReadOnlyDisk(self.folder / diskcache.core.DBNAME)
                self._checked = disk.checked
        if self._disk is None:
            self._warn(error, self._without)
            return
        self._writable = False
        self._warned = True
        self._warn_user(
            f"{self.folder}: the response cache cannot be written. Its replies are used, but new ones are not"
            " kept. To keep them, change its permissions, or name another folder by --cache."
        )

    def _warn_of_alterations(self) -> None:
        if not self._altered:
            self._altered = True
            self._warn_user(
                f"{self.folder}: an entry of the response cache has been altered since it was written."
                " Altered entries are left out, and their requests are sent again."
            )

    def _close_disk(self) -> None:
        with contextlib.suppress(*_FAULTS):
            self._disk.close()
        self._disk = None

    def _warn(self, error: BaseException, consequence: str) -> None:
        if self._warned:
            return
        self._warned = True
        words = "locked" if _is_lock(error) else str(error).lower()
        if not any(sign in words for signs, *_ in _REASONS[:-1] for sign in signs) and _is_full(self.folder):
            words = "full"  # a new database that was written in part reads as a damaged one
        if "unable to open" in words and len(str(self.folder.resolve())) > LONGEST_PATH:
            words = "too long"
        reason, hint = next((rest for signs, *rest in _REASONS if any(sign in words for sign in signs)))
        message = f"{self.folder}: the response cache cannot be used: {reason}. {consequence} {hint}"
        self._warn_user(message)


def _is_lock(error: BaseException) -> bool:
    return isinstance(error, diskcache.Timeout) or "locked" in str(error)


def _is_full(folder: Path) -> bool:
    with contextlib.suppress(OSError):
        return shutil.disk_usage(folder).free < SMALLEST_SPACE
    return False


def _is_checked(connection: sqlite3.Connection) -> bool:
    """Whether all rows of a database have a checksum."""
    ((version,),) = connection.execute("PRAGMA user_version").fetchall()
    return bool(version >= CHECKED)


def _opened(folder: Path) -> tuple[Any, bool]:
    """The database in ``folder``, created if missing, and whether all its rows have a checksum. Raises one of
    ``_FAULTS``."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(OSError):
        folder.chmod(folder.stat().st_mode & 0o700)  # a folder that was made read-only stays so
    database = folder / diskcache.core.DBNAME
    if database.exists():  # diskcache would wait a minute for a lock
        probe = sqlite3.connect(database, timeout=LOCK_SECONDS, isolation_level=None)
        with contextlib.closing(probe):
            probe.execute("BEGIN IMMEDIATE")
            probe.execute("ROLLBACK")
    disk = diskcache.Cache(str(folder), timeout=LOCK_SECONDS, disk=JsonTextDisk, **SETTINGS)
    with contextlib.closing(sqlite3.connect(database, timeout=LOCK_SECONDS)) as connection:
        if connection.execute("SELECT 1 FROM Cache LIMIT 1").fetchone() is None:
            connection.execute(f"PRAGMA user_version = {CHECKED}")
        return disk, _is_checked(connection)
