"""Players that are folders of recorded answers: ``<folder>/<language>/<character>.<situation>.<extension>``.

A text file of the same name next to a sound file is its transcript. Readers see it, judges do not.
"""

from __future__ import annotations

from pathlib import Path

from bench.audio.measure import FORMATS
from bench.files import read_bytes
from bench.records import Cell
from bench.toml_entries import MOST_TEXT

ENDINGS = sorted(set(FORMATS.values()))


def recording_name(cell: Cell) -> str:
    """The path of a cell's answer in the folder, without its extension."""
    return f"{cell.language}/{cell.name}"


def recordings_of(folder: Path, cell: Cell) -> list[Path]:
    """All files that could be a cell's answer; there should be one."""
    named = (folder / f"{recording_name(cell)}.{ending}" for ending in ENDINGS)
    return [path for path in named if path.is_file()]


def recorded_bytes(path: Path, most: int) -> bytes:
    """The file's bytes. Raises OSError, also for more than ``most`` bytes."""
    return read_bytes(path, path.parents[1], most)


def transcript_of(path: Path) -> str:
    """The transcript next to a recording; empty without one."""
    try:
        text = read_bytes(path.with_name(f"{path.stem}.txt"), path.parents[1], MOST_TEXT).decode()
        return text.replace("\r\n", "\n").replace("\r", "\n").strip()
    except (OSError, UnicodeDecodeError):
        return ""
