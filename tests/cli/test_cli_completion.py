"""Names on the command line: the shell completes them, and commas separate them, in every command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import BashComplete

from bench.cli import cli
from tests.tiny import Tiny, make_tiny

NAMES = {"SUITE", "[SUITE]", "MODEL", "P", "J"}
"""How help shows what is the name of a suite or model."""


def leaves(command: click.Command, ctx: click.Context) -> Iterator[click.Command]:
    if not isinstance(command, click.Group):
        yield command
        return
    for name in command.list_commands(ctx):
        below = command.get_command(ctx, name)
        assert below is not None
        yield from leaves(below, click.Context(below, parent=ctx, info_name=name))


def test_every_suite_and_model_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_tiny(tmp_path)
    monkeypatch.chdir(tmp_path)
    for command in leaves(cli, click.Context(cli)):
        ctx = click.Context(command)
        for param in command.params:
            if param.metavar in NAMES:
                assert param.shell_complete(ctx, ""), (command.name, param.name)


@pytest.mark.parametrize(
    ("words", "begun", "found"),
    [
        (["run"], "ti", ["tiny"]),
        (["run", "tiny", "-p"], "ba", ["bard"]),
        (["new", "suite", "mine", "-c"], "", ["anna", "bruno"]),
        (["new", "suite", "mine", "-l", "en", "-s"], "st", ["storm"]),
        (["new", "suite", "mine", "-l", "de", "-c"], "", []),
        (["export", "card"], "a", ["anna"]),
        (["rename", "tiny"], "b", ["bard"]),
    ],
)
def test_names_are_completed(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch, words: list[str], begun: str, found: list[str]
) -> None:
    monkeypatch.chdir(tiny.root)
    completions = BashComplete(cli, {}, "bench", "_BENCH_COMPLETE").get_completions(words, begun)
    assert [completion.value for completion in completions] == found


def test_commas_separate_names_in_every_command() -> None:
    letters = ("-j", "-l", "-p")
    for command in leaves(cli, click.Context(cli)):
        ctx = click.Context(command)
        for param in command.params:
            if param.multiple and {*letters} & {*param.opts}:
                assert param.process_value(ctx, ["a, b", "c"]) == ("a", "b", "c"), (command.name, param.name)
