"""The cache saves money and does no harm, whatever has happened to its folder."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import pickle
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.chat import ResponseCache
from bench.chat import cache as cache_module
from bench.chat.answers import Answer
from bench.records import Usage
from tests.chat.conftest import KEY, Play, asked
from tests.scripted_faults import FAULTS, scripted

ANSWER = Answer(outcome="ok", text="Boo. \u0000 \u2028", usage=Usage(prompt_tokens=3, completion_tokens=2))


def test_what_is_put_is_got(tmp_path: Path) -> None:
    with ResponseCache(tmp_path / "cache") as cache:
        assert cache.get("k") is None
        cache.put("k", ANSWER)
        assert cache.get("k") == ANSWER
    with ResponseCache(tmp_path / "cache") as cache:
        assert cache.get("k") == ANSWER


def test_the_folder_is_for_its_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    ResponseCache(folder).close()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("fault", ["length", "content_filter", "null_content", "refusal_field"])
def test_final_outcomes_are_kept(play: Play, tmp_path: Path, fault: str) -> None:
    with ResponseCache(tmp_path / "cache") as cache:
        first = play(FAULTS[fault], cache=cache).reply
        kept = cache.get(_only_key(tmp_path / "cache"))
    assert kept is not None
    assert kept.outcome == first.outcome


@pytest.mark.parametrize("fault", ["status_500", "rate_limit", "html_body", "null_choices"])
def test_passing_failures_are_not_kept(play: Play, tmp_path: Path, fault: str) -> None:
    with ResponseCache(tmp_path / "cache") as cache:
        play(scripted(*[fault] * 9), cache=cache)
    with sqlite3.connect(tmp_path / "cache/cache.db") as database:
        assert database.execute("SELECT count(*) FROM Cache").fetchone() == (0,)


def test_a_key_is_not_in_the_cache(play: Play, tmp_path: Path) -> None:
    with ResponseCache(tmp_path / "cache") as cache:
        play(
            cache=cache,
            provider={"api_key_env": "P_KEY", "headers": {"X-Auth": KEY[::-1]}},
            environ={"P_KEY": KEY},
        )
    for file in (tmp_path / "cache").iterdir():
        content = file.read_bytes()
        assert KEY.encode() not in content
        assert KEY[::-1].encode() not in content


class _Bomb:
    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        return (_explode, ("loaded",))


def _explode(word: str) -> None:
    raise SystemExit(f"a pickle was {word}")


def _tamper(folder: Path, change: str, *values: object) -> None:
    with sqlite3.connect(folder / "cache.db") as database:
        database.execute(change, values)


def test_a_row_marked_as_pickled_is_refused(tmp_path: Path) -> None:
    folder, warnings = tmp_path / "cache", list[str]()
    with ResponseCache(folder) as cache:
        cache.put("k", ANSWER)
        cache.put("other", ANSWER)
    _tamper(folder, "UPDATE Cache SET mode = 4, value = ? WHERE key = 'k'", pickle.dumps(_Bomb()))
    with ResponseCache(folder, warnings.append) as cache:
        assert cache.get("k") is None
        assert cache.get("other") == ANSWER
        cache.put("k", ANSWER)
        assert cache.get("k") == ANSWER
    assert len(warnings) == 1


def test_a_pickled_file_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    with ResponseCache(folder) as cache:
        cache.put("k", ANSWER)
    (folder / "x.val").write_bytes(pickle.dumps(_Bomb()))
    _tamper(folder, "UPDATE Cache SET mode = 4, value = NULL, filename = 'x.val'")
    with ResponseCache(folder) as cache:
        assert cache.get("k") is None


def test_a_pickled_key_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    with ResponseCache(folder) as cache:
        cache.put("k", ANSWER)
    _tamper(folder, "UPDATE Cache SET raw = 0, key = ?", pickle.dumps(_Bomb()))
    with ResponseCache(folder) as cache:
        with pytest.raises(ValueError, match="refused"):
            list(cache._disk)
        assert cache.get("k") is None


@pytest.mark.parametrize(
    "value",
    [
        "",
        "null",
        "{}",
        "not JSON",
        '{"key": "k"}',
        '{"key":"other","answer":{"outcome":"ok","text":"","usage":{"prompt_tokens":1,"completion_tokens":1}}}',
        '{"key":"k","answer":{"outcome":"transport","text":"","usage":{"prompt_tokens":1,"completion_tokens":1}}}',
        '{"key":"k","answer":{"outcome":"ok","text":"","usage":{"prompt_tokens":-1,"completion_tokens":1}}}',
        b"bytes",
        7,
    ],
)
def test_a_row_that_is_not_ours_is_a_miss(tmp_path: Path, value: object) -> None:
    folder = tmp_path / "cache"
    with ResponseCache(folder) as cache:
        cache.put("k", ANSWER)
    _tamper(folder, "UPDATE Cache SET value = ?", value)
    with ResponseCache(folder) as cache:
        assert cache.get("k") is None


def _garbage(folder: Path) -> None:
    folder.mkdir()
    (folder / "cache.db").write_bytes(b"no database at all" * 1000)


def _truncated(folder: Path) -> None:
    with ResponseCache(folder) as cache:
        for i in range(200):
            cache.put(str(i), ANSWER)
    database = folder / "cache.db"
    database.write_bytes(database.read_bytes()[: database.stat().st_size // 2])


def _foreign(folder: Path) -> None:
    folder.mkdir()
    with sqlite3.connect(folder / "cache.db") as database:
        database.execute("CREATE TABLE Cache (id INTEGER, stuff TEXT)")
        database.execute("CREATE TABLE Settings (key TEXT, value INTEGER)")
        database.execute("INSERT INTO Settings VALUES ('disk_level', 3)")


def _file_in_place(folder: Path) -> None:
    folder.write_text("a file where the folder should be")


@pytest.mark.parametrize("damage", [_garbage, _truncated, _foreign, _file_in_place])
def test_a_damaged_cache_costs_one_warning(
    play: Play, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    folder, warnings = tmp_path / "cache", list[str]()
    damage(folder)
    requests = [asked(str(i)) for i in range(5)]
    with ResponseCache(folder, warnings.append) as cache:
        played = play(FAULTS["length"], *requests, cache=cache)
    assert [r.outcome for r in played.replies] == ["length"] * 5
    assert len(warnings) == 1
    assert str(folder) in warnings[0]


def test_a_database_that_a_full_disk_has_cut_off_is_not_said_to_be_foreign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, warnings = tmp_path / "cache", list[str]()
    _garbage(folder)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10**6, 10**6, 0))
    with ResponseCache(folder, warnings.append):
        pass
    assert "the disk is full" in warnings[0]


def test_a_full_disk_costs_one_warning(play: Play, tmp_path: Path) -> None:
    warnings: list[str] = []
    with ResponseCache(tmp_path / "cache", warnings.append) as cache:
        pages = cache._disk._sql("PRAGMA page_count").fetchone()[0]
        cache._disk._sql(f"PRAGMA max_page_count = {pages}")
        played = play(FAULTS["huge"], *[asked(str(i)) for i in range(3)], cache=cache)
    assert [r.outcome for r in played.replies] == ["length"] * 3
    assert len(warnings) == 1
    assert "full" in warnings[0]


def test_a_read_only_database_costs_one_warning(tmp_path: Path) -> None:
    warnings: list[str] = []
    with ResponseCache(tmp_path / "cache", warnings.append) as cache:
        cache.put("k", ANSWER)
        cache._disk._sql("PRAGMA query_only = 1")
        cache.put("l", ANSWER)
        cache.put("m", ANSWER)
    assert len(warnings) == 1


def test_a_locked_cache_at_the_start_costs_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "LOCK_SECONDS", 0.1)
    warnings: list[str] = []
    ResponseCache(tmp_path / "cache").close()
    other = sqlite3.connect(tmp_path / "cache/cache.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with ResponseCache(tmp_path / "cache", warnings.append) as cache:
        cache.put("k", ANSWER)
    other.execute("ROLLBACK")
    other.close()
    assert len(warnings) == 1


def test_what_comes_while_it_is_locked_is_saved_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "LOCK_SECONDS", 0.1)
    monkeypatch.setattr(cache_module, "RETRY_LOCKED_SECONDS", 0.0)
    warnings: list[str] = []
    with ResponseCache(tmp_path / "cache", warnings.append) as cache:
        other = sqlite3.connect(tmp_path / "cache/cache.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        cache.put("k", ANSWER)
        cache.put("l", ANSWER)
        assert cache.get("k") == ANSWER
        other.execute("ROLLBACK")
        other.close()
    assert len(warnings) == 1
    with ResponseCache(tmp_path / "cache") as cache:
        assert (cache.get("k"), cache.get("l")) == (ANSWER, ANSWER)


def _fill(folder: Path, name: str) -> None:
    with ResponseCache(folder) as cache:
        for i in range(200):
            cache.put(f"{name}{i}", ANSWER)
            cache.put(f"both{i}", ANSWER)


def test_two_processes_share_it(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    processes = [spawn.Process(target=_fill, args=(tmp_path / "cache", name)) for name in "ab"]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    with ResponseCache(tmp_path / "cache") as cache:
        keys = [f"{name}{i}" for name in ("a", "b", "both") for i in range(200)]
        assert all(cache.get(key) == ANSWER for key in keys)


def _only_key(folder: Path) -> str:
    with sqlite3.connect(folder / "cache.db") as database:
        ((key,),) = database.execute("SELECT key FROM Cache").fetchall()
    return str(key)


# A cache that cannot be written


def _as_a_guest(folder: Path, check: Callable[[], bool]) -> bool:
    """``check()`` in another process, for which ``folder`` and its files are read-only."""
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if os.geteuid() == 0:  # root may write anything
                os.setegid(65534)
                os.seteuid(65534)
            status = 0 if check() else 1
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("log", [False, True], ids=["closed", "with an open log"])
def test_a_read_only_cache_is_still_read(log: bool) -> None:
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to other users
        Path(name).chmod(0o755)
        folder = Path(name) / "cache"
        with ResponseCache(folder) as cache:
            cache.put("k", ANSWER)
        open_log = sqlite3.connect(folder / "cache.db") if log else None
        if open_log is not None:
            open_log.execute("SELECT count(*) FROM Cache").fetchone()

        def check() -> bool:
            warnings: list[str] = []
            with ResponseCache(folder, warnings.append) as cache:
                cache.put("l", ANSWER)
                found = cache.get("k"), cache.get("l"), cache.get("m")
                claimed = cache.claim("0" * 64)
            said = len(warnings) == 1 and "cannot be written" in warnings[0]
            return found == (ANSWER, None, None) and claimed and said

        assert _as_a_guest(folder, check)
        folder.chmod(0o755)


# Checksums


def _rewritten(folder: Path, change: Callable[[str], str]) -> None:
    with sqlite3.connect(folder / "cache.db") as database:
        ((text,),) = database.execute("SELECT value FROM Cache").fetchall()
        assert change(text) != text
        database.execute("UPDATE Cache SET value = ?", (change(text),))


ALTERATIONS: dict[str, Callable[[str], str]] = {
    "another text": lambda text: text.replace("A whole answer", "A better answer"),
    "another number": lambda text: text.replace('"prompt_tokens":3', '"prompt_tokens":4'),
    "a field more": lambda text: text.replace('"text":', '"detail":"x","text":'),
    "another order": lambda text: json.dumps(json.loads(text), sort_keys=True),
    "another checksum": lambda text: text[:-3] + ("0" if text[-3] != "0" else "1") + text[-2:],
    "no checksum": lambda text: text[: text.index(',"sha256"')] + "}",
    "cut off": lambda text: text[:-40],
    "no JSON": lambda text: "x" + text,
    "another key": lambda text: text.replace('"key":"k"', '"key":"m"'),
}


@pytest.mark.parametrize("name", ALTERATIONS)
def test_an_altered_row_is_left_out_with_one_warning(tmp_path: Path, name: str) -> None:
    folder, warnings = tmp_path / "cache", list[str]()
    answer = ANSWER.model_copy(update={"text": "A whole answer"})
    with ResponseCache(folder) as cache:
        cache.put("k", answer)
    _rewritten(folder, ALTERATIONS[name])
    with ResponseCache(folder, warnings.append) as cache:
        assert [cache.get("k"), cache.get("k")] == [None, None]
        cache.put("k", answer)
        assert cache.get("k") == answer
    assert len(warnings) == 1
    assert str(folder) in warnings[0]
    assert "altered" in warnings[0]


def test_rows_of_an_older_and_of_a_newer_version_cost_no_warning(tmp_path: Path) -> None:
    folder, warnings = tmp_path / "cache", list[str]()
    with ResponseCache(folder) as cache:
        cache.put("k", ANSWER)
    _rewritten(folder, lambda text: text[: text.index(',"sha256"')] + "}")
    with sqlite3.connect(folder / "cache.db") as database:
        database.execute("PRAGMA user_version = 0")
    with ResponseCache(folder, warnings.append) as cache:
        assert cache.get("k") == ANSWER
    head = '{"key":"k","answer":{"outcome":"ok","text":"","news":1}'
    checksum = hashlib.sha256(head.encode()).hexdigest()
    _rewritten(folder, lambda text: f'{head},"sha256":"{checksum}"}}')
    with ResponseCache(folder, warnings.append) as cache:
        assert cache.get("k") is None
    assert warnings == []
