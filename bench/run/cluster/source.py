"""A hash of the source, to compare the workers' Dramaturg with the command's."""

from __future__ import annotations

import hashlib
from pathlib import Path

import bench

SUFFIXES = frozenset({".py", ".toml"})


def source_sha256(package: Path) -> str:
    """SHA-256 of the source files below ``package``, by path and content, whatever their line ends."""
    digest = hashlib.sha256()
    files = {path.relative_to(package).as_posix(): path for path in package.rglob("*") if path.is_file()}
    for name, path in sorted(files.items()):
        if path.suffix in SUFFIXES:
            content = path.read_bytes().replace(b"\r\n", b"\n")
            digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


SOURCE = source_sha256(Path(bench.__file__).parent)
"""Hash of this process's source, taken when it was loaded: the files may change while a worker lives."""
