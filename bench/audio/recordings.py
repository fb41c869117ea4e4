"""Players that are folders of recorded answers: ``<folder>/<language>/<character>.<situation>.<ending>``.

Beside a sound file may lie a text file of the same name: what is said in it. Readers see it, judges do not.
"""

from __future__ import annotations

from pathlib import Path

from bench.audio.measure import FORMATS
from bench.records import Cell

ENDINGS = sorted(set(FORMATS.values()))


def recording_name(cell: Cell) -> str:
    """The path of a cell's answer inside the folder, without its ending."""
    return f"{cell.language}/{cell.character}.{cell.situation}"


def recording_of(folder: Path, cell: Cell) -> Path | None:
    """The file of a cell's answer; None where there is none, or more than one."""
    found = recordings_of(folder, cell)
    return found[0] if len(found) == 1 else None


def recordings_of(folder: Path, cell: Cell) -> list[Path]:
    """All files that could be a cell's answer; there ought to be one."""
    named = (folder / f"{recording_name(cell)}.{ending}" for ending in ENDINGS)
    return [path for path in named if path.is_file()]


def recorded_bytes(path: Path, most: int) -> bytes:
    """The file; one byte more than ``most`` of it where it is larger. Raises OSError."""
    with path.open("rb") as file:
        return file.read(most + 1)


def transcript_of(path: Path) -> str:
    """What is said in a recording, from the text beside it; empty where there is none."""
    try:
        return path.with_name(f"{path.stem}.txt").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
