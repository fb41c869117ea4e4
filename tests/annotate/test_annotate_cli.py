"""The commands of `bench annotate`, as their user meets them."""

from __future__ import annotations

import json
import sys
from itertools import repeat
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bench.annotate.server import LabelStudioServer, refused
from bench.cli import cli
from bench.errors import UserError
from bench.results.studies import read_study, write_study
from tests.annotate.studies import PROMPTS, annotation, make_study, short, task, written
from tests.synthetic import make_tree


def bench(root: Path, *arguments: str, env: dict[str, str] | None = None) -> Result:
    places = ["--results", str(root), "--prompts", str(PROMPTS)]
    return CliRunner().invoke(cli, ["annotate", *arguments, *places], env=env)


def ok(ended: Result) -> str:
    assert ended.exception is None, (ended.output, ended.exception)
    return ended.output


def fault(ended: Result) -> str:
    assert isinstance(ended.exception, UserError), ended.output
    return ended.exception.line()


def test_from_a_sample_to_a_summary(tmp_path: Path) -> None:
    root = tmp_path / "results"
    make_tree(root, players=4, characters=3, situations=3, judges=1)
    drawn = ok(
        bench(root, "sample", "synthetic", "-l", "en", "--study", "first", "--size", "12", "--seed", "3")
    )
    assert "players        4, with 3 conversations each" in drawn
    assert "12 of 36 conversations in" in drawn
    assert "no annotations yet" in ok(bench(root, "status", "--study", "first"))
    ok(bench(root, "export", "--study", "first", "-o", str(tmp_path / "out")))
    tasks = json.loads((tmp_path / "out" / "tasks.json").read_bytes())
    assert len(tasks) == 12
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"tasks.json", "interface.xml", "guideline.html"}
    items = [one["data"]["item"] for one in tasks]
    full = [
        task(items[0], [annotation(1), annotation(2, (None, 1, 1), number=2)]),
        task("gone", [annotation(1)]),
    ]
    rest = [short(items[1], 1, {"in_character": "2", "entertaining": "2", "fluency": "2"}, number=3)]
    ended = bench(
        root,
        *("import", str(written(tmp_path / "a.json", full)), str(written(tmp_path / "b.json", rest))),
        *("--study", "first"),
    )
    output = ok(ended)
    assert "3 annotations of 3 tasks or records: 3 new, 0 replaced, 0 unchanged; 0 duplicates, 1 problem" in (
        output
    )
    assert "not a task of study first" in output
    assert [line.split() for line in output.splitlines()[-3:]] == [
        ["annotator", "complete", "partial", "cancelled", "not", "seen"],
        ["annotator-1", "2", "0", "0", "10"],
        ["annotator-2", "0", "1", "0", "11"],
    ]
    assert output.splitlines()[-3:] == ok(bench(root, "status", "--study", "first")).splitlines()[-3:]


def test_fewer_conversations_than_asked_for_are_all_taken_and_that_is_said(tmp_path: Path) -> None:
    make_tree(tmp_path, players=1, languages=("ru",), characters=2, situations=2, judges=1)
    output = ok(bench(tmp_path, "sample", "synthetic", "-l", "ru", "--study", "s"))
    assert "only 4 complete conversations for 265" in output
    study = read_study(tmp_path, "s")
    assert (len(study.items), study.asked, study.guideline) == (4, 265, "ru-2")


