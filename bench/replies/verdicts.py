"""A judge's reply: the scores and reasons of every turn, strictly as many as there are turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from bench.records import Criterion, TurnVerdict
from bench.replies.faults import ReplyFault, in_order, listed, shown
from bench.replies.objects import Found, Wanted, find, wanted_object
from bench.replies.values import boolean, integer, literals


@dataclass(frozen=True)
class Verdict:
    """A judge's turns in their order, and what had to be repaired (slugs of ``REPAIRS``)."""

    turns: tuple[TurnVerdict, ...]
    repairs: tuple[str, ...]


def verdict(text: str, *, turns: int, criteria: Sequence[Criterion]) -> Verdict:
    """The scores in ``text`` of exactly the turns 1 to ``turns``, on every one of ``criteria``."""
    found = find(text, _wanted())
    repairs = set(found.repairs)
    entries = _entries(found, repairs)
    numbers = _numbers(entries, turns, repairs, truncated="truncated" in repairs)
    read = [
        turn_verdict(number, entry, criteria, repairs) for number, entry in zip(numbers, entries, strict=True)
    ]
    if found.guessed:
        check_against_source(found.source, read, criteria)
    if numbers != sorted(numbers):
        repairs.add("turns_reordered")
    return Verdict(tuple(sorted(read, key=lambda t: t.turn)), in_order(repairs))


def _wanted() -> Wanted:
    """An object with ``scores``, or the bare array that should be under it."""
    plain = wanted_object(["scores"])

    def accept(value: Any) -> tuple[dict[str, Any], str | None] | None:
        if accepted := plain.accept(value):
            return accepted
        if isinstance(value, list) and value and all(_is_entry(item) for item in value):
            return {"scores": value}, "bare_array"
        return None

    return Wanted(accept, ("scores", "_score"), plain.missing)


def _is_entry(item: Any) -> bool:
    return isinstance(item, dict) and any(str(key).endswith("_score") for key in item)


def _entries(found: Found, repairs: set[str]) -> list[dict[str, Any]]:
    scores = found.data["scores"]
    if not isinstance(scores, list):
        raise ReplyFault("bad_type", f'The value of "scores" is {shown(scores)}; it must be a list.')
    for item in scores:
        if not isinstance(item, dict):
            raise ReplyFault(
                "bad_type", f'"scores" holds {shown(item)}; each of its items must be an object.'
            )
    if len(found.data) > 1:
        repairs.add("extra_keys")
    return scores


def _numbers(entries: list[dict[str, Any]], turns: int, repairs: set[str], *, truncated: bool) -> list[int]:
    """The turn number of each entry; a fault unless they are 1 to ``turns``, each once."""
    wanted = f"it must score each of the turns 1 to {turns} exactly once."
    named = sum("turn" in entry for entry in entries)
    if 0 < named < len(entries):
        raise ReplyFault("missing_key", f'Some entries of "scores" have no "turn"; {wanted[3:]}')
    if named:
        numbers = [integer(entry["turn"], '"turn"', repairs) for entry in entries]
    else:
        numbers = list(range(1, len(entries) + 1))
    if sorted(numbers) != list(range(1, turns + 1)):
        repeated = max(Counter(numbers).values(), default=0) > 1
        scored = f"turns {listed(numbers)}" if named else f"{len(entries)} turns"
        if truncated:
            fault = f"The reply breaks off after it scored {scored}; {wanted}"
            raise ReplyFault("truncated", fault)
        kind = "duplicate_turn" if repeated else "wrong_turns"
        raise ReplyFault(kind, f"The reply scored {scored}; {wanted}")
    if entries and not named:
        repairs.add("turns_from_order")
    return numbers


def turn_verdict(
    number: int,
    entry: dict[str, Any],
    criteria: Sequence[Criterion],
    repairs: set[str],
    more: Collection[str] = (),
) -> TurnVerdict:
    """What ``entry`` says of turn ``number``, every value checked; keys of ``more`` are somebody else's."""
    known = {"turn", "is_refusal", "is_refusal_explanation", *more}
    scores, reasons = {}, {}
    refusal_reason = _reason(entry, "is_refusal_explanation", number, repairs)
    is_refusal = boolean(_value(entry, "is_refusal", number), f'"is_refusal" of turn {number}', repairs)
    for criterion in criteria:
        key, why = f"{criterion.name}_score", f"{criterion.name}_explanation"
        known |= {key, why}
        reasons[criterion.name] = _reason(entry, why, number, repairs)
        scores[criterion.name] = _score(_value(entry, key, number), criterion, number, repairs)
    if not known.issuperset(entry):
        repairs.add("extra_keys")
    return TurnVerdict(
        turn=number, is_refusal=is_refusal, refusal_reason=refusal_reason, scores=scores, reasons=reasons
    )


def _value(entry: dict[str, Any], key: str, number: int) -> Any:
    if key not in entry:
        raise ReplyFault("missing_key", f'Turn {number} has no "{key}".')
    return entry[key]


def _score(value: Any, criterion: Criterion, number: int, repairs: set[str]) -> int:
    where = f'"{criterion.name}_score" of turn {number}'
    score = integer(value, where, repairs)
    if not criterion.low <= score <= criterion.high:
        scale = f"an integer from {criterion.low} to {criterion.high}"
        raise ReplyFault("out_of_range", f"The value of {where} is {shown(value)}; it must be {scale}.")
    return score


def _reason(entry: dict[str, Any], key: str, number: int, repairs: set[str]) -> str:
    value = entry.get(key)
    if value is None:
        repairs.add("reason_missing")
        return ""
    if not isinstance(value, str):
        fault = f'The value of "{key}" of turn {number} is {shown(value)}; it must be a string.'
        raise ReplyFault("bad_type", fault)
    return value


def check_against_source(source: str, read: list[TurnVerdict], criteria: Sequence[Criterion]) -> None:
    """Compare repaired scores with the text: json-repair reads "4 - Agree" as 4 and "3 .5" as 3.

    It also takes a verdict quoted without escapes for part of the verdict around it; then a key stands
    in the text more often than there are turns.
    """
    for criterion in criteria:
        values = literals(source, f"{criterion.name}_score")
        if values != [turn.scores[criterion.name] for turn in read]:
            fault = (
                f'The JSON in the reply is malformed around "{criterion.name}_score"; '
                "every turn must give it once, as a plain integer."
            )
            raise ReplyFault("bad_json", fault)
