"""Spoken role play: who is asked what with which sound, what is kept of it, and what goes wrong how."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
import soundfile

from bench.catalog import load_catalog
from bench.chat.requests import ChatRequest, Reply
from bench.errors import StorageError
from bench.protocols import protocol_for
from bench.records import Conversation, Judgement
from bench.run.storage import TreeStorage
from bench.suites import load_suite
from tests.scripted_speech import steps, tone, written
from tests.spoken_bench import Spoken, make_spoken
from tests.tiny import edit


@pytest.fixture
def bench(tmp_path: Path) -> Spoken:
    return make_spoken(tmp_path)


def said(data: bytes | str = b"", transcript: str = "Steady, skipper.", **changes: Any) -> Reply:
    """A reply with a sound, or with text that ought to be one."""
    sound = data if isinstance(data, str) else base64.b64encode(data or tone(1)).decode()
    return Reply("ok", transcript, sound=sound, **changes)


class Asked:
    """Answers with the given replies in order, the last one again and again."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.requests: list[ChatRequest] = []

    async def __call__(self, request: ChatRequest) -> Reply:
        self.requests.append(request)
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


def converse(
    bench: Spoken, *replies: Reply, character: str = "keeper", player: str = "voice"
) -> tuple[Conversation, list[ChatRequest]]:
    """A conversation, held and written."""
    protocol, ask = bench.protocol(), Asked(*(replies or (said(),)))
    record = asyncio.run(protocol.converse(bench.cell(character, player), ask))
    return TreeStorage(protocol, bench.tree).conversation(record), ask.requests


def judge(bench: Spoken, conversation: Conversation, *texts: str) -> tuple[Judgement, list[ChatRequest]]:
    ask = Asked(*(Reply("ok", text) for text in texts))
    return asyncio.run(bench.protocol().judge(conversation, "ear", ask)), ask.requests


# --- the player -------------------------------------------------------------------------------------------


def test_a_speech_model_is_asked_for_sound(bench: Spoken) -> None:
    record, (request,) = converse(bench)
    assert request.parameters["modalities"] == ["text", "audio"]
    assert request.parameters["audio"] == {"voice": "ash", "format": "wav"}
    assert [m.content for m in request.messages] == ["Talk a boat in through the storm."]
    assert request.sounds == ()
    assert record.status == "complete"
    assert record.scene.character_name == "Lighthouse keeper"
    assert record.calls[0].parameters == request.parameters


def test_its_answer_is_kept_beside_the_record(bench: Spoken) -> None:
    data = tone(1.5)
    record, _ = converse(bench, said(data))
    audio = record.messages[-1].audio
    assert audio is not None
    assert record.messages[-1].content == "Steady, skipper."
    assert audio.seconds == pytest.approx(1.5)
    path = bench.root / "results" / "spoken" / "en" / "voice" / "audio" / f"{audio.sha256}.wav"
    assert path.read_bytes() == data
    assert hashlib.sha256(data).hexdigest() == audio.sha256


def test_a_spoken_instruction_is_heard_and_not_read(bench: Spoken) -> None:
    record, (request,) = converse(bench, character="crier")
    assert request.messages[-1].content == ""
    (sound,) = request.sounds
    assert sound.format == "wav"  # FLAC is no format of the chat API
    assert len(soundfile.read(io.BytesIO(sound.data))[0]) == 16_000
    question = record.messages[0]
    assert question.content == "Cry out your plums."
    assert question.audio is not None
    assert question.audio.format == "flac"
    assert bench.tree.read_audio(record, question.audio) == tone(1, kind="FLAC")


@pytest.mark.parametrize(
    ("reply", "outcome", "reason", "asks"),
    [
        (Reply("ok", "I would rather write."), "empty", "the answer holds no sound", 3),
        (Reply("empty", detail="the answer is blank"), "empty", "the answer is blank", 3),
        (Reply("content_filter", detail="stopped"), "content_filter", "stopped", 1),
        (said("%%%"), "bad_audio", "not valid base64", 1),
        (said(base64.b64encode(b"no sound").decode()), "bad_audio", "is no sound file that can be read", 1),
        (said(tone(6)), "bad_audio", "is longer than 5 s", 1),
        (said(tone(1, rate=4000)), "bad_audio", "has a sample rate of 4000 Hz", 1),
        (said(written([0.0] * 16_000)), "bad_audio", "is silent from beginning to end", 1),
        (said(tone(1) + bytes(400_000)), "bad_audio", "more than 400000 bytes", 1),
    ],
)
def test_an_answer_that_cannot_be_heard_is_a_recorded_failure(
    bench: Spoken, reply: Reply, outcome: str, reason: str, asks: int
) -> None:
    record, requests = converse(bench, reply)
    assert record.status == "failed"
    assert record.failure is not None
    assert (record.failure.role, record.failure.outcome) == ("player", outcome)
    assert reason in record.failure.reason
    assert len(requests) == len(record.calls) == asks
    assert [m.role for m in record.messages] == ["user"]


