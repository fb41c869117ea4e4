"""Files are written whole or not at all, and what killed processes left is cleared away."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench import files
from bench.errors import StorageError
from bench.files import remove_leftovers, write_atomically


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def fail_with(number: int) -> OSError:
    return OSError(number, os.strerror(number))


@pytest.fixture
def dead_pid() -> int:
    """The id of a process that has ended."""
    child = subprocess.Popen([sys.executable, "-S", "-c", ""])
    child.wait()
    return child.pid


def leftover(folder: Path, pid: int | str, host: str = files._HOST) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f".tmp-{host}-{pid}-0"
    path.write_bytes(b"half")
    return path


def test_folders_are_made_and_nothing_but_the_file_is_left(tmp_path: Path) -> None:
    assert write_atomically(tmp_path / "a" / "b" / "c.json", b"x")
    assert names(tmp_path) == ["c.json"]
    assert (tmp_path / "a" / "b" / "c.json").read_bytes() == b"x"


def test_equal_bytes_are_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write_atomically(path, b"x")
    before = path.stat()
    assert not write_atomically(path, b"x")
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_link_to_an_endless_file_is_replaced_unread(tmp_path: Path) -> None:
    (tmp_path / "x").symlink_to("/dev/zero")
    assert write_atomically(tmp_path / "x", b"new")
    assert not (tmp_path / "x").is_symlink()
    assert (tmp_path / "x").read_bytes() == b"new"


def test_other_bytes_replace_the_file(tmp_path: Path) -> None:
    write_atomically(tmp_path / "x", b"old")
    assert write_atomically(tmp_path / "x", b"new")
    assert (tmp_path / "x").read_bytes() == b"new"
    assert names(tmp_path) == ["x"]


def test_without_replace_a_file_that_is_there_stays(tmp_path: Path) -> None:
    write_atomically(tmp_path / "x", b"old")
    assert not write_atomically(tmp_path / "x", b"new", replace=False)
    assert (tmp_path / "x").read_bytes() == b"old"


def test_without_replace_a_faster_process_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    sync = os.fsync

    def slow(number: int) -> None:
        path.write_bytes(b"theirs")
        sync(number)

    monkeypatch.setattr(os, "fsync", slow)
    assert not write_atomically(path, b"ours", replace=False)
    assert path.read_bytes() == b"theirs"
    assert names(tmp_path) == ["x"]


def test_without_hard_links_the_file_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise fail_with(errno.EPERM)

    monkeypatch.setattr(os, "link", refuse)
    assert write_atomically(tmp_path / "x", b"ours", replace=False)
    assert (tmp_path / "x").read_bytes() == b"ours"
    assert names(tmp_path) == ["x"]


@pytest.mark.parametrize("old", [None, b"old"])
def test_a_full_disk_leaves_what_was_there_and_no_half_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: bytes | None
) -> None:
    path = tmp_path / "x"
    if old is not None:
        path.write_bytes(old)

    def full(number: int) -> None:
        raise fail_with(errno.ENOSPC)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="No space left on device"):
        write_atomically(path, b"new")
    assert names(tmp_path) == ([] if old is None else ["x"])
    assert old is None or path.read_bytes() == old


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_disk_that_is_full_for_real_is_a_storage_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x"
    real = Path.open

    def to_full(self: Path, mode: str = "r") -> object:
        return real(Path("/dev/full"), "wb")

    monkeypatch.setattr(Path, "open", to_full)
    with pytest.raises(StorageError, match="No space left"):
        write_atomically(path, b"new")
    assert not path.exists()


def test_a_folder_that_takes_no_files_is_a_storage_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, *args: object, **kwargs: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(StorageError, match="Permission denied") as caught:
        write_atomically(tmp_path / "x", b"new")
    assert caught.value.where == str(tmp_path / "x")
    assert caught.value.hint
    assert names(tmp_path) == []


def test_a_path_below_a_file_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match=r"file.x.json.*(Not a directory|File exists)"):
        write_atomically(tmp_path / "file" / "x.json", b"new")
    assert names(tmp_path) == ["file"]


def test_a_folder_in_the_place_of_the_file_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises(StorageError):
        write_atomically(tmp_path / "x", b"new")
    assert names(tmp_path) == []


def test_an_interrupted_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(number: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "x", b"new")
    assert names(tmp_path) == []


def test_leftovers_of_dead_processes_are_removed(tmp_path: Path, dead_pid: int) -> None:
    leftover(tmp_path / "deep" / "er", dead_pid)
    leftover(tmp_path, dead_pid)
    assert remove_leftovers(tmp_path) == 2
    assert names(tmp_path) == []


@pytest.mark.parametrize("pid", [1, os.getpid()], ids=["init", "own"])
def test_leftovers_of_live_processes_are_kept(tmp_path: Path, pid: int) -> None:
    path = leftover(tmp_path, pid)
    assert remove_leftovers(tmp_path) == 0
    assert path.exists()


def test_leftovers_of_another_machine_are_kept(tmp_path: Path, dead_pid: int) -> None:
    path = leftover(tmp_path, dead_pid, host="elsewhere")
    assert remove_leftovers(tmp_path) == 0
    assert path.exists()


def test_other_files_are_never_leftovers(tmp_path: Path) -> None:
    for name in (".tmp-", ".tmp-notes", "x.tmp-1-2", ".tmp-a-b-c", "x.json"):
        (tmp_path / name).write_bytes(b"")
    assert remove_leftovers(tmp_path) == 0
    assert len(names(tmp_path)) == 5


def test_a_process_number_that_no_system_has_is_dead(tmp_path: Path) -> None:
    leftover(tmp_path, "9" * 30)
    assert remove_leftovers(tmp_path) == 1


def test_a_folder_named_like_a_leftover_is_left_alone(tmp_path: Path, dead_pid: int) -> None:
    (tmp_path / f".tmp-{files._HOST}-{dead_pid}-0").mkdir()
    assert remove_leftovers(tmp_path) == 0


def test_there_are_no_leftovers_where_there_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert remove_leftovers(tmp_path / "nowhere") == 0
    assert remove_leftovers(tmp_path / "file") == 0
    assert remove_leftovers(tmp_path / "file" / "below") == 0


def test_temporary_names_are_ones_that_leftovers_are_known_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    sync = os.fsync

    def look(number: int) -> None:
        seen.extend(names(tmp_path))
        sync(number)

    monkeypatch.setattr(os, "fsync", look)
    write_atomically(tmp_path / "x", b"new")
    (name,) = seen
    match = files._TEMPORARY.fullmatch(name)
    assert match
    assert match["pid"] == str(os.getpid())
