"""Data set items that ask for a spoken answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pydantic import Field

from bench.audio.measure import SoundFault, SoundLimits, measured
from bench.errors import CatalogError
from bench.files import read_bytes
from bench.items import Item
from bench.records import Audio, Cell, Scene
from bench.toml_entries import Entry, entry_from


class Task(Entry):
    """One data set item, without its ids."""

    instruction_type: str = Field(min_length=1)
    """The kind of role play, such as "role" or "scenario"; part of the judge's prompt."""
    instruction: str = Field(min_length=1)
    """What the user says, or the transcript of ``audio``."""
    audio: str = ""
    """Sound file of the spoken instruction, relative to the data set's folder."""
    name: str = ""
    """The character's name, for readers; default: the id."""
    title: str = ""

    def scene(self, cell: Cell) -> Scene:
        """The scene as a conversation's record describes it."""
        return Scene(
            character_name=self.name or cell.character.replace("-", " ").capitalize(),
            summary=self.instruction_type,
            card="",
            situation_title=self.title or cell.situation.replace("-", " ").capitalize(),
            situation=self.instruction,
        )


@dataclass(frozen=True)
class Given:
    """A task, with the sound of its instruction if that is spoken."""

    task: Task
    audio: Audio | None = None
    data: bytes = b""


def given_in(item: Item, limits: SoundLimits) -> Given:
    """Check an item and read its sound file. Raises CatalogError that names file and line."""
    task = entry_from(Task, dict(item.data), item.where)
    if "." in item.character or "." in item.situation:
        hint = "Recorded answers are files <character>.<situation>.<extension>: use '-' in an id."
        raise CatalogError("ids of spoken items must not contain '.'", where=item.where, hint=hint)
    if not task.audio:
        return Given(task)
    inside = PurePosixPath(task.audio)
    hint = "Name a WAV, MP3 or FLAC file in the folder of the data set, or leave `audio` out."
    if inside.is_absolute() or ".." in inside.parts or set("\\\0") & set(task.audio):
        fault = f"audio: {task.audio!r} is not a path in the data set's folder"
        raise CatalogError(fault, where=item.where, hint=hint)
    folder = Path(item.where.rpartition(":")[0]).parent
    try:
        data = read_bytes(folder / inside, folder)
        return Given(task, measured(data, limits), data)
    except (OSError, SoundFault) as error:
        reason = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)
        raise CatalogError(f"audio: {task.audio} {reason}", where=item.where, hint=hint) from None
