"""Answers for a ScriptedServer that hears and speaks: what is sent as sound has to be a sound file.

    ScriptedServer(speech)

A request that asks for sound gets a tone of its own; one that brings sound gets a verdict, from a hash of the
request. A part that is no sound file, or is not what its format says, is answered with 400.
"""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import numpy as np
import soundfile

from tests.scripted_server import Answer, Seen, completion, error, spoken

RATE = 16_000


def tone(seconds: float = 1.0, *, pitch: float = 220.0, rate: int = RATE, kind: str = "WAV") -> bytes:
    """A sound file with a tone that swells and fades, a tenth of it silent at its end."""
    times = np.arange(round(seconds * rate)) / rate
    wave = 0.4 * np.sin(2 * np.pi * pitch * times) * np.sin(np.pi * times / seconds)
    wave[round(0.9 * len(wave)) :] = 0.0
    return written(wave, rate, kind)


def written(samples: Any, rate: int = RATE, kind: str = "WAV", subtype: str | None = None) -> bytes:
    """A sound file of ``samples``."""
    made = io.BytesIO()
    soundfile.write(made, samples, rate, format=kind, subtype=subtype)
    return made.getvalue()


def heard(seen: Seen) -> list[tuple[str, bytes]]:
    """(format, bytes) of the sounds in a request's last message."""
    content = seen.body["messages"][-1]["content"]
    parts = [part["input_audio"] for part in content if part["type"] == "input_audio"] if content else []
    return [(part["format"], base64.b64decode(part["data"], validate=True)) for part in parts]


def fault_in(sounds: list[tuple[str, bytes]]) -> str:
    """What a provider would say of sounds that it cannot take; empty where there is nothing."""
    for name, data in sounds:
        if name not in ("wav", "mp3"):
            return f"input_audio.format {name!r} is not supported"
        try:
            with soundfile.SoundFile(io.BytesIO(data)) as file:
                if file.format.lower() != name or not len(file.read()):
                    return f"the audio is {file.format}, not {name}"
        except soundfile.SoundFileError:
            return "the audio cannot be decoded"
    return ""


def speech(seen: Seen) -> Answer:
    """A plausible answer of a model that hears and speaks."""
    body = seen.body
    sounds = heard(seen) if isinstance(body["messages"][-1]["content"], list) else []
    if fault := fault_in(sounds):
        return error(400, fault)
    usage = {"prompt_tokens": 900, "completion_tokens": 300, "total_tokens": 1200}
    details = {"prompt_tokens_details": {"audio_tokens": 100}, "completion_tokens_details": {}}
    if "audio" not in body:
        return completion(
            json.dumps(steps(seen.digest), ensure_ascii=False), seen, usage={**usage, **details}
        )
    details["completion_tokens_details"] = {"audio_tokens": 200}
    sound = spoken_answer(tone(1 + seen.digest % 3, pitch=110 + seen.digest % 400), spoken(seen.digest))
    return completion(None, seen, usage={**usage, **details}, audio=sound)


def spoken_answer(data: bytes, transcript: str) -> dict[str, Any]:
    """The ``audio`` of a message."""
    encoded = base64.b64encode(data).decode()
    return {"id": "audio_1", "expires_at": 1700000000, "data": encoded, "transcript": transcript}


def steps(digest: int = 0, **changes: Any) -> dict[str, Any]:
    """A whole and consistent verdict of the kind that ``digest`` picks; ``changes`` replace its keys."""
    kind = 1 + digest % 5
    scores = {2: (20, 40), 3: (90, 40)}.get(kind, (90, 75))
    style = [
        {"requirement": name, "reason": "It is audible.", "score": score}
        for name, score in zip(("calm", "slow"), scores, strict=True)
    ]
    found: dict[str, Any] = {
        "description": "A plain tone, low, with no feeling in it.",
        "transcript": "Skipper, keep my light on your left hand.",
        "breaks_off": False,
        "instruction": {
            "language": "English",
            "role": "keeper",
            "scenario": "a storm",
            "style_requirements": ["calm", "slow"],
        },
        "language": {"response_language": "English", "consistent": True},
        "content": {"reason": "He guides the boat.", "compliant": kind > 1},
        "style": style if kind > 1 else None,
        "naturalness": {"reason": "It is even.", "highly_natural": kind == 5} if kind > 3 else None,
        "final": f"Final score: [[{kind}]]",
    }
    return {**found, **changes}
