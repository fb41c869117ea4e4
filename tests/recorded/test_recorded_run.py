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


def test_recorded_run_with_a_criterion_of_agency(play: Play, expected: Expected, vcr: Any) -> None:
    played = play.suite("en", "small", name="recorded-hard")
    (verdict,) = played.judgements
    assert [set(turn.scores) for turn in verdict.turns] == [
        {"in_character", "entertaining", "fluency", "agency"}
    ] * 2
    assert played.stats.sent == len(vcr.requests)
    expected.check(played)


def test_recorded_run_of_a_group(play: Play, expected: Expected) -> None:
    played = play.suite("en", "small", name="recorded-group")
    (verdict,) = played.judgements
    assert {"attribution", "distinct_voices", "own_voice"} < set(verdict.turns[0].scores)
    expected.check(played)


def test_recorded_run_of_a_long_conversation_judged_in_windows(
    play: Play, expected: Expected, vcr: Any
) -> None:
    played = play.suite("en", "small", name="recorded-long")
    (talk,), (verdict,) = played.conversations, played.judgements
    assert [(plant.turn, plant.ask) for plant in talk.scene.plants] == [(1, 3)]
    assert [attack.turn for attack in talk.scene.attacks] == [2]
    assert verdict.mode is not None
    assert (verdict.mode.window, [turn.turn for turn in verdict.turns]) == (2, [1, 2, 3])
    assert verdict.turns[1].detail is not None
    assert len(str(verdict.turns[1].detail["summary"])) <= 100
    assert played.stats.sent == len(vcr.requests)
    expected.check(played)


def test_recorded_run_with_flaws_and_their_quotations(play: Play, expected: Expected) -> None:
    played = play.suite("en", "small", name="recorded-flaws")
    (talk,), (verdict,) = played.conversations, played.judgements
    assert verdict.mode is not None
    assert verdict.mode.flaws
    for turn, answer in zip(verdict.turns, talk.answers(), strict=True):
        assert turn.flaws is not None
        assert all(flaw.quote in answer.content for flaw in turn.flaws)
    expected.check(played)


def test_recorded_run_of_probes_of_a_lorebook(play: Play, expected: Expected) -> None:
    played = play.suite("en", "small", name="recorded-probes")
    lore = {talk.situation: talk.scene.lore for talk in played.conversations}
    assert {name: entries and entries[0].turns for name, entries in lore.items()} == {
        "used": (1,),
        "corrected": (1,),
        "unseen": None,
    }
    assert [verdict.judge for verdict in played.judgements] == ["patterns"] * 3
    expected.check(played)
