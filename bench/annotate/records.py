"""What is kept of a human study: which conversations were chosen, and what each annotator said of them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from bench.records import SCHEMA_VERSION, Criterion, Record

Score = Annotated[int, Field(strict=True)] | Annotated[float, Field(strict=True, allow_inf_nan=False)]
"""What an annotator chose. Whole, but for imported studies that give the mean of several annotators only."""


class StudyItem(Record):
    """One conversation of a study. ``item`` names it to annotators and tells neither player nor judge.

    An imported study may lack the scene: ``character`` and ``situation`` are then left out.
    """

    item: str = Field(min_length=1)
    player: str = Field(min_length=1)
    character: str | None = None
    situation: str | None = None
    conversation_sha256: str
    """SHA-256 of the messages that annotators see (bench.records.messages_sha256)."""


class StudyFile(Record):
    """study.json: what was drawn from which suite, how, and what annotators are asked.

    ``seed``, ``asked`` and ``strata`` are left out where the study was imported; ``origin`` then says whence.
    """

    schema_version: int = Field(default=SCHEMA_VERSION, ge=1, le=SCHEMA_VERSION)
    study: str
    suite: str
    version: str
    language: str
    origin: str | None = None
    seed: int | None = None
    asked: int | None = Field(default=None, ge=1)
    """How many items were asked for; fewer are there where fewer complete conversations were."""
    strata: dict[str, dict[str, int]] | None = None
    """Items by player, by character and by situation, as drawn: what each of the three margins holds."""
    criteria: tuple[Criterion, ...]
    """What annotators score, each on its own scale (``low`` to ``high``)."""
    guideline: str
    """Version of the guideline that annotators read."""
    items: tuple[StudyItem, ...]
    """Sorted by ``item``, which is also the order of the tasks."""


class Annotation(Record):
    """What one annotator said of one item, last.

    A criterion without a score is null in ``scores``: never a guess. ``is_refusal`` is left out where it was
    not asked or not answered.
    """

    item: str
    scores: dict[str, Score | None]
    """A key for every criterion of the study."""
    is_refusal: bool | None = None
    comment: str = ""
    cancelled: bool = False
    """The annotator skipped the task: what was chosen before that is kept but does not count."""
    seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """How long the annotator took, as the annotation tool measured it."""
    submitted: str | None = None
    """When it was last changed, UTC, ISO 8601, as the annotation tool says: the latest wins."""

    @property
    def complete(self) -> bool:
        """Whether every criterion has a score and the task was not skipped."""
        return not self.cancelled and all(score is not None for score in self.scores.values())

    @property
    def empty(self) -> bool:
        """Whether nothing at all was chosen."""
        return self.is_refusal is None and all(score is None for score in self.scores.values())


class AnnotatorFile(Record):
    """annotations/<pseudonym>.json: all that one annotator said in a study, sorted by item."""

    schema_version: int = Field(default=SCHEMA_VERSION, ge=1, le=SCHEMA_VERSION)
    study: str
    annotator: str
    origin: str
    """Where it comes from: the annotation tool or the published file."""
    annotations: tuple[Annotation, ...]


STUDY_TYPES: dict[str, type[Record]] = {"study": StudyFile, "annotator": AnnotatorFile}
"""The files of a study, by the name of their schema."""
