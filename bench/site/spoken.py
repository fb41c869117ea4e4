"""What a conversation page shows of sound: the file and its measures, and the steps that a judge took.

Steps are data that a judge wrote, or that anyone's file holds: what is not of the expected kind is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from bench.records import Audio, TurnVerdict

FOLDER = "audio"
"""Beside the conversation pages of a player."""


@dataclass(frozen=True)
class SoundView:
    """A sound file. ``href`` is empty where the file is missing."""

    href: str
    audio: Audio

    @property
    def length(self) -> str:
        """Seconds, with minutes where there are some."""
        minutes, seconds = divmod(round(self.audio.seconds, 1), 60)
        return f"{int(minutes)} min {seconds:.0f} s" if minutes else f"{seconds:.1f} s"


@dataclass(frozen=True)
class StyleView:
    requirement: str
    reason: str
    score: int
    met: bool


@dataclass(frozen=True)
class StepsView:
    """The steps of one verdict, as far as the judge went."""

    description: str
    transcript: str
    breaks_off: bool
    instruction: tuple[tuple[str, str], ...]
    """What the judge read out of the instruction: (what, text)."""
    requirements: tuple[str, ...]
    language: str
    language_consistent: bool | None
    content_reason: str
    compliant: bool | None
    style: tuple[StyleView, ...]
    naturalness_reason: str
    natural: bool | None
    stated: int
    derived: int | None
    """What the steps come to."""
    threshold: int
    """Of the style: so much of 100 is met."""

    @property
    def follows(self) -> bool:
        """Whether the stated score is what the steps come to."""
        return self.derived is None or self.derived == self.stated


def sound_name(audio: Audio) -> str:
    """The file's path from the folder of the conversation pages."""
    return f"{FOLDER}/{audio.sha256}.{audio.format}"


def sound_view(audio: Audio | None, there: Collection[str]) -> SoundView | None:
    """``audio``, with a link if its file is ``there`` (paths of :func:`sound_name`)."""
    if audio is None:
        return None
    name = sound_name(audio)
    return SoundView(name if name in there else "", audio)


def steps_of(verdict: TurnVerdict) -> StepsView | None:
    """The steps of a verdict; None where it has none of this kind."""
    detail = verdict.detail
    if detail is None or not isinstance(detail.get("description"), str) or not verdict.scores:
        return None
    instruction, language = _object(detail, "instruction"), _object(detail, "language")
    content, naturalness = _object(detail, "content"), _object(detail, "naturalness")
    listed, derived = instruction.get("style_requirements"), detail.get("derived_score")
    about = [(key.capitalize(), _text(instruction, key)) for key in ("language", "role", "scenario")]
    threshold = detail.get("threshold")
    met = threshold if isinstance(threshold, int) else 0
    return StepsView(
        description=_text(detail, "description"),
        transcript=_text(detail, "transcript"),
        breaks_off=detail.get("breaks_off") is True,
        instruction=tuple((what, text) for what, text in about if text),
        requirements=tuple(map(str, listed)) if isinstance(listed, list) else (),
        language=_text(language, "response_language"),
        language_consistent=_flag(language, "consistent"),
        content_reason=_text(content, "reason"),
        compliant=_flag(content, "compliant"),
        style=_style(detail.get("style"), met),
        naturalness_reason=_text(naturalness, "reason"),
        natural=_flag(naturalness, "highly_natural"),
        stated=next(iter(verdict.scores.values())),
        derived=derived if isinstance(derived, int) else None,
        threshold=met,
    )


def _style(rated: object, threshold: int) -> tuple[StyleView, ...]:
    entries = [entry for entry in rated if isinstance(entry, dict)] if isinstance(rated, list) else []
    return tuple(
        StyleView(_text(entry, "requirement"), _text(entry, "reason"), score, score >= threshold)
        for entry in entries
        if isinstance(score := entry.get("score"), int)
    )


def _object(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""


def _flag(data: Mapping[str, Any], key: str) -> bool | None:
    value = data.get(key)
    return value if isinstance(value, bool) else None
