"""Public result files that are broken or hostile: what is sound is imported, and the rest is reported."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.results import ResultsTree
from tests.interop.conftest import import_public, judgements_of, put
from tests.interop.public_files import make_public, version_2


def _drop_message(output: dict[str, Any]) -> None:
    output["messages"].pop()


SPOILT: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "no messages": (lambda o: o.pop("messages"), "messages"),
    "an unanswered question": (_drop_message, "messages"),
    "a message without text": (lambda o: o["messages"][1].update(content=None), "messages.1.content"),
    "a strange role": (lambda o: o["messages"][0].update(role="tool"), "messages.0.role"),
    "two answers in a row": (lambda o: o["messages"].pop(2), "messages"),
    "half a surrogate": (lambda o: o["messages"][1].update(content="\ud800"), "messages.1.content"),
    "no character": (lambda o: o.pop("character"), "character"),
    "no situation text": (lambda o: o["situation"].update(text=" "), "situation.text"),
}
UNSCORED: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "no scores": (lambda o: o.pop("scores"), "scores"),
    "no criterion": (lambda o: o["scores"].pop("fluency"), "scores.fluency"),
    "a turn unscored": (lambda o: o["scores"]["fluency"].pop(), "scores.fluency"),
    "a score off the scale": (lambda o: o["scores"]["fluency"].__setitem__(1, 6), "scores.fluency.1"),
    "a half score": (lambda o: o["scores"]["fluency"].__setitem__(1, 3.5), "scores.fluency.1"),
    "a true score": (lambda o: o["scores"]["fluency"].__setitem__(1, True), "scores.fluency.1"),
    "an endless score": (lambda o: o["scores"]["fluency"].__setitem__(1, 10**400), "scores.fluency.1"),
    "a text for a score": (lambda o: o["scores"]["fluency"].__setitem__(1, "4"), "scores.fluency.1"),
    "a strange refusal": (lambda o: o["scores"]["is_refusal"].__setitem__(0, 2), "scores.is_refusal.0"),
}


@pytest.mark.parametrize("case", SPOILT)
def test_an_unsound_conversation_is_reported_and_the_others_imported(
    tree: ResultsTree, folder: Path, case: str
) -> None:
    spoil, place = SPOILT[case]
    data = version_2(0, "gpt_4o", 2, 2)
    spoil(data["outputs"][1])
    put(folder, data)
    report = import_public(tree, folder)
    assert (report.conversations, report.judgements) == (3, 3)
    [problem] = report.problems
    assert problem.path == "judge_gpt_4o_player_p.json"
    assert problem.place.startswith("outputs.1.")
    assert problem.place.endswith(place)


@pytest.mark.parametrize("case", UNSCORED)
def test_a_conversation_with_unsound_scores_is_kept_without_them(
    tree: ResultsTree, folder: Path, case: str
) -> None:
    spoil, place = UNSCORED[case]
    data = version_2(0, "gpt_4o", 2, 2)
    spoil(data["outputs"][1])
    put(folder, data)
    report = import_public(tree, folder)
    assert (report.conversations, report.judgements) == (4, 3)
    assert [problem.place for problem in report.problems] == [f"outputs.1.{place}"]


def test_a_file_that_breaks_off_gives_its_whole_outputs(tree: ResultsTree, folder: Path) -> None:
    make_public(folder, players=1, characters=2, situations=2, judges=("gpt_4o",))
    path = folder / "judge_gpt_4o_player_player_0.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: text.rindex('"messages"') + 200], encoding="utf-8")
    report = import_public(tree, folder)
    assert report.conversations == 3
    assert report.problems[0].text.startswith("is incomplete")


def test_judges_of_other_messages_are_not_merged(tree: ResultsTree, folder: Path) -> None:
    make_public(folder, players=1, characters=1, situations=1)
    path = folder / "judge_gpt_4o_player_player_0.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    data["outputs"][0]["messages"][1]["content"] = "Something else."
    path.write_text(json.dumps(data), encoding="utf-8")
    report = import_public(tree, folder)
    assert (report.conversations, report.judgements) == (1, 1)
    [problem] = report.problems
    assert (problem.path, problem.place) == ("judge_gpt_4o_player_player_0.json", "outputs.0.messages")
    assert "judge_claude_3_5_sonnet_player_player_0.json" in problem.text


def test_a_cell_that_stands_twice_in_a_file_is_taken_once(tree: ResultsTree, folder: Path) -> None:
    data = version_2(0, "gpt_4o", 1, 1)
    data["outputs"].append(data["outputs"][0])
    put(folder, data)
    report = import_public(tree, folder)
    assert report.judgements == 1
    assert [problem.place for problem in report.problems] == ["outputs.1"]


def test_one_name_for_two_models_is_reported(tree: ResultsTree, folder: Path) -> None:
    make_public(folder, players=1, characters=1, situations=1)
    path = folder / "judge_gpt_4o_player_player_0.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    data["player"]["params"]["temperature"] = 1.0
    path.write_text(json.dumps(data), encoding="utf-8")
    report = import_public(tree, folder)
    assert (report.judgements, [problem.place for problem in report.problems]) == (1, ["player"])


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "is incomplete"),
        (b"[]", "should be an object"),
        (b'{"outputs": []}', "outputs: "),
        (b'{"outputs": 3}', "outputs: "),
        (b"\xff\xfe", "is not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"outputs": [' + b"[" * 100 + b"]" * 100 + b"]}", "outputs.0: "),
        (b'{"outputs": [1], "version": 3}', "version: Input should be 1 or 2"),
        (b'{"outputs": [NaN]}', "NaN is not JSON"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
    ],
)
def test_an_unreadable_file_is_reported(tree: ResultsTree, folder: Path, content: bytes, text: str) -> None:
    (folder / "judge_a_player_b.json").write_bytes(content)
    report = import_public(tree, folder)
    assert report.conversations == 0
    assert text in " ".join(problem.line() for problem in report.problems)


def test_a_file_beyond_the_size_limit_is_not_read(
    tree: ResultsTree, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.interop.pingpong_files.MAX_BYTES", 1024)
    put(folder, version_2(0, "gpt_4o", 1, 1))
    [problem] = import_public(tree, folder).problems
    assert "larger than" in problem.text


def test_links_and_special_files_are_not_read(tree: ResultsTree, folder: Path, tmp_path: Path) -> None:
    put(tmp_path, version_2(0, "gpt_4o", 1, 1), "outside.json")
    (folder / "judge_a_player_b.json").symlink_to(tmp_path / "outside.json")
    os.mkfifo(folder / "judge_a_player_c.json")
    report = import_public(tree, folder)
    assert [problem.path for problem in report.problems] == ["judge_a_player_b.json", "judge_a_player_c.json"]
    assert not tree.root.exists()


def test_hostile_names_stay_inside_the_results_tree(tree: ResultsTree, folder: Path) -> None:
    data = version_2(0, "x", 1, 1)
    data["player"]["model_name"] = "../../evil"
    data["judge"]["model_name"] = "/etc/passwd"
    data["outputs"][0]["character"]["char_name"] = "..\\..\x00\x1b[2J"
    put(folder, data, "plain.json")
    assert import_public(tree, folder).judgements == 1
    assert len(judgements_of(tree, "../../evil")) == 1
    below = [path.relative_to(tree.root.parent) for path in tree.root.parent.rglob("*.json")]
    assert {path.parts[0] for path in below} == {"public", "results"}
