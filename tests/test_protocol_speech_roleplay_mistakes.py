"""Spoken role play: what is named before anyone is paid."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.errors import CatalogError
from bench.protocols import protocol_for
from bench.suites import load_suite
from tests.scripted_speech import tone
from tests.spoken_bench import ITEMS, Spoken, make_spoken
from tests.tiny import edit


@pytest.fixture
def bench(tmp_path: Path) -> Spoken:
    return make_spoken(tmp_path)


@pytest.mark.parametrize(
    ("players", "judges", "reason"),
    [
        (["voice"], ["deaf"], "judge 'deaf' takes no audio input"),
        (["deaf"], ["ear"], "player 'deaf' gives no audio output"),
        (["ear"], ["ear"], "player 'ear' gives no audio output"),
        (["voice"], ["tape"], "judge 'tape' takes no audio input"),
    ],
)
def test_models_that_cannot_hear_or_speak_are_named(
    bench: Spoken, players: list[str], judges: list[str], reason: str
) -> None:
    with pytest.raises(CatalogError, match=reason):
        bench.protocol().check_models(players, judges)
    bench.protocol().check_models(["voice", "tape"], ["ear"])


def test_a_player_that_does_not_hear_cannot_take_spoken_instructions(bench: Spoken) -> None:
    edit(
        bench.models,
        'audio_input = true\naudio_output = { voice = "ash" }',
        'audio_output = { voice = "ash" }',
    )
    with pytest.raises(CatalogError, match="player 'voice' takes no audio input"):
        bench.protocol().check_models(["voice"], ["ear"])


def test_a_folder_of_recordings_that_is_not_there_is_named(bench: Spoken) -> None:
    edit(bench.models, 'recordings = "tapes"', 'recordings = "nowhere"')
    with pytest.raises(CatalogError, match="no such folder"):
        bench.protocol().check_models(["tape"], ["ear"])


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('recordings = "tapes"', "", "needs recordings"),
        ('model = "ear-1"', 'model = "ear-1"\nrecordings = "x"', "only for a provider of recordings"),
        ('voice = "ash"', 'voice = ""', "audio_output.voice"),
        ('voice = "ash"', 'voice = "ash", format = "ogg"', "audio_output.format"),
    ],
)
def test_a_mistake_in_the_catalog_is_named(bench: Spoken, old: str, new: str, reason: str) -> None:
    edit(bench.models, old, new)
    with pytest.raises(CatalogError, match=reason):
        bench.catalog()


def with_item(**changes: Any) -> Callable[[Spoken], None]:
    def change(bench: Spoken) -> None:
        item = {key: value for key, value in {**ITEMS[1], **changes}.items() if value is not None}
        bench.items_file.write_text(json.dumps(ITEMS[0]) + "\n" + json.dumps(item), encoding="utf-8")

    return change


def with_sound(data: bytes) -> Callable[[Spoken], None]:
    def change(bench: Spoken) -> None:
        (bench.folder / "sounds" / "plums.flac").write_bytes(data)

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (with_item(instruction=None), "key 'instruction' is missing"),
        (with_item(instruction=""), "instruction: "),
        (with_item(instruction_type=None), "key 'instruction_type' is missing"),
        (with_item(mood="glad"), "unknown key 'mood'"),
        (with_item(situation="last.crate"), "must not contain '.'"),
        (with_item(audio="sounds/none.wav"), "audio: sounds/none.wav cannot be read"),
        (with_item(audio="../../../etc/passwd"), "is not a path in the data set's folder"),
        (with_item(audio="/etc/passwd"), "is not a path in the data set's folder"),
        (with_item(audio="a\0.wav"), "is not a path in the data set's folder"),
        (with_sound(b""), "audio: sounds/plums.flac is an empty file"),
        (with_sound(b"text"), "audio: sounds/plums.flac is no sound file"),
        (with_sound(tone(9, kind="FLAC")), "audio: sounds/plums.flac is longer than 5 s"),
        (with_sound(tone(1, rate=4000)), "has a sample rate of 4000 Hz"),
    ],
)
def test_a_mistake_in_the_data_set_is_named_with_its_line(
    bench: Spoken, change: Callable[[Spoken], None], reason: str
) -> None:
    change(bench)
    with pytest.raises(CatalogError) as caught:
        protocol_for(load_suite(bench.prompts, "spoken"), "en", bench.catalog())
    assert reason in caught.value.line()
    assert "spoken.jsonl:2:" in caught.value.line()


def test_the_estimate_knows_the_price_of_sound(bench: Spoken) -> None:
    guess = bench.protocol().estimate(bench.cell("crier"))
    assert guess["player"].audio_prompt_tokens == 10  # one second of instruction
    assert guess["judge"].audio_prompt_tokens > 0
    assert guess["player"].audio_completion_tokens > 0
    assert {role: part.calls for role, part in guess.items()} == {"player": 1, "judge": 1}
