"""The public annotation records as a study: what a file says, what is taken for granted, what is left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.annotate.merging import merge
from bench.annotate.pingpong import PublicStudy, read_records
from bench.errors import UserError
from bench.records import Conversation
from bench.results import ResultsTree
from bench.results.studies import StudyFile, load_study, read_study, write_study
from tests.annotate.studies import CRITERIA, make_study
from tests.synthetic import SUITE, make_tree

GREETING = [{"role": "user", "content": "Ahoy"}, {"role": "assistant", "content": "Ahoy yourself ё"}]


def record(
    messages: list[dict[str, str]], scores: Any, player: str = "some-model", **more: Any
) -> dict[str, Any]:
    return {"messages": messages, "player": {"model_name": player}, "human_scores": scores}


def scores(a: Any, b: Any, c: Any) -> dict[str, Any]:
    return dict(zip(CRITERIA, (a, b, c), strict=True))


def lines(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in records), encoding="utf-8")
    return path


def imported(root: Path, paths: list[Path], known: StudyFile | None = None) -> PublicStudy:
    made = read_records(ResultsTree(root), paths, study="public", suites=[SUITE], language="en", known=known)
    write_study(root, made.file)
    merge(root, made.file, made.reading.entries, origin="ping_pong_bench")
    return made


def talks(tree: ResultsTree) -> list[Conversation]:
    return list(tree.conversations(SUITE, "en", "player-01"))


def as_messages(talk: Conversation) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in talk.messages]


def test_a_file_an_annotator_matched_with_our_conversations(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, players=1, characters=2, situations=2, judges=1).tree
    ours = as_messages(talks(tree)[0])
    paths = [
        lines(tmp_path / "9e75c7.jsonl", [record(ours, scores(4, 3, 5)), record(GREETING, scores(1, 2, 3))]),
        lines(tmp_path / "b81410.jsonl", [record(GREETING, scores(5, 5, 5)), record(ours, scores(2, 2, 2))]),
    ]
    made = imported(tmp_path, paths)
    assert made.matched == 1
    assert [line.partition(": ")[2] for line in made.assumed] == ["taken as the scores of one annotator"] * 2
    study = load_study(tmp_path, "public")
    by_player = {item.player: item for item in study.file.items}
    assert by_player["player-01"].character == talks(tree)[0].character
    assert by_player["some-model"].character is None
    item = by_player["player-01"].item
    ours_rated = study.ratings[study.ratings["item"] == item]
    table = ours_rated.pivot(index="annotator", columns="criterion", values="score")[list(CRITERIA)]
    assert table.to_numpy().tolist() == [[4, 3, 5], [2, 2, 2]]
    assert read_study(tmp_path, "public").origin == "ping_pong_bench"


def test_scores_that_are_not_whole_are_the_mean_of_several(tmp_path: Path) -> None:
    path = lines(tmp_path / "merged.jsonl", [record(GREETING, scores(3.4, 4, 4.8))])
    made = imported(tmp_path, [path])
    assert "mean of several annotators" in made.assumed[0]
    study = load_study(tmp_path, "public")
    assert list(study.annotators) == ["mean"]
    assert study.ratings.set_index("criterion")["score"].to_dict() == scores(3.4, 4, 4.8)


def test_a_mean_is_no_annotator_more(tmp_path: Path) -> None:
    imported(tmp_path, [lines(tmp_path / "a.jsonl", [record(GREETING, scores(3, 4, 4))])])
    known = read_study(tmp_path, "public")
    with pytest.raises(UserError, match="A mean is not an annotator"):
        imported(tmp_path, [lines(tmp_path / "m.jsonl", [record(GREETING, scores(3.5, 4, 4))])], known)


def test_a_list_of_scores_is_one_of_each_annotator(tmp_path: Path) -> None:
    path = lines(tmp_path / "all.jsonl", [record(GREETING, scores([1, 2, None], [3, 4, None], [5, 5, 5]))])
    made = imported(tmp_path, [path])
    assert "in the same order" in made.assumed[0]
    study = load_study(tmp_path, "public")
    table = study.ratings.pivot(index="annotator", columns="criterion", values="score")[list(CRITERIA)]
    assert table.fillna(0).to_numpy().tolist() == [[1, 3, 5], [2, 4, 5], [0, 0, 5]]


def test_the_scene_is_taken_from_a_record_that_has_it(tmp_path: Path) -> None:
    more: dict[str, Any] = {
        "character": {"char_name": "Keeper"},
        "situation": {"text": "Ask about the lamp."},
    }
    made = imported(tmp_path, [lines(tmp_path / "a.jsonl", [record(GREETING, scores(1, 2, 3)) | more])])
    (item,) = made.file.items
    assert item.character == "Keeper"
    assert item.situation is not None
    assert item.situation.startswith("situation-")


def test_a_system_prompt_in_a_record_does_not_hinder_the_match(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, players=1, characters=1, situations=1, judges=1).tree
    with_prompt = [{"role": "system", "content": "You are..."}, *as_messages(talks(tree)[0])]
    assert (
        imported(tmp_path, [lines(tmp_path / "a.jsonl", [record(with_prompt, scores(1, 1, 1))])]).matched == 1
    )


def test_a_record_twice_in_a_file_counts_by_its_last_line(tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", [record(GREETING, scores(n, n, n)) for n in (1, 5)])
    imported(tmp_path, [path])
    assert set(load_study(tmp_path, "public").ratings["score"]) == {5.0}


def test_what_is_no_record_is_told_and_the_rest_comes_in(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    bad = [
        "{",
        "[]",
        json.dumps({"messages": GREETING, "player": {"model_name": "m"}}),
        json.dumps(record(GREETING, scores(1, 1, 1), player="")),
        json.dumps(record([], scores(1, 1, 1))),
        json.dumps(record([{"role": "narrator", "content": "x"}], scores(1, 1, 1))),
        json.dumps(record([{"role": "user", "content": "\ud800"}], scores(1, 1, 1))),
        json.dumps({**record(GREETING, None)}),
        json.dumps({**record(GREETING, scores(1, 1, 1)), "messages": {"role": "user"}}),
    ]
    good = json.dumps(record(GREETING, scores(6, "4", 2)))
    path.write_text("\n".join([*bad, "", good]), encoding="utf-8")
    made = imported(tmp_path, [path, lines(tmp_path / "empty.jsonl", [])])
    assert [problem.place for problem in made.reading.problems] == [
        *(f"line {n}" for n in range(1, 10)),
        "line 11",
        "line 11",
    ]
    ratings = load_study(tmp_path, "public").ratings.set_index("criterion")["score"]
    assert ratings["fluency"] == 2
    assert ratings.isna().sum() == 2


def test_a_pointer_of_git_lfs_is_told_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", encoding="utf-8")
    made = read_records(
        ResultsTree(tmp_path), [path], study="public", suites=[SUITE], language="en", known=None
    )
    assert "git lfs pull" in made.reading.problems[0].text
    assert made.file.items == ()


def test_a_study_that_was_drawn_takes_no_other_conversations(tmp_path: Path) -> None:
    study = make_study(tmp_path)
    item = study.items[0]
    (talk,) = [
        talk
        for talk in ResultsTree(tmp_path).conversations(SUITE, "en", item.player)
        if (talk.character, talk.situation) == (item.character, item.situation)
    ]
    path = lines(
        tmp_path / "a.jsonl", [record(as_messages(talk), scores(1, 2, 3)), record(GREETING, scores(1, 2, 3))]
    )
    made = read_records(
        ResultsTree(tmp_path), [path], study="first", suites=[SUITE], language="en", known=study
    )
    assert made.file == study
    assert [entry.annotation.item for entry in made.reading.entries] == [item.item]
    assert [problem.place for problem in made.reading.problems] == ["line 2"]


def test_the_suite_that_holds_most_of_the_conversations_is_taken(tmp_path: Path) -> None:
    """As after an import of both versions, of which people read one."""
    tree = make_tree(tmp_path, players=1, characters=1, situations=2, judges=1, suite="old").tree
    ours = as_messages(next(tree.conversations("old", "en", "player-01")))
    path = lines(tmp_path / "a.jsonl", [record(ours, scores(1, 2, 3))])
    found = [
        read_records(tree, [path], study="public", suites=suites, language="en", known=None)
        for suites in (["new", "old"], ["new", "newer"])
    ]
    assert [(made.file.suite, made.matched) for made in found] == [("old", 1), ("new", 0)]
