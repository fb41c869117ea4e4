"""The bytes of sounds: held from when they are made until they are written, afterwards read from there."""

from __future__ import annotations

import threading
from collections.abc import Callable

from bench.records import Audio, Cell

Source = Callable[[Cell, Audio], bytes]
"""Reads a sound that has been written. Raises StorageError."""


class Sounds:
    """Sounds of the conversations of one protocol, by their SHA-256; from any thread."""

    def __init__(self) -> None:
        self.source: Source | None = None
        """Where those that are not held are read from."""
        self._held: dict[str, tuple[bytes, int]] = {}
        self._lock = threading.Lock()

    def hold(self, audio: Audio, data: bytes) -> None:
        """Keep ``data`` until it is released as often as it was held."""
        with self._lock:
            count = self._held[audio.sha256][1] if audio.sha256 in self._held else 0
            self._held[audio.sha256] = (data, count + 1)

    def release(self, audio: Audio) -> bytes | None:
        """Give up one hold; the bytes, or None where none was held."""
        with self._lock:
            if audio.sha256 not in self._held:
                return None
            data, count = self._held.pop(audio.sha256)
            if count > 1:
                self._held[audio.sha256] = (data, count - 1)
            return data

    def read(self, cell: Cell, audio: Audio) -> bytes:
        """The bytes of ``audio`` of the conversation of ``cell``. Raises StorageError."""
        with self._lock:
            held = self._held.get(audio.sha256)
        if held is not None:
            return held[0]
        assert self.source is not None, "sounds are read from a results tree that nobody named"
        return self.source(cell, audio)
