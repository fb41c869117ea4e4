"""What a conversation page shows of a sound file."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from bench.records import Audio

FOLDER = "audio"
"""Folder of the sound files, beside a player's conversation pages."""


@dataclass(frozen=True)
class SoundView:
    """A sound file with its measures. ``href`` is empty if the file is missing."""

    href: str
    audio: Audio

    @property
    def length(self) -> str:
        """The duration, such as ``2 min 5 s`` or ``7.3 s``."""
        minutes, seconds = divmod(round(self.audio.seconds, 1), 60)
        return f"{int(minutes)} min {seconds:.0f} s" if minutes else f"{seconds:.1f} s"


def sound_name(audio: Audio) -> str:
    """The file's path, relative to the folder of the conversation pages."""
    return f"{FOLDER}/{audio.sha256}.{audio.format}"


def sound_view(audio: Audio | None, there: Collection[str]) -> SoundView | None:
    """The view of ``audio``, with a link if :func:`sound_name` of it is ``there``."""
    if audio is None:
        return None
    name = sound_name(audio)
    return SoundView(name if name in there else "", audio)
