"""commit-results: what is complete and valid is committed, the rest is named, and nothing is claimed."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bench import cli
from bench.audit import audit_tree
from bench.boards.life import remove_player
from bench.boards.loading import all_suites
from bench.chat.requests import ChatRequest, Reply
from bench.protocols import protocol_for
from bench.protocols.comparing import Comparer
from bench.records import Cell
from bench.results.comparison_records import Comparison
from bench.results.comparisons import comparisons_folder, write_comparison
from bench.run.plan import make_plan
from bench.run.runner import run_plan
from bench.suites import load_suite, suite_files
from tests.tiny import LANGUAGE, ROOT, TEMPLATES, FakeChat, Script, Tiny, make_tiny, name_templates, ok

Say = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make_tiny(tmp_path_factory.mktemp("played") / "tiny")
    git("init", "--quiet", "--template=", str(made.root))
    play(made, "bard")
    return made.root


@pytest.fixture
def tiny(played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git_identity: None) -> Tiny:
    """A repository whose results are those of one player, not committed yet."""
    shutil.copytree(played, tmp_path / "tiny")
    monkeypatch.chdir(tmp_path / "tiny")
    return Tiny(tmp_path / "tiny")


def git(*words: str) -> str:
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout


def play(tiny: Tiny, player: str, chat: FakeChat | None = None) -> None:
    plan = make_plan(tiny.protocol(), tiny.tree, [player], ["strict"])
    asyncio.run(run_plan(tiny.protocol(), plan, tiny.tree, (chat or FakeChat()).ask))


@pytest.fixture
def commit(tiny: Tiny, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Say:
    """Call `bench commit-results`; its status and what it said."""

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["bench", "commit-results", *words, *tiny.options()])
        capsys.readouterr()
        status = 0
        try:
            cli.main()
        except SystemExit as end:
            status = int(end.code or 0)
        return status, *capsys.readouterr()

    return call


def test_what_is_complete_is_committed_with_its_board(commit: Say) -> None:
    status, out, _ = commit()
    assert status == 0
    assert out.startswith("Committed:\nResults: tiny v1 en bard: ")
    files = git("show", "--name-only", "--format=", "HEAD").split()
    assert "results/tiny/en/board.json" in files
    assert len([name for name in files if "/conversations/" in name]) == 4
    assert {name.partition("/")[0] for name in files} == {"results", "prompts", "models.toml"}


def test_the_templates_that_a_suite_names_are_committed(commit: Say, tiny: Tiny) -> None:
    folder = name_templates(tiny, TEMPLATES)  # the same text, so nothing is out of date
    assert commit()[0] == 0
    files = git("show", "--name-only", "--format=", "HEAD").split()
    assert {name for name in files if name.endswith(".jinja")} == {
        f"prompts/pingpong_v2/{folder.name}/{path.name}" for path in TEMPLATES.glob("*.jinja")
    }
    for path in folder.parent.glob("*.jinja"):  # a clone has none of these
        path.unlink()
    assert list(suite_files(tiny.prompts)) == ["tiny"]


def test_situations_of_another_language_and_deleted_templates_are_committed(commit: Say, tiny: Tiny) -> None:
    shutil.rmtree(tiny.tree.root / "tiny" / "en")
    shutil.copytree(tiny.card_file.parent, tiny.card_file.parents[1] / "de")
    with tiny.suite_file.open("a", encoding="utf-8") as file:
        file.write(LANGUAGE.format(language="de", characters='["anna"]', situations='["hello"]'))
    own = tiny.suite_file.with_name("judge.de.jinja")
    shutil.copy(own.with_name("judge.jinja"), own)
    protocol = protocol_for(load_suite(tiny.prompts, "tiny"), "de", tiny.catalog())
    plan = make_plan(protocol, tiny.tree, ["bard"], ["strict"])
    asyncio.run(run_plan(protocol, plan, tiny.tree, FakeChat().ask))
    assert commit()[0] == 0
    named = git("ls-files", "--", "prompts").split()
    assert "prompts/situations/en/hello.toml" in named
    assert f"prompts/pingpong_v2/{own.name}" in named
    own.unlink()
    assert commit()[0] == 0
    assert f"prompts/pingpong_v2/{own.name}" not in git("ls-files", "--", "prompts").split()


def test_results_of_a_suite_that_git_ignores_are_left_out(commit: Say, tiny: Tiny) -> None:
    hidden = tiny.root / "private" / tiny.suite_file.relative_to(tiny.prompts)
    hidden.parent.mkdir(parents=True)
    tiny.suite_file.rename(hidden)
    _, out, _ = commit()
    assert f"git ignores {hidden}; move it into prompts/" in out
    assert "Nothing to commit" in out


def test_what_was_committed_can_be_audited_in_a_clone(commit: Say, tiny: Tiny, tmp_path: Path) -> None:
    play(tiny, "actor")
    tiny.tree.judgement_path(tiny.cell(player="actor"), "strict").unlink()
    imported = tiny.card_file.with_suffix(".card.json")
    imported.write_text("{}", encoding="utf-8")
    assert commit()[0] == 0
    assert _audited_in_a_clone(tmp_path / "first") == {"error": 0, "warning": 0}
    assert (tmp_path / "first" / imported.relative_to(tiny.root)).exists()  # an export there has every field
    play(tiny, "actor")
    assert commit()[0] == 0
    shutil.rmtree(tiny.tree.player_folder("tiny", "en", "bard"))
    _, out, _ = commit()
    assert "tiny/en/bard: deleted" in out
    assert not git("ls-files", "--", "results/tiny/en/bard")
    assert _audited_in_a_clone(tmp_path / "second") == {"error": 0, "warning": 0}


@pytest.mark.parametrize("also", ["nothing", "another player", "a deleted player"])
def test_a_committed_player_that_became_incomplete_stays_as_it_was_committed(
    commit: Say, tiny: Tiny, tmp_path: Path, also: str
) -> None:
    play(tiny, "actor")
    assert commit()[0] == 0
    tiny.tree.judgement_path(tiny.cell(player="actor"), "strict").unlink()
    if also == "another player":
        play(tiny, "lenient")
    elif also == "a deleted player":
        shutil.rmtree(tiny.tree.player_folder("tiny", "en", "bard"))
    head = git("rev-parse", "HEAD")
    status, out, _ = commit()
    assert status == 0
    assert "left out: tiny en actor: 1 judgement by strict missing" in out
    assert (git("rev-parse", "HEAD") == head) == (also == "nothing")
    assert len(git("ls-files", "--", "results/tiny/en/actor").splitlines()) == 9
    assert _audited_in_a_clone(tmp_path / "clone") == {"error": 0, "warning": 0}
    play(tiny, "actor")
    commit()
    assert _audited_in_a_clone(tmp_path / "again") == {"error": 0, "warning": 0}


@pytest.mark.parametrize("words", [("rm", "-r", "--quiet"), ("rm", "-r", "--quiet", "--cached")])
def test_the_last_player_takes_the_board_with_it(
    commit: Say, tiny: Tiny, tmp_path: Path, words: tuple[str, ...]
) -> None:
    assert commit()[0] == 0
    git(*words, "results/tiny/en/bard")
    shutil.rmtree(tiny.tree.player_folder("tiny", "en", "bard"), ignore_errors=True)
    _, out, _ = commit("--dry-run")
    assert "tiny/en/bard: deleted" in out
    assert (tiny.tree.root / "tiny" / "en" / "board.json").exists()
    assert commit()[1].partition("\n")[2] == out.partition("\n")[2]
    assert not git("ls-files", "--", "results")
    play(tiny, "bard")
    assert commit()[0] == 0
    assert _audited_in_a_clone(tmp_path / "clone") == {"error": 0, "warning": 0}


def test_a_board_that_was_left_without_players_is_deleted(commit: Say, tiny: Tiny) -> None:
    assert commit()[0] == 0
    shutil.rmtree(tiny.tree.player_folder("tiny", "en", "bard"))
    git("commit", "--quiet", "--message", "the player by hand", "--all")
    assert "tiny en: the board, deleted" in commit()[1]
    assert not git("ls-files", "--", "results")


def test_a_board_that_the_committed_players_cannot_give_is_left_out(commit: Say, tiny: Tiny) -> None:
    play(tiny, "actor")
    assert commit()[0] == 0
    head = git("rev-parse", "HEAD")
    suite = next(tiny.prompts.glob("*/tiny.toml"))
    text = suite.read_text(encoding="utf-8")
    suite.write_text(text.replace('version = "1"', 'version = "2"'), encoding="utf-8")
    shutil.rmtree(tiny.tree.player_folder("tiny", "en", "bard"))
    play(tiny, "bard")
    _, out, _ = commit()
    assert (
        "left out: tiny en: no board from what would be committed: holds records of several versions: 1, 2"
        in out
    )
    assert git("rev-parse", "HEAD") == head
    shutil.rmtree(tiny.tree.player_folder("tiny", "en", "actor"))
    assert "tiny/en/actor: deleted" in commit()[1]


def test_comparisons_are_committed_with_what_they_were_made_of(
    commit: Say, tiny: Tiny, tmp_path: Path
) -> None:
    clean = {"error": 0, "warning": 0}
    shutil.copytree(ROOT / "prompts" / "comparison", tiny.prompts / "comparison")
    play(tiny, "actor")
    compare(tiny, "bard")
    assert "tiny v1 en: comparisons" in commit()[1]
    files = git("ls-files").split()
    assert len([name for name in files if "/_comparisons/strict/" in name]) == 4
    assert "prompts/comparison/judge.jinja" in files
    assert _audited_in_a_clone(tmp_path / "first") == clean

    play(tiny, "lenient")
    compare(tiny, "lenient")
    tiny.tree.judgement_path(tiny.cell(player="lenient"), "strict").unlink()
    _, out, _ = commit()
    assert "is of a player that is left out, lenient" in out
    assert "Nothing to commit" in out
    shutil.rmtree(tiny.tree.player_folder("tiny", "en", "lenient"))
    for path in comparisons_folder(tiny.tree, "tiny", "en").rglob("*lenient*"):
        path.unlink()

    shutil.rmtree(tiny.tree.player_folder("tiny", "en", "bard"))
    play(tiny, "bard", FakeChat(Script({"player": ["Other words."] * 10})))
    _, out, _ = commit()
    assert "is of an older conversation of bard; `bench compare tiny --refresh-stale` repeats it" in out
    assert "Nothing to commit" in out
    compare(tiny, "bard")
    assert commit()[0] == 0
    assert _audited_in_a_clone(tmp_path / "second") == clean

    remove_player(tiny.tree, "tiny", "bard", "Retired.")
    assert commit()[0] == 0
    assert not [name for name in git("ls-files").split() if "_comparisons" in name]
    assert _audited_in_a_clone(tmp_path / "third") == clean


def compare(tiny: Tiny, player: str) -> None:
    """Have the judge compare ``player`` with the actor in all scenes."""
    comparer = Comparer(tiny.protocol())
    reply = {"refusal_explanation": "", "first_refuses": False, "second_refuses": False}
    for name in ("in_character", "entertaining", "fluency"):
        reply |= {f"{name}_explanation": "'x' and 'y'", f"{name}_margin": 1}

    async def ask(request: ChatRequest) -> Reply:
        return ok(json.dumps(reply))

    async def made(cell: Cell) -> Comparison:
        talks = [tiny.tree.conversation(cell.model_copy(update={"player": p})) for p in ("actor", player)]
        one, other = (talk for talk in talks if talk is not None)
        orders = [await comparer.order((one, other), first, "strict", ask) for first in range(2)]
        return comparer.comparison_of((one, other), "strict", (orders[0], orders[1]))

    for cell in tiny.protocol().cells(player):
        write_comparison(tiny.tree, asyncio.run(made(cell)), replace=True)


def _audited_in_a_clone(folder: Path) -> dict[str, int]:
    git("clone", "--quiet", ".", str(folder))
    clone = Tiny(folder)
    report = audit_tree(clone.tree, all_suites(clone.prompts), clone.catalog())
    return {name: count for name, count in report.counts.items() if name != "note"}


def test_a_dry_run_says_the_same_and_changes_nothing(commit: Say, tiny: Tiny) -> None:
    status, out, _ = commit("--dry-run")
    assert (status, out.partition("\n")[0]) == (0, "Would commit:")
    assert not (tiny.tree.root / "tiny" / "en" / "board.json").exists()
    assert git("status", "--porcelain", "--", "results").startswith("??")
    told = out.partition("\n")[2]
    assert commit()[1].partition("\n")[2] == told


@pytest.mark.parametrize("words", [(), ("--dry-run",)])
def test_where_nothing_has_changed_that_is_said_and_no_mistake(commit: Say, words: tuple[str, ...]) -> None:
    assert commit()[0] == 0
    head = git("rev-parse", "HEAD")
    status, out, err = commit(*words)
    assert (status, err) == (0, "")
    assert out == "Nothing to commit: what is complete has been committed before.\n"
    assert git("rev-parse", "HEAD") == head


@pytest.mark.parametrize("words", [(), ("--dry-run",)])
def test_only_players_that_have_changed_are_named(commit: Say, tiny: Tiny, words: tuple[str, ...]) -> None:
    assert commit()[0] == 0
    play(tiny, "actor")
    _, out, _ = commit(*words)
    assert "tiny v1 en actor: " in out
    assert "bard" not in out


@pytest.mark.parametrize("words", [(), ("--dry-run",)])
def test_a_board_that_alone_has_changed_is_committed(commit: Say, tiny: Tiny, words: tuple[str, ...]) -> None:
    assert commit()[0] == 0
    (tiny.tree.root / "tiny" / "en" / "board.json").write_bytes(b"{}\n")
    git("commit", "--quiet", "--message", "a board by hand", "--all")
    _, out, _ = commit(*words)
    assert "Results: tiny v1 en: the board" in out


@pytest.mark.parametrize("words", [(), ("--dry-run",)])
def test_what_git_ignores_is_named(commit: Say, tiny: Tiny, words: tuple[str, ...]) -> None:
    (tiny.root / ".gitignore").write_text("results/tiny/\n", encoding="utf-8")
    status, out, _ = commit(*words)
    assert status == 0
    assert out.splitlines() == [
        "left out: tiny en: git ignores it",
        "Nothing to commit: git ignores what is complete.",
    ]


def test_what_is_incomplete_is_named_and_left(commit: Say, tiny: Tiny) -> None:
    tiny.tree.judgement_path(tiny.cell(), "strict").unlink()
    status, out, _ = commit()
    assert status == 0
    assert "left out: tiny en bard: 1 judgement by strict missing" in out
    assert out.endswith("Nothing to commit: no player is complete and valid.\n")
    assert git("status", "--porcelain", "--", "results").startswith("??")


@pytest.mark.parametrize("words", [(), ("--dry-run",)])
def test_results_in_no_work_tree_are_a_mistake(
    commit: Say, tiny: Tiny, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    (tiny.root / ".git").rename(tiny.root / "not-git")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tiny.root.parent))
    status, _, err = commit(*words)
    assert status == 1
    assert "not a git repository" in err
    assert len(err.splitlines()) == 1
