"""Sound files: measures compared with how the files were made, and the reasons for refusing files."""

from __future__ import annotations

import hashlib
import io
import re
import struct
import wave

import numpy as np
import pytest
import soundfile

from bench.audio.measure import SoundFault, SoundLimits, measured, sendable
from bench.audio.sounds import Sounds
from tests.scripted_speech import tone, written

LIMITS = SoundLimits(max_seconds=3, min_seconds=0.5, min_sample_rate=8000, max_bytes=500_000)


def refused(data: bytes) -> str:
    with pytest.raises(SoundFault) as caught:
        measured(data, LIMITS)
    return str(caught.value)


@pytest.mark.parametrize("kind", ["WAV", "MP3", "FLAC"])
def test_length_rate_and_channels_are_those_it_was_made_with(kind: str) -> None:
    one = tone(2, rate=22_050, kind=kind)
    found = measured(one, LIMITS)
    assert (found.format, found.sample_rate, found.channels) == (kind.lower(), 22_050, 1)
    assert found.seconds == pytest.approx(2, abs=0.1)
    assert (found.bytes, found.sha256) == (len(one), hashlib.sha256(one).hexdigest())
    two = measured(written(np.ones((16_000, 2)) * 0.3, kind=kind), LIMITS)
    assert two.channels == 2


def test_a_file_is_measured_as_the_standard_library_reads_it() -> None:
    data = tone(1.5)
    with wave.open(io.BytesIO(data)) as file:
        assert measured(data, LIMITS).seconds == pytest.approx(file.getnframes() / file.getframerate())


def test_silence_is_the_share_of_quiet_windows() -> None:
    loud, quiet = np.full(16_000, 0.2), np.full(8_000, 0.001)
    assert measured(written(np.concatenate([loud, quiet, quiet])), LIMITS).silence == 0.5
    just_below, just_above = 10 ** (-51 / 20), 10 ** (-49 / 20)
    steps = np.concatenate([np.full(16_000, just_below), np.full(16_000, just_above)])
    assert measured(written(steps, subtype="FLOAT"), LIMITS).silence == 0.5


def test_a_wave_that_crosses_zero_is_not_silent_there() -> None:
    times = np.arange(16_000) / 16_000
    assert measured(written(0.5 * np.sin(2 * np.pi * 100 * times)), LIMITS).silence == 0


@pytest.mark.parametrize(("subtype", "full"), [("PCM_16", 1.0), ("PCM_U8", 1.0), ("FLOAT", 1.2)])
def test_clipping_is_the_share_of_samples_at_full_scale(subtype: str, full: float) -> None:
    samples = np.full(16_000, 0.5)
    samples[::10] = full
    samples[1::10] = -full
    assert measured(written(samples, subtype=subtype), LIMITS).clipping == pytest.approx(0.2)


def test_a_stream_whose_header_does_not_know_its_length_is_read_to_its_end() -> None:
    data = bytearray(tone(1))
    at = data.index(b"data")
    data[4:8] = data[at + 4 : at + 8] = b"\xff\xff\xff\xff"
    assert measured(bytes(data), LIMITS).seconds == pytest.approx(1)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty file"),
        (b"<html>Not found</html>", "no sound file"),
        (bytes(range(256)) * 20, "no sound file"),
        (tone(1)[:30], "no sound file"),
        (tone(1)[:44], "no sound"),
        (tone(1, kind="FLAC")[:2000], "cannot be decoded|less than"),
        (tone(4), "longer than 3 s"),
        (tone(4, kind="MP3"), "longer than 3 s"),
        (tone(0.2), "lasts 0.20 s"),
        (tone(1, rate=6000), "6000 Hz, below 8000 Hz"),
        (tone(1, kind="OGG"), "is OGG, not one of flac, mp3, wav"),
        (written(np.zeros(16_000)), "silent from beginning to end"),
        (written(np.zeros((16_000, 5))), "5 channels"),
        (tone(2) + bytes(500_000), "more than 500000 bytes"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_reason(data: bytes, reason: str) -> None:
    assert re.search(reason, refused(data))


def test_a_header_that_claims_hours_is_not_decoded() -> None:
    data = bytearray(written(np.zeros(100), 8000, "FLAC"))
    # The number of frames: the low 36 bits of bytes 13 to 20 of the stream information.
    start = 8 + 10
    (bits,) = struct.unpack(">Q", data[start : start + 8])
    data[start : start + 8] = struct.pack(">Q", bits | (2**36 - 1))
    with pytest.raises(SoundFault):
        measured(bytes(data), LIMITS)


def test_flac_is_sent_as_wav_of_the_same_samples_and_others_as_they_are() -> None:
    flac = tone(1, kind="FLAC")
    form, wav = sendable(flac, measured(flac))
    assert form == "wav"
    assert np.array_equal(soundfile.read(io.BytesIO(wav))[0], soundfile.read(io.BytesIO(flac))[0])
    assert sendable(flac, measured(flac)) == ("wav", wav)
    for kind in ("WAV", "MP3"):
        data = tone(1, kind=kind)
        assert sendable(data, measured(data)) == (kind.lower(), data)


def test_a_sound_is_held_as_often_as_it_was_given() -> None:
    sounds, data = Sounds(), tone(1)
    audio = measured(data)
    sounds.hold(audio, data)
    sounds.hold(audio, data)
    assert sounds.release(audio) == data
    assert sounds.release(audio) == data
    assert sounds.release(audio) is None
