"""The command line, called in this process or in its own, on a tiny bench."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench import cli
from tests.forked import Forked
from tests.scripted_server import ScriptedServer
from tests.tiny import CALLS, Tiny, make_tiny

READERS: dict[str, list[str]] = {
    "board": ["board", "SUITE", "-l", "LANGUAGE"],
    "cost": ["cost", "SUITE", "-l", "LANGUAGE"],
    "audit": ["audit", "SUITE"],
    "export": ["export", "SUITE", "-l", "LANGUAGE"],
    "analyse": ["analyse", "SUITE", "-l", "LANGUAGE"],
    "rank-map": ["rank-map", "SUITE", "-l", "LANGUAGE", "--against", "other"],
}
"""The commands that read what a run has left: suite and language to be put in."""
TALKS = 4
"""Conversations of one player of the tiny bench."""
ALL = sum(CALLS.values())
"""Calls of one player of the tiny bench and its judge."""
START_SECONDS = 120.0
"""The longest wait for a process to do something, on a busy machine."""


@dataclass(frozen=True)
class Ended:
    """The exit status and output of a command."""

    status: int
    out: str
    err: str

    @property
    def fault(self) -> str:
        """The one line on standard error, which names the mistake."""
        lines = self.err.splitlines()
        assert self.status not in (0, None)
        assert "Traceback" not in self.err + self.out
        assert len(lines) == 1, self.err
        assert lines[0].startswith("bench: ")
        return lines[0]


Bench = Callable[..., Ended]


def reader(command: str, suite: str = "tiny", language: str = "en") -> list[str]:
    return [{"SUITE": suite, "LANGUAGE": language}.get(word, word) for word in READERS[command]]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Bench:
    """Call ``bench`` with the given words in this process, in an empty folder and without keys."""
    for name in os.environ:
        if name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "200")
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def call(*words: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["bench", *words])
        capsys.readouterr()
        status = 0
        try:
            cli.main()
        except SystemExit as end:
            status = int(end.code or 0)
        return Ended(status, *capsys.readouterr())

    return call


def models_asked(server: ScriptedServer) -> Counter[str]:
    return Counter(seen.body["model"] for seen in server.seen)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A scripted server in a thread."""
    with ScriptedServer().in_thread() as running:
        yield running


@pytest.fixture
def tiny(tmp_path: Path, server: ScriptedServer) -> Tiny:
    """A tiny bench whose models are on ``server``."""
    return make_tiny(tmp_path / "tiny", server.url)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results folder of one run of a tiny bench, for tests to copy."""
    with ScriptedServer().in_thread() as server:
        tiny = make_tiny(tmp_path_factory.mktemp("finished"), server.url)
        cli.cli(["run", "tiny", *tiny.options()], standalone_mode=False)
    return tiny.tree.root


@pytest.fixture
def done(finished: Path, tiny: Tiny) -> Tiny:
    """``tiny`` after its run. Its own ``server`` has answered no call, and its response cache is empty."""
    shutil.copytree(finished, tiny.tree.root)
    return tiny


@pytest.fixture
def ran(bench: Bench, tiny: Tiny) -> Tiny:
    """``tiny`` after a run against its own ``server``, with the response cache filled."""
    assert bench("run", "tiny", *tiny.options()).status == 0
    return tiny


Start = Callable[..., Forked]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start ``bench`` with the given words in its own process, which ends with the test."""
    with ExitStack() as stack:

        def begin(*words: str) -> Forked:
            process = Forked(*words, cwd=tmp_path)
            stack.callback(process.kill)
            return process

        yield begin


def wait_for(process: Forked, sign: Callable[[], object]) -> None:
    """Return once ``sign`` is true, while the process runs."""
    deadline = time.monotonic() + START_SECONDS
    while not sign():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