def test_a_study_is_drawn_again_alike_and_never_over_another(tmp_path: Path) -> None:
    make_tree(tmp_path, players=2, characters=2, situations=2, judges=1)
    draw = ("sample", "synthetic", "-l", "en", "--study", "s", "--size", "4")
    ok(bench(tmp_path, *draw))
    path = tmp_path / "human" / "s" / "study.json"
    before = path.read_bytes()
    assert "already in" in ok(bench(tmp_path, *draw))
    assert "another study 's'" in fault(bench(tmp_path, *draw, "--seed", "2"))
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("sample", "synthetic", "-l", "en", "--study", "A B"), "cannot name a study"),
        (("sample", "sinthetic", "-l", "en", "--study", "s"), "Did you mean 'synthetic'?"),
        (("sample", "synthetic", "-l", "de", "--study", "s"), "unknown language 'de'"),
        (
            ("sample", "synthetic", "-l", "en", "--study", "s", "--guideline", "fr"),
            "no guideline in language 'fr'",
        ),
        (("sample", "synthetic", "-l", "en", "--study", "s", "--player", "x"), "no conversations of x"),
        (
            ("status", "--study", "none"),
            "no study 'none'. Studies: first",
        ),
        (("export", "--study", "../first", "-o", "out"), "cannot name a study"),
        (("push", "--study", "first", "--url", "http://127.0.0.1:1"), "LABEL_STUDIO_API_KEY is not set"),
    ],
)
def test_a_mistake_is_said_with_its_mend(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    make_study(tmp_path)
    assert says in fault(bench(tmp_path, *arguments, env={"LABEL_STUDIO_API_KEY": ""}))


def test_records_of_ping_pong_bench_make_a_study(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "Ahoy"}, {"role": "assistant", "content": "Ahoy"}]
    scores = {"in_character": 4, "entertaining": 3, "fluency": 5}
    path = tmp_path / "9e75c7.jsonl"
    path.write_text(
        json.dumps({"messages": messages, "player": {"model_name": "m"}, "human_scores": scores}) + "\n",
        encoding="utf-8",
    )
    take = ("import", "--format", "ping-pong-bench", "--study", "public", str(path))
    missing = bench(tmp_path, *take)
    assert missing.exit_code == 2
    output = ok(bench(tmp_path, *take, "-l", "en"))
    assert "taken as the scores of one annotator" in output
    assert "0 of 1 conversations are in ping-pong-bench" in output
    assert output.splitlines()[-1].split() == ["annotator-1", "1", "0", "0", "0"]
    assert "0 new, 0 replaced, 1 unchanged" in ok(bench(tmp_path, *take))
    assert "imported from ping_pong_bench" in ok(bench(tmp_path, "status", "--study", "public"))


def test_files_with_nothing_of_the_study_change_nothing_and_fail(tmp_path: Path) -> None:
    make_study(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    ended = bench(tmp_path, "import", str(written(tmp_path.parent / "x.json", ["?"])), "--study", "first")
    assert ended.exit_code == 1
    assert "nothing changed" in ended.output
    assert sorted(tmp_path.rglob("*")) == before


def test_control_characters_of_a_file_do_not_reach_the_terminal(tmp_path: Path) -> None:
    make_study(tmp_path)
    data = [{**task("\x1b[2J", [annotation(1)])}]
    ended = bench(tmp_path, "import", str(written(tmp_path / "x.json", data)), "--study", "first")
    assert "\x1b" not in ended.output


def test_without_the_sdk_the_way_round_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "label_studio_sdk", None)
    with pytest.raises(UserError, match=r"make annotate.*bench annotate export"):
        LabelStudioServer("http://127.0.0.1:1", "token")


@pytest.fixture
def sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    class LabelStudio:
        def __init__(self, **_: Any) -> None: ...

    fake = ModuleType("label_studio_sdk")
    fake.LabelStudio = LabelStudio  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "label_studio_sdk", fake)


@pytest.mark.usefixtures("sdk")
@pytest.mark.parametrize("url", ["localhost:8080", "ftp://x", "http://", "http://[::1", "http://a:pw@host"])
def test_what_is_no_address_is_refused_without_a_word_of_a_password(url: str) -> None:
    with pytest.raises(UserError, match="not a server address") as caught:
        LabelStudioServer(url, "token")
    assert "pw" not in caught.value.line()


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (401, {"detail": "Invalid token."}, "rejects the token (status 401)"),
        (403, None, "rejects the token (status 403)"),
        (404, "", "no such project"),
        (
            400,
            {"detail": "Label config\x1b[0m is wrong"},
            "answers with status 400: Label config [0m is wrong",
        ),
        (500, "<html>", "answers with status 500"),
        (None, None, "answers with status None"),
    ],
)
def test_what_a_server_refuses_is_said(status: int | None, body: object, says: str) -> None:
    assert says in refused(status, body, "http://host").line()


