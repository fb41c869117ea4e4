"""The folder that a site is built into. Only files whose bytes change are written."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from bench.errors import SiteError
from bench.files import holds, storage_error
from bench.site.paths import TALK_INDEX

MARKER = ".dramaturg-site"
"""File that marks the folder as built by bench, so that a build may delete files in it."""
STAMPS = ".dramaturg-pages"
"""File with the stamps of what is made of conversations: what would come out the same is not made again."""
_TALK = re.compile(r"boards/[^/]+/[^/]+/players/[^/]+/[^/.]+\.[^/]+\.html")
"""The page of a conversation."""


class Stamp(NamedTuple):
    """What a page was made from, and its bytes, each as a digest."""

    inputs: str
    page: str


class OutputFolder:
    """Takes the files of one build, then removes the files of earlier builds that this one did not write."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.kept: set[str] = set()
        self.written = 0
        self._talks_changed = False
        self._stamps: dict[str, Stamp] = {}
        if root.exists() and not root.is_dir():
            raise SiteError("is not a folder", where=str(root), hint="Name another output folder.")
        if root.is_dir() and not (root / MARKER).exists() and any(root.iterdir()):
            raise SiteError(
                "holds files that are not a site built by bench",
                where=str(root),
                hint="Name an empty folder, or one that was built before.",
            )
        self.write(MARKER, b"Built by `bench site build`; a build deletes what it did not write.\n")

    def add(self, names: Iterable[str], written: int, stamps: Mapping[str, Stamp] | None = None) -> None:
        """Count files that were written or found unchanged elsewhere. ``stamps``: of conversations' pages."""
        self.kept.update(names)
        self.written += written
        if stamps is not None:
            self._stamps |= stamps
            self._talks_changed |= written > 0

    def write(self, name: str, data: bytes | str) -> None:
        """Write a file, given by its path inside the folder."""
        self.kept.add(name)
        self.written += write_file(self.root, name, data)

    def prune(self) -> int:
        """Write the stamps, and delete the files that this build did not write, and empty folders.

        The index of conversations stays as long as no conversation has changed. Returns the number of files
        that were deleted.
        """
        stamps = sorted(self._stamps.items())
        self.write(STAMPS, "".join(f"{name} {stamp.inputs} {stamp.page}\n" for name, stamp in stamps))
        removed = self._pruned(spared=f"{TALK_INDEX}/")
        if self._talks_changed or any(_TALK.fullmatch(name) for name in removed):
            removed += self._pruned()
        return len(removed)

    def _pruned(self, spared: str = "/") -> list[str]:
        """Delete what was not written and does not begin with ``spared``, which no path does by default."""
        removed = []
        for folder, _, files in os.walk(self.root, topdown=False):
            inside = Path(folder).relative_to(self.root)
            for name in files:
                path = (inside / name).as_posix()
                if path not in self.kept and not path.startswith(spared):
                    Path(folder, name).unlink()
                    removed.append(path)
            if inside.parts:
                with contextlib.suppress(OSError):  # not empty
                    Path(folder).rmdir()
        return removed


def check_built(root: Path) -> None:
    """Raise SiteError unless the folder holds a built site."""
    if not (root / MARKER).is_file():
        raise SiteError("no built site", where=str(root), hint="Run `bench site build` first.")


def tool_output(done: subprocess.CompletedProcess[str]) -> str:
    """The last that a program said before it failed."""
    lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    return "; ".join(lines[-3:]) or f"exit status {done.returncode}"


def write_file(root: Path, name: str, data: bytes | str) -> bool:
    """Write one file of a site; returns whether it is new or changed.

    Raises SiteError for a name outside the folder, and StorageError.
    """
    raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or "\\" in name or ".." in parts or "." in parts:
        raise SiteError(f"{name!r} is not a path inside the site")
    path = root / name
    temporary = path.with_name(f".tmp-{path.name}")
    try:
        if holds(path, raw):
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(raw)
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise storage_error(error, path) from None
    return True


def read_stamps(root: Path) -> dict[str, Stamp]:
    """The stamps of an earlier build, by path; empty if there are none that can be read."""
    try:
        lines = [line.split(" ") for line in (root / STAMPS).read_text(encoding="ascii").splitlines()]
    except (OSError, UnicodeError):
        return {}
    return {line[0]: Stamp(*line[1:]) for line in lines if len(line) == 3}


def digest_of(*parts: bytes) -> str:
    """A short digest of bytes."""
    made = hashlib.sha256()
    for part in parts:
        made.update(part)
    return made.hexdigest()[:32]
