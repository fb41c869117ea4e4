"""README and guides: their commands, targets and links exist, and the notebook guide runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from bench.cli import cli
from tests.tiny import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]


def code_of(page: Path) -> list[str]:
    """Indented lines, fenced blocks without a language, and code in running text, without comments."""
    text = page.read_text(encoding="utf-8")
    indented = re.findall(r"(?m)^ {4,}(\S.*)$", text)
    fenced = [line for block in re.findall(r"(?ms)^```\n(.*?)^```", text) for line in block.splitlines()]
    prose = re.sub(r"(?ms)^```.*?^```", "", text)
    return [line.split("  #")[0] for line in [*indented, *fenced, *re.findall(r"`([^`\n]+)`", prose)]]


def command_of(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that ``words`` call, and the words after its name. Raises KeyError if it is unknown."""
    command: click.Command = cli
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(click.Context(command), words[0])
        if found is None:
            raise KeyError(words[0])
        command, words = found, words[1:]
    return command, words


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_commands_and_their_options_exist(page: Path) -> None:
    for line in code_of(page):
        match = re.match(r"(?:\.venv/bin/)?bench (.+)", line)
        if match is None or "…" in line:
            continue
        for call in re.split(r" && (?:\.venv/bin/)?bench ", match[1]):
            command, words = command_of(shlex.split(call.split("|")[0]))
            options = {
                name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)
            }
            options |= {"--help", "-h"}
            for word in words:
                assert not word.startswith("-") or word.split("=")[0] in options, line


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_make_targets_exist(page: Path) -> None:
    targets = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8")))
    for line in code_of(page):
        if match := re.match(r"make ([a-z-]+)", line):
            assert match[1] in targets, line


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_linked_files_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#\s]+)\)", text) + re.findall(r"(?:src|srcset)=\"([^\"]+)\"", text)
    for target in targets:
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_newest_changes_can_be_read_in_a_few_minutes() -> None:
    newest = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1]
    assert len(newest.split()) < 2000, "merge lines about the same thing, and drop those about internals"


def test_the_notebook_guide_runs_on_the_committed_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = re.findall(
        r"(?ms)^```python\n(.*?)^```", (ROOT / "docs" / "notebook.md").read_text(encoding="utf-8")
    )
    assert len(cells) == 3
    for name in ("results", "prompts"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    notebook: dict[str, Any] = {}
    for cell in cells:
        exec(cell, notebook)
    notebook["plt"].close("all")
    assert list(notebook["board"]["rank"]) == [1, 2]
    assert set(notebook["by_turn"]) == {"in_character", "entertaining", "fluency"}
    assert (tmp_path / "board.png").stat().st_size > 1000
