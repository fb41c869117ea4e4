"""One conversation in short: what matrices, scene pages, comparisons and the audit show of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from bench.records import Conversation, Judgement, messages_sha256
from bench.site.paths import scene_name

State = Literal["scored", "refused", "unjudged", "failed"]
Standing = Literal["counts", "refusal", "stale", "failed"]


@dataclass(frozen=True)
class Verdicts:
    """All scores that one judge gave a conversation, and whether they count."""

    judge: str
    standing: Standing
    scores: dict[str, list[int]]
    """Criterion to the scores of the turns, in order."""

    @property
    def means(self) -> dict[str, float]:
        """Each criterion's mean over turns."""
        return {name: fmean(values) for name, values in self.scores.items()}

    @property
    def final(self) -> float | None:
        """The mean of the criteria; None where nothing was scored."""
        return fmean(self.means.values()) if self.scores else None


@dataclass(frozen=True)
class Dispute:
    """The turn of a conversation on which its judges lie furthest apart."""

    gap: int
    """Largest minus smallest score, added up over the criteria."""
    turn: int
    scores: dict[str, dict[str, int]]
    """Judge, then criterion."""


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
    answers: int
    characters: int
    """Length of all answers together."""
    criteria_by_turn: tuple[tuple[int, float], ...]
    """(turn, mean of all scores of it by the judges that count)."""
    verdicts: tuple[Verdicts, ...]
    dispute: Dispute | None

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


def summarise(
    conversation: Conversation, judgements: Sequence[Judgement], judges: Sequence[str] = ()
) -> CellSummary:
    """The short form of a conversation with all its judgements; ``judges``: those that count, or all."""
    complete = conversation.status == "complete"
    ours = [j for j in judgements if not judges or j.judge in judges]
    standings = {j.judge: _standing(j, conversation) for j in ours}
    usable = [j for j in ours if complete and standings[j.judge] in ("counts", "refusal")]
    counted = [j for j in usable if standings[j.judge] == "counts" and j.turns and j.turns[0].scores]
    finals = [score for j in counted if (score := final_score(j)) is not None]
    refusal = any(standings[j.judge] == "refusal" for j in usable)
    lengths = _answer_lengths(conversation)
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
        failed_judgements=sum(j.status == "failed" for j in ours),
        answers=len(lengths),
        characters=sum(lengths),
        criteria_by_turn=_by_turn(counted),
        verdicts=tuple(Verdicts(j.judge, standings[j.judge], _scores(j)) for j in ours),
        dispute=_dispute(counted),
    )


def _standing(judgement: Judgement, conversation: Conversation) -> Standing:
    if judgement.status != "ok":
        return "failed"
    if is_stale(judgement, conversation):
        return "stale"
    return "refusal" if saw_refusal(judgement) else "counts"


def _scores(judgement: Judgement) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for turn in judgement.turns:
        for name, score in turn.scores.items():
            found.setdefault(name, []).append(score)
    return found


def _answer_lengths(conversation: Conversation) -> list[int]:
    """Lengths of the player's answers; a greeting before the first question is none."""
    lengths: list[int] = []
    asked = False
    for message in conversation.messages:
        if message.role == "user":
            asked = True
        elif message.role == "assistant" and asked:
            lengths.append(len(message.content))
    return lengths


def _by_turn(judgements: Iterable[Judgement]) -> tuple[tuple[int, float], ...]:
    scores: dict[int, list[int]] = {}
    for judgement in judgements:
        for turn in judgement.turns:
            scores.setdefault(turn.turn, []).extend(turn.scores.values())
    return tuple((turn, fmean(values)) for turn, values in sorted(scores.items()) if values)


def _dispute(judgements: Sequence[Judgement]) -> Dispute | None:
    """The most disputed turn, the first of equals; None where judges agree or there are fewer than two."""
    turns: dict[int, dict[str, dict[str, int]]] = {}
    for judgement in judgements:
        for verdict in judgement.turns:
            turns.setdefault(verdict.turn, {})[judgement.judge] = dict(verdict.scores)
    found = [Dispute(_gap(list(given.values())), turn, given) for turn, given in sorted(turns.items())]
    worst = max(found, key=lambda one: one.gap, default=None)
    return worst if worst is not None and worst.gap > 0 else None


def _gap(given: Sequence[dict[str, int]]) -> int:
    gap = 0
    for name in {name for scores in given for name in scores}:
        values = [scores[name] for scores in given if name in scores]
        gap += max(values) - min(values)
    return gap
