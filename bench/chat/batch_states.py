"""State files of batches that are not yet collected, one per batch, in the cache folder.

A file holds ids and cache keys, but nothing of a request and no secret. It is written before and after every
step that cannot be undone, so that a killed command can resume between any two.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from pydantic import ValidationError

from bench.errors import StorageError, UserError
from bench.files import read_bytes, storage_error, write_atomically
from bench.records import Record, canonical

FOLDER = "batches"


class BatchState(Record):
    """One batch. ``file_id`` and ``batch_id`` are None until the provider has assigned them."""

    token: str
    """Stored in the batch's metadata: finds the batch if we crashed before saving its id."""
    provider: str
    base_url: str
    model: str
    planned_at: float
    keys: tuple[str, ...]
    """Cache keys of its requests, which are also the ids of its lines."""
    file_id: str | None = None
    batch_id: str | None = None


def new_token() -> str:
    """A unique token for a batch."""
    return secrets.token_hex(16)


class BatchStates:
    """The batches of one suite or other work; a context manager that one process can enter at a time."""

    def __init__(self, cache: Path, name: str) -> None:
        self.folder = cache / FOLDER / name
        self._lock: IO[bytes] | None = None

    def __enter__(self) -> BatchStates:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = (self.folder / "lock").open("ab")
        except OSError as error:
            raise storage_error(error, self.folder) from None
        try:
            import fcntl
        except ImportError:  # Windows: two commands at once would each submit a batch
            return self
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise UserError(
                "another command with --batch is doing the same work",
                where=str(self.folder),
                hint="Wait for it, or stop it; its batches are kept.",
            ) from None
        return self

    def __exit__(self, *exc: object) -> None:
        if self._lock is not None:
            self._lock.close()

    def pending(self) -> list[BatchState]:
        """All batches that are not yet collected. Raises StorageError for an unreadable file."""
        return [_read(path) for path in sorted(self.folder.glob("*.json"))]

    def write(self, state: BatchState) -> BatchState:
        """Store ``state`` and return it."""
        write_atomically(self.path(state), canonical(state.plain()).encode())
        return state

    def remove(self, state: BatchState) -> None:
        """Forget a batch whose answers are in the cache, or that will bring no more."""
        with contextlib.suppress(FileNotFoundError):
            self.path(state).unlink()

    def path(self, state: BatchState) -> Path:
        """The file of ``state``."""
        return self.folder / f"{state.token}.json"


def pending_files(cache: Path, name: str) -> Iterator[Path]:
    """State files of the batches that are not yet collected, without reading them; see BatchStates."""
    return (cache / FOLDER / name).glob("*.json")


def _read(path: Path) -> BatchState:
    try:
        return BatchState.model_validate_json(read_bytes(path, path.parents[2]))
    except (OSError, ValidationError):
        raise StorageError(
            "unreadable batch state",
            where=str(path),
            hint="Restore it. If you delete it, the batch's answers are lost and would be paid for again.",
        ) from None
