"""Whole runs against recorded traffic of the embedded model: no model, no connection."""

from __future__ import annotations

from typing import Any

import pytest

from tests.recorded.conftest import Expected, Play

pytestmark = pytest.mark.vcr


def test_recorded_run_comes_to_the_same_conversations_and_judgements(
    play: Play, expected: Expected, vcr: Any
) -> None:
    played = play.suite("en", "small", "warm")
    assert [len(c.messages) for c in played.conversations] == [2, 4, 2, 4]
    assert {c.status for c in played.conversations} == {"complete"}
    assert len(played.judgements) == 4
    assert played.stats.sent == len(vcr.requests)
    assert vcr.all_played or expected.recording
    expected.check(played)


def test_recorded_run_in_russian(play: Play, expected: Expected) -> None:
    played = play.suite("ru", "small")
    assert [c.scene.situation_title for c in played.conversations] == ["Приветствие", "Просто машина"]
    assert len(played.judgements) == 2
    expected.check(played)


def test_recorded_run_of_a_player_without_system_role(play: Play, expected: Expected, vcr: Any) -> None:
    played = play.suite("en", "roleless")
    bodies = [str(request.body, "utf-8") for request in vcr.requests]
    card = "You keep a lighthouse, like storms and distrust ships. Answer in English, in one sentence."
    assert not any('"role":"system"' in body for body in bodies)
    assert sum(f"{card}\\n\\n" in body for body in bodies) == 3  # the player's turns
    expected.check(played)


def test_recorded_run_of_version_1(play: Play, expected: Expected, vcr: Any) -> None:
    played = play.suite("en", "small", name="recorded-v1")
    (talk,), (verdict,) = played.conversations, played.judgements
    assert (talk.status, verdict.status, verdict.calls) == ("complete", "ok", ())
    assert len(verdict.turns) == len(talk.messages) // 2
    assert played.stats.sent == len(talk.calls) == len(vcr.requests)
    assert vcr.all_played or expected.recording
    expected.check(played)


def test_recorded_run_of_version_1_in_russian(play: Play, expected: Expected) -> None:
    played = play.suite("ru", "small", name="recorded-v1")
    (verdict,) = played.judgements
    assert set(verdict.turns[0].scores) == {"in_character", "entertaining", "fluency"}
    expected.check(played)


def test_recorded_run_of_human_likeness(play: Play, expected: Expected, vcr: Any) -> None:
    played = play.suite("en", "small", name="recorded-likeness")
    assert [len(c.messages) for c in played.conversations] == [2, 2]
    assert [len(j.turns) for j in played.judgements] == [2, 2]
    assert played.stats.sent == len(vcr.requests)
    assert vcr.all_played or expected.recording
    expected.check(played)
