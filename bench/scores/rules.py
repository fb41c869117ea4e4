"""The rules of the method, each once, as functions of one record: what counts, and how it is averaged.

Boards, pages, the audit and agreement all use these. ``Conversation.answers()`` in :mod:`bench.records` says
what an answer is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from bench.records import Conversation, Failure, Judgement, messages_sha256
from bench.replies.flaws import FLAWS

Standing = Literal["counts", "refusal", "stale", "failed"]
"""What a judgement is worth: it counts; its judge saw a refusal in some turn; it is about messages that the
conversation no longer has; or the judge gave no usable verdict."""


OWN_FAILURES = frozenset({"empty", "length", "content_filter", "refused", "bad_audio"})
"""Outcomes of a player's call that are the model's own doing, unlike rejected requests and lost replies."""


def ended_by_player(failure: Failure | None) -> bool:
    """Whether the player itself ended a conversation, so that it may count as the lowest score.

    A filter that blocked the input does not count: the model never saw it.
    """
    if failure is None or failure.role != "player" or failure.outcome not in OWN_FAILURES:
        return False
    rejected = failure.outcome == "refused" and failure.reason.startswith(
        "HTTP "
    )  # before ``rejected`` existed
    return failure.filtered != "input" and not rejected


def saw_refusal(judgement: Judgement) -> bool:
    """Whether the judge saw a refusal in any turn."""
    return judgement.status == "ok" and any(turn.is_refusal for turn in judgement.turns)


def is_stale(judgement: Judgement, conversation: Conversation | None) -> bool:
    """Whether the judged messages are not those that the conversation has now (or it does not exist)."""
    if conversation is None:
        return True
    return judgement.conversation_sha256 != messages_sha256(conversation.messages)


def standing_of(judgement: Judgement, conversation: Conversation | None) -> Standing:
    """What ``judgement`` is worth."""
    if judgement.status != "ok":
        return "failed"
    if is_stale(judgement, conversation):
        return "stale"
    return "refusal" if saw_refusal(judgement) else "counts"


def criterion_means(judgement: Judgement) -> dict[str, float]:
    """Each criterion's mean over the turns of an ok judgement; empty for a failed one."""
    names = judgement.turns[0].scores if judgement.status == "ok" and judgement.turns else {}
    return {name: fmean(turn.scores[name] for turn in judgement.turns) for name in names}


def flaw_counts(judgement: Judgement) -> Iterator[tuple[int, str, int]]:
    """(turn, flaw, how often) for every turn and kind, also where 0; nothing if no flaws were asked for."""
    for verdict in judgement.turns if judgement.status == "ok" else ():
        if verdict.flaws is not None:
            listed: list[str] = [flaw.flaw for flaw in verdict.flaws]
            yield from ((verdict.turn, name, listed.count(name)) for name in FLAWS)


def final_score(means: Mapping[str, float]) -> float | None:
    """A judge's final score: the plain mean of the criteria's means; None without any."""
    return fmean(means.values()) if means else None


@dataclass(frozen=True, slots=True)
class Dispute:
    """The turn of a conversation on which its judges differ most."""

    gap: int
    """Largest minus smallest score, summed over the criteria."""
    turn: int
    scores: dict[str, dict[str, int]]
    """Judge to criterion to score."""


def dispute_of(judgements: Sequence[Judgement]) -> Dispute | None:
    """The turn with the widest gap between judges, the first if several tie; None if no judges differ.

    ``judgements``: those of one conversation that count. A gap is the largest minus the smallest score of a
    criterion, summed over the criteria.
    """
    turns: dict[int, dict[str, dict[str, int]]] = {}
    for judgement in judgements:
        for verdict in judgement.turns:
            turns.setdefault(verdict.turn, {})[judgement.judge] = dict(verdict.scores)
    disputes = [Dispute(_gap(list(scores.values())), turn, scores) for turn, scores in sorted(turns.items())]
    widest = max(disputes, key=lambda dispute: dispute.gap, default=None)
    return widest if widest is not None and widest.gap > 0 else None


def _gap(scores: Sequence[Mapping[str, int]]) -> int:
    names = {name for by_name in scores for name in by_name}
    values = [[by_name[name] for by_name in scores if name in by_name] for name in names]
    return sum(max(given) - min(given) for given in values)
