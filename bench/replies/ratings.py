"""A reply of one model that rates the latest answer and, unless the talk is over, writes the next message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.records import Criterion, TurnVerdict
from bench.replies.faults import ReplyFault, in_order
from bench.replies.objects import find, wanted_object
from bench.replies.utterances import said_under
from bench.replies.verdicts import check_against_source, turn_verdict

NEXT = "next_utterance"


@dataclass(frozen=True)
class Rating:
    """What was said of one answer, the next user message (None: none was asked for), and the repairs."""

    verdict: TurnVerdict
    said: str | None
    repairs: tuple[str, ...]


def rating(text: str, *, turn: int, criteria: Sequence[Criterion], more: bool) -> Rating:
    """The rating of the answer of ``turn`` in ``text``; ``more``: whether another message has to follow.

    After a refusal none has to: the conversation ends there.
    """
    scores = [f"{criterion.name}_score" for criterion in criteria]
    found = find(text, wanted_object(["is_refusal", *scores]))
    repairs = set(found.repairs)
    verdict = turn_verdict(turn, found.data, criteria, repairs, more=(NEXT,))
    if found.guessed:
        check_against_source(found.source, [verdict], criteria)
    if not more or verdict.is_refusal:
        return Rating(verdict, None, in_order(repairs))
    if NEXT not in found.data:
        raise ReplyFault("missing_key", f'The reply has no "{NEXT}"; the talk goes on, so it needs one.')
    return Rating(verdict, said_under(NEXT, found.data), in_order(repairs))
