"""`bench` in a process of its own, forked from one that has imported it: imports take a second or two.

Such a process is like any other: signals reach it, limits bind it, and it ends by itself.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import random
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
IMPORTED = ("bench.cli", "bench.cli.running", "bench.run.run_suite", "bench.chat.endpoint")
"""What a run imports."""
MOST = 1_000_000
"""Bytes of a request to the process that forks."""


class Forked:
    """A process that runs ``bench``, with the part of :class:`subprocess.Popen` that tests use."""

    def __init__(self, *words: str, cwd: Path, largest_file: int | None = None) -> None:
        """Run ``bench`` with ``words`` in ``cwd``; no file of it can grow beyond ``largest_file`` bytes."""
        self.returncode: int | None = None
        self._out = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._err = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._status, theirs = os.pipe()
        ignored = [n for n in (signal.SIGINT, signal.SIGHUP) if signal.getsignal(n) is signal.SIG_IGN]
        environ = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
        request = {
            "words": words,
            "cwd": str(cwd),
            "environ": environ,
            "ignored": ignored,
            "largest_file": largest_file,
        }
        server = _server()
        socket.send_fds(
            server, [json.dumps(request).encode()], [self._out.fileno(), self._err.fileno(), theirs]
        )
        os.close(theirs)
        self.pid = int(server.recv(MOST))

    def poll(self) -> int | None:
        """The exit status, as that of Popen; None while it runs."""
        if self.returncode is None and select.select([self._status], [], [], 0)[0]:
            self.returncode = int(os.read(self._status, MOST))
            os.close(self._status)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it, unless it has ended."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float = 60.0) -> tuple[str, str]:
        """Wait for its end, and return what it has written to standard output and error."""
        deadline = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("bench", timeout)
            select.select([self._status], [], [], 0.5)
        texts = []
        for file in (self._out, self._err):
            file.seek(0)
            texts.append(file.read())
            file.close()
        return texts[0], texts[1]


@lru_cache(maxsize=1)
def _server() -> socket.socket:
    """The connection to the process that forks. It ends with this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    subprocess.Popen(
        [sys.executable, "-m", "tests.forked", str(theirs.fileno())],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[theirs.fileno()],
    )
    theirs.close()
    return ours


def _forking(connection: socket.socket) -> dict[str, Any] | None:
    """Fork at every request. Returns the request in each fork, and None where the tests have ended."""
    for name in IMPORTED:
        importlib.import_module(name)
    gc.freeze()
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    running: dict[int, int] = {}
    waited: list[Any] = [connection, ended]
    while True:
        ready, _, _ = select.select(waited, [], [])
        if ended in ready:
            os.read(ended, MOST)
        for pid, place in list(running.items()):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                os.write(place, str(os.waitstatus_to_exitcode(status)).encode())
                os.close(running.pop(pid))
        if connection not in ready:
            continue
        data, fds, _, _ = socket.recv_fds(connection, MOST, 3)
        if not data:
            return None
        pid = os.fork()
        if not pid:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.dup2(fds[0], 1)
            os.dup2(fds[1], 2)
            for unused in (*fds, *running.values(), ended, wake):
                os.close(unused)
            connection.close()
            request: dict[str, Any] = json.loads(data)
            return request
        running[pid] = fds[2]
        os.close(fds[0])
        os.close(fds[1])
        connection.send(str(pid).encode())


def _run(request: dict[str, Any]) -> None:
    """Be the command that was asked for."""
    random.seed()
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environ"])
    for number in request["ignored"]:
        signal.signal(number, signal.SIG_IGN)
    if request["largest_file"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (request["largest_file"],) * 2)
    sys.argv = ["bench", *request["words"]]
    importlib.import_module("bench.cli").main()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    asked = _forking(socket.socket(fileno=int(sys.argv[1])))
    if asked is not None:
        _run(asked)
