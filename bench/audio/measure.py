"""Measures sound files with libsndfile: length, rate, channels, silence, clipping.

``soundfile`` is imported when the first file is read, so a run without sound never loads it.
"""

from __future__ import annotations

import hashlib
import io
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import Field

from bench.errors import UserError
from bench.records import Audio
from bench.toml_entries import Entry

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import soundfile

SoundFormat = Literal["wav", "mp3", "flac"]

FORMATS: dict[str, SoundFormat] = {"WAV": "wav", "WAVEX": "wav", "RF64": "wav", "MP3": "mp3", "FLAC": "flac"}
"""libsndfile's names of the accepted containers, and the extensions that their files get."""

WINDOW_SECONDS = 0.02
SILENT_RMS = 10 ** (-50 / 20)
"""A window is silent if its root mean square is below -50 dB of full scale."""
FULL_SCALE = 32767 / 32768
"""The largest 16-bit sample; a sample at or beyond it counts as clipped."""
FULL_SCALE_8_BIT = 127 / 128
MOST_CHANNELS = 2
MOST_RATE = 192_000
LONGEST_SECONDS = 3600.0
"""A longer file is never decoded: it is no speech, and would take much memory."""


class SoundLimits(Entry):
    """Limits that a sound file must keep to be used."""

    max_seconds: float = Field(default=120, gt=0, le=LONGEST_SECONDS)
    min_seconds: float = Field(default=0.3, gt=0)
    min_sample_rate: int = Field(default=8000, ge=1)
    """Hz"""
    max_bytes: int = Field(default=6_000_000, ge=1, le=100_000_000)
    """File size. A chat model's reply is read up to 8 MiB, and base64 takes four bytes for three."""


UNLIMITED = SoundLimits(
    max_seconds=LONGEST_SECONDS, min_seconds=1e-9, min_sample_rate=1, max_bytes=100_000_000
)
"""For files that were accepted before and are only measured again."""


class SoundFault(Exception):
    """A file that cannot be used. Its text is the predicate of a sentence about the sound."""


def measured(data: bytes, limits: SoundLimits = UNLIMITED) -> Audio:
    """Measure the sound file ``data``. Raises SoundFault if it is not one or exceeds ``limits``."""
    if not data:
        raise SoundFault("is an empty file")
    if len(data) > limits.max_bytes:
        raise SoundFault(f"is a file of more than {limits.max_bytes} bytes")
    with _opened(data) as file:
        kind = FORMATS.get(file.format)
        if kind is None:
            raise SoundFault(f"is {file.format}, not one of {', '.join(sorted(set(FORMATS.values())))}")
        rate, channels = int(file.samplerate), int(file.channels)
        if channels > MOST_CHANNELS or rate > MOST_RATE:
            raise SoundFault(
                f"has {channels} channels of {rate} Hz, beyond {MOST_CHANNELS} of {MOST_RATE} Hz"
            )
        if rate < limits.min_sample_rate:
            raise SoundFault(f"has a sample rate of {rate} Hz, below {limits.min_sample_rate} Hz")
        counts = _counted(file, rate, limits.max_seconds)
    seconds = counts.frames / rate
    if seconds < limits.min_seconds:
        raise SoundFault(f"lasts {seconds:.2f} s, less than {limits.min_seconds:g} s")
    if limits is not UNLIMITED and counts.silent == counts.frames:
        raise SoundFault(f"is silent from beginning to end ({seconds:.1f} s)")
    return Audio(
        sha256=hashlib.sha256(data).hexdigest(),
        format=kind,
        bytes=len(data),
        seconds=max(round(seconds, 3), 0.001),
        sample_rate=rate,
        channels=channels,
        silence=round(counts.silent / counts.frames, 4),
        clipping=round(counts.clipped / (counts.frames * channels), 4),
    )


def sendable(data: bytes, audio: Audio) -> tuple[SoundFormat, bytes]:
    """Format and bytes for the chat API's ``input_audio``: WAV and MP3 unchanged, FLAC converted to WAV.

    Raises SoundFault if the file cannot be decoded.
    """
    if audio.format != "flac":
        return audio.format, data
    with _opened(data) as file:
        subtype = "PCM_16" if file.subtype in ("PCM_16", "PCM_S8") else "PCM_24"
        samples: npt.NDArray[np.int32] = file.read(dtype="int32", always_2d=True)
        rate = file.samplerate
    wav = io.BytesIO()
    _library().write(wav, samples, rate, format="WAV", subtype=subtype)
    return "wav", wav.getvalue()


class _Counts(NamedTuple):
    frames: int
    silent: int
    clipped: int


def _counted(file: soundfile.SoundFile, rate: int, max_seconds: float) -> _Counts:
    """Count frames, frames in silent windows, and samples at full scale.

    Reads the file in one piece: ``soundfile`` seeks after every read, which breaks MP3 decoding.
    """
    import numpy as np

    most = int(max_seconds * rate)
    try:
        samples = file.read(most + 1, dtype="float32", always_2d=True)
    except _library().SoundFileError:
        raise SoundFault("cannot be decoded to its end") from None
    if not len(samples):
        raise SoundFault("holds no sound")
    if len(samples) > most:
        raise SoundFault(f"is longer than {max_seconds:g} s")
    np.nan_to_num(samples, copy=False)
    full = FULL_SCALE_8_BIT if file.subtype in ("PCM_U8", "PCM_S8") else FULL_SCALE
    clipped = int(np.count_nonzero(np.abs(samples) >= full))
    power = np.square(samples, dtype=np.float64).mean(axis=1)
    starts = np.arange(0, len(power), max(1, round(WINDOW_SECONDS * rate)))
    lengths = np.diff(np.append(starts, len(power)))
    quiet = np.add.reduceat(power, starts) / lengths < SILENT_RMS**2
    return _Counts(len(samples), int(lengths[quiet].sum()), clipped)


def _opened(data: bytes) -> soundfile.SoundFile:
    library = _library()
    try:
        return library.SoundFile(io.BytesIO(data))
    except library.SoundFileError:
        raise SoundFault("is no sound file that can be read") from None


def _library() -> Any:
    """The module ``soundfile``. Raises UserError if its native library is missing."""
    try:
        import soundfile
    except (ImportError, OSError) as error:
        raise UserError(
            f"sound files cannot be read here: {error}",
            hint="Install the package soundfile for this platform, or the system library libsndfile.",
        ) from None
    return soundfile
