"""The files of a study: refused if damaged, in their schema, and the table of ratings made from them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from bench.cli.schemas import all_schemas
from bench.errors import RecordError
from bench.records import canonical
from bench.results.studies import StudyFile, load_study
from tests.annotate.studies import CRITERIA, annotation, brought, make_study, names, task, written


@pytest.fixture
def study(tmp_path: Path) -> StudyFile:
    return make_study(tmp_path)


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
