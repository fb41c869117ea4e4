"""The folder that a site is built into: written only where bytes changed, and nothing of anyone else's."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from bench.errors import SiteError
from bench.files import storage_error

MARKER = ".dramaturg-site"
"""Says that the folder holds a site of ours, so that a build may delete stale files in it."""


class OutputFolder:
    """Takes the files of one build, then removes what an earlier build left and this one did not write."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.kept: set[str] = set()
        self.written = 0
        if root.exists() and not root.is_dir():
            raise SiteError("is not a folder", where=str(root), hint="Name another output folder.")
        if root.is_dir() and not (root / MARKER).exists() and any(root.iterdir()):
            raise SiteError(
                "holds files that are not a site built by bench",
                where=str(root),
                hint="Name an empty folder, or one that was built before.",
            )
        self.write(MARKER, b"Built by `bench site build`; a build deletes what it did not write.\n")

    @classmethod
    def part(cls, root: Path) -> OutputFolder:
        """The folder as a worker writes into it; the one that started the build has checked it."""
        made = cls.__new__(cls)
        made.root, made.kept, made.written = root, set(), 0
        return made

    def add(self, names: Iterable[str], written: int) -> None:
        """Take over what a worker wrote or found as it should be."""
        self.kept.update(names)
        self.written += written

    def write(self, name: str, data: bytes | str) -> bool:
        """Write a file by its path inside the folder; returns whether it is new or changed."""
        raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
        path = self.root / _checked(name)
        self.kept.add(name)
        try:
            try:
                if path.read_bytes() == raw:
                    return False
            except FileNotFoundError:
                path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".tmp-{path.name[:40]}")
            try:
                temporary.write_bytes(raw)
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
        except OSError as error:
            raise storage_error(error, path) from None
        self.written += 1
        return True

    def prune(self) -> int:
        """Delete the files that this build did not write, and folders left empty; returns how many files."""
        removed = 0
        for path in sorted(self.root.rglob("*"), reverse=True):
            if path.is_dir() and not path.is_symlink():
                if not any(path.iterdir()):
                    path.rmdir()
            elif path.relative_to(self.root).as_posix() not in self.kept:
                path.unlink()
                removed += 1
        return removed


def _checked(name: str) -> str:
    """``name``, if it stays inside the folder."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or "\\" in name or any(p in ("..", ".") for p in parts):
        raise SiteError(f"{name!r} is not a path inside the site")
    return name
