"""What is known of batches that are not collected yet: a file each, under the cache folder.

A file holds ids and cache keys, nothing of a request and no secret. It is written before and after every
step that cannot be taken back, so that a command that was killed between any two finds its place.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from pydantic import ValidationError

from bench.errors import StorageError, UserError
from bench.files import storage_error, write_atomically
from bench.records import Record, canonical

FOLDER = "batches"


class BatchState(Record):
    """One batch. ``file_id`` and ``batch_id`` are None until the provider has given them."""

    token: str
    """Ours, in the batch's metadata: by it a batch is found whose id nobody lived to write down."""
    provider: str
    base_url: str
    model: str
    planned_at: float
    keys: tuple[str, ...]
    """Cache keys of its requests, which are the ids of its lines."""
    file_id: str | None = None
    batch_id: str | None = None


def new_token() -> str:
    """A token that no other batch has."""
    return secrets.token_hex(16)


class BatchStates:
    """The batches of one suite. A context manager: one process at a time."""

    def __init__(self, cache: Path, suite: str) -> None:
        self.folder = cache / FOLDER / suite
        self._lock: IO[bytes] | None = None

    def __enter__(self) -> BatchStates:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = (self.folder / "lock").open("ab")
        except OSError as error:
            raise storage_error(error, self.folder) from None
        try:
            import fcntl
        except ImportError:  # no such locks here; two commands at once would make a batch each
            return self
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise UserError(
                "another `bench judge --batch` of this suite is at work",
                where=str(self.folder),
                hint="Wait for it, or stop it; its batches are kept.",
            ) from None
        return self

    def __exit__(self, *exc: object) -> None:
        if self._lock is not None:
            self._lock.close()

    def pending(self) -> list[BatchState]:
        """All batches that are not collected. Raises StorageError for a file that cannot be read."""
        return [_read(path) for path in sorted(self.folder.glob("*.json"))]

    def write(self, state: BatchState) -> BatchState:
        """Keep ``state``; returned for convenience."""
        write_atomically(self.path(state), canonical(state.plain()).encode())
        return state

    def remove(self, state: BatchState) -> None:
        """Forget a batch: all that it brought is in the cache, or nothing more will come."""
        with contextlib.suppress(FileNotFoundError):
            self.path(state).unlink()

    def path(self, state: BatchState) -> Path:
        """Where ``state`` is kept."""
        return self.folder / f"{state.token}.json"


def pending_files(cache: Path, suite: str) -> Iterator[Path]:
    """Files of a suite's batches that are not collected, without looking into them."""
    return (cache / FOLDER / suite).glob("*.json")


def _read(path: Path) -> BatchState:
    try:
        return BatchState.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        raise StorageError(
            "the state of a batch cannot be read",
            where=str(path),
            hint="Restore it, or delete it: the batch's answers are then lost and would be paid again.",
        ) from None
