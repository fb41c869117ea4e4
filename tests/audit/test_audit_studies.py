"""The audit of human studies."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.audit import audit_tree
from bench.records import canonical
from bench.results import ResultsTree
from bench.results.studies import Annotation, AnnotatorFile, read_study, write_annotator
from tests.annotate.studies import CRITERIA, make_study


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A results tree with one study that two people rated."""
    made = make_study(tmp_path)
    for name in ("a1", "a2"):
        said = tuple(
            Annotation(item=item.item, scores=dict.fromkeys(CRITERIA, 4), is_refusal=False)
            for item in made.items[:4]
        )
        write_annotator(
            tmp_path, AnnotatorFile(study="first", annotator=name, origin="test", annotations=said)
        )
    return tmp_path / "human" / "first"


def found(study: Path) -> list[tuple[str, str, str]]:
    tree = ResultsTree(study.parents[1])
    report = audit_tree(tree, {}, None)
    return [(f.code, f.path, f.field) for f in report.findings if f.path.startswith("human")]


def edited(path: Path, change: Callable[[Any], object]) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data)
    path.write_text(canonical(data), encoding="utf-8")


def test_a_sound_study_is_counted_and_nothing_is_said(study: Path) -> None:
    assert found(study) == []
    tree = ResultsTree(study.parents[1])
    with_study = audit_tree(tree, {}, None).files
    shutil.rmtree(study)
    assert with_study - audit_tree(tree, {}, None).files == 3


@pytest.mark.parametrize(
    ("name", "change", "code"),
    [
        ("annotations/a1.json", lambda d: d["annotations"][0]["scores"].update(fluency=9), "study"),
        ("annotations/a1.json", lambda d: d["annotations"][0]["scores"].pop("fluency"), "study"),
        ("annotations/a1.json", lambda d: d["annotations"][0].update(item="nothing"), "study"),
        ("annotations/a1.json", lambda d: d["annotations"].append(d["annotations"][0]), "study"),
        ("annotations/a1.json", lambda d: d.update(annotator="a2"), "study"),
        ("annotations/a1.json", lambda d: d.update(more=1), "study"),
        ("study.json", lambda d: d.update(study="second"), "study"),
        ("study.json", lambda d: d["items"].append(d["items"][0]), "study"),
        ("study.json", lambda d: d["items"][0].update(conversation_sha256="0" * 64), "study-changed"),
    ],
)
def test_a_damaged_study_is_found(study: Path, name: str, change: Callable[[Any], object], code: str) -> None:
    edited(study / name, change)
    assert code in {at for at, _, _ in found(study)}


def test_strange_files_and_other_bytes_are_found(study: Path) -> None:
    (study / "notes.txt").write_text("?", encoding="utf-8")
    (study / "annotations" / "names.csv").write_text("?", encoding="utf-8")
    path = study / "annotations" / "a2.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8"))), encoding="utf-8")
    assert sorted(found(study)) == [
        ("not-canonical", "human/first/annotations/a2.json", ""),
        ("unknown-file", "human/first/annotations/names.csv", ""),
        ("unknown-file", "human/first/notes.txt", ""),
    ]


def test_conversations_that_changed_since_the_study_was_drawn_are_found(study: Path) -> None:
    tree = ResultsTree(study.parents[1])
    item = read_study(tree.root, "first").items[0]
    for path in tree.root.rglob(f"conversations/{item.character}.{item.situation}.json"):
        path.unlink()
    assert ("study-changed", "human/first/study.json", "items") in found(study)
