"""Which files the results tree holds, and whether files of their kind belong where they lie."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench.audit.findings import Findings
from bench.results import NOT_SUITES

_SOUND = re.compile(r"[0-9a-f]{64}\.(wav|mp3|flac)")


@dataclass
class PlayerFiles:
    """The files of one player's folder."""

    folder: Path
    info: Path | None = None
    conversations: list[Path] = field(default_factory=list)
    judgements: list[Path] = field(default_factory=list)
    audio: list[Path] = field(default_factory=list)


@dataclass
class BoardFiles:
    """The files of one suite and language; their names are those of the folders."""

    suite: str
    language: str
    folder: Path
    board: Path | None = None
    players: list[PlayerFiles] = field(default_factory=list)

    def __len__(self) -> int:
        files = sum(
            len(p.conversations) + len(p.judgements) + len(p.audio) + (p.info is not None)
            for p in self.players
        )
        return files + (self.board is not None)


def survey(root: Path, suite: str | None, findings: Findings) -> list[BoardFiles]:
    """The boards of a tree, or of one suite; whatever belongs nowhere is added to ``findings``."""
    boards: list[BoardFiles] = []
    for entry in entries(root, findings):
        if entry.is_dir() and entry.name not in NOT_SUITES and suite in (None, entry.name):
            boards += _suite(Path(entry.path), findings)
        elif not entry.is_dir() and suite is None and entry.name != "README.md":
            stray(entry, findings)
    return boards


def _suite(folder: Path, findings: Findings) -> Iterator[BoardFiles]:
    for entry in entries(folder, findings):
        if entry.is_dir():
            yield _board(BoardFiles(folder.name, entry.name, Path(entry.path)), findings)
        else:
            stray(entry, findings)


def _board(board: BoardFiles, findings: Findings) -> BoardFiles:
    for entry in entries(board.folder, findings):
        if entry.is_dir():
            board.players.append(_player(PlayerFiles(Path(entry.path)), findings))
        elif entry.is_file() and entry.name == "board.json":
            board.board = Path(entry.path)
        else:
            stray(entry, findings)
    return board


def _player(player: PlayerFiles, findings: Findings) -> PlayerFiles:
    for entry in entries(player.folder, findings):
        if entry.is_dir() and entry.name == "conversations":
            player.conversations += _records(Path(entry.path), findings)
        elif entry.is_dir() and entry.name == "judgements":
            for judge in entries(Path(entry.path), findings):
                if judge.is_dir():
                    player.judgements += _records(Path(judge.path), findings)
                else:
                    stray(judge, findings)
        elif entry.is_dir() and entry.name == "audio":
            player.audio += _sounds(Path(entry.path), findings)
        elif entry.is_file() and entry.name == "player.json":
            player.info = Path(entry.path)
        else:
            stray(entry, findings)
    return player


def _records(folder: Path, findings: Findings) -> Iterator[Path]:
    for entry in entries(folder, findings):
        if entry.is_file() and entry.name.endswith(".json"):
            yield Path(entry.path)
        else:
            stray(entry, findings)


def _sounds(folder: Path, findings: Findings) -> Iterator[Path]:
    for entry in entries(folder, findings):
        if entry.is_file() and _SOUND.fullmatch(entry.name):
            yield Path(entry.path)
        else:
            stray(entry, findings)


def entries(folder: Path, findings: Findings) -> Iterator[os.DirEntry[str]]:
    """What a folder holds, sorted, less links and hidden files, which are findings."""
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        path = Path(entry.path)
        if entry.is_symlink():
            findings.add("symlink", path, "a symbolic link; it was not followed")
        elif entry.name.startswith(".tmp-"):
            findings.add("leftover", path, "a temporary file that no run has finished")
        elif entry.name.startswith("."):
            findings.add("hidden-file", path, "a hidden file; it was not looked at")
        else:
            yield entry


def stray(entry: os.DirEntry[str], findings: Findings) -> None:
    """Report a file that belongs nowhere, or every file of such a folder."""
    path = Path(entry.path)
    if entry.is_dir():
        for inner in entries(path, findings):
            stray(inner, findings)
    else:
        findings.add("unknown-file", path, "no file of that name belongs there")
