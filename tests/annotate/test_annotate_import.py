"""Exports of Label Studio into a study: what is missing stays missing, the latest counts, the rest told."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from bench.annotate.merging import MergeReport, merge
from bench.annotate.reading import Reading, read_export, read_files
from bench.cli.schemas import all_schemas
from bench.errors import RecordError, UserError
from bench.foreign import Unreadable
from bench.records import canonical
from bench.results.studies import Annotation, AnnotatorFile, StudyFile, load_study, read_annotators
from tests.annotate.studies import CRITERIA, annotation, choice, make_study, short, task, written

EARLY, LATE = "2026-03-01T10:00:00.000000Z", "2026-03-01T13:00:00.500000+02:00"


@pytest.fixture
def study(tmp_path: Path) -> StudyFile:
    return make_study(tmp_path)


def brought(root: Path, study: StudyFile, data: object, **options: Any) -> tuple[Reading, MergeReport]:
    """Read an export out of a file and merge it."""
    reading = read_files([written(root / "export.json", data)], study)
    return reading, merge(root, study, reading.entries, origin="label-studio", **options)


def said(root: Path, study: StudyFile) -> dict[str, AnnotatorFile]:
    return read_annotators(root, study)


def given_by(entry: Annotation) -> tuple[int | float | None, ...]:
    """The scores in the order of the criteria."""
    return tuple(entry.scores[name] for name in CRITERIA)


def names(study: StudyFile) -> list[str]:
    return [item.item for item in study.items]


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
@settings(max_examples=300, deadline=None)
def test_nothing_that_json_can_hold_ends_the_reading(one_study: StudyFile, data: list[Any]) -> None:
    read_export(data, "x", one_study, Reading())


@given(value=json_like, place=st.sampled_from(["result", "completed_by", "lead_time", "updated_at", "id"]))
@settings(max_examples=300, deadline=None)
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


def test_people_are_pseudonyms_and_their_addresses_are_nowhere(tmp_path: Path, study: StudyFile) -> None:
    a, b, *_ = names(study)
    anna = {"id": 31, "email": "anna@example.org", "first_name": "Anna", "last_name": "Karenina"}
    boris = {"email": "Boris@example.org"}
    brought(tmp_path, study, [task(a, [annotation(anna), annotation(boris, number=2)])])
    brought(tmp_path, study, [task(b, [annotation(31), annotation("boris@EXAMPLE.org ", number=2)])])
    records = said(tmp_path, study)
    assert [len(record.annotations) for record in records.values()] == [2, 2]
    for path in (tmp_path / "human").rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8").casefold()
            for word in ("anna@", "boris", "karenina", "example.org"):
                assert word not in text
    private = tmp_path / "human" / "first" / ".annotators.json"
    assert private.stat().st_mode & 0o777 == 0o600
    assert set(json.loads(private.read_bytes())["names"].values()) == {"annotator-1", "annotator-2"}


def test_the_same_person_has_other_hashes_in_other_studies(tmp_path: Path) -> None:
    hashes = set()
    for name in ("one", "two"):
        study = make_study(tmp_path / name)
        brought(tmp_path / name, study, [task(names(study)[0], [annotation(5)])])
        private = tmp_path / name / "human" / "first" / ".annotators.json"
        hashes |= set(json.loads(private.read_bytes())["names"])
    assert len(hashes) == 2


def test_without_the_private_file_nobody_is_taken_for_somebody_else(tmp_path: Path, study: StudyFile) -> None:
    a, b, *_ = names(study)
    brought(tmp_path, study, [task(a, [annotation(1)])])
    (tmp_path / "human" / "first" / ".annotators.json").unlink()
    with pytest.raises(UserError, match=r"recognises them is missing.*--new-annotators"):
        brought(tmp_path, study, [task(b, [annotation(1)])])
    brought(tmp_path, study, [task(b, [annotation(7)])], new_annotators=True)
    assert list(said(tmp_path, study)) == ["annotator-1", "annotator-2"]


def test_annotators_who_are_said_to_be_new_do_not_replace_who_was_there(
    tmp_path: Path, study: StudyFile
) -> None:
    """Another Label Studio counts its people from 1 as well."""
    a, b, *_ = names(study)
    brought(tmp_path, study, [task(a, [annotation(1, (1, 1, 1))])])
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.json") if path.name != "export.json"}
    other = [task(a, [annotation(1, (5, 5, 5), at=LATE), annotation(2, (4, 4, 4))])]
    with pytest.raises(
        UserError, match=r"annotator-1 rated in this study before.*leave out --new-annotators"
    ):
        brought(tmp_path, study, other, new_annotators=True)
    assert {path: path.read_bytes() for path in before} == before
    brought(tmp_path, study, [task(b, [annotation(2)])], new_annotators=True)
    assert list(said(tmp_path, study)) == ["annotator-1", "annotator-2"]


def test_a_damaged_file_is_mended_as_its_fault_says(tmp_path: Path, study: StudyFile) -> None:
    data = [task(item, [annotation(1), annotation(2)]) for item in names(study)]
    brought(tmp_path, study, data)
    path = tmp_path / "human" / "first" / "annotations" / "annotator-1.json"
    sound = path.read_bytes()
    path.write_bytes(sound.replace(b'"fluency": 5', b'"fluency": 9'))
    with pytest.raises(RecordError, match=r"fluency is off its scale.*delete it and import"):
        brought(tmp_path, study, data)
    path.unlink()
    brought(tmp_path, study, data)
    assert path.read_bytes() == sound


def test_the_private_file_is_ignored_by_git() -> None:
    from tests.tiny import ROOT

    lines = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert ".annotators.json" in lines


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


def test_a_damaged_annotators_file_is_refused(tmp_path: Path, study: StudyFile) -> None:
    a, *_ = names(study)
    brought(tmp_path, study, [task(a, [annotation(1)])])
    path = tmp_path / "human" / "first" / "annotations" / "annotator-1.json"
    good = json.loads(path.read_bytes())
    for change, why in (
        ({"annotator": "annotator-2"}, "annotator 'annotator-2'"),
        ({"study": "other"}, "study 'other'"),
        ({"annotations": good["annotations"] * 2}, "twice"),
        ({"annotations": [{**good["annotations"][0], "item": "x"}]}, "does not have"),
        ({"annotations": [{**good["annotations"][0], "scores": {"fluency": 3}}]}, "other criteria"),
        (
            {"annotations": [{**good["annotations"][0], "scores": dict.fromkeys(CRITERIA, 6)}]},
            "off its scale",
        ),
        ({"extra": 1}, "extra"),
    ):
        written(path, {**good, **change})
        with pytest.raises(RecordError, match=why):
            load_study(tmp_path, "first")


def test_tables_are_sorted_whatever_the_order_of_the_files(tmp_path: Path, study: StudyFile) -> None:
    data = [task(item, [annotation(who, number=who) for who in (2, 1)]) for item in reversed(names(study))]
    brought(tmp_path, study, data)
    loaded = load_study(tmp_path, "first")
    keys = ["item", "annotator", "criterion"]
    assert loaded.ratings[keys].apply(tuple, axis=1).is_monotonic_increasing
    assert loaded.ratings["score"].dtype == "float64"
    assert list(loaded.annotators) == ["annotator-1", "annotator-2"]
    assert loaded.file.criterion_names == CRITERIA


@pytest.mark.parametrize("name", ["study", "annotator"])
def test_files_keep_to_their_schema(tmp_path: Path, study: StudyFile, name: str) -> None:
    brought(tmp_path, study, [task(names(study)[0], [annotation(1, (None, 4, 5), refusal=None)])])
    folder = tmp_path / "human" / "first"
    path = folder / "study.json" if name == "study" else folder / "annotations" / "annotator-1.json"
    validator = Draft202012Validator(all_schemas()[name])
    data = json.loads(path.read_bytes())
    validator.validate(data)
    assert list(validator.iter_errors(data | {"something_odd": 1}))
    assert path.read_text(encoding="utf-8") == canonical(data)


def test_a_study_without_annotations_has_empty_tables_of_the_same_form(
    tmp_path: Path, study: StudyFile
) -> None:
    loaded = load_study(tmp_path, "first")
    assert list(loaded.ratings.columns) == ["item", "annotator", "criterion", "score"]
    assert loaded.ratings["score"].dtype == "float64"
    assert len(loaded.ratings) == len(loaded.annotators) == 0


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
