"""A conversation's scores in brief, for matrices, scene pages, comparisons and the audit page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Literal

from bench.records import Conversation, Judgement, numbered
from bench.scores.rules import Dispute, Standing, criterion_means, dispute_of, final_score, standing_of
from bench.site.paths import scene_name
from bench.site.text import cut
from bench.tables import counted

State = Literal["scored", "refused", "unjudged", "failed"]


@dataclass(frozen=True, slots=True)
class JudgeScores:
    """The scores that one judge gave a conversation, and whether they count."""

    judge: str
    standing: Standing
    turns: dict[str, tuple[int | float, ...]]
    """Criterion to the scores of its turns, in order."""
    means: dict[str, float]
    """Criterion to the mean of these."""
    final: float | None
    """The mean of the means; None if there are no scores."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a judge said about a turn when it gave a score."""

    judge: str
    turn: int
    criterion: str
    score: int | float
    reason: str


@dataclass(frozen=True, slots=True)
class CellSummary:
    """One conversation: its score by the paper's rule, and what went wrong."""

    player: str
    character: str
    situation: str
    character_name: str
    situation_title: str
    scene: str
    """Name of the scene's files: see :func:`bench.site.paths.scene_name`."""
    state: State
    score: float | None
    """Mean over the judges that saw no refusal, and over repeats; None if there is no such judge."""
    refusal: bool
    failed_judgements: int
    answers: int
    judges: tuple[JudgeScores, ...]
    dispute: Dispute | None
    lowest: Said | None = None
    highest: Said | None = None
    """What a judge said of the lowest and of the highest score; None if no reasons are known."""
    repeat: int = 1
    repeats: tuple[CellSummary, ...] = ()
    """If a scene was played more than once: its conversations, beginning with this one."""

    @property
    def talk(self) -> str:
        """Name of the conversation's page: the scene's, with the number of the repeat."""
        return numbered(self.scene, self.repeat)

    @property
    def talks(self) -> tuple[CellSummary, ...]:
        """The conversations of the scene."""
        return self.repeats or (self,)

    @property
    def name(self) -> str:
        """The scene's name for readers."""
        number = f"repeat {self.repeat}" if self.repeat > 1 else ""
        return ", ".join(filter(None, (self.character_name, self.situation_title, number)))

    @property
    def short(self) -> str:
        """What a matrix shows of it: its score, or a mark."""
        if self.state == "failed":
            return "✕"
        if self.score is not None:
            return f"{self.score:.1f}"
        return "R" if self.refusal else "?"

    @property
    def mark(self) -> str:
        """What a matrix shows beside the score."""
        if self.refusal and self.score is not None:
            return "R"
        return "J" if self.failed_judgements else ""

    @property
    def remarks(self) -> str:
        """What went wrong, in words; empty if nothing did."""
        remarks = ["the conversation failed"] if self.state == "failed" else []
        if self.refusal:
            remarks.append("a judge saw a refusal")
        if self.state == "unjudged":
            remarks.append("no judgement that counts")
        if self.failed_judgements:
            remarks.append(f"{counted(self.failed_judgements, 'judgement')} failed")
        return ", ".join(remarks)


def judge_scores(judgement: Judgement, conversation: Conversation) -> JudgeScores:
    """The scores of one judgement of ``conversation``."""
    means = criterion_means(judgement)
    turns: dict[str, tuple[int | float, ...]] = {
        name: tuple(turn.scores[name] for turn in judgement.turns) for name in means
    }
    return JudgeScores(
        judgement.judge, standing_of(judgement, conversation), turns, means, final_score(means)
    )


def summarise(
    conversation: Conversation, judgements: Sequence[Judgement], judges: Sequence[str] = ()
) -> CellSummary:
    """A conversation with all its judgements in brief. ``judges``: those that count; empty: all."""
    counting = [j for j in judgements if not judges or j.judge in judges]
    scores = [judge_scores(judgement, conversation) for judgement in counting]
    complete = conversation.status == "complete"
    refusal = complete and any(one.standing == "refusal" for one in scores)
    finals = [one.final for one in scores if complete and one.standing == "counts" and one.final is not None]
    state: State = "scored" if finals else "unjudged"
    if not complete:
        state = "failed"
    elif refusal:
        state = "refused"
    scored = [j for j, one in zip(counting, scores, strict=True) if one.standing == "counts"]
    return CellSummary(
        player=conversation.player,
        character=conversation.character,
        situation=conversation.situation,
        character_name=conversation.scene.character_name,
        situation_title=conversation.scene.situation_title,
        scene=scene_name(conversation.character, conversation.situation),
        repeat=conversation.repeat,
        state=state,
        score=fmean(finals) if finals else None,
        refusal=refusal,
        failed_judgements=sum(j.status == "failed" for j in counting),
        answers=len(conversation.answers()),
        judges=tuple(scores),
        dispute=dispute_of(scored) if complete else None,
        lowest=_said(scored, min) if complete else None,
        highest=_said(scored, max) if complete else None,
    )


MOST_SAID = 240
"""Characters of a reason that other pages quote."""


def _said(judgements: Sequence[Judgement], choose: Callable[..., tuple[Any, ...]]) -> Said | None:
    """What was said of the lowest or highest score (``choose``: min or max); of equal ones, the first."""
    given = [
        (score, judgement.judge, verdict.turn, name, verdict.reasons[name])
        for judgement in judgements
        for verdict in judgement.turns
        for name, score in verdict.scores.items()
        if verdict.reasons.get(name)
    ]
    if not given:
        return None
    score, judge, turn, name, reason = choose(given, key=lambda one: one[0])
    return Said(judge, turn, name, score, cut(" ".join(reason.split()), MOST_SAID))


def by_scene(cells: Iterable[CellSummary]) -> dict[str, CellSummary]:
    """One summary for each scene of a player: of several repeats the first one's, with the mean score."""
    scenes: dict[str, list[CellSummary]] = {}
    for cell in sorted(cells, key=lambda cell: (cell.scene, cell.repeat)):
        scenes.setdefault(cell.scene, []).append(cell)
    return {scene: _joined(repeats) if len(repeats) > 1 else repeats[0] for scene, repeats in scenes.items()}


def _joined(repeats: Sequence[CellSummary]) -> CellSummary:
    scores = [cell.score for cell in repeats if cell.score is not None]
    states = {cell.state for cell in repeats}
    worst: State = next(state for state in ("failed", "refused", "unjudged", "scored") if state in states)
    return replace(
        repeats[0],
        state="scored" if worst == "unjudged" and scores else worst,
        score=fmean(scores) if scores else None,
        refusal=any(cell.refusal for cell in repeats),
        answers=sum(cell.answers for cell in repeats),
        failed_judgements=sum(cell.failed_judgements for cell in repeats),
        repeats=tuple(repeats),
    )
