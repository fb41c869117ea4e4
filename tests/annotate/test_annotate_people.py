"""Pseudonyms: nobody's name or address is kept, and nobody is taken for somebody else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.errors import UserError
from bench.results.studies import StudyFile
from tests.annotate.studies import LATE, annotation, brought, make_study, names, said, task
from tests.tiny import ROOT


@pytest.fixture
def study(tmp_path: Path) -> StudyFile:
    return make_study(tmp_path)


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


def test_the_private_file_is_ignored_by_git() -> None:
    lines = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert ".annotators.json" in lines