@pytest.mark.parametrize(
    "projects",
    [None, [None], ["x"], [{}], [SimpleNamespace(id="x", title="t")], [SimpleNamespace(id=None, title="t")]],
    ids=str,
)
def test_a_server_that_is_no_label_studio_is_said_to_be_none(projects: Any) -> None:
    pytest.importorskip("label_studio_sdk")
    server = LabelStudioServer("http://localhost:8080", "token")
    server._client = SimpleNamespace(projects=SimpleNamespace(list=lambda: projects))
    with pytest.raises(UserError, match="unexpected response; is this Label Studio"):
        server.pull("t")


def test_a_server_that_lists_the_same_page_for_ever_is_read_once() -> None:
    pytest.importorskip("label_studio_sdk")
    server = LabelStudioServer("http://localhost:8080", "token")
    export = SimpleNamespace(as_json=lambda number, timeout: [number])
    page = repeat(SimpleNamespace(id=3, title="t"))
    server._client = SimpleNamespace(projects=SimpleNamespace(list=lambda: page, exports=export))
    assert server.pull("t") == [3]


@pytest.mark.usefixtures("sdk")
def test_pulling_from_two_servers_keeps_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    item = make_study(tmp_path).items[0].item
    exports = {
        f"http://127.0.0.1:{port}": [task(item, [annotation(1, (score,) * 3)])]
        for port, score in ((8080, 1), (8081, 5))
    }
    monkeypatch.setattr(LabelStudioServer, "pull", lambda self, *_: exports[self.url])
    for url in exports:
        words = ("pull", "--study", "first", "--url", url)
        ok(bench(tmp_path, *words, env={"LABEL_STUDIO_API_KEY": "token"}))
    again = ok(
        bench(
            *(tmp_path, "pull", "--study", "first", "--url", next(iter(exports))),
            *("--server", "http://localhost:8081"),
            env={"LABEL_STUDIO_API_KEY": "token"},
        )
    )
    assert "1 replaced" in again or "1 unchanged" in again
    paths = sorted((tmp_path / "human" / "first" / "annotations").glob("*.json"))
    assert [path.stem for path in paths] == ["annotator-1", "annotator-2"]


def test_one_file_that_cannot_be_read_is_not_passed_over_in_silence(tmp_path: Path) -> None:
    study = make_study(tmp_path)
    good = written(tmp_path / "good.json", [task(study.items[0].item, [annotation(1)])])
    (tmp_path / "bad.json").write_text("[", encoding="utf-8")
    ended = bench(tmp_path, "import", str(good), str(tmp_path / "bad.json"), "--study", "first")
    assert ended.exit_code == 1
    assert "1 new" in ended.output
    assert "bad.json: is not JSON" in ended.output


def test_records_in_a_language_that_nobody_knows_make_no_study(tmp_path: Path) -> None:
    make_study(tmp_path)
    path = tmp_path / "records.jsonl"
    path.write_text("{}\n", encoding="utf-8")
    ended = bench(tmp_path, "import", "--format", "ping-pong-bench", "-l", "zz", "--study", "x", str(path))
    assert "unknown language 'zz'" in fault(ended)
    assert not (tmp_path / "human" / "x").exists()


def test_a_misspelt_suite_of_records_makes_no_study(tmp_path: Path) -> None:
    make_study(tmp_path)
    path = tmp_path / "records.jsonl"
    path.write_text("{}\n", encoding="utf-8")
    take = ("import", "--format", "ping-pong-bench", "-l", "en", "--study", "x", str(path))
    assert "unknown suite 'sinthetic'. Did you mean 'synthetic'?" in fault(
        bench(tmp_path, *take, "--suite", "sinthetic")
    )
    assert not (tmp_path / "human" / "x").exists()


@pytest.mark.parametrize("command", [("export", "-o", "out"), ("push", "--url", "http://127.0.0.1:1")])
def test_nobody_is_asked_about_a_study_that_was_imported(tmp_path: Path, command: tuple[str, ...]) -> None:
    study = make_study(tmp_path)
    write_study(tmp_path, study.model_copy(update={"origin": "ping_pong_bench", "seed": None, "asked": None}))
    said = fault(bench(tmp_path, *command, "--study", "first", env={"LABEL_STUDIO_API_KEY": "x"}))
    assert "study first: its ratings were imported from ping_pong_bench" in said
    assert "bench annotate sample" in said
