"""Results of a card without a licence stay where they are: every command that takes results out refuses."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from bench.boards.loading import all_suites
from bench.boards.privacy import public_tree
from bench.files import hidden_from_git
from bench.results import ResultsTree
from bench.suites import Card, read_entry
from tests.cli.conftest import Bench
from tests.synthetic import make_tree
from tests.tiny import ROOT, Tiny, bytes_below, edit

WAYS_OUT: dict[str, list[str]] = {
    "text": ["export", "synthetic"],
    "csv": ["export", "synthetic", "-o", "out/scores.csv"],
    "jsonl": ["export", "synthetic", "--table", "conversations", "-o", "out/talks.jsonl"],
    "parquet": ["export", "synthetic", "-o", "out/scores.parquet"],
    "hf-dataset": ["export", "synthetic", "--format", "hf-dataset", "--licence", "MIT", "-o", "out"],
    "inspect": ["export", "synthetic", "--format", "inspect", "-o", "out"],
    "every-eval-ever": ["export", "synthetic", "--format", "every-eval-ever", "-o", "out"],
    "store": ["export", "synthetic", "--format", "store", "-o", "out"],
    "sample": ["annotate", "sample", "synthetic", "-l", "en", "--study", "first"],
    "tasks": ["annotate", "export", "--study", "second", "-o", "out"],
    "push": ["annotate", "push", "--study", "second", "--url", "http://127.0.0.1:9"],
}
"""A command for every way out; studies are drawn by the fixture."""
NEEDS_MORE = {"inspect": "inspect_ai", "push": "a server"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a private suite, and a study drawn from them."""
    root = tmp_path_factory.mktemp("private") / "results"
    make_tree(root, players=2, characters=1, situations=2).tree.keep_private("synthetic")
    return root


@pytest.fixture
def words(made: Path, bench: Bench, tmp_path: Path) -> list[str]:
    """The options that name the results of ``made``, to which ``bench`` has added the study `second`."""
    shutil.copytree(made, tmp_path / "results")
    options = ["--results", str(tmp_path / "results"), "--prompts", str(ROOT / "prompts")]
    drawn = bench("annotate", "sample", "synthetic", "-l", "en", "--study", "second", "--private", *options)
    assert drawn.status == 0, drawn.err
    return options


def test_every_way_out_refuses_and_writes_nothing(bench: Bench, words: list[str], tmp_path: Path) -> None:
    before = bytes_below(tmp_path)
    for name, command in WAYS_OUT.items():
        ended = bench(*command, *words)
        assert "a card without a licence" in ended.fault, name
        assert ended.out == "", name
    assert bytes_below(tmp_path) == before


def test_who_asks_for_private_results_gets_them(bench: Bench, words: list[str]) -> None:
    for name in WAYS_OUT.keys() - NEEDS_MORE:
        ended = bench(*WAYS_OUT[name], "--private", *words)
        assert ended.status == 0, (name, ended.err)
    study = Path(words[1]) / "human" / "first"
    assert hidden_from_git(study)


def test_a_store_of_everything_leaves_private_suites_out(bench: Bench, words: list[str]) -> None:
    ended = bench("export", "--format", "store", "-o", "out", *words)
    assert (ended.status, ended.out.startswith("0 conversations, 0 scores")) == (0, True), ended.err
    assert "Left out, because they play private cards: synthetic." in ended.err


def test_a_card_that_has_become_private_is_enough(
    bench: Bench, done: Tiny, git_identity: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bench("export", "tiny", *done.options()).status == 0
    edit(done.card_file, 'style = "prose"', 'style = "prose"\nprivate = true')
    assert not done.tree.marked_private("tiny")
    assert "a card without a licence" in bench("export", "tiny", *done.options()).fault
    public = public_tree(done.tree.root, all_suites(done.prompts))  # what a site is built from
    assert (public.suites(), list(public.boards())) == ([], [])
    monkeypatch.chdir(done.root)
    os.system("git init -q . && git add models.toml && git commit -qm start")
    assert "plays a private card" in bench("commit-results", "--dry-run", *done.options()).out


def test_cards_in_a_private_folder_are_private_unless_they_have_a_licence(done: Tiny) -> None:
    folder = done.root / "private"
    shutil.copytree(done.prompts / "characters", folder / "characters")
    path = folder / "characters" / "en" / done.card_file.name
    assert read_entry(Card, path, folder).private
    edit(path, 'style = "prose"', 'style = "prose"\nlicence = "CC0-1.0"')
    assert not read_entry(Card, path, folder).private
    assert not read_entry(Card, done.card_file, done.prompts).private


def test_a_hidden_suite_cannot_be_read(made: Path) -> None:
    tree = public_tree(made, {})
    assert ResultsTree(made).players("synthetic", "en")
    with pytest.raises(Exception, match="without a licence"):
        tree.players("synthetic", "en")
