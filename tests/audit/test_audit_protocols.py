"""Edits of evidence of the other protocols are found as those of version 2's are."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bench.audit import audit_tree
from bench.boards.loading import all_suites, load_board, write_board
from bench.records import Conversation, Judgement, sealed
from bench.run.plan import make_plan
from bench.run.runner import run_plan
from tests.other_benches import Other, make_likeness, make_long, make_v1
from tests.tiny import FakeChat, edit

MAKERS = {"pingpong_v1": make_v1, "human_likeness": make_likeness, "pingpong_long": make_long}


@pytest.fixture(scope="session", params=sorted(MAKERS))
def played_other(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Other:
    """A bench in miniature that two players have played, with its board."""
    made = MAKERS[request.param](tmp_path_factory.mktemp("audit-other") / "other")
    protocol = made.made()
    plan = make_plan(protocol, made.tree, ["bard", "actor"], protocol.suite.judges)
    asyncio.run(run_plan(protocol, plan, made.tree, FakeChat().ask))
    write_board(made.tree, load_board(made.tree, made.suite, "en", prompts=all_suites(made.prompts)).board)
    return made


@pytest.fixture
def other(played_other: Other, tmp_path: Path) -> Other:
    """A copy of it for one test to spoil."""
    shutil.copytree(played_other.root, tmp_path / "other")
    return replace(played_other, root=tmp_path / "other")


def found(other: Other) -> dict[str, set[str]]:
    """Fields of every finding, by code."""
    report = audit_tree(other.tree, all_suites(other.prompts), other.catalog())
    codes: dict[str, set[str]] = {}
    for one in report.findings:
        codes.setdefault(one.code, set()).add(one.field)
    return codes


def judgement(other: Other) -> Judgement:
    record = other.tree.judgement(other.first(), other.made().suite.judges[0])
    assert record is not None
    return record


def conversation(other: Other) -> Conversation:
    record = other.tree.conversation(other.first())
    assert record is not None
    return record


def rescored(record: Judgement) -> Judgement:
    turn = record.turns[0]
    scores = {name: score + 1 if score < 10 else score - 1 for name, score in turn.scores.items()}
    return record.model_copy(
        update={"turns": (turn.model_copy(update={"scores": scores}), *record.turns[1:])}
    )


def test_clean_evidence_has_no_finding(other: Other) -> None:
    assert found(other) == {}


def test_a_score_changed_by_hand_does_not_fit_digest_nor_raw_reply(other: Other) -> None:
    path = other.tree.judgement_path(other.first(), judgement(other).judge)
    path.write_text(json.dumps(rescored(judgement(other)).plain()), encoding="utf-8")
    codes = found(other)
    assert "digest" in codes
    assert any(field.startswith("turns.0.scores") for field in codes["reread"])


def test_a_score_changed_with_its_digest_and_board_does_not_fit_the_raw_reply(other: Other) -> None:
    other.tree.write_judgement(sealed(rescored(judgement(other))), replace=True)
    write_board(
        other.tree, load_board(other.tree, other.suite, "en", prompts=all_suites(other.prompts)).board
    )
    codes = found(other)
    assert set(codes) == {"reread"}


@pytest.mark.parametrize("gone", ["suite", "catalog"])
def test_it_is_found_without_the_suite_or_the_catalog_too(other: Other, gone: str) -> None:
    other.tree.write_judgement(sealed(rescored(judgement(other))), replace=True)
    suites = {} if gone == "suite" else all_suites(other.prompts)
    catalog = None if gone == "catalog" else other.catalog()
    report = audit_tree(other.tree, suites, catalog)
    assert "reread" in {one.code for one in report.findings}


def test_an_answer_edited_with_its_digest_is_not_what_was_judged(other: Other) -> None:
    talk = conversation(other)
    said = talk.messages[1].model_copy(update={"content": "Something else."})
    forged = talk.model_copy(update={"messages": (talk.messages[0], said, *talk.messages[2:])})
    other.tree.write_conversation(sealed(forged), replace=True)
    assert "conversation-changed" in found(other)


def test_a_verdict_taken_away_is_missed(other: Other) -> None:
    record = judgement(other)
    other.tree.write_judgement(sealed(record.model_copy(update={"turns": record.turns[:-1]})), replace=True)
    assert "turns" in found(other)["inconsistent"]


def test_a_score_off_the_scale_is_named(other: Other) -> None:
    record = judgement(other)
    scores = dict.fromkeys(record.turns[0].scores, 101)
    turn = record.turns[0].model_copy(update={"scores": scores})
    other.tree.write_judgement(
        sealed(record.model_copy(update={"turns": (turn, *record.turns[1:])})), replace=True
    )
    fields = found(other)["inconsistent"]
    assert {f"turns.0.scores.{name}" for name in scores} <= fields


def v1_reply(other: Other) -> None:
    """The interrogator's kept reply edited, and the judgement made to fit it."""
    talk = conversation(other)
    calls = [
        call.model_copy(update={"raw": (call.raw or "").replace("'...'", "'!!!'")}) for call in talk.calls
    ]
    forged = sealed(talk.model_copy(update={"calls": tuple(calls)}))
    other.tree.write_conversation(forged, replace=True)


def test_version_1s_kept_reply_cannot_be_edited_alone(tmp_path: Path) -> None:
    other = make_v1(tmp_path / "other")
    protocol = other.made()
    plan = make_plan(protocol, other.tree, ["bard"], ["asker"])
    asyncio.run(run_plan(protocol, plan, other.tree, FakeChat().ask))
    v1_reply(other)
    assert any(field.startswith("turns.") for field in found(other)["reread"])


STALE: dict[str, tuple[Callable[[Other], Path], str, str]] = {
    "pingpong_v1": (lambda o: o.suite_file.with_name("interrogator.jinja"), "Every fault", "Each fault"),
    "human_likeness": (lambda o: o.items_file, "THIRD answer", "Another answer"),
    "pingpong_long": (lambda o: o.suite_file, "window = 2", "window = 3"),
}


def test_other_prompts_or_data_make_evidence_stale(other: Other) -> None:
    path, old, new = STALE[other.name]
    edit(path(other), old, new)
    codes = found(other)
    assert "stale-judgement" in codes
    assert ("stale-conversation" in codes) is (other.name == "pingpong_v1")
