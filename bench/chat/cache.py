"""Replies kept on disk, so that nothing is paid for twice: diskcache, JSON text only, never a pickle.

The cache only saves money: whatever is wrong with it, the run goes on without it, with one warning.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, NoReturn

import diskcache
from pydantic import ValidationError

from bench.chat.answers import Answer
from bench.chat.claims import Claims
from bench.records import Record

CACHE_VERSION = 1
"""Part of every key: entries of another version are never read."""

LOCK_SECONDS = 2.0
"""Longest wait for another process that writes; afterwards its entries wait in memory."""
RETRY_LOCKED_SECONDS = 1.0
MOST_UNSAVED = 10_000

SETTINGS: dict[str, int | str] = {
    "eviction_policy": "none",
    "size_limit": 2**50,
    "cull_limit": 0,
    "statistics": 0,
    "tag_index": 0,
    "disk_min_file_size": 2**40,  # values stay in the database, whatever their size
    "sqlite_auto_vacuum": 0,
    "sqlite_mmap_size": 0,  # a truncated file shall be an error, not a crash
    "sqlite_journal_mode": "wal",
    "sqlite_synchronous": 1,
}
_FAULTS = (sqlite3.Error, OSError, diskcache.Timeout, ValueError, TypeError, KeyError, AttributeError)
"""What a damaged, foreign or unwritable database makes diskcache raise."""


class JsonTextDisk(diskcache.Disk):  # type: ignore[misc]
    """Keys and values are text in the database; a row in any other mode is refused, a pickle above all."""

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
        """Nothing: no entry of ours has a file, and the name in a row that is not ours may be any path."""


def _refuse(what: str) -> NoReturn:
    raise ValueError(f"a cache {what} that is not plain text is refused")


class _Entry(Record):
    key: str
    answer: Answer


class ResponseCache:
    """Final answers by request. A context manager; belongs to one thread, shared with other processes.

    Where it cannot be used, ``warn`` is told once: what is wrong, what it means (``without``), what to do.
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
        self._unsaved: dict[str, str] = {}
        self._try_again_at = 0.0
        self._writable = True
        self._disk: Any = None
        self._claims: Claims | None = None
        try:
            self._disk = _opened(folder)
        except _FAULTS as error:
            self._warn(error, self._without)
        else:
            self._claims = Claims(folder)

    def __enter__(self) -> ResponseCache:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @staticmethod
    def key(base_url: str, body: str, sample: int) -> str:
        """SHA-256 of the canonical JSON of [version, base URL, sample, body]; ``body`` is canonical JSON."""
        head = json.dumps([CACHE_VERSION, base_url, sample], ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(f"{head[:-1]},{body}]".encode()).hexdigest()

    def get(self, key: str) -> Answer | None:
        """The answer kept under ``key``; a row that is broken or was not written by us is a miss."""
        text = self._unsaved.get(key)
        if text is None:
            if self._disk is None:
                return None
            try:
                text = self._disk.get(key)
            except ValueError as error:  # refused by JsonTextDisk: this row alone is bad
                self._warn(error, "The entry is left out.")
            except _FAULTS as error:
                self._give_up(error)
        if text is None:
            return None
        try:
            entry = _Entry.model_validate_json(text)
        except ValidationError:
            return None
        return entry.answer if entry.key == key else None

    def put(self, key: str, answer: Answer) -> None:
        """Keep ``answer`` under ``key``."""
        if self._disk is None or not self._writable:
            return
        text = _Entry(key=key, answer=answer).model_dump_json(exclude_none=True)
        if self._unsaved:
            self._hold(key, text)
            if monotonic() >= self._try_again_at:
                self._save_held()
            return
        try:
            self._disk.set(key, text)
        except _FAULTS as error:
            if _is_lock(error):
                self._warn(error, "Its entries wait in memory.")
                self._hold(key, text)
                self._try_again_at = monotonic() + RETRY_LOCKED_SECONDS
            else:
                self._stop_writing(error)

    def claim(self, key: str) -> bool:
        """Claim the request of ``key`` before it is sent; False where another process has it in flight, whose
        answer will be here soon. Whoever has claimed it gives it back by :meth:`release`."""
        return self._claims is None or self._claims.take(key)

    def release(self, key: str) -> None:
        """Give the claim on ``key`` back, after its answer was put."""
        if self._claims is not None:
            self._claims.give(key)

    def close(self) -> None:
        """Save what waits in memory, and close the database."""
        if self._claims is not None:
            self._claims.close()
            self._claims = None
        if self._disk is None:
            return
        self._save_held()
        if self._disk is not None:
            with contextlib.suppress(*_FAULTS):
                self._disk.close()
            self._disk = None

    def _hold(self, key: str, text: str) -> None:
        if len(self._unsaved) < MOST_UNSAVED:
            self._unsaved[key] = text

    def _save_held(self) -> None:
        if not self._unsaved:
            return
        try:
            with self._disk.transact():
                for key, text in self._unsaved.items():
                    self._disk.set(key, text)
        except _FAULTS as error:
            if _is_lock(error):
                self._try_again_at = monotonic() + RETRY_LOCKED_SECONDS
            else:
                self._stop_writing(error)
        else:
            self._unsaved.clear()

    def _stop_writing(self, error: BaseException) -> None:
        """The disk is full, or not ours to write to: what is kept can still be read, and is paid for."""
        self._writable = False
        self._warn(error, "What is answered from now on is not kept.")

    def _give_up(self, error: BaseException) -> None:
        self._warn(error, self._without)
        with contextlib.suppress(*_FAULTS):
            self._disk.close()
        self._disk = None

    def _warn(self, error: BaseException, consequence: str) -> None:
        if not self._warned:
            self._warned = True
            reason, hint = _told(error)
            self._warn_user(
                f"{self.folder}: the response cache cannot be used: {reason}. {consequence} {hint}"
            )


_ANOTHER = "Name another folder by --cache, or delete this one."
_REASONS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("locked",), "another process has it locked", "It is used again once that has ended."),
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
    (("file exists", "not a directory"), "a file stands in its place", "Name a folder by --cache."),
    (
        ("unable to open",),
        "its database cannot be opened",
        "Check its permissions, name another folder by --cache, or delete this one.",
    ),
    (("refused",), "an entry in it is not of Dramaturg's making", _ANOTHER),
)
"""What words of an error mean for a user, and what to do; the first that fits counts."""


def _told(error: BaseException) -> tuple[str, str]:
    """What is wrong with the cache, in plain words, and the hint."""
    words = "locked" if _is_lock(error) else str(error).lower()
    for signs, reason, hint in _REASONS:
        if any(sign in words for sign in signs):
            return reason, hint
    return "what is in it is damaged, or not of Dramaturg's making", _ANOTHER


def _is_lock(error: BaseException) -> bool:
    return isinstance(error, diskcache.Timeout) or "locked" in str(error)


def _opened(folder: Path) -> Any:
    """The database in ``folder``, made where there is none. Raises what is wrong with it."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(OSError):
        folder.chmod(0o700)
    database = folder / diskcache.core.DBNAME
    if database.exists():  # diskcache would wait a minute for a lock
        probe = sqlite3.connect(database, timeout=LOCK_SECONDS, isolation_level=None)
        with contextlib.closing(probe):
            probe.execute("BEGIN IMMEDIATE")
            probe.execute("ROLLBACK")
    return diskcache.Cache(str(folder), timeout=LOCK_SECONDS, disk=JsonTextDisk, **SETTINGS)
