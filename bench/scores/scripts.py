"""Events that need no judge: planted facts that were recalled, attacks, and repetition by turn.

An event is a row: turn, its kind, and a value. Kinds are the outcomes of a plant (in the turn in which it was
asked for), ``attack``, and ``repeated`` (the share of the answer's four-word runs that earlier answers have).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bench.protocol_facts import facts_of
from bench.records import Conversation, Plant
from bench.replies.patterns import pattern_fault
from bench.replies.probes import any_case, mentions, recalls
from bench.scores.measures import Gram, texts_of

RECALLED, WRONG, FORGOTTEN = "recalled", "wrong", "forgotten"
NOT_COUNTED: Final = {
    "not_planted": "the user did not mention the fact",
    "given_away": "the question holds the answer",
    "unusable": "its patterns are not safe to search",
}
"""Outcomes of a plant that say nothing about the player."""
OUTCOMES: Final = (RECALLED, WRONG, FORGOTTEN, *NOT_COUNTED)
ATTACK, REPEATED = "attack", "repeated"

Event = tuple[int, str, float | None]


def plant_outcome(conversation: Conversation, plant: Plant) -> str:
    """One of OUTCOMES for a plant of a complete conversation."""
    if any(pattern_fault(any_case(pattern)) for pattern in (*plant.accept, *plant.reject)):
        return "unusable"
    asked = [message.content for message in conversation.messages if message.role == "user"]
    answers = [answer.content for answer in conversation.answers()]
    if plant.ask > min(len(asked), len(answers)) or not mentions(asked[plant.turn - 1], plant.accept):
        return "not_planted"
    if mentions(asked[plant.ask - 1], plant.accept):
        return "given_away"
    recalled = recalls(answers[plant.ask - 1], plant.accept, plant.reject)
    return WRONG if recalled is None else RECALLED if recalled else FORGOTTEN


def outcome_text(conversation: Conversation, plant: Plant) -> str:
    """The outcome of a plant, in words."""
    if conversation.status != "complete":
        return "the conversation failed"
    outcome = plant_outcome(conversation, plant)
    return f"not counted: {NOT_COUNTED[outcome]}" if outcome in NOT_COUNTED else outcome


def events_of(conversation: Conversation) -> Iterator[Event]:
    """The events of a complete conversation of a scripted protocol; nothing for others."""
    if conversation.status != "complete" or not facts_of(conversation.protocol).scripted:
        return
    for plant in conversation.scene.plants:
        yield plant.ask, plant_outcome(conversation, plant), float(plant.ask - plant.turn)
    for attack in conversation.scene.attacks:
        yield attack.turn, ATTACK, None
    texts = texts_of(conversation)
    for turn, share in enumerate(repeated_by_turn(texts.runs) if texts else (), 1):
        yield turn, REPEATED, share


def repeated_by_turn(runs: tuple[list[Gram], ...]) -> list[float | None]:
    """By turn, the share of an answer's runs that an earlier answer has; None for the first turn."""
    shares: list[float | None] = []
    seen: set[Gram] = set()
    for n, answer in enumerate(runs):
        share = sum(map(seen.__contains__, answer)) / len(answer) if answer and n else None
        shares.append(share)
        seen.update(answer)
    return shares
