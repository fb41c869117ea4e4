"""The results tree: the only module that knows where a record lies and how it is read and written.

    results/<suite>/<language>/<player>/player.json
    results/<suite>/<language>/<player>/conversations/<character>.<situation>.json
    results/<suite>/<language>/<player>/judgements/<judge>/<character>.<situation>.json
    results/<suite>/<language>/<player>/audio/<SHA-256 of the file>.<wav, mp3 or flac>
    results/<suite>/<language>/board.json

Folder and file names are slugs; the exact ids are in the records.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import to_json

from bench.errors import RecordError, StorageError
from bench.files import BulkWriter, write_atomically
from bench.records import (
    SCHEMA_VERSION,
    Audio,
    Cell,
    Conversation,
    Judgement,
    PlayerInfo,
    Record,
    canonical,
    sha256_of,
)
from bench.slugs import slug

T = TypeVar("T", bound=Record)

NOT_SUITES = frozenset({"external", "human"})
"""Folders of the results tree that hold other things than suites."""

_slug = lru_cache(maxsize=16384)(slug)


def read_record(kind: type[T], path: Path) -> T:
    """The record in a file. Raises RecordError where it is damaged or of a newer schema."""
    try:
        data = path.read_bytes()
        return kind.model_validate_json(data)
    except FileNotFoundError:
        raise RecordError("no such file", where=str(path)) from None
    except OSError as error:
        raise RecordError(f"cannot be read: {error.strerror}", where=str(path)) from None
    except ValidationError as error:
        raise _record_error(error, data, path) from None


def _record_error(error: ValidationError, data: bytes, path: Path) -> RecordError:
    """Tell a file of a newer version from a damaged one."""
    try:
        loaded = json.loads(data)
        version = loaded.get("schema_version") if isinstance(loaded, dict) else None
    except (ValueError, RecursionError):
        version = None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        return RecordError(
            f"is of record version {version}; this program knows version {SCHEMA_VERSION}",
            where=str(path),
            hint="Update Dramaturg.",
        )
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return RecordError(
        f"is not a valid record: {place + ': ' if place else ''}{first['msg']}",
        where=str(path),
        hint="Restore it from version control, or delete it and run again. `bench audit` finds all such.",
    )


class ResultsTree:
    """One results folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    # Where things lie

    def board_folder(self, suite: str, language: str) -> Path:
        return self.root / _slug(suite) / _slug(language)

    def player_folder(self, suite: str, language: str, player: str) -> Path:
        return self.board_folder(suite, language) / _slug(player)

    def conversation_path(self, cell: Cell) -> Path:
        folder = self.player_folder(cell.suite, cell.language, cell.player)
        return folder / "conversations" / _cell_file(cell)

    def judgement_path(self, cell: Cell, judge: str) -> Path:
        folder = self.player_folder(cell.suite, cell.language, cell.player)
        return folder / "judgements" / _slug(judge) / _cell_file(cell)

    def audio_path(self, cell: Cell, audio: Audio) -> Path:
        folder = self.player_folder(cell.suite, cell.language, cell.player)
        return folder / "audio" / f"{audio.sha256}.{audio.format}"

    # What there is

    def suites(self) -> list[str]:
        """Suites that have a folder, sorted; each is its own slug."""
        return [folder.name for folder in _folders(self.root) if folder.name not in NOT_SUITES]

    def boards(self) -> Iterator[tuple[str, str]]:
        """(suite, language) of every board with at least one player, sorted; both are their own slugs."""
        for suite in self.suites():
            for language in _folders(self.root / suite):
                if any((player / "player.json").exists() for player in _folders(language)):
                    yield suite, language.name

    def players(self, suite: str, language: str) -> list[PlayerInfo]:
        """The players of a board, sorted by id."""
        folders = _folders(self.board_folder(suite, language))
        paths = [folder / "player.json" for folder in folders]
        return sorted(
            (read_record(PlayerInfo, path) for path in paths if path.exists()), key=lambda info: info.player
        )

    def conversations(self, suite: str, language: str, player: str) -> Iterator[Conversation]:
        """A player's conversations, sorted by file name."""
        folder = self.player_folder(suite, language, player) / "conversations"
        for path in _json_files(folder):
            yield read_record(Conversation, path)

    def judgements(self, suite: str, language: str, player: str) -> Iterator[Judgement]:
        """All judges' judgements of a player, sorted by judge folder, then file name."""
        for judge in _folders(self.player_folder(suite, language, player) / "judgements"):
            for path in _json_files(judge):
                yield read_record(Judgement, path)

    def conversation(self, cell: Cell) -> Conversation | None:
        """The conversation of a cell, or None where there is none yet."""
        path = self.conversation_path(cell)
        return read_record(Conversation, path) if path.exists() else None

    def judgement(self, cell: Cell, judge: str) -> Judgement | None:
        """A judge's judgement of a cell, or None where there is none yet."""
        path = self.judgement_path(cell, judge)
        return read_record(Judgement, path) if path.exists() else None

    def read_audio(self, cell: Cell, audio: Audio) -> bytes:
        """The sound file of a message. Raises StorageError where it is not there, or holds other bytes."""
        path = self.audio_path(cell, audio)
        hint = "Restore it from version control, or have the conversation held again."
        try:
            data = path.read_bytes()
        except OSError as error:
            reason = f"the sound file cannot be read: {error.strerror}"
            raise StorageError(reason, where=str(path), hint=hint) from None
        if hashlib.sha256(data).hexdigest() != audio.sha256:
            raise StorageError("the sound file is not the one that was heard", where=str(path), hint=hint)
        return data

    # Writing

    def check_writable(self) -> None:
        """Raise StorageError where nothing can be written: better before a call is paid than after it."""
        if self.root.exists() and not self.root.is_dir():
            raise StorageError("is no folder", where=str(self.root), hint="Name a folder by --results.")
        probe = self.root / ".writable"
        write_atomically(probe, b"")
        probe.unlink(missing_ok=True)

    def write_conversation(self, record: Conversation, *, replace: bool = False) -> bool:
        """Write a conversation; one that is there stays unless ``replace``. Returns whether written."""
        return write_atomically(self.conversation_path(record), _bytes(record), replace=replace)

    def write_audio(self, cell: Cell, audio: Audio, data: bytes) -> bool:
        """Write a sound file, before the conversation whose message it is. Returns whether written."""
        return write_atomically(self.audio_path(cell, audio), data)

    def drop_audio(self, record: Conversation) -> None:
        """Delete the sound files of a conversation that is not kept, unless one that is has them too."""
        if not sounds_of(record):
            return
        used = {
            audio.sha256
            for talk in self.conversations(record.suite, record.language, record.player)
            for audio in sounds_of(talk)
        }
        for audio in sounds_of(record):
            if audio.sha256 not in used:
                self.audio_path(record, audio).unlink(missing_ok=True)

    def write_judgement(self, record: Judgement, *, replace: bool = False) -> bool:
        """Write a judgement; one that is there stays unless ``replace``. Returns whether written."""
        return write_atomically(self.judgement_path(record, record.judge), _bytes(record), replace=replace)

    def write_imported(self, data: dict[str, Any], writer: BulkWriter) -> None:
        """Have an imported conversation or judgement, given as plain data with every dict's keys in order and
        an empty ``digest``, sealed and written in bulk; one that is there is replaced."""
        data["digest"] = sha256_of({key: value for key, value in data.items() if key != "digest"})
        folder = f"{self.root}/{_slug(data['suite'])}/{_slug(data['language'])}/{_slug(data['player'])}"
        kind = f"judgements/{_slug(data['judge'])}" if "judge" in data else "conversations"
        name = f"{_slug(data['character'])}.{_slug(data['situation'])}.json"
        # For text and integers in ordered dicts this is canonical(data), at a tenth of the time.
        writer.write(f"{folder}/{kind}/{name}", to_json(data, indent=2) + b"\n")

    def write_player(self, suite: str, language: str, info: PlayerInfo) -> bool:
        """Write player.json; returns whether it is new or changed."""
        return write_atomically(
            self.player_folder(suite, language, info.player) / "player.json", _bytes(info)
        )


def sounds_of(conversation: Conversation) -> list[Audio]:
    """The sounds of a conversation's messages, in their order."""
    return [message.audio for message in conversation.messages if message.audio is not None]


def _bytes(record: Record) -> bytes:
    return canonical(record.plain()).encode("utf-8")


def _cell_file(cell: Cell) -> str:
    return f"{_slug(cell.character)}.{_slug(cell.situation)}.json"


def _folders(parent: Path) -> list[Path]:
    if not parent.is_dir():
        return []
    return sorted(path for path in parent.iterdir() if path.is_dir() and not path.name.startswith("."))


def _json_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.suffix == ".json" and path.name[0] != ".")
