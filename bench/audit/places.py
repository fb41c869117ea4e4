"""Which files the results tree holds, and whether each is where files of its kind belong."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench.audit.findings import Findings
from bench.results.comparisons import FOLDER
from bench.results.events import EVENTS_FILE
from bench.slugs import NOT_SUITES

JSON = re.compile(r".*\.json", re.DOTALL)
_SOUND = re.compile(r"[0-9a-f]{64}\.(wav|mp3|flac)")


@dataclass
class PlayerFiles:
    """The files of one player's folder."""

    folder: Path
    info: Path | None = None
    conversations: list[Path] = field(default_factory=list)
    judgements: list[Path] = field(default_factory=list)
    audio: list[Path] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.conversations) + len(self.judgements) + len(self.audio) + (self.info is not None)


@dataclass
class BoardFiles:
    """The files of one suite and language, which are named like their folders."""

    suite: str
    language: str
    folder: Path
    board: Path | None = None
    events: Path | None = None
    players: list[PlayerFiles] = field(default_factory=list)
    comparisons: list[Path] = field(default_factory=list)

    def __len__(self) -> int:
        count = len(self.comparisons) + (self.board is not None) + (self.events is not None)
        return sum(map(len, self.players)) + count


def survey(root: Path, suite: str | None, findings: Findings) -> list[BoardFiles]:
    """The boards of a tree, or of one suite. Files that belong nowhere are added to ``findings``."""
    boards: list[BoardFiles] = []
    for entry in entries(root, findings):
        if not entry.is_dir():
            if suite is None and entry.name != "README.md":
                stray(entry, findings)
        elif entry.name not in NOT_SUITES and suite in (None, entry.name):
            for language in folders_in(Path(entry.path), findings):
                boards.append(_board(BoardFiles(entry.name, language.name, language), findings))
    return boards


def _board(board: BoardFiles, findings: Findings) -> BoardFiles:
    for entry in entries(board.folder, findings):
        if entry.is_dir() and entry.name == FOLDER:
            for judge in folders_in(Path(entry.path), findings):
                for scene in folders_in(judge, findings):
                    board.comparisons += files_in(scene, JSON, findings)
        elif entry.is_dir():
            board.players.append(_player(PlayerFiles(Path(entry.path)), findings))
        elif entry.is_file() and entry.name == "board.json":
            board.board = Path(entry.path)
        elif entry.is_file() and entry.name == EVENTS_FILE:
            board.events = Path(entry.path)
        else:
            stray(entry, findings)
    return board


def _player(player: PlayerFiles, findings: Findings) -> PlayerFiles:
    for entry in entries(player.folder, findings):
        path = Path(entry.path)
        if entry.is_dir() and entry.name == "conversations":
            player.conversations += files_in(path, JSON, findings)
        elif entry.is_dir() and entry.name == "judgements":
            for judge in folders_in(path, findings):
                player.judgements += files_in(judge, JSON, findings)
        elif entry.is_dir() and entry.name == "audio":
            player.audio += files_in(path, _SOUND, findings)
        elif entry.is_file() and entry.name == "player.json":
            player.info = path
        else:
            stray(entry, findings)
    return player


def entries(folder: Path, findings: Findings) -> Iterator[os.DirEntry[str]]:
    """The content of a folder, sorted. Links and hidden files are left out and added to ``findings``."""
    with os.scandir(folder) as scan:
        content = sorted(scan, key=lambda entry: entry.name)
    for entry in content:
        path = Path(entry.path)
        if entry.is_symlink():
            findings.add("symlink", path, "a symbolic link; not followed")
        elif entry.name.startswith(".tmp-"):
            findings.add("leftover", path, "a temporary file of an unfinished run")
        elif entry.name.startswith("."):
            findings.add("hidden-file", path, "a hidden file; not read")
        else:
            yield entry


def files_in(folder: Path, name: re.Pattern[str], findings: Findings) -> Iterator[Path]:
    """The files of a folder that are called ``name``. Everything else is added to ``findings``."""
    for entry in entries(folder, findings):
        if entry.is_file() and name.fullmatch(entry.name):
            yield Path(entry.path)
        else:
            stray(entry, findings)


def folders_in(folder: Path, findings: Findings, *, readme: bool = False) -> Iterator[Path]:
    """The folders in a folder. Everything else is added to ``findings``, but for a ``readme``."""
    for entry in entries(folder, findings):
        if entry.is_dir():
            yield Path(entry.path)
        elif not readme or entry.name != "README.md":
            stray(entry, findings)


def stray(entry: os.DirEntry[str], findings: Findings) -> None:
    """Report a file that belongs nowhere, or every file of such a folder."""
    path = Path(entry.path)
    if entry.is_dir():
        for inner in entries(path, findings):
            stray(inner, findings)
    else:
        findings.add("unknown-file", path, "no file of this name belongs here")
