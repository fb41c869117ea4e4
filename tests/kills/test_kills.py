"""Runs that are killed, interrupted, terminated or run out of disk, or whose terminal goes.

KILLS=100 does a hundred of them (`make kills`), KILLS_SEED=N others than those of the suite.
"""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.kills.kill_harness import (
    AT_ONCE,
    WAYS,
    assert_no_half_file,
    assert_stopped_cleanly,
    assert_whole,
    command,
    ended,
    victim,
)
from tests.tiny import CALLS, bytes_below

pytestmark = [
    pytest.mark.block_network(allowed_hosts=["127\\.0\\.0\\.1"]),
    pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX"),
]

KILLS = int(os.environ.get("KILLS", "6"))
SEED = int(os.environ.get("KILLS_SEED", "1"))
ALL = sum(CALLS.values())
KILLS_A_RUN = 2
"""How often one run is stopped before it is let through."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The results of a run that nobody stops. The server's port is in none of them."""
    with victim(tmp_path_factory.mktemp("undisturbed") / "tiny") as one:
        one.resumed()
        assert len(one.log.bodies) == len(set(one.log.bodies)) == ALL
        return bytes_below(one.tiny.tree.root)


@pytest.mark.parametrize("number", range(-(-KILLS // KILLS_A_RUN)))
def test_a_run_that_was_stopped_comes_to_the_same_in_the_end(
    number: int, tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    die = random.Random(f"{SEED} {number}")
    with victim(tmp_path / "tiny") as one:
        for stop in range(KILLS_A_RUN):
            way = WAYS[(number * KILLS_A_RUN + stop) % len(WAYS)]
            held, before = one.cached(), len(one.log.bodies)
            assert_stopped_cleanly(way, one.stopped(way, die))
            if way != "full disk":  # where not even the cache can be opened
                assert len(one.log.bodies) - before <= ALL - held, "what the cache holds was asked for again"
            assert_no_half_file(one.tiny, undisturbed)
        one.resumed()
        assert_whole(one.tiny, undisturbed)
        one.assert_paid_once()


def test_two_runs_at_once_share_their_work(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    with victim(tmp_path / "tiny") as one:
        ends = [ended(process) for process in [command(one.tiny), command(one.tiny)]]
        assert [end.status for end in ends] == [0, 0], [end.err for end in ends]
        assert not any("bench: " in end.err or "Traceback" in end.err for end in ends)
        assert_whole(one.tiny, undisturbed)
        assert len(one.log.bodies) == ALL


def test_a_run_that_waits_for_a_killed_one_takes_over(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    with victim(tmp_path / "tiny") as one:
        first, second = command(one.tiny), command(one.tiny)
        while len(one.log.bodies) < 6:
            time.sleep(0.002)
        first.kill()
        ended(first)
        end = ended(second)
        assert end.status == 0, end.err
        one.resumed()  # clears away what the killed one may have left
        assert_whole(one.tiny, undisturbed)
        assert len(one.log.bodies) <= ALL + AT_ONCE


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Callable[[str], None]]:
    """A file system of 96 kB at ``folder``; call it to give it another size."""
    folder.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=96k", "none", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")

    def resize(size: str) -> None:
        subprocess.run(["mount", "-o", f"remount,size={size}", str(folder)], check=True, capture_output=True)

    try:
        yield resize
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_ends_a_run_with_one_line_and_the_next_goes_on(
    tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    with victim(tmp_path / "tiny") as one, small_disk(one.tiny.root / "disk") as resize:
        places = [f"--{name}={one.tiny.root / 'disk' / name}" for name in ("cache", "results")]
        end = ended(command(one.tiny, *places))
        assert end.status == 1
        assert_stopped_cleanly("full disk", end)
        assert "No space left on device" in end.err
        resize("10m")
        one.resumed(one.tiny.root / "disk")
        assert bytes_below(one.tiny.root / "disk" / "results") == undisturbed