def test_an_answer_after_silence_counts(bench: Spoken) -> None:
    record, requests = converse(bench, Reply("empty"), said())
    assert record.status == "complete"
    assert [r.sample for r in requests] == [0, 1]


# --- recorded players -------------------------------------------------------------------------------------


def test_a_recorded_player_is_not_called(bench: Spoken) -> None:
    record, requests = converse(bench, player="tape")
    assert (requests, record.calls, record.status) == ([], (), "complete")
    answer = record.messages[-1]
    assert answer.content == "Keep my light on your left."
    assert answer.audio is not None
    assert answer.audio.format == "mp3"
    protocol = bench.protocol()
    assert protocol.talkers("tape") == ()
    assert protocol.talk_calls(bench.cell(player="tape")) == 0
    assert protocol.parameters("player", "tape") == {}


@pytest.mark.parametrize(
    ("content", "outcome", "reason"),
    [
        (None, "empty", "there is no recording en/keeper.storm (flac, mp3, wav)"),
        (b"", "bad_audio", "the recording keeper.storm.wav is an empty file"),
        (b"text", "bad_audio", "the recording keeper.storm.wav is no sound file that can be read"),
        (tone(9), "bad_audio", "the recording keeper.storm.wav is longer than 5 s"),
    ],
)
def test_a_recording_that_is_missing_or_bad_is_a_recorded_failure(
    bench: Spoken, content: bytes | None, outcome: str, reason: str
) -> None:
    (bench.tapes / "keeper.storm.mp3").unlink()
    if content is not None:
        (bench.tapes / "keeper.storm.wav").write_bytes(content)
    record, _ = converse(bench, player="tape")
    assert record.failure is not None
    assert (record.failure.outcome, record.failure.reason) == (outcome, reason)
    assert str(bench.root) not in json.dumps(record.plain())


def test_two_recordings_of_one_answer_are_a_recorded_failure(bench: Spoken) -> None:
    (bench.tapes / "keeper.storm.wav").write_bytes(tone(2))
    record, _ = converse(bench, player="tape")
    assert record.failure is not None
    assert record.failure.reason == (
        "there are several recordings: keeper.storm.mp3, keeper.storm.wav; keep one"
    )


def test_another_recording_makes_a_conversation_stale(bench: Spoken) -> None:
    cell = bench.cell(player="tape")
    before = bench.protocol().conversation_fingerprint(cell)
    assert bench.protocol().conversation_fingerprint(cell) == before
    (bench.tapes / "keeper.storm.mp3").write_bytes(tone(1, kind="MP3"))
    assert bench.protocol().conversation_fingerprint(cell) != before


# --- the judge --------------------------------------------------------------------------------------------


def test_the_judge_hears_the_answer_and_reads_the_instruction(bench: Spoken) -> None:
    conversation, _ = converse(bench, player="tape")
    record, (request,) = judge(bench, conversation, json.dumps(steps(4)))
    (sound,) = request.sounds
    assert sound.format == "mp3"
    assert sound.data == (bench.tapes / "keeper.storm.mp3").read_bytes()
    (prompt,) = request.messages
    assert "role and scenario" in prompt.content
    assert "| Talk a boat in through the storm." in prompt.content
    assert (
        "Keep my light" not in prompt.content
    )  # what the player says that it says is not the judge's to know
    assert "modalities" not in request.parameters
    (turn,) = record.turns
    assert turn.scores == {"role_play": 5}
    assert turn.detail is not None
    assert turn.detail["derived_score"] == 5


