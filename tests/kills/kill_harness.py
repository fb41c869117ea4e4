"""Runs that are stopped at random moments: the command as a process of its own, its server in this one.

The server remembers which request came over which connection. A client that sends a further request over a
connection has read the answer to the one before; so what may be asked for again after a kill is, on every
connection, the last request alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from bench.run.run_suite import run_suite
from tests.forked import Forked
from tests.scripted_server import Answer, ScriptedServer, Seen, plausible
from tests.tiny import Tiny, bytes_below, edit, make_tiny

Way = Literal["kill", "interrupt", "terminate", "full disk", "hang up"]
WAYS: tuple[Way, ...] = get_args(Way)
SIGNALS: dict[Way, signal.Signals] = {
    "kill": signal.SIGKILL,
    "interrupt": signal.SIGINT,
    "terminate": signal.SIGTERM,
    "hang up": signal.SIGHUP,
}
ANSWER_SECONDS = 0.03
AT_ONCE = 4
PATIENCE = 300.0
"""Seconds that a command may take on a machine that is busy with other things."""

WORDS_OF_A_STOP = (
    "bench: stopped; finished work is kept. Run the same command to continue.",
    "bench: stopped",
)


@dataclass
class Log:
    """What the server was asked, in all and last on each connection."""

    bodies: list[bytes] = field(default_factory=list)
    last: dict[asyncio.Task[None], bytes] = field(default_factory=dict)
    """By the server's task for a connection."""

    def __call__(self, seen: Seen) -> Answer:
        task = asyncio.current_task()
        assert task is not None
        self.last[task] = seen.raw
        self.bodies.append(seen.raw)
        return plausible(seen)


@dataclass(frozen=True)
class Ended:
    status: int
    out: str
    err: str


def command(tiny: Tiny, *more: str, largest_file: int | None = None) -> Forked:
    """`bench run tiny` as a process; no file of it can grow beyond ``largest_file`` bytes."""
    return Forked("run", "tiny", *tiny.options(), *more, cwd=tiny.root, largest_file=largest_file)


def ended(process: Forked) -> Ended:
    """How a command ended, which it does."""
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    assert process.returncode is not None
    return Ended(process.returncode, out, err)


@dataclass
class Victim:
    """A bench in miniature whose run is stopped, and what its server was asked."""

    tiny: Tiny
    log: Log
    in_flight: set[bytes] = field(default_factory=set)
    """What was on its way when a run was stopped: it may be asked for again."""
    most_in_flight: int = 0

    def stopped(self, way: Way, die: random.Random) -> Ended:
        """Start the run and stop it ``way`` after a random number of requests, and a little later."""
        before = len(self.log.bodies)
        first = 1 if way == "interrupt" else 0  # Python's own start cannot be interrupted quietly
        requests, later = die.randrange(first, 22), die.uniform(0, 0.04)
        if way == "full disk":
            end = ended(command(self.tiny, largest_file=die.randrange(1_000, 120_000)))
            self.in_flight |= set(self.log.bodies[before:])  # there is no disk to keep an answer on
            self.most_in_flight += len(self.log.bodies) - before
        else:
            process = command(self.tiny)
            self._wait(lambda: process.poll() is not None or len(self.log.bodies) >= before + requests)
            time.sleep(later)
            if process.poll() is None:
                process.send_signal(SIGNALS[way])
            end = ended(process)
            self.in_flight |= set(self.log.last.values())
            self.most_in_flight += AT_ONCE
        self.log.last.clear()
        return end

    def resumed(self, root: Path | None = None) -> None:
        """Let the run go on to its end, in this process. ``root``: where its results and cache are."""
        root = root or self.tiny.root
        run_suite(
            "tiny",
            results=root / "results",
            models=self.tiny.models,
            prompts=self.tiny.prompts,
            cache=root / "cache",
        )

    def cached(self) -> int:
        """How many answers the cache holds."""
        database = self.tiny.root / "cache" / "cache.db"
        if not database.exists():
            return 0
        with contextlib.closing(sqlite3.connect(database)) as connection:
            try:
                return int(connection.execute("SELECT count(*) FROM Cache").fetchone()[0])
            except sqlite3.Error:  # it was stopped before there was a table
                return 0

    def assert_paid_once(self) -> None:
        """Nothing was asked for again but what was in flight when a run was stopped."""
        again = [body for body, count in Counter(self.log.bodies).items() if count > 1]
        assert set(again) <= self.in_flight, "an answer that had arrived was paid for again"
        assert len(again) <= self.most_in_flight

    def _wait(self, sign: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not sign():
            assert time.monotonic() < deadline, "the run does not get on"
            time.sleep(0.002)


@contextlib.contextmanager
def victim(folder: Path) -> Iterator[Victim]:
    """A bench in miniature and its server."""
    log = Log()
    with ScriptedServer(log, delay=ANSWER_SECONDS, record=False).in_thread() as server:
        tiny = make_tiny(folder, server.url)
        edit(tiny.models, "max_concurrent = 4", f"max_concurrent = {AT_ONCE}")
        yield Victim(tiny, log)


def assert_stopped_cleanly(way: Way, end: Ended) -> None:
    """However it was stopped: no traceback, and one line that says so where there is time for one."""
    assert "Traceback" not in end.err, end.err
    early = (-signal.SIGTERM, -signal.SIGHUP)  # it was there before its handlers were
    late = end.status == -signal.SIGINT and end.err  # it came, or came again, when the command was ending
    if way == "kill" or end.status == 0 or end.status in early or late:
        return
    line = end.err.splitlines()[-1]
    if way == "full disk":
        assert end.status == 1
        assert line.startswith("bench: "), end.err
        assert "cannot be written" in line, end.err
    else:
        assert end.status == 128 + SIGNALS[way]
        assert line in WORDS_OF_A_STOP, end.err


def assert_whole(tiny: Tiny, undisturbed: dict[str, bytes]) -> None:
    """The tree is that of a run that nobody disturbed, byte for byte, and nothing lies beside it."""
    assert bytes_below(tiny.tree.root) == undisturbed
    assert not [path for path in tiny.root.rglob("*") if path.name.startswith(".tmp-")]


def assert_no_half_file(tiny: Tiny, undisturbed: dict[str, bytes]) -> None:
    """What a stopped run left under its name is what the undisturbed run has there."""
    for name, data in bytes_below(tiny.tree.root).items():
        if not Path(name).name.startswith(".tmp-"):
            assert data == undisturbed[name], name
