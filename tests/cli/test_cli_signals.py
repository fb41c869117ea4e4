"""Signals end a run soon; what is finished is kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.cli.conftest import ALL, TALKS, Bench, Start, wait_for
from tests.scripted_server import Answer, ScriptedServer
from tests.tiny import Tiny, bytes_below, edit

STOP_SECONDS = 3.0
"""Within which a signal ends a run."""


def slowdown() -> float:
    """How many times slower than alone a process is on this machine, where others want its processors too."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_run_soon_with_what_is_finished_and_the_next_goes_on(
    bench: Bench, start: Start, tiny: Tiny, server: ScriptedServer, number: signal.Signals
) -> None:
    server.delay = 0.25
    edit(tiny.models, "max_concurrent = 4", "max_concurrent = 1")
    process = start("run", "tiny", *tiny.options())
    wait_for(process, lambda: list(tiny.tree.conversations("tiny", "en", "bard")))
    process.send_signal(number)
    sent = time.monotonic()
    _, err = process.communicate(timeout=60)
    assert time.monotonic() - sent < STOP_SECONDS * slowdown()
    assert process.returncode == 128 + number
    assert "Traceback" not in err
    assert err.splitlines()[-1].startswith("bench: stopped; finished work is kept.")
    assert not list(tiny.root.rglob(".tmp-*"))
    before = bytes_below(tiny.tree.root)
    kept = [name for name in before if "/conversations/" in name]
    assert 1 <= len(kept) < TALKS
    edit(tiny.models, "max_concurrent = 1", "max_concurrent = 4")
    ended = bench("run", "tiny", *tiny.options())
    assert f"{TALKS - len(kept)} conversations (0 failed)" in ended.out
    after = bytes_below(tiny.tree.root)
    assert {name: after[name] for name in before} == before
    assert len([name for name in after if "/judgements/" in name]) == TALKS


LOSING = """
import os, signal, time, weakref
import bench.cli

class Thing:
    pass

def command(**options):
    thing = Thing()
    held = weakref.ref(thing, lambda ref: os.kill(os.getpid(), signal.SIGINT))
    del thing
    time.sleep(30)

bench.cli.cli = command
bench.cli.main()
"""
"""Ctrl-C comes in the callback of a weak reference, such as the import system has."""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_is_not_lost_in_a_callback() -> None:
    ended = subprocess.run([sys.executable, "-c", LOSING], capture_output=True, text=True, timeout=20)
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGINT, "bench: stopped\n")


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_run_against_a_server_that_never_answers_ends_on_ctrl_c(
    tiny: Tiny, server: ScriptedServer, start: Start
) -> None:
    server.answer = lambda seen: Answer(way="stall")
    process = start("run", "tiny", *tiny.options())
    wait_for(process, lambda: server.count)
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    _, err = process.communicate(timeout=60)
    assert time.monotonic() - sent < STOP_SECONDS * slowdown()
    assert "Traceback" not in err
    assert bytes_below(tiny.tree.root) == {}


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_run_that_nohup_started_outlives_its_terminal(
    tiny: Tiny, server: ScriptedServer, start: Start
) -> None:
    server.delay = 0.05
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = start("run", "tiny", *tiny.options())
    finally:
        signal.signal(signal.SIGHUP, before)
    wait_for(process, lambda: server.count)
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=60)
    assert (process.returncode, server.count) == (0, ALL)
