"""Items of a data set that ask for a spoken answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pydantic import Field

from bench.audio.measure import SoundFault, SoundLimits, measured
from bench.errors import CatalogError
from bench.records import Audio, Cell, Scene
from bench.suites import Item
from bench.toml_entries import Entry, entry_from


class Task(Entry):
    """One item of a data set, without its ids."""

    instruction_type: str = Field(min_length=1)
    """What of the playing is asked for, such as "role" or "scenario": the judge is told."""
    instruction: str = Field(min_length=1)
    """What the user says, or its transcript where ``audio`` holds it."""
    audio: str = ""
    """The spoken instruction: a sound file, by its path from the folder of the data set."""
    name: str = ""
    """Whom the item has played, for readers; the id where it is left out."""
    title: str = ""

    def scene(self, cell: Cell) -> Scene:
        """What a conversation's record says of it."""
        return Scene(
            character_name=self.name or cell.character.replace("-", " ").capitalize(),
            summary=self.instruction_type,
            card="",
            situation_title=self.title or cell.situation.replace("-", " ").capitalize(),
            situation=self.instruction,
        )


@dataclass(frozen=True)
class Given:
    """A task, and its instruction's sound where there is one."""

    task: Task
    audio: Audio | None = None
    data: bytes = b""


def given_in(item: Item, limits: SoundLimits) -> Given:
    """An item checked, and its sound file read. Raises CatalogError that names file and line."""
    task = entry_from(Task, dict(item.data), item.where)
    if "." in item.character or "." in item.situation:
        hint = "Recorded answers are files <character>.<situation>.<ending>: use '-' within an id."
        raise CatalogError("ids of spoken items hold no '.'", where=item.where, hint=hint)
    if not task.audio:
        return Given(task)
    inside = PurePosixPath(task.audio)
    hint = "Name a WAV, MP3 or FLAC file in the folder of the data set, or leave `audio` out."
    if inside.is_absolute() or ".." in inside.parts or set("\\\0") & set(task.audio):
        fault = f"audio: {task.audio!r} is no path below the data set's folder"
        raise CatalogError(fault, where=item.where, hint=hint)
    path = Path(item.where.rpartition(":")[0]).parent / inside
    if path.exists() and not (path.is_file() or path.is_dir()):  # a pipe would be waited for
        raise CatalogError(f"audio: {task.audio} is no plain file", where=item.where, hint=hint)
    try:
        data = path.read_bytes()
        return Given(task, measured(data, limits), data)
    except (OSError, SoundFault) as error:
        reason = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)
        raise CatalogError(f"audio: {task.audio} {reason}", where=item.where, hint=hint) from None
