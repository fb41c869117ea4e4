"""Files from others: only regular files of a bounded size inside their own folder are read."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.audit import audit_tree
from bench.boards.committed import committed
from bench.boards.compare_rounds import FOLDER as ROUNDS
from bench.boards.compare_rounds import Rounds
from bench.boards.git import git
from bench.boards.loading import all_suites, load_board, write_board
from bench.catalog import load_catalog
from bench.chat.batch_states import BatchStates
from bench.errors import StorageError, UserError
from bench.files import MOST_BYTES, check_inside, read_bytes
from bench.protocols import protocol_for
from bench.records import PlayerInfo
from bench.results import ResultsTree
from bench.results.studies import load_study
from bench.run.plan import make_plan
from bench.run.runner import run_plan
from bench.scores.external import FOLDER, load_aliases, load_published
from bench.suites import load_suite
from tests.annotate.studies import make_study
from tests.other_benches import make_likeness
from tests.tiny import ROOT, FakeChat, Tiny, edit, make_tiny

SECRET = "the-content-of-a-private-file"
Spoil = Callable[[Path, Path], None]


def _link(path: Path, elsewhere: Path) -> None:
    path.symlink_to(elsewhere / "private.txt")


def _link_to_a_copy(path: Path, elsewhere: Path) -> None:
    path.symlink_to(elsewhere / "copy")


def _zeros(path: Path, elsewhere: Path) -> None:
    path.symlink_to("/dev/zero")


def _pipe(path: Path, elsewhere: Path) -> None:
    os.mkfifo(path)


def _huge(path: Path, elsewhere: Path) -> None:
    path.touch()
    os.truncate(path, 50 * MOST_BYTES)


def _loop(path: Path, elsewhere: Path) -> None:
    path.symlink_to(path.name)


def _folder(path: Path, elsewhere: Path) -> None:
    path.mkdir()


PLAYER = PlayerInfo(
    player="bard", provider="p", model="m", name="B", family="f", weights="open", licence="l", sampling={}
)
SPOILS = [_link, _link_to_a_copy, _zeros, _pipe, _huge, _loop, _folder]


def spoil(path: Path, way: Spoil) -> None:
    """Put something else in the place of a file."""
    elsewhere = Path(os.environ["ELSEWHERE"])
    elsewhere.mkdir(exist_ok=True)
    (elsewhere / "private.txt").write_text(SECRET, encoding="utf-8")
    shutil.copy(path, elsewhere / "copy")
    path.unlink()
    way(path, elsewhere)


@pytest.fixture(autouse=True)
def _outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELSEWHERE", str(tmp_path / "elsewhere"))


@pytest.fixture
def tiny(played: Path, tmp_path: Path) -> Tiny:
    """The bench in miniature with the results of one player."""
    shutil.copytree(played, tmp_path / "tiny")
    return Tiny(tmp_path / "tiny")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make_tiny(tmp_path_factory.mktemp("played") / "tiny")
    plan = make_plan(made.protocol(), made.tree, ["bard"], ["strict"])
    asyncio.run(run_plan(made.protocol(), plan, made.tree, FakeChat().ask))
    write_board(made.tree, load_board(made.tree, "tiny", "en", prompts=made.prompts).board)
    return made.root


def fails(work: Callable[[], object]) -> None:
    """``work`` ends at once in an error that names the file and shows nothing of it."""
    started = time.process_time()
    with pytest.raises(UserError) as caught:
        work()
    assert time.process_time() - started < 2
    assert SECRET not in str(caught.value)
    assert caught.value.where


@pytest.mark.parametrize("way", SPOILS)
@pytest.mark.parametrize("name", ["template", "card", "situation", "suite"])
def test_no_such_file_of_prompts_is_read(tiny: Tiny, name: str, way: Spoil) -> None:
    template = tiny.suite_file.with_name("player.jinja")
    if not template.exists():
        template = tiny.suite_file.with_name("player.en.jinja")
    files = {"template": template, "card": tiny.card_file, "situation": tiny.situation_file}
    spoil(files.get(name, tiny.suite_file), way)
    fails(lambda: protocol_for(load_suite(tiny.prompts, "tiny"), "en", tiny.catalog()))


@pytest.mark.parametrize("way", SPOILS)
@pytest.mark.parametrize("name", ["conversation", "judgement", "player"])
def test_no_such_record_is_read(tiny: Tiny, name: str, way: Spoil) -> None:
    cell = tiny.cell()
    files = {
        "conversation": tiny.tree.conversation_path(cell),
        "judgement": tiny.tree.judgement_path(cell, "strict"),
        "player": tiny.tree.player_folder("tiny", "en", "bard") / "player.json",
    }
    spoil(files[name], way)
    if name != "player" or way is not _loop:  # a player.json that does not exist makes no player
        fails(lambda: load_board(tiny.tree, "tiny", "en", prompts=tiny.prompts))
    report = audit_tree(tiny.tree, all_suites(tiny.prompts), tiny.catalog())
    assert not report.ok
    assert SECRET not in report.model_dump_json()


@pytest.mark.parametrize("way", SPOILS)
def test_no_such_board_json_is_read_by_the_audit(tiny: Tiny, way: Spoil) -> None:
    spoil(tiny.tree.board_folder("tiny", "en") / "board.json", way)
    report = audit_tree(tiny.tree, all_suites(tiny.prompts), tiny.catalog())
    assert report.counts["error"] + report.counts["warning"] > 0
    assert SECRET not in report.model_dump_json()


@pytest.mark.parametrize("way", SPOILS)
@pytest.mark.parametrize("name", ["study.json", "published", "aliases"])
def test_no_such_study_or_published_list_is_read(tmp_path: Path, name: str, way: Spoil) -> None:
    results = tmp_path / "results"
    lists = results / FOLDER
    if name == "study.json":
        make_study(results)
        path = results / "human" / "first" / name
    else:
        shutil.copytree(ROOT / "results" / FOLDER, lists)
        path = lists / ("aliases.toml" if name == "aliases" else "rpbench_auto.csv")

    def read() -> object:
        if name == "study.json":
            return load_study(results, "first")
        return load_aliases(lists), load_published(lists, "rpbench_auto")

    spoil(path, way)
    if name == "aliases" and way is _loop:
        return  # no table of aliases
    fails(read)


@pytest.mark.parametrize("items", ["../../private.jsonl", "/private.jsonl", "link.jsonl", "up/private.jsonl"])
def test_items_outside_the_prompts_are_not_read(tmp_path: Path, items: str) -> None:
    made = make_likeness(tmp_path / "made")
    [suite_file] = (path for path in made.prompts.glob("*/*.toml") if "items" in path.read_text())
    [line] = (line for line in suite_file.read_text().splitlines() if line.startswith("items"))
    [data] = suite_file.parent.glob("*.jsonl")
    private = data.rename(made.prompts.parent / "private.jsonl")
    (suite_file.parent / "link.jsonl").symlink_to(private)
    (suite_file.parent / "up").symlink_to(private.parent)
    named = items.replace("/private", str(private.with_suffix("")), 1) if items[0] == "/" else items
    edit(suite_file, line, f'items = "{named}"')
    fails(lambda: load_suite(made.prompts, suite_file.stem))


@pytest.mark.parametrize("part", ["tiny", "tiny/en", "tiny/en/bard", "tiny/en/bard/conversations"])
def test_a_linked_folder_of_results_is_neither_read_nor_written(
    tiny: Tiny, tmp_path: Path, part: str
) -> None:
    folder = tiny.tree.root / part
    moved = folder.rename(tmp_path / "moved")
    folder.symlink_to(moved)
    fails(lambda: load_board(tiny.tree, "tiny", "en", prompts=tiny.prompts))
    before = sorted(moved.rglob("*"))
    if not part.endswith("conversations"):
        with pytest.raises(StorageError):
            tiny.tree.write_player("tiny", "en", PLAYER.model_copy(update={"player": "bard"}))
    assert sorted(moved.rglob("*")) == before


@pytest.mark.parametrize("part", ["pingpong_v2", "characters", "situations/en"])
def test_a_linked_folder_of_prompts_is_not_read(tiny: Tiny, tmp_path: Path, part: str) -> None:
    folder = tiny.prompts / part
    folder.symlink_to(folder.rename(tmp_path / "moved"))
    fails(lambda: protocol_for(load_suite(tiny.prompts, "tiny"), "en", tiny.catalog()))


def test_links_inside_a_folder_and_to_it_are_followed(tiny: Tiny, tmp_path: Path) -> None:
    same = tiny.card_file.rename(tiny.card_file.with_name("anna.text"))
    tiny.card_file.symlink_to(same)
    (tmp_path / "alias").symlink_to(tiny.root)
    made = Tiny(tmp_path / "alias")
    assert len(load_suite(made.prompts, "tiny").language("en").cards) == 2
    assert load_board(made.tree, "tiny", "en", prompts=made.prompts).board.rows


def test_a_folder_that_becomes_a_link_is_noticed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    inside = root / "inside"
    inside.mkdir(parents=True)
    (inside / "a").write_text("ours")
    assert read_bytes(inside / "a", root) == b"ours"
    shutil.rmtree(inside)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a").write_text(SECRET)
    inside.symlink_to(tmp_path / "outside")
    with pytest.raises(OSError, match="leads out"):
        read_bytes(inside / "a", root)
    with pytest.raises(OSError, match="leads out"):
        check_inside(inside, root)


def test_relative_paths_are_relative_to_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "root").mkdir(parents=True)
        (tmp_path / name / "root" / "a").write_text(name)
        monkeypatch.chdir(tmp_path / name)
        assert read_bytes(Path("root/a"), Path("root")) == name.encode()
        assert read_bytes(Path("root/a"), Path()) == name.encode()


def test_links_of_a_commit_are_not_extracted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "repository" / "results" / "tiny" / "en" / "bard"
    folder.mkdir(parents=True)
    (folder / "player.json").write_text("{}")
    (folder / "link.json").symlink_to("/etc/hostname")
    monkeypatch.chdir(tmp_path / "repository")
    git("init", "-q")
    git("add", "-A")
    git("-c", "user.name=a", "-c", "user.email=b", "commit", "-qm", "results")
    out = tmp_path / "out"
    out.mkdir()
    committed(ResultsTree(Path("results"))).extract("tiny", "en", {"bard"}, out)
    assert [path.name for path in out.rglob("*.json")] == ["player.json"]


def test_a_pipe_among_the_notes_of_the_cache_is_not_waited_for(tmp_path: Path) -> None:
    states, rounds = BatchStates(tmp_path, "tiny"), Rounds(tmp_path, "tiny", "en")
    for folder in (states.folder, tmp_path / ROUNDS / "tiny" / "en"):
        folder.mkdir(parents=True)
        os.mkfifo(folder / "a.json")
    with pytest.raises(StorageError, match="unreadable batch state"):
        states.pending()
    assert list(rounds.missing(())) == []


@pytest.mark.parametrize("kind", ["models.toml"])
def test_what_the_user_names_may_be_a_link_but_no_device(tiny: Tiny, tmp_path: Path, kind: str) -> None:
    link = tmp_path / kind
    link.symlink_to(tiny.models)
    assert load_catalog(link).models
    link.unlink()
    link.symlink_to("/dev/zero")
    fails(lambda: load_catalog(link))
