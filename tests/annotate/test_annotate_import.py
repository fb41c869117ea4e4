"""Exports of Label Studio into a study: what is missing stays missing, the latest counts, the rest told."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.annotate.reading import Reading, read_export, read_files
from bench.foreign import Unreadable
from bench.results.studies import Annotation, AnnotatorFile, StudyFile, load_study
from tests.annotate.studies import (
    CRITERIA,
    EARLY,
    LATE,
    annotation,
    brought,
    choice,
    make_study,
    names,
    said,
    short,
    task,
    written,
)


@pytest.fixture
def study(tmp_path: Path) -> StudyFile:
    return make_study(tmp_path)


def given_by(entry: Annotation) -> tuple[int | float | None, ...]:
    """The scores in the order of the criteria."""
    return tuple(entry.scores[name] for name in CRITERIA)


def test_several_annotators_in_any_order_over_different_tasks(tmp_path: Path, study: StudyFile) -> None:
    a, b, c, *_ = names(study)
    data = [
        task(c, [annotation(9, (1, 2, 3), number=4)]),
        task(a, [annotation(9, (5, 5, 5), number=3), annotation(2, (4, 3, 2), number=1, comment="ё & <b>")]),
        task(b, [annotation(2, (2, 2, 2), number=2, refusal="yes")]),
    ]
    reading, report = brought(tmp_path, study, data)
    assert not reading.problems
    assert (report.added, report.duplicates) == (4, ())
    two, nine = said(tmp_path, study).values()
    assert (two.annotator, nine.annotator) == ("annotator-1", "annotator-2")  # by the tool's numbers
    assert {s.item: given_by(s) for s in two.annotations} == {a: (4, 3, 2), b: (2, 2, 2)}
    assert {s.item: given_by(s) for s in nine.annotations} == {a: (5, 5, 5), c: (1, 2, 3)}
    first = next(s for s in two.annotations if s.item == a)
    assert (first.comment, first.is_refusal, first.seconds, first.cancelled) == (
        "ё & <b>",
        False,
        12.3,
        False,
    )
    assert next(s for s in two.annotations if s.item == b).is_refusal is True


def test_json_min_says_the_same(tmp_path: Path, study: StudyFile) -> None:
    item = names(study)[0]
    full = [task(item, [annotation(4, (4, None, 5), comment="so")])]
    short_form = [short(item, 4, {"in_character": "4", "fluency": "5", "refusal": "no", "comment": "so"})]
    found = []
    for n, data in enumerate((full, short_form)):
        root = tmp_path / str(n)
        own = make_study(root)
        brought(root, own, data)
        found.append(said(root, own)["annotator-1"].annotations)
    assert found[0] == found[1]


def test_a_missing_choice_stays_missing_and_never_becomes_a_3(tmp_path: Path, study: StudyFile) -> None:
    a, b, *_ = names(study)
    data = [
        task(a, [annotation(1, (None, 4, None), refusal=None)]),
        task(b, [annotation(1, (None, None, None), refusal=None, number=2)]),
    ]
    _, report = brought(tmp_path, study, data)
    record = said(tmp_path, study)["annotator-1"]
    assert [s.scores for s in record.annotations] == [
        {"in_character": None, "entertaining": 4, "fluency": None},
        dict.fromkeys(CRITERIA),
    ]
    text = (tmp_path / "human" / "first" / "annotations" / "annotator-1.json").read_text()
    assert text.count("null") == 5
    ratings = load_study(tmp_path, "first").ratings
    assert ratings["score"].isna().sum() == 5
    assert ratings["score"].dropna().tolist() == [4.0]
    (counts,) = report.counts
    assert (counts.complete, counts.partial, counts.cancelled, counts.missing) == (0, 2, 0, 4)


def test_a_cancelled_annotation_is_kept_and_does_not_count(tmp_path: Path, study: StudyFile) -> None:
    a, b, *_ = names(study)
    data = [
        task(a, [annotation(1, (4, 4, 4), cancelled=True)]),
        task(b, [annotation(1, (2, 2, 2), number=2)]),
    ]
    _, report = brought(tmp_path, study, data)
    loaded = load_study(tmp_path, "first")
    assert set(loaded.ratings["item"]) == {b}
    cancelled = {entry.item: entry.cancelled for entry in loaded.annotators["annotator-1"].annotations}
    assert cancelled == {a: True, b: False}
    assert said(tmp_path, study)["annotator-1"].annotations[0].scores == dict.fromkeys(CRITERIA, 4)
    assert (report.counts[0].complete, report.counts[0].cancelled) == (1, 1)


@pytest.mark.parametrize("order", [1, -1])
def test_of_duplicates_the_latest_counts_and_that_is_said(
    tmp_path: Path, study: StudyFile, order: int
) -> None:
    """Also where the later one says so in another time zone, and where both lie in tasks of their own."""
    item = names(study)[0]
    both = [annotation(1, (1, 1, 1), number=8, at=EARLY), annotation(1, (5, 5, 5), number=7, at=LATE)]
    _, report = brought(tmp_path, study, [task(item, [one]) for one in both[::order]])
    assert report.added == 1
    (line,) = report.duplicates
    assert "annotator-1" in line
    assert item in line
    assert "the latest counts" in line
    assert said(tmp_path, study)["annotator-1"].annotations[0].scores == dict.fromkeys(CRITERIA, 5)


def test_at_the_same_time_the_higher_number_is_the_later(tmp_path: Path, study: StudyFile) -> None:
    item = names(study)[0]
    both = [annotation(1, (5, 5, 5), number=8), annotation(1, (1, 1, 1), number=7)]
    brought(tmp_path, study, [task(item, both)])
    assert said(tmp_path, study)["annotator-1"].annotations[0].scores == dict.fromkeys(CRITERIA, 5)


def test_a_later_import_adds_and_replaces_and_an_older_export_undoes_nothing(
    tmp_path: Path, study: StudyFile
) -> None:
    a, b, *_ = names(study)
    old = [task(a, [annotation(1, (1, 1, 1), at=EARLY)])]
    new = [
        task(a, [annotation(1, (5, 5, 5), at=LATE)]),
        task(b, [annotation(1, (2, 2, 2), number=2, at=LATE), annotation(3, (3, 3, 3), number=3)]),
    ]
    assert brought(tmp_path, study, old)[1].added == 1
    _, second = brought(tmp_path, study, new)
    assert (second.added, second.replaced, second.unchanged) == (2, 1, 0)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.json")}
    _, again = brought(tmp_path, study, new)
    assert (again.added, again.replaced, again.unchanged, again.written) == (0, 0, 3, 0)
    _, back = brought(tmp_path, study, old)
    assert (back.added, back.replaced, back.unchanged) == (0, 0, 1)
    assert "already has a later annotation" in back.duplicates[0]
    after = {path: path.read_bytes() for path in tmp_path.rglob("*.json") if path.name != "export.json"}
    assert after == {path: data for path, data in before.items() if path.name != "export.json"}


def test_unknown_tasks_and_malformed_entries_are_told_and_the_rest_comes_in(
    tmp_path: Path, study: StudyFile
) -> None:
    a, b, c, *_ = names(study)
    data: list[Any] = [
        task("0123456789abcdef", [annotation(1)]),
        {**task(a, []), "data": None},
        "no task",
        {"id": 3},
        {**task(a, []), "annotations": {"0": 1}},
        task(a, ["no annotation", {**annotation(1), "completed_by": None}, {**annotation(1), "result": 7}]),  # type: ignore[list-item]
        task(b, [annotation(1, (4, 4, 4))]),
        task(c, [annotation(1, (4, None, 4), number=2)]),
    ]
    data[7]["annotations"][0]["result"] += [
        choice("entertaining", "9"),
        {"from_name": "fluency"},
        {**choice("refusal", ""), "value": {"choices": ["yes", "no"]}},
    ]
    reading, report = brought(tmp_path, study, data)
    places = [problem.place for problem in reading.problems]
    assert places == [
        *("0", "1", "2", "3", "4"),
        *("5.annotations.0", "5.annotations.1", "5.annotations.2"),
        *["7.annotations.0"] * 4,
    ]
    assert "not a task of study first: item '0123456789abcdef'" in reading.problems[0].line()
    assert report.added == 2
    last = said(tmp_path, study)["annotator-1"].annotations
    found = {s.item: s for s in last}[c]
    assert found.scores == {"in_character": 4, "entertaining": None, "fluency": 4}
    assert found.is_refusal is None


@pytest.mark.parametrize(
    "value",
    [
        *("0", "6", "", " ", "four", "٤", "4.5", "9" * 5000),
        *(0, 6, 4.5, True, None, math.inf, math.nan, 10**400),
        *([], ["4", "5"], {}, {"choices": []}, {"choices": ["x"]}),
    ],
)
def test_what_is_no_rating_is_missing(tmp_path: Path, study: StudyFile, value: Any) -> None:
    reading = Reading()
    read_export([short(names(study)[0], 1, {"in_character": value})], "x", study, reading)
    (entry,) = reading.entries
    assert entry.annotation.scores["in_character"] is None


@pytest.mark.parametrize("value", ["4", " 4 ", "4: agree", 4, 4.0, ["4"], [4], {"choices": ["4"]}])
def test_what_is_a_rating_is_read(study: StudyFile, value: Any) -> None:
    reading = Reading()
    read_export([short(names(study)[0], 1, {"in_character": value})], "x", study, reading)
    assert reading.entries[0].annotation.scores["in_character"] == 4
    assert not reading.problems


KEYS = [
    *(
        "id",
        "annotations",
        "data",
        "item",
        "result",
        "value",
        "choices",
        "from_name",
        "completed_by",
        "drafts",
    ),
    *("was_cancelled", "lead_time", "updated_at", "annotator", "in_character", "comment"),
]
json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@pytest.fixture(scope="module")
def one_study(tmp_path_factory: pytest.TempPathFactory) -> StudyFile:
    return make_study(tmp_path_factory.mktemp("study"))


@given(data=st.lists(json_like, max_size=4))
def test_nothing_that_json_can_hold_ends_the_reading(one_study: StudyFile, data: list[Any]) -> None:
    read_export(data, "x", one_study, Reading())


@given(value=json_like, place=st.sampled_from(["result", "completed_by", "lead_time", "updated_at", "id"]))
def test_nothing_in_an_annotation_ends_the_reading(one_study: StudyFile, value: Any, place: str) -> None:
    one = {**annotation(1), place: value}
    reading = Reading()
    read_export([task(one_study.items[0].item, [one])], "x", one_study, reading)
    for entry in reading.entries:
        AnnotatorFile(study="s", annotator="a", origin="o", annotations=(entry.annotation,))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"{", "is not JSON"),
        (b"\xff\xfe", "is not UTF-8 at byte 0"),
        (b"{}", "a list of tasks was expected"),
        (b"[" * 100_000, "is nested too deeply"),
        (b"", "is not JSON"),
    ],
)
def test_a_file_that_is_no_export_does_not_spoil_the_others(
    tmp_path: Path, study: StudyFile, content: bytes, why: str
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_bytes(content)
    good = written(tmp_path / "good.json", [task(names(study)[0], [annotation(1)])])
    reading = read_files([bad, good, tmp_path / "gone.json"], study)
    assert [problem.path for problem in reading.problems] == ["bad.json", "gone.json"]
    assert why in reading.problems[0].text
    assert len(reading.entries) == 1


def test_data_that_is_no_list_is_unreadable(study: StudyFile) -> None:
    with pytest.raises(Unreadable):
        read_export({"detail": "no"}, "x", study, Reading())


def test_drafts_are_counted_and_left_out(study: StudyFile) -> None:
    reading = Reading()
    data = {**task(names(study)[0], []), "drafts": [{"result": []}, {"result": []}]}
    read_export([data], "x", study, reading)
    assert (reading.drafts, reading.entries, reading.problems) == (2, [], [])


def test_the_order_of_an_export_does_not_matter(tmp_path: Path, study: StudyFile) -> None:
    rng = random.Random(1)
    data = [
        task(item, [annotation(who, (rng.randint(1, 5),) * 3, number=10 * n + who) for who in (3, 20, 100)])
        for n, item in enumerate(names(study))
    ]
    found = []
    for n in range(3):
        root = tmp_path / str(n)
        own = make_study(root)
        rng.shuffle(data)
        for one in data:
            rng.shuffle(one["annotations"])
        brought(root, own, data)
        found.append({p.name: p.read_bytes() for p in (root / "human" / "first" / "annotations").iterdir()})
    assert found[0] == found[1] == found[2]


def test_answers_to_another_interface_replace_nothing(tmp_path: Path, study: StudyFile) -> None:
    item = names(study)[0]
    brought(tmp_path, study, [task(item, [annotation(1, (4, 4, 4), at=EARLY)])])
    foreign = {**annotation(1, at=LATE), "result": [choice("sentiment", "Positive")]}
    reading, report = brought(tmp_path, study, [task(item, [foreign, annotation(2)])])
    assert [problem.text for problem in reading.problems] == [
        "answers other questions than the study's: sentiment"
    ]
    assert (report.added, report.replaced) == (1, 0)
    assert next(given_by(one.annotations[0]) for one in said(tmp_path, study).values()) == (4, 4, 4)
    mixed = annotation(3)
    mixed["result"].append(choice("humor", "5"))
    reading, report = brought(tmp_path, study, [task(item, [mixed])])
    assert [problem.text for problem in reading.problems] == [
        "humor is not a question of the study; left out"
    ]
    assert report.added == 1


@pytest.mark.parametrize(("at", "problems"), [(None, 0), ("yesterday", 2)])
def test_an_annotation_without_a_time_is_not_later_than_one_with(
    tmp_path: Path, study: StudyFile, at: Any, problems: int
) -> None:
    item = names(study)[0]
    brought(tmp_path, study, [task(item, [annotation(1, (5, 5, 5), at=EARLY)])])
    reading, report = brought(tmp_path, study, [task(item, [annotation(1, (2, 2, 2), at=at)])])
    assert len(reading.problems) == problems
    assert (report.replaced, report.unchanged) == (0, 1)
    assert "this has none" in report.duplicates[0]
    _, same = brought(tmp_path, study, [task(item, [annotation(1, (1, 1, 1), at=EARLY)])])
    assert same.replaced == 1
    assert "with the same time" in same.duplicates[0]
