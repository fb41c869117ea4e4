"""Holds the bytes of new sounds until they are written; after that, reads them from the results."""

from __future__ import annotations

import threading
from collections.abc import Callable

from bench.records import Audio, Cell

Source = Callable[[Cell, Audio], bytes]
"""Reads a sound from the results tree. Raises StorageError."""


class Sounds:
    """Sounds of one protocol's conversations, by SHA-256. Safe to use from any thread."""

    def __init__(self) -> None:
        self.source: Source | None = None
        """Reads the sounds that are not held."""
        self._held: dict[str, tuple[bytes, int]] = {}
        self._lock = threading.Lock()

    def hold(self, audio: Audio, data: bytes) -> None:
        """Keep ``data`` until it has been released as often as it was held."""
        with self._lock:
            count = self._held[audio.sha256][1] if audio.sha256 in self._held else 0
            self._held[audio.sha256] = (data, count + 1)

    def release(self, audio: Audio) -> bytes | None:
        """Release one hold and return the bytes; None if the sound is not held."""
        with self._lock:
            if audio.sha256 not in self._held:
                return None
            data, count = self._held.pop(audio.sha256)
            if count > 1:
                self._held[audio.sha256] = (data, count - 1)
            return data

    def read(self, cell: Cell, audio: Audio) -> bytes:
        """The bytes of ``audio`` in the conversation of ``cell``. Raises StorageError."""
        with self._lock:
            held = self._held.get(audio.sha256)
        if held is not None:
            return held[0]
        assert self.source is not None, "no source is set to read sounds from"
        return self.source(cell, audio)
