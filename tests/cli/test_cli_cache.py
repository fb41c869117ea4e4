"""A cache that cannot be used costs one line, and never the run."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.chat import cache as cache_module
from tests.cli.conftest import Bench, Ended
from tests.scripted_server import ScriptedServer
from tests.tiny import CALLS, Tiny, bytes_below

ALL = sum(CALLS.values())


def _truncated(folder: Path) -> None:
    database = folder / "cache.db"
    database.write_bytes(database.read_bytes()[: database.stat().st_size // 2])


def _foreign(folder: Path) -> None:
    with sqlite3.connect(folder / "cache.db") as database:
        database.execute("DROP TABLE Cache")
        database.execute("CREATE TABLE Cache (id INTEGER, stuff TEXT)")


def _no_database(folder: Path) -> None:
    (folder / "cache.db").write_bytes(b"something else altogether\n" * 500)


def _a_folder_in_its_place(folder: Path) -> None:
    (folder / "cache.db").unlink()
    (folder / "cache.db").mkdir()


def _newer_sqlite(folder: Path) -> None:
    """The header's version for readers: one that this SQLite does not know."""
    with (folder / "cache.db").open("r+b") as database:
        database.seek(18)
        database.write(b"\x09\x09")


def _read_only(folder: Path) -> None:
    """The header's version for writers: nobody may write then, not even root."""
    with sqlite3.connect(folder / "cache.db") as database:
        database.execute("PRAGMA journal_mode = delete")
    with (folder / "cache.db").open("r+b") as file:
        file.seek(18)
        file.write(b"\x09")


def _a_file_in_the_folders_place(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_bytes(b"")


DAMAGED = "damaged"
DAMAGES: dict[Callable[[Path], None], str] = {
    _truncated: DAMAGED,
    _foreign: DAMAGED,
    _no_database: DAMAGED,
    _newer_sqlite: DAMAGED,
    _a_folder_in_its_place: "its database cannot be opened",
    _a_file_in_the_folders_place: "a file in its place",
}


@pytest.mark.parametrize("damage", DAMAGES, ids=[damage.__name__ for damage in DAMAGES])
def test_a_run_goes_on_without_a_cache_that_is_damaged(
    bench: Bench, tiny: Tiny, server: ScriptedServer, damage: Callable[[Path], None]
) -> None:
    assert bench("run", "tiny", *tiny.options()).status == 0
    before = bytes_below(tiny.tree.root)
    for path in tiny.tree.root.rglob("*.json"):
        path.unlink()
    damage(tiny.root / "cache")
    ended = bench("run", "tiny", *tiny.options())
    assert ended.status == 0
    assert_one_plain_line(ended, tiny, DAMAGES[damage], "The run goes on without it.")
    assert server.count == 2 * ALL
    assert bytes_below(tiny.tree.root) == before


def assert_one_plain_line(ended: Ended, tiny: Tiny, reason: str, meaning: str) -> None:
    """One line says where, what is wrong, what it means and what to do, without the words of a library."""
    (line,) = [line for line in ended.err.splitlines() if line.startswith("bench: ")]
    folder = tiny.root / "cache"
    assert line.startswith(f"bench: {folder}: the response cache cannot be used: ")
    fault, between, hint = line.partition(f". {meaning} ")
    assert reason in fault
    assert between
    assert hint.endswith(".")
    assert "--cache" in hint or "used again" in hint
    assert "rrno" not in line
    assert "sqlite" not in line.lower()
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("parts", [["c" * 300], ["c" * 200] * 3, ["c" * 200] * 30])
def test_a_run_goes_on_without_a_cache_whose_path_is_too_long(
    bench: Bench, tiny: Tiny, server: ScriptedServer, parts: list[str]
) -> None:
    folder = tiny.root.joinpath(*parts)
    ended = bench("run", "tiny", *tiny.options(), "--cache", str(folder))
    assert (ended.status, server.count) == (0, ALL)
    (line,) = [line for line in ended.err.splitlines() if line.startswith("bench: ")]
    assert "its path is too long. The run goes on without it. Name a folder with a shorter path" in line


def test_a_run_with_a_read_only_cache_sends_only_what_it_does_not_hold(
    bench: Bench, tiny: Tiny, server: ScriptedServer
) -> None:
    assert bench("run", "tiny", *tiny.options()).status == 0
    before = bytes_below(tiny.tree.root)
    shutil.rmtree(tiny.tree.root)
    _read_only(tiny.root / "cache")
    ended = bench("run", "tiny", *tiny.options())
    assert (ended.status, server.count) == (0, ALL)
    (line,) = [line for line in ended.err.splitlines() if line.startswith("bench: ")]
    assert "cannot be written" in line
    assert bytes_below(tiny.tree.root) == before
    assert bench("run", "tiny", "-p", "actor", *tiny.options()).status == 0
    assert server.count == 2 * ALL


def test_a_run_goes_on_without_a_cache_that_is_locked(
    bench: Bench, tiny: Tiny, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "LOCK_SECONDS", 0.1)
    cache_module.ResponseCache(tiny.root / "cache").close()
    other = sqlite3.connect(tiny.root / "cache" / "cache.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        ended = bench("run", "tiny", *tiny.options())
    finally:
        other.close()
    assert (ended.status, server.count) == (0, ALL)
    assert_one_plain_line(ended, tiny, "locked", "The run goes on without it.")


def test_a_run_with_a_cache_that_cannot_be_written_reads_what_it_holds(
    bench: Bench, tiny: Tiny, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bench("run", "tiny", *tiny.options()).status == 0
    before = bytes_below(tiny.tree.root)
    for path in tiny.tree.root.rglob("*.json"):
        path.unlink()
    opened = cache_module._opened

    def read_only(folder: Path) -> object:
        disk, checked = opened(folder)
        disk._sql("PRAGMA query_only = 1")
        return disk, checked

    monkeypatch.setattr(cache_module, "_opened", read_only)
    assert bench("run", "tiny", *tiny.options()).status == 0
    assert server.count == ALL
    assert bytes_below(tiny.tree.root) == before
