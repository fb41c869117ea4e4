"""Small studies, and exports of Label Studio 1.23 as it writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.annotate.guideline import load_guideline
from bench.annotate.merging import MergeReport, merge
from bench.annotate.reading import Reading, read_files
from bench.annotate.sample import draw_study
from bench.records import Message, messages_sha256, sealed
from bench.results import ResultsTree
from bench.results.studies import AnnotatorFile, StudyFile, read_annotators, write_study
from tests.synthetic import SUITE, make_tree
from tests.tiny import ROOT

PROMPTS = ROOT / "prompts"
CRITERIA = ("in_character", "entertaining", "fluency")
EARLY, LATE = "2026-03-01T10:00:00.000000Z", "2026-03-01T13:00:00.500000+02:00"

HOSTILE = (
    "*bows*\nsecond line <script>window.TAKEN = 1</script> <img src=x onerror='window.TAKEN = 2'>"
    ' &lt;img src=x onerror="window.TAKEN = 3"&gt; &amp;amp; <b>bold?</b> <style>body{display:none}</style>'
    " <svg onload='window.TAKEN = 4'></svg> <iframe srcdoc='<script>parent.TAKEN = 5</script>'></iframe>"
    " [link](javascript:window.TAKEN=6) </div></div></View> $card {{ item }} ]]> \x00 \x1b[31m"
)
"""What a model may write to be run, to break out of its place, or to break the format."""


def make_study(
    root: Path, *, size: int = 6, language: str = "en", name: str = "first", hostile: bool = False
) -> StudyFile:
    """A results tree of three players below ``root`` and a study of ``size`` of its conversations."""
    tree = make_tree(root, players=3, languages=(language,), characters=3, situations=3, judges=1).tree
    if hostile:
        make_hostile(tree, language)
    guideline = load_guideline(PROMPTS, language)
    study = draw_study(tree, guideline, study=name, suite=SUITE, language=language, size=size).file
    write_study(root, study)
    return study


def make_hostile(tree: ResultsTree, language: str) -> None:
    """Let every conversation begin with hostile words of both sides, and have a hostile card."""
    for info in tree.players(SUITE, language):
        for talk in list(tree.conversations(SUITE, language, info.player)):
            said = tuple(Message(role=role, content=HOSTILE) for role in ("user", "assistant"))
            scene = talk.scene.model_copy(update={"card": HOSTILE, "character_name": "<i>Name</i>"})
            changed = talk.model_copy(update={"messages": said + talk.messages, "scene": scene})
            tree.write_conversation(sealed(changed), replace=True)


def choice(name: str, value: str) -> dict[str, Any]:
    """One answer, as the JSON export has it."""
    return {
        "value": {"choices": [value]},
        "id": f"r-{name}",
        "from_name": name,
        "to_name": "dialogue",
        "type": "choices",
        "origin": "manual",
    }


def annotation(
    who: object,
    scores: Sequence[int | None] = (4, 3, 5),
    *,
    number: int = 1,
    refusal: str | None = "no",
    comment: str = "",
    cancelled: bool = False,
    at: str = "2026-03-01T10:00:00.000000Z",
) -> dict[str, Any]:
    """One annotation of the JSON export; a score of None was not given."""
    result = [choice(n, str(s)) for n, s in zip(CRITERIA, scores, strict=True) if s is not None]
    if refusal is not None:
        result.append(choice("refusal", refusal))
    if comment:
        result.append(
            {**choice("comment", ""), "type": "textarea", "value": {"text": [comment]}, "id": "r-comment"}
        )
    return {
        "id": number,
        "completed_by": who,
        "result": result,
        "was_cancelled": cancelled,
        "ground_truth": False,
        "created_at": at,
        "updated_at": at,
        "draft_created_at": None,
        "lead_time": 12.345,
        "unique_id": f"0000-{number}",
        "task": 1,
    }


def task(item: str, annotations: Sequence[Mapping[str, Any]], number: int = 1) -> dict[str, Any]:
    """One task of the JSON export."""
    return {
        "id": number,
        "annotations": list(annotations),
        "drafts": [],
        "predictions": [],
        "data": {"item": item, "card": "<div>…</div>", "dialogue": "<div>…</div>"},
        "meta": {},
        "project": 1,
    }


def short(item: str, who: int, answers: Mapping[str, Any], number: int = 1) -> dict[str, Any]:
    """One entry of the JSON-MIN export."""
    return {
        "item": item,
        "card": "<div>…</div>",
        "dialogue": "<div>…</div>",
        "id": 1,
        **answers,
        "annotator": who,
        "annotation_id": number,
        "created_at": "2026-03-01T10:00:00.000000Z",
        "updated_at": "2026-03-01T10:00:00.000000Z",
        "lead_time": 12.345,
    }


def written(path: Path, data: object) -> Path:
    """A file with the data as JSON."""
    path.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    return path


def sha_of(tree: ResultsTree, study: StudyFile) -> dict[str, str]:
    """Item by the messages of its conversation, as the results tree has them now."""
    found = {}
    for info in tree.players(study.suite, study.language):
        for talk in tree.conversations(study.suite, study.language, info.player):
            found[messages_sha256(talk.messages)] = f"{talk.player}/{talk.character}/{talk.situation}"
    return found


def brought(root: Path, study: StudyFile, data: object, **options: Any) -> tuple[Reading, MergeReport]:
    """Read an export out of a file and merge it."""
    reading = read_files([written(root / "export.json", data)], study)
    return reading, merge(root, study, reading.entries, origin="label-studio", **options)


def said(root: Path, study: StudyFile) -> dict[str, AnnotatorFile]:
    return read_annotators(root, study)


def names(study: StudyFile) -> list[str]:
    return [item.item for item in study.items]
