"""A cache that cannot be used costs one line, and never the run."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.chat import cache as cache_module
from tests.cli.conftest import Bench
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


DAMAGES = [_truncated, _foreign, _no_database, _a_folder_in_its_place]


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
    assert [line for line in ended.err.splitlines() if "the response cache cannot be used" in line]
    assert ended.err.count("bench: ") == 1
    assert "Traceback" not in ended.err
    assert bytes_below(tiny.tree.root) == before


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
    assert ended.err.count("bench: ") == 1


def test_a_run_with_a_cache_that_cannot_be_written_reads_what_it_holds(
    bench: Bench, tiny: Tiny, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bench("run", "tiny", *tiny.options()).status == 0
    before = bytes_below(tiny.tree.root)
    for path in tiny.tree.root.rglob("*.json"):
        path.unlink()
    opened = cache_module._opened

    def read_only(folder: Path) -> object:
        disk = opened(folder)
        disk._sql("PRAGMA query_only = 1")
        return disk

    monkeypatch.setattr(cache_module, "_opened", read_only)
    assert bench("run", "tiny", *tiny.options()).status == 0
    assert server.count == ALL
    assert bytes_below(tiny.tree.root) == before
