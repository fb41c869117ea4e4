"""One conversation in short: what a matrix cell or a row of a scene page shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from bench.records import Conversation, Judgement, messages_sha256
from bench.site.paths import scene_name

State = Literal["scored", "refused", "unjudged", "failed"]


@dataclass(frozen=True)
class CellSummary:
    """A conversation's score by the paper's rule, and what went otherwise."""

    player: str
    character: str
    situation: str
    character_name: str
    situation_title: str
    state: State
    score: float | None
    """Mean over the judges that saw no refusal; None where there is no such judge."""
    refusal: bool
    failed_judgements: int
    criteria_by_turn: tuple[tuple[int, float], ...]
    """(turn, mean of all scores of it by the judges that count)."""

    @property
    def scene(self) -> str:
        return scene_name(self.character, self.situation)


def is_stale(judgement: Judgement, conversation: Conversation) -> bool:
    """Whether other messages were judged than the conversation holds now."""
    return judgement.conversation_sha256 != messages_sha256(conversation.messages)


def saw_refusal(judgement: Judgement) -> bool:
    """Whether this judge saw a refusal in any turn."""
    return judgement.status == "ok" and any(turn.is_refusal for turn in judgement.turns)


def final_score(judgement: Judgement) -> float | None:
    """Mean of the criteria's means over turns; None for a failed judgement."""
    if judgement.status != "ok" or not judgement.turns:
        return None
    return fmean(criterion_means(judgement).values())


def criterion_means(judgement: Judgement) -> dict[str, float]:
    """Mean over turns of each criterion of an ok judgement."""
    names = judgement.turns[0].scores if judgement.turns else {}
    return {name: fmean(t.scores[name] for t in judgement.turns if name in t.scores) for name in names}


def summarise(conversation: Conversation, judgements: Sequence[Judgement]) -> CellSummary:
    """The short form of a conversation with all its judgements."""
    complete = conversation.status == "complete"
    usable = [j for j in judgements if complete and j.status == "ok" and not is_stale(j, conversation)]
    refusal = any(saw_refusal(j) for j in usable)
    counted = [j for j in usable if not saw_refusal(j) and j.turns and j.turns[0].scores]
    finals = [score for j in counted if (score := final_score(j)) is not None]
    state: State = "scored"
    if not complete:
        state = "failed"
    elif refusal:
        state = "refused"
    elif not finals:
        state = "unjudged"
    return CellSummary(
        player=conversation.player,
        character=conversation.character,
        situation=conversation.situation,
        character_name=conversation.scene.character_name,
        situation_title=conversation.scene.situation_title,
        state=state,
        score=fmean(finals) if finals else None,
        refusal=refusal,
        failed_judgements=sum(j.status == "failed" for j in judgements),
        criteria_by_turn=_by_turn(counted),
    )


def _by_turn(judgements: Sequence[Judgement]) -> tuple[tuple[int, float], ...]:
    scores: dict[int, list[int]] = {}
    for judgement in judgements:
        for turn in judgement.turns:
            scores.setdefault(turn.turn, []).extend(turn.scores.values())
    return tuple((turn, fmean(values)) for turn, values in sorted(scores.items()) if values)
