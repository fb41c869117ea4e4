"""Turns a judge's raw replies into one verdict, now or when they are re-parsed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from bench.protocol_facts import ProtocolFacts
from bench.protocols.calls import READABLE, read_whole
from bench.records import Call, Failure, Judgement, TurnVerdict
from bench.replies import ReplyFault
from bench.replies.faults import in_order

T = TypeVar("T")


@dataclass(frozen=True)
class Reading:
    """A verdict as it was parsed from replies."""

    turns: tuple[TurnVerdict, ...] = ()
    repairs: tuple[str, ...] = ()
    failure: Failure | None = None
    summary: str = ""
    """The conversation so far in the judge's words, where it sees a part at a time."""

    def fields(self) -> dict[str, Any]:
        """The fields of a judgement that say what was read."""
        status = "ok" if self.failure is None else "failed"
        return {"status": status, "turns": self.turns, "repairs": self.repairs, "failure": self.failure}


ReadVerdict = Callable[[str, int], Reading]
"""Parses a judge's reply (its text, the number of its question from 1). Raises ReplyFault."""


def joined(facts: ProtocolFacts, readings: Sequence[Reading]) -> Reading:
    """The verdicts on all of a judge's questions as one; if one failed, the whole failed."""
    for number, reading in enumerate(readings, 1):
        if reading.failure is not None:
            label = f"{facts.turn_label.lower()} {number}: " if facts.compared_answers else ""
            reason = label + reading.failure.reason
            return Reading(failure=reading.failure.model_copy(update={"reason": reason}))
    turns = tuple(turn for reading in readings for turn in reading.turns)
    return Reading(turns, in_order(repair for reading in readings for repair in reading.repairs))


def reread_calls(facts: ProtocolFacts, judgement: Judgement, read: ReadVerdict) -> Reading:
    """The verdict as ``read`` parses the raw replies of ``judgement``.

    Keeps the recorded verdict if there is nothing to parse: no reply, or only calls that failed, such as by a
    lost connection.
    """
    recorded = Reading(judgement.turns, judgement.repairs, judgement.failure)
    readings = []
    for number, replies in enumerate(_by_question(judgement), 1):
        reading = _reread_question(replies, number, read)
        if reading is None:
            return recorded
        readings.append(reading)
        if reading.failure is not None:
            break  # as the judge did: it is not asked further questions
    return joined(facts, readings) if readings else recorded


def _by_question(judgement: Judgement) -> Iterator[list[tuple[Call, str]]]:
    """Calls and raw replies by question; each question begins with a call of turn 1."""
    replies: list[tuple[Call, str]] = []
    for call, raw in zip(judgement.calls, judgement.raw, strict=True):
        if call.turn == 1 and replies:
            yield replies
            replies = []
        replies.append((call, raw))
    if replies:
        yield replies


def _reread_question(replies: list[tuple[Call, str]], number: int, read: ReadVerdict) -> Reading | None:
    found = first_readable(replies, lambda reply: read(reply, number))
    return Reading(failure=found) if isinstance(found, Failure) else found


def first_readable(replies: Sequence[tuple[Call, str]], read: Callable[[str], T]) -> T | Failure | None:
    """The first reply to a question that can be read, as when it was asked; or why no reply can.

    None if calls failed, such as by a lost connection.
    """
    for attempt, (call, text) in enumerate(replies, 1):
        if call.outcome not in READABLE and not (call.outcome == "empty" and text):
            continue
        try:
            return read_whole(read, text, call.outcome)
        except ReplyFault as error:
            if attempt == len(replies) and call.outcome in READABLE:
                return Failure(role="judge", turn=attempt, outcome="parse_error", reason=error.fault)
    return None
