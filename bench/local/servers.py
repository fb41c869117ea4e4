"""The servers of a run: one for each GGUF file, and one for the packaged model."""

from __future__ import annotations

from collections.abc import Collection

from bench.catalog import LocalFile
from bench.local.embedded import EmbeddedServer, embedded_identity
from bench.local.gguf import read_header


class LocalServers:
    """Starts a server for each local model that is needed. A context manager: leaving it stops them all.

    Args:
        slots: Calls that each answers at once.
    """

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._servers: dict[LocalFile | None, EmbeddedServer] = {}

    def identity(self, file: LocalFile | None) -> str:
        """The model's identity in cache keys."""
        return embedded_identity(file)

    def check(self, file: LocalFile) -> None:
        """Raise ModelFileError if ``file`` is missing or damaged, as far as its header says."""
        read_header(file.path)

    def start(self, file: LocalFile | None) -> str:
        """Base URL of the server of ``file``, which is started unless it runs. None: the packaged model.

        Raises EmbeddedModelError or ModelFileError.
        """
        server = self._servers.setdefault(file, EmbeddedServer(file, slots=self._slots))
        server.start()
        return server.base_url

    def stop_except(self, needed: Collection[LocalFile | None]) -> None:
        """Stop all servers but those of ``needed``."""
        for file in [file for file in self._servers if file not in needed]:
            self._servers.pop(file).stop()

    def __enter__(self) -> LocalServers:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop_except(())
