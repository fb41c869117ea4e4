"""Players that are folders of recorded answers: ``<folder>/<language>/<character>.<situation>.<extension>``.

A text file of the same name next to a sound file is its transcript. Readers see it, judges do not.
"""

from __future__ import annotations

from pathlib import Path

from bench.audio.measure import FORMATS
from bench.records import Cell

ENDINGS = sorted(set(FORMATS.values()))


def recording_name(cell: Cell) -> str:
    """The path of a cell's answer in the folder, without its extension."""
    return f"{cell.language}/{cell.character}.{cell.situation}"


def recordings_of(folder: Path, cell: Cell) -> list[Path]:
    """All files that could be a cell's answer; there should be one."""
    named = (folder / f"{recording_name(cell)}.{ending}" for ending in ENDINGS)
    return [path for path in named if path.is_file()]


def recorded_bytes(path: Path, most: int) -> bytes:
    """The file's bytes, at most ``most`` + 1 of them. Raises OSError."""
    with path.open("rb") as file:
        return file.read(most + 1)


def transcript_of(path: Path) -> str:
    """The transcript next to a recording; empty if there is none."""
    try:
        return path.with_name(f"{path.stem}.txt").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
