"""The results tree: the only module that knows where records are and how to read and write them.

    results/<suite>/<language>/<player>/player.json
    results/<suite>/<language>/<player>/conversations/<character>.<situation>.json
    results/<suite>/<language>/<player>/judgements/<judge>/<character>.<situation>.json
        (repeat 2 of a cell: <character>.<situation>.2.json)
    results/<suite>/<language>/<player>/audio/<SHA-256 of the file>.<wav, mp3 or flac>
    results/<suite>/<language>/board.json
    results/<suite>/<language>/_comparisons/   see bench.results.comparisons
    results/<suite>/<language>/changes.json   players that were removed or renamed, and why
    results/published/<name>/   see bench.results.score_tables

Folder and file names are slugs; the exact ids are in the records.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import to_json

from bench.errors import RecordError, StorageError, UserError
from bench.files import (
    IGNORE_ALL,
    BulkWriter,
    check_inside,
    hidden_from_git,
    read_bytes,
    storage_error,
    write_atomically,
)
from bench.records import (
    SCHEMA_VERSION,
    Audio,
    Cell,
    Conversation,
    Judgement,
    PlayerInfo,
    Record,
    canonical,
    numbered,
    sha256_of,
)
from bench.results.events import EVENTS_FILE, Event, Events
from bench.results.score_tables import ScoreSource, ScoreTable, read_score_table, read_source
from bench.slugs import NOT_SUITES, TABLES, slug

T = TypeVar("T", bound=Record)

ROOM = 2**12
"""Bytes that a disk must have room for. An empty file fits on a full one."""

_REPEAT = re.compile(r"[^.]+\.[^.]+\.([1-9][0-9]{0,2})\.json")


def read_record(kind: type[T], path: Path, root: Path | None = None) -> T:
    """Read a record, which must not lead out of the folder ``root``.

    Raises RecordError if the file is missing, damaged or of a newer schema, or cannot be read.
    """
    try:
        data = read_bytes(path, root)
        return kind.model_validate_json(data)
    except FileNotFoundError:
        raise RecordError("no such file", where=str(path)) from None
    except OSError as error:
        raise RecordError(f"cannot be read: {error.strerror}", where=str(path)) from None
    except ValidationError as error:
        raise _record_error(error, data, path) from None


def _record_error(error: ValidationError, data: bytes, path: Path) -> RecordError:
    """The error for an invalid file, which may be of a newer version or damaged."""
    try:
        loaded = json.loads(data)
        version = loaded.get("schema_version") if isinstance(loaded, dict) else None
    except (ValueError, RecursionError):
        version = None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        fault = f"record version {version}; this program knows version {SCHEMA_VERSION}"
        return RecordError(fault, where=str(path), hint="Update Dramaturg.")
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return RecordError(
        f"not a valid record: {place + ': ' if place else ''}{first['msg']}",
        where=str(path),
        hint="Restore it from version control, or delete it and run again. `bench audit` lists all of them.",
    )


class ResultsTree:
    """One results folder.

    ``repeat``: list conversations and judgements of this sample only. ``hidden``: private suites, which are
    neither listed nor read.
    """

    def __init__(self, root: Path, *, repeat: int | None = None, hidden: Collection[str] = ()) -> None:
        self.root = root
        self.repeat = repeat
        self.hidden = frozenset(hidden)

    # Paths

    def board_folder(self, suite: str, language: str) -> Path:
        """The folder of a board. Raises UserError for a hidden suite: all records are below this folder."""
        if self.hidden:
            self.check_public(suite)
        return self.root / f"{slug(suite)}/{slug(language)}"

    def check_public(self, suite: str) -> None:
        """Raise UserError for a hidden suite."""
        if slug(suite) in self.hidden:
            mark = self.root / slug(suite) / ".gitignore"
            hint = "Pass --private to include them, for yourself only. If the card has a licence, write it"
            hint += f" into its file in place of `private = true`, and delete {mark}."
            fault = "it plays a card without a licence, so its results are not published"
            raise UserError(fault, where=f"suite {suite}", hint=hint)

    def player_folder(self, suite: str, language: str, player: str) -> Path:
        return self.board_folder(suite, language) / slug(player)

    def conversation_path(self, cell: Cell) -> Path:
        folder = self.player_folder(cell.suite, cell.language, cell.player)
        return folder / f"conversations/{_cell_file(cell)}"

    def judgement_path(self, cell: Cell, judge: str) -> Path:
        folder = self.player_folder(cell.suite, cell.language, cell.player)
        return folder / f"judgements/{slug(judge)}/{_cell_file(cell)}"

    def audio_path(self, cell: Cell, audio: Audio) -> Path:
        folder = self.player_folder(cell.suite, cell.language, cell.player)
        return folder / "audio" / f"{audio.sha256}.{audio.format}"

    def table_folder(self, name: str) -> Path:
        """The folder of a table of published scores."""
        return self.root / TABLES / name

    # Reading

    def suites(self) -> list[str]:
        """The suites with a folder, then the tables of published scores, each sorted.

        Each name is its own slug.
        """
        suites = [folder.name for folder in _folders(self.root) if folder.name not in NOT_SUITES]
        suites = [name for name in suites if name not in self.hidden]
        return suites + [name for name in self.score_tables() if name not in suites]

    def boards(self, suite: str | None = None) -> Iterator[tuple[str, str]]:
        """(suite, language) of every board with at least one player, in the order of :meth:`suites`.

        Both are their own slugs. ``suite``: only its boards. Raises CatalogError for a damaged source.toml.
        """
        for name in self.suites() if suite is None else [suite]:
            if (source := self.score_source(name)) is not None:
                yield name, source.language
                continue
            for language in _folders(self.root / name):
                if any((player / "player.json").exists() for player in _folders(language)):
                    yield name, language.name

    def marked_private(self, suite: str) -> bool:
        """Whether the results of ``suite`` are marked (see :meth:`keep_private`)."""
        return hidden_from_git(self.root / slug(suite))

    def score_tables(self) -> list[str]:
        """Names of the tables of published scores, sorted."""
        return [folder.name for folder in _folders(self.root / TABLES)]

    def is_table(self, suite: str) -> bool:
        """Whether ``suite`` names a table of published scores. A suite of the same name comes first."""
        return (
            slug(suite) == suite
            and suite not in NOT_SUITES
            and not (self.root / suite).is_dir()
            and self.table_folder(suite).is_dir()
        )

    def score_source(self, suite: str) -> ScoreSource | None:
        """Where the scores of the table ``suite`` come from; None if it names no table."""
        return read_source(self.table_folder(suite), self.root) if self.is_table(suite) else None

    def score_table(self, suite: str, language: str) -> ScoreTable | None:
        """The table of published scores that ``suite`` names; None if it names none in this language."""
        if not self.is_table(suite):
            return None
        table = read_score_table(self.table_folder(suite), self.root)
        return table if table.source.language == language else None

    def players(self, suite: str, language: str) -> list[PlayerInfo]:
        """The players of a board, sorted by id."""
        if (table := self.score_table(suite, language)) is not None:
            return list(table.players)
        folders = _folders(self.board_folder(suite, language))
        paths = [folder / "player.json" for folder in folders]
        return sorted(
            (read_record(PlayerInfo, path, self.root) for path in paths if path.exists()),
            key=lambda info: info.player,
        )

    def conversations(self, suite: str, language: str, player: str) -> Iterator[Conversation]:
        """A player's conversations, sorted by file name."""
        folder = self.player_folder(suite, language, player) / "conversations"
        for path in _json_files(folder, self.repeat):
            yield read_record(Conversation, path, self.root)

    def judgements(self, suite: str, language: str, player: str) -> Iterator[Judgement]:
        """The judgements of a player by all judges, sorted by judge folder, then file name."""
        for judge in _folders(self.player_folder(suite, language, player) / "judgements"):
            for path in _json_files(judge, self.repeat):
                yield read_record(Judgement, path, self.root)

    def judges(self, suite: str, language: str, player: str) -> list[str]:
        """The judges who have judged a player, sorted by folder."""
        folders = _folders(self.player_folder(suite, language, player) / "judgements")
        first = [next(iter(_json_files(folder, None)), None) for folder in folders]
        return [read_record(Judgement, path, self.root).judge for path in first if path is not None]

    def conversation(self, cell: Cell) -> Conversation | None:
        """The conversation of a cell, or None if it does not exist yet. Raises RecordError."""
        return self._at(Conversation, self.conversation_path(cell), self.conversation_path)

    def judgement(self, cell: Cell, judge: str) -> Judgement | None:
        """A judge's judgement of a cell, or None if it does not exist yet. Raises RecordError."""
        place = self.judgement_path(cell, judge)
        return self._at(Judgement, place, lambda record: self.judgement_path(record, record.judge))

    def _at(self, kind: type[T], path: Path, place_of: Callable[[T], Path]) -> T | None:
        """The record in a file that may be missing. Raises RecordError if it belongs elsewhere."""
        if not path.exists():
            return None
        record = read_record(kind, path, self.root)
        if (due := place_of(record)) != path:
            hint = "Restore the file from version control, or delete it and run again."
            raise RecordError(f"holds the record of {due}", where=str(path), hint=hint)
        return record

    def read_audio(self, cell: Cell, audio: Audio) -> bytes:
        """The sound file of a message. Raises StorageError if it is missing or has other bytes."""
        path = self.audio_path(cell, audio)
        hint = "Restore it from version control, or delete the conversation and run again."
        try:
            data = read_bytes(path, self.root)
        except OSError as error:
            fault = f"the sound file cannot be read: {error.strerror}"
            raise StorageError(fault, where=str(path), hint=hint) from None
        if hashlib.sha256(data).hexdigest() != audio.sha256:
            raise StorageError("the sound file has changed since it was recorded", where=str(path), hint=hint)
        return data

    # Writing

    def check_writable(self) -> None:
        """Raise StorageError if the tree is not writable or its disk is full; called before any paid call."""
        if self.root.exists() and not self.root.is_dir():
            raise StorageError("not a folder", where=str(self.root), hint="Name a folder with --results.")
        probe = self.root / ".writable"
        write_atomically(probe, bytes(ROOM))
        probe.unlink(missing_ok=True)

    def events(self, suite: str, language: str) -> tuple[Event, ...]:
        """Players that were removed or renamed, oldest first."""
        path = self.board_folder(suite, language) / EVENTS_FILE
        return read_record(Events, path, self.root).events if path.exists() else ()

    def add_event(self, suite: str, language: str, event: Event) -> None:
        """Record that a player was removed or renamed."""
        events = Events(events=(*self.events(suite, language), event))
        self._write(self.board_folder(suite, language) / EVENTS_FILE, record_bytes(events))

    def keep_private(self, suite: str) -> None:
        """Mark the results of ``suite``: git ignores them, and commands that publish leave them out."""
        if not self.marked_private(suite):
            self._write(self.root / slug(suite) / ".gitignore", IGNORE_ALL + b"\n")

    def write_conversation(self, record: Conversation, *, replace: bool = False) -> bool:
        """Write a conversation; an existing one stays unless ``replace``. Returns whether it was written."""
        return self._write(self.conversation_path(record), record_bytes(record), replace=replace)

    def write_audio(self, cell: Cell, audio: Audio, data: bytes) -> bool:
        """Write a sound file; do so before writing its conversation. Returns whether it was written."""
        return self._write(self.audio_path(cell, audio), data)

    def drop_audio(self, record: Conversation) -> None:
        """Delete the sound files of a discarded conversation, except those that another conversation uses."""
        if not sounds_of(record):
            return
        every = ResultsTree(self.root)
        talks = every.conversations(record.suite, record.language, record.player)
        used = {audio.sha256 for talk in talks for audio in sounds_of(talk)}
        for audio in sounds_of(record):
            if audio.sha256 not in used:
                self.audio_path(record, audio).unlink(missing_ok=True)

    def write_judgement(self, record: Judgement, *, replace: bool = False) -> bool:
        """Write a judgement; an existing one stays unless ``replace``. Returns whether it was written."""
        return self._write(self.judgement_path(record, record.judge), record_bytes(record), replace=replace)

    def write_imported(self, data: dict[str, Any], writer: BulkWriter) -> None:
        """Seal an imported conversation or judgement and write it in bulk, replacing an existing one.

        ``data`` is a plain record with an empty ``digest`` and the keys of every dict sorted.
        """
        data["digest"] = sha256_of({key: value for key, value in data.items() if key != "digest"})
        folder = f"{self.root}/{slug(data['suite'])}/{slug(data['language'])}/{slug(data['player'])}"
        kind = f"judgements/{slug(data['judge'])}" if "judge" in data else "conversations"
        name = (
            numbered(f"{slug(data['character'])}.{slug(data['situation'])}", data.get("repeat", 1)) + ".json"
        )
        # For text and integers in sorted dicts this equals canonical(data), in a tenth of the time.
        writer.write(f"{folder}/{kind}/{name}", to_json(data, indent=2) + b"\n")

    def write_player(self, suite: str, language: str, info: PlayerInfo) -> bool:
        """Write player.json. Returns whether it is new or changed."""
        return self._write(
            self.player_folder(suite, language, info.player) / "player.json", record_bytes(info)
        )

    def write(self, path: Path, record: Record, *, replace: bool = False) -> bool:
        """Write a record at its ``path``; an existing one stays unless ``replace``."""
        return self._write(path, record_bytes(record), replace=replace)

    def _write(self, path: Path, data: bytes, *, replace: bool = True) -> bool:
        """Write a file of the tree, whose folders must not be links that lead out of it."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            check_inside(path.parent, self.root)
        except OSError as error:
            raise storage_error(error, path) from None
        return write_atomically(path, data, replace=replace)


def sounds_of(conversation: Conversation) -> list[Audio]:
    """The sounds of a conversation's messages, in order."""
    return [message.audio for message in conversation.messages if message.audio is not None]


def record_bytes(record: Record) -> bytes:
    """The content of the file of a record."""
    return canonical(record.plain()).encode("utf-8")


def _cell_file(cell: Cell) -> str:
    return numbered(f"{slug(cell.character)}.{slug(cell.situation)}", cell.repeat) + ".json"


def _folders(parent: Path) -> list[Path]:
    if not parent.is_dir():
        return []
    return sorted(path for path in parent.iterdir() if path.is_dir() and path.name[0] not in "._")


def _json_files(folder: Path, repeat: int | None) -> list[Path]:
    if not folder.is_dir():
        return []
    paths = (path for path in folder.iterdir() if path.suffix == ".json" and path.name[0] != ".")
    found = (path for path in paths if repeat in (None, repeat_in(path)))
    return sorted(found, key=lambda path: path.name)


def repeat_in(path: Path) -> int:
    """Number of the sample that a record's file name states."""
    match = _REPEAT.fullmatch(path.name)
    return int(match[1]) if match else 1
