"""Sound on the wire: what is sent and read, what it is kept as, and what it costs."""

from __future__ import annotations

import base64
import json
from decimal import Decimal
from typing import Any

import pytest

from bench.catalog import Model, Prices, Provider, Voice
from bench.chat.answers import Answer, answer_from
from bench.chat.body import body_of, body_text
from bench.chat.client import Chat
from bench.chat.requests import ChatRequest, Sound
from bench.records import Message, Usage
from tests.scripted_speech import tone
from tests.spoken_bench import Spoken, make_spoken

SOUND = tone(0.5)
PROVIDER = Provider(base_url="http://127.0.0.1:9/v1")
MODEL = Model(
    provider="p",
    model="m",
    name="M",
    family="F",
    weights="open",
    licence="MIT",
    audio_output=Voice(voice="ash"),
)


def request(*sounds: Sound, **changes: Any) -> ChatRequest:
    messages = (Message(role="system", content="Be kind."), Message(role="user", content="Listen."))
    return ChatRequest(**{"model": "m", "role": "judge", "messages": messages, "sounds": sounds, **changes})


def body(of: ChatRequest, **provider: Any) -> dict[str, Any]:
    return body_of(of, MODEL, PROVIDER.model_copy(update=provider))


def test_sounds_follow_the_text_of_the_last_message() -> None:
    sent = body(request(Sound("wav", SOUND)))
    assert sent["messages"][0] == {"role": "system", "content": "Be kind."}
    text, sound = sent["messages"][1]["content"]
    assert text == {"type": "text", "text": "Listen."}
    assert sound["type"] == "input_audio"
    assert sound["input_audio"]["format"] == "wav"
    assert base64.b64decode(sound["input_audio"]["data"]) == SOUND


def test_a_message_without_text_is_its_sound_alone() -> None:
    sent = body(request(Sound("mp3", b"x"), messages=(Message(role="user", content=""),)))
    assert [part["type"] for part in sent["messages"][0]["content"]] == ["input_audio"]


def test_a_system_prompt_can_be_folded_into_a_heard_message() -> None:
    (message,) = body(request(Sound("wav", SOUND)), system_role=False)["messages"]
    assert message["content"][0]["text"] == "Be kind.\n\nListen."
    assert message["content"][1]["type"] == "input_audio"


def test_without_sound_a_body_is_what_it_always_was() -> None:
    text = body_text(body(request(parameters={"temperature": 0.1})))
    assert text == (
        '{"messages":[{"content":"Be kind.","role":"system"},{"content":"Listen.","role":"user"}],'
        '"model":"m","temperature":0.1}'
    )


def test_a_sound_is_part_of_the_cache_key(tmp_path: Any) -> None:
    spoken: Spoken = make_spoken(tmp_path)
    chat = Chat(spoken.catalog())
    keys = {
        chat.prepared(request(*sounds, model="ear")).key
        for sounds in ((), (Sound("wav", SOUND),), (Sound("wav", tone(0.6)),), (Sound("mp3", SOUND),))
    }
    assert len(keys) == 4


def answered(message: dict[str, Any], **usage: Any) -> Answer:
    payload = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}
    found = answer_from(json.dumps(payload).encode(), [Message(role="user", content="Speak.")], ())
    assert isinstance(found, Answer)
    return found


COUNTED = {
    "prompt_tokens": 50,
    "completion_tokens": 40,
    "prompt_tokens_details": {"audio_tokens": 30},
    "completion_tokens_details": {"audio_tokens": 25},
}


def test_a_spoken_answer_is_read_with_its_transcript() -> None:
    audio = {"id": "a", "data": base64.b64encode(SOUND).decode(), "transcript": "Hello."}
    found = answered({"content": None, "audio": audio}, **COUNTED)
    assert (found.outcome, found.text) == ("ok", "Hello.")
    assert base64.b64decode(found.sound or "") == SOUND
    assert (found.usage.audio_prompt_tokens, found.usage.audio_completion_tokens) == (30, 25)


@pytest.mark.parametrize("transcript", [None, "", 7])
def test_a_sound_without_transcript_is_an_answer(transcript: Any) -> None:
    found = answered({"content": None, "audio": {"data": "AAAA", "transcript": transcript}}, **COUNTED)
    assert (found.outcome, found.text, found.sound) == ("ok", "", "AAAA")


@pytest.mark.parametrize("audio", [None, "AAAA", {}, {"data": ""}, {"data": 7}, {"data": "ö"}, []])
def test_what_is_no_sound_is_none(audio: Any) -> None:
    found = answered({"content": None, "audio": audio}, **COUNTED)
    assert (found.outcome, found.sound) == ("empty", None)


def test_calls_without_sound_say_nothing_of_it() -> None:
    none = {"audio_tokens": 0, "cached_tokens": 0}
    counted = {**COUNTED, "prompt_tokens_details": none, "completion_tokens_details": none}
    found = answered({"content": "Hello."}, **counted)
    assert "audio" not in found.model_dump_json(exclude_none=True)
    assert found.sound is None


PRICES = {"input": "2", "output": "8", "cached_input": "1"}


@pytest.mark.parametrize(
    ("prices", "usage", "heard", "spoke", "cost"),
    [
        # 20 of text at 2, 30 of sound at 32, 15 of text at 8, 25 of sound at 64
        ({"audio_input": "32", "audio_output": "64"}, (50, 40, None, 30, 25), True, True, "2720"),
        # 10 of the 20 of text were cached
        ({"audio_input": "32", "audio_output": "64"}, (50, 40, 10, 30, 25), True, True, "2710"),
        # all cached: no more than there is of text
        ({"audio_input": "32", "audio_output": "64"}, (50, 40, 50, 30, 25), True, True, "2700"),
        ({"audio_output": "64"}, (50, 40, None, 30, 25), True, True, None),
        ({"audio_input": "32"}, (50, 40, None, 30, 25), True, True, None),
        ({}, (50, 40, None, None, None), False, False, "420"),
        # nobody says how much of it was sound: known only if that makes no difference
        ({"audio_input": "32"}, (50, 40, None, None, None), True, False, None),
        ({}, (50, 40, None, None, None), True, False, None),
        ({"audio_input": "2"}, (50, 40, None, None, None), True, False, "420"),
        ({"audio_output": "64"}, (50, 40, None, None, None), False, True, None),
        ({"audio_output": "8"}, (50, 40, None, None, None), False, True, "420"),
    ],
)
def test_the_cost_of_sound_is_exact_or_unknown(
    prices: dict[str, str],
    usage: tuple[int, int, int | None, int | None, int | None],
    heard: bool,
    spoke: bool,
    cost: str | None,
) -> None:
    names = (
        "prompt_tokens",
        "completion_tokens",
        "cached_tokens",
        "audio_prompt_tokens",
        "audio_completion_tokens",
    )
    model = MODEL.model_copy(update={"prices": Prices.model_validate({**PRICES, **prices})})
    found = model.cost_of(
        Usage.model_validate(dict(zip(names, usage, strict=True))), heard=heard, spoke=spoke
    )
    assert found == (None if cost is None else Decimal(cost) / 1_000_000)


def test_sound_that_costs_is_not_free() -> None:
    free = {"input": "0", "output": "0", "audio_output": "0"}
    assert MODEL.model_copy(update={"prices": Prices.model_validate(free)}).free
    assert not MODEL.model_copy(update={"prices": Prices.model_validate({**free, "audio_output": "1"})}).free
