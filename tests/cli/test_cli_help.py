"""``bench --help``: grouped, never cut, quick, and true to what each command says of itself."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from bench.cli import COMMANDS, cli
from tests.cli.conftest import Bench
from tests.tiny import ROOT, Tiny

MOST_SUMMARY = 50
LETTERS = {"--language": "-l", "--player": "-p", "--judge": "-j", "--output": "-o"}
CONTEXT = click.Context(cli)
LISTS = {
    *("suites", "models", "check", "plan", "versus", "cost", "board", "rating", "analyse", "diff", "doctor"),
    *("topics", "query", "agreement", "annotate status", "audit", "commit-results", "rank-map"),
}
COMMON = {"--results", "--models", "--prompts", "--cache", "--max-cost", "--quiet", "--verbose"}
OTHER_FORMS = {"export", "annotate export", "annotate import"}


def every_command(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    """(name, command) of ``command`` and of all below it."""
    yield name, command
    if isinstance(command, click.Group):
        for below, part in command.commands.items():
            yield from every_command(f"{name} {below}", part)


@pytest.fixture(scope="module")
def commands() -> dict[str, click.Command]:
    listed: dict[str, click.Command] = {}
    for name in COMMANDS:
        command = cli.get_command(CONTEXT, name)
        assert command is not None
        listed.update(every_command(name, command))
    return listed


def test_the_listed_summaries_are_those_of_the_commands(commands: dict[str, click.Command]) -> None:
    own = {name: commands[name].get_short_help_str(1000) for name in COMMANDS}
    assert {name: listed.summary for name, listed in COMMANDS.items()} == own


def test_every_summary_is_short(commands: dict[str, click.Command]) -> None:
    summaries = {name: command.get_short_help_str(1000) for name, command in commands.items()}
    assert {name: text for name, text in summaries.items() if not 0 < len(text) < MOST_SUMMARY} == {}


def test_an_option_has_one_letter_everywhere(commands: dict[str, click.Command]) -> None:
    wrong = [
        f"{name} {option}"
        for name, command in commands.items()
        for parameter in command.params
        for option, letter in LETTERS.items()
        if (option in parameter.opts) != (letter in parameter.opts)
    ]
    assert wrong == []


def test_every_command_that_lists_something_lists_it_as_json(commands: dict[str, click.Command]) -> None:
    forms = {
        name: parameter.type.choices
        for name, command in commands.items()
        for parameter in command.params
        if isinstance(parameter.type, click.Choice) and "--format" in parameter.opts
    }
    assert {name for name in LISTS if "json" not in forms.get(name, ())} == set()
    # only those that write files for one program have other forms alone
    assert {name for name in forms if "json" not in forms[name]} <= OTHER_FORMS


def test_every_command_can_be_quiet_and_verbose(commands: dict[str, click.Command]) -> None:
    for name, command in commands.items():
        given = {option for parameter in command.params for option in parameter.opts}
        assert isinstance(command, click.Group) or {"-q", "--quiet", "-v", "--verbose"} <= given, name


def test_common_options_can_come_from_the_environment(commands: dict[str, click.Command]) -> None:
    for name, command in commands.items():
        for parameter in command.params:
            for option in COMMON.intersection(parameter.opts):
                variable = "DRAMATURG_" + option.removeprefix("--").upper().replace("-", "_")
                assert parameter.envvar == variable, (name, option)


@pytest.mark.parametrize(
    "words", [["--help"], ["annotate", "--help"], ["import", "--help"], ["site", "--help"]]
)
def test_no_summary_is_cut(bench: Bench, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ended = bench(*words)
    assert ended.status == 0
    assert "..." not in ended.out.partition("\n")[2]
    assert max(map(len, ended.out.splitlines())) <= 80


def test_commands_are_listed_once_in_their_sections(bench: Bench) -> None:
    lines = bench("--help").out.splitlines()
    heads = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert heads == ["Options:", "Run:", "Results:", "People:", "Site:", "Maintain:"]
    for name, listed in COMMANDS.items():
        (line,) = (line for line in lines if line.startswith(f"  {name} "))
        assert line.endswith(listed.summary)


def test_every_example_is_understood(commands: dict[str, click.Command]) -> None:
    for listed in COMMANDS.values():
        for example in listed.examples:
            words = example.split()[1:]
            name = " ".join(words[:2]) if " ".join(words[:2]) in commands else words[0]
            command = commands[name]
            known = {option for parameter in command.params for option in parameter.opts}
            options = {word for word in words if word.startswith("-")}
            assert options <= known, example


def test_the_help_imports_no_command() -> None:
    code = (
        "import sys, bench.cli\n"
        "bench.cli.cli(['--help'], standalone_mode=False)\n"
        "print(*[name for name in sys.modules if name.split('.')[0] in {'bench', 'pydantic', 'rich'}])"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(ran.stdout.splitlines()[-1].split()) == {
        "bench",
        "bench.cli",
        "bench.cli.common",
        "bench.errors",
        "bench.files",
    }


def test_quiet_and_verbose_may_stand_before_the_command(bench: Bench, tiny: Tiny) -> None:
    assert re.search(r"bench: \d+\.\d s$", bench("-v", "check", *tiny.options()).err.strip())
    assert bench("-q", "check", *tiny.options()).status == 0
