"""Bad input: one line with the place and the hint, a status that is not 0, nothing half-written."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import READERS, Bench, reader
from tests.scripted_server import ScriptedServer
from tests.tiny import Tiny, bytes_below, edit, play_all

# --- names -----------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("option", ["--player", "--judge", "--language", "--interrogator"])
@pytest.mark.parametrize("blank", ["", " ", ","])
def test_a_blank_name_does_not_mean_all(bench: Bench, tiny: Tiny, option: str, blank: str) -> None:
    ended = bench("run", "tiny", option, blank, *tiny.options())
    assert ended.status == 2
    assert f"'{option}'" in ended.err
    assert "no name is given" in ended.err


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
    assert "Name one with --player." in fault


@pytest.mark.parametrize("command", ["judge", "board"])
def test_a_suite_that_was_never_run_says_what_to_run(bench: Bench, tiny: Tiny, command: str) -> None:
    assert "`bench run tiny`" in bench(command, "tiny", *tiny.options()).fault


def test_a_suite_without_results_in_a_language_says_so(bench: Bench, done: Tiny) -> None:
    for kind in ("characters", "situations"):
        shutil.copytree(done.prompts / kind / "en", done.prompts / kind / "ru")
    play_all(done, "en", "ru")
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
    ended = bench(*words, *tiny.options())
    assert f"{tiny.card_file}: key 'summary' is missing" in ended.err
    assert bool(ended.status) == (command != "suites")  # the list of suites shows the others


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
    fault = bench("run", "tiny", *tiny.options()).fault
    assert str(path.parent) in fault
    assert path.name in fault
    assert server.count == 0


@pytest.mark.parametrize("option", ["--results", "--models", "--prompts", "--output"])
@pytest.mark.parametrize("name", ["x" * 300, "x/" * 2500 + "x"])
def test_a_path_that_is_too_long_is_reported_as_such(
    bench: Bench, done: Tiny, option: str, name: str
) -> None:
    command = ["site", "build"] if option == "--output" else ["board", "tiny"]
    fault = bench(*command, *done.options(), option, name).fault
    assert "too long" in fault
    assert "cannot be written" not in fault


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('name = "Bard"', 'name = "@"'),
        ('model = "bard-1"', 'model = "@"'),
        ("[models.bard]", '[models.bard]\nextra_body = { auth = { token = "@" } }'),
    ],
)
def test_a_credential_in_a_models_entry_reaches_no_record(
    bench: Bench, tiny: Tiny, server: ScriptedServer, old: str, new: str
) -> None:
    secret = "sk-0123456789abcdefXYZ"
    edit(tiny.models, old, new.replace("@", secret))
    edit(tiny.models, "seed = true\n", f'seed = true\nheaders = {{ "x-api-key" = "{secret}" }}\n')
    ended = bench("run", "tiny", *tiny.options())
    assert ended.status == 1
    assert "[models.bard] holds a credential of provider scripted; nothing was sent to it" in ended.err
    assert secret not in ended.out + ended.err
    assert all(secret.encode() not in data for data in bytes_below(tiny.tree.root).values())