def test_a_reply_without_steps_is_asked_for_again_with_its_fault(bench: Spoken) -> None:
    conversation, _ = converse(bench)
    record, requests = judge(bench, conversation, "Final score: [[4]]", json.dumps(steps(0)))
    assert "could not be used" in requests[1].messages[0].content
    assert requests[1].sounds == requests[0].sounds
    assert record.status == "ok"
    assert record.turns[0].scores == {"role_play": 1}
    assert len(record.raw) == len(record.calls) == 2


def test_a_judge_that_never_says_a_score_fails(bench: Spoken) -> None:
    conversation, _ = converse(bench)
    record, requests = judge(bench, conversation, json.dumps(steps(3, final=None)))
    assert (record.status, len(requests)) == ("failed", 3)
    assert record.failure is not None
    assert "final score is missing" in record.failure.reason


def test_a_final_score_against_the_steps_counts_and_is_marked(bench: Spoken) -> None:
    conversation, _ = converse(bench)
    record, _ = judge(bench, conversation, json.dumps(steps(1, final="Final score: [[5]]")))
    (turn,) = record.turns
    assert turn.scores == {"role_play": 5}
    assert turn.detail is not None
    assert (turn.detail["derived_score"], turn.detail["consistent"]) == (2, False)


def test_kept_replies_read_again_give_the_same_judgement(bench: Spoken) -> None:
    conversation, _ = converse(bench)
    for texts in (["no", json.dumps(steps(2))], ["no"], [json.dumps(steps(1, final=5))]):
        record, _ = judge(bench, conversation, *texts)
        assert bench.protocol().reread(record, conversation) == record


def test_a_sound_that_is_gone_or_altered_stops_the_judging(bench: Spoken) -> None:
    conversation, _ = converse(bench)
    audio = conversation.messages[-1].audio
    assert audio is not None
    path = bench.tree.audio_path(conversation, audio)
    path.write_bytes(tone(1, pitch=500))
    with pytest.raises(StorageError, match="has changed"):
        judge(bench, conversation, json.dumps(steps(0)))
    path.unlink()
    with pytest.raises(StorageError, match="cannot be read"):
        judge(bench, conversation, json.dumps(steps(0)))


# --- what is kept, and what is dropped --------------------------------------------------------------------


def test_a_conversation_that_is_replaced_takes_its_sound_along(bench: Spoken) -> None:
    converse(bench, said(tone(1)))
    converse(bench, said(tone(1)), character="ghost")
    folder = bench.tree.player_folder("spoken", "en", "voice") / "audio"
    assert len(list(folder.iterdir())) == 1
    edit(bench.suite_file, "max_seconds = 5", "max_seconds = 4")  # another fingerprint: it is held again
    second, _ = converse(bench, said(tone(2)))
    assert len(list(folder.iterdir())) == 2  # the ghost still has the first
    third, _ = converse(bench, said(tone(3)), character="ghost")
    assert {path.stem for path in folder.iterdir()} == {
        record.messages[-1].audio.sha256 for record in (second, third) if record.messages[-1].audio
    }


def test_the_faster_process_keeps_its_sound(bench: Spoken) -> None:
    first, _ = converse(bench, said(tone(1)))
    again, _ = converse(bench, said(tone(2)))
    assert again == first
    folder = bench.tree.player_folder("spoken", "en", "voice") / "audio"
    assert [path.stem for path in folder.iterdir()] == [a.sha256 for m in first.messages if (a := m.audio)]


def test_the_demonstration_is_whole() -> None:
    """Our own suite: items in both languages, a recording and a transcript for each."""
    root = Path(__file__).resolve().parents[1]
    catalog = load_catalog(root / "models.toml")
    suite = load_suite(root / "prompts", "speech-demo")
    assert suite.entry.demonstration
    kinds = set()
    for language in ("en", "ru"):
        protocol = protocol_for(suite, language, catalog)
        protocol.check_models(suite.entry.player.models, suite.judges)
        cells = protocol.cells("espeak-ng")
        assert len(cells) == 8
        for cell in cells:
            record = asyncio.run(protocol.converse(cell, Asked(Reply("empty"))))
            assert record.status == "complete", record.failure
            assert record.messages[-1].content
            kinds.add(record.scene.summary)
        assert sum(item.data.get("audio") is not None for item in protocol.scenes.items) == 1
    assert kinds == {"role", "scenario", "role and scenario", "explicit style"}
