"""Pseudonyms: nobody's name or address is kept, and nobody is taken for somebody else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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


A, B = "http://rating.example.org:8080", "http://localhost:8080"


def test_two_servers_in_one_study_keep_their_own_annotators(tmp_path: Path, study: StudyFile) -> None:
    a, b, *_ = names(study)
    brought(tmp_path, study, [task(a, [annotation(1, (1, 1, 1)), annotation(2, (2, 2, 2))])], server=A)
    other = [task(a, [annotation(1, (5, 5, 5), at=LATE)]), task(b, [annotation(1, (4, 4, 4))])]
    _, report = brought(tmp_path, study, other, server=B)
    assert (report.added, report.replaced) == (2, 0)
    records = said(tmp_path, study)
    assert [record.annotations[0].scores["fluency"] for record in records.values()] == [1, 2, 5]
    assert len(records["annotator-3"].annotations) == 2
    for address in (f"{A}/", "http://RATING.example.org:8080"):
        _, report = brought(tmp_path, study, [task(b, [annotation(2, (3, 3, 3))])], server=address)
    assert (report.added, report.unchanged) == (0, 1)
    assert len(said(tmp_path, study)["annotator-2"].annotations) == 2
    private = (tmp_path / "human" / "first" / ".annotators.json").read_text(encoding="utf-8")
    assert "example.org" not in private
    assert "localhost" not in private


def test_someone_known_by_an_address_is_one_person_on_every_server(tmp_path: Path, study: StudyFile) -> None:
    anna = {"email": "anna@example.org"}
    for server, item in zip((A, B), names(study), strict=False):
        brought(tmp_path, study, [task(item, [annotation(anna)])], server=server)
    assert [len(record.annotations) for record in said(tmp_path, study).values()] == [2]


def marked(
    item: str, who: int, scores: tuple[int, int, int], server: int, *, number: int = 0
) -> dict[str, Any]:
    """A task with an annotation that has a UUID, as a real server writes it."""
    made = annotation(who, scores, number=number or who, at=LATE)
    return task(item, [{**made, "unique_id": f"{server:08}-0000-4000-8000-{who:012}"}])


def test_files_of_another_server_are_recognised_and_replace_nothing(tmp_path: Path, study: StudyFile) -> None:
    a, b, *_ = names(study)
    here, there = [marked(a, 1, (1, 1, 1), 1)], [marked(a, 1, (5, 5, 5), 2)]
    brought(tmp_path, study, here)
    with pytest.raises(UserError, match=r"annotation 1 .*another Label Studio.*--server"):
        brought(tmp_path, study, there)
    with pytest.raises(UserError, match=r"annotation 1 .*another Label Studio"):
        brought(tmp_path, study, [*here, *there])
    assert [said(tmp_path, study)["annotator-1"].annotations[0].scores["fluency"]] == [1]
    brought(tmp_path, study, there, server="the laptop")
    assert list(said(tmp_path, study)) == ["annotator-1", "annotator-2"]
    brought(tmp_path, study, [*there, marked(b, 2, (3, 3, 3), 2)])
    assert list(said(tmp_path, study)) == ["annotator-1", "annotator-2", "annotator-3"]
    with pytest.raises(UserError, match="several servers"):
        brought(tmp_path, study, [task(b, [annotation(3, number=9)])])


def test_a_server_that_has_other_annotations_too_replaces_nothing(tmp_path: Path, study: StudyFile) -> None:
    """Its numbers of annotations may be others, if it had another project before; those of people are not."""
    a, b, *_ = names(study)
    brought(tmp_path, study, [marked(a, 1, (1, 1, 1), 1)])
    there = [marked(a, 1, (5, 5, 5), 2, number=900), marked(b, 1, (4, 4, 4), 2, number=901)]
    with pytest.raises(UserError, match=r"annotator-1 has rated item .* another Label Studio.*--server"):
        brought(tmp_path, study, there)
    assert [len(record.annotations) for record in said(tmp_path, study).values()] == [1]
    brought(tmp_path, study, there, server="the laptop")
    assert [len(record.annotations) for record in said(tmp_path, study).values()] == [1, 2]


def test_a_server_that_files_came_from_first_is_the_same_when_pulled(
    tmp_path: Path, study: StudyFile
) -> None:
    a, b, *_ = names(study)
    brought(tmp_path, study, [marked(a, 1, (1, 1, 1), 1)])
    brought(tmp_path, study, [marked(a, 1, (1, 1, 1), 1), marked(b, 1, (2, 2, 2), 1)], server=A)
    assert [len(record.annotations) for record in said(tmp_path, study).values()] == [2]
    brought(tmp_path, study, [marked(a, 1, (5, 5, 5), 2)], server=B)
    assert len(said(tmp_path, study)) == 2


def test_a_private_file_from_before_servers_were_told_apart_belongs_to_the_first(
    tmp_path: Path, study: StudyFile
) -> None:
    brought(tmp_path, study, [task(names(study)[0], [annotation(1)])])
    private = tmp_path / "human" / "first" / ".annotators.json"
    old = {key: value for key, value in json.loads(private.read_bytes()).items() if key in ("salt", "names")}
    private.write_text(json.dumps(old), encoding="utf-8")
    brought(tmp_path, study, [task(names(study)[1], [annotation(1)])], server=A)
    assert list(said(tmp_path, study)) == ["annotator-1"]


def test_the_private_file_is_ignored_by_git() -> None:
    lines = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert ".annotators.json" in lines
