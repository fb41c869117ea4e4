"""Reads a judge's scores and reasons: of all turns of a conversation, or of its latest answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from bench.records import Criterion, TurnVerdict
from bench.replies.faults import ReplyFault, in_order, listed, shown
from bench.replies.flaws import flaws_in
from bench.replies.objects import JsonReply, Wanted, ended, find, json_object, once, settled, wanted_object
from bench.replies.utterances import text_under
from bench.replies.values import boolean, in_range, integer, reason

NEXT = "next_utterance"
SUMMARY = "summary"


@dataclass(frozen=True)
class Verdict:
    """A judge's verdicts on all turns, in order, and the repairs made (slugs of ``REPAIRS``)."""

    turns: tuple[TurnVerdict, ...]
    repairs: tuple[str, ...]
    summary: str = ""


@dataclass(frozen=True)
class Rating:
    """The verdict on one answer, the next user message (None if none was asked for), and the repairs made."""

    verdict: TurnVerdict
    said: str | None
    repairs: tuple[str, ...]


def verdict(
    text: str,
    *,
    turns: int,
    criteria: Sequence[Criterion],
    first: int = 1,
    answers: Sequence[str] | None = None,
    summed_up: bool = False,
) -> Verdict:
    """Read the scores of exactly ``turns`` turns on all ``criteria``. Raises ReplyFault.

    Args:
        text: The reply.
        turns, criteria: What it has to score.
        first: The number of the first of these turns.
        answers: The answers of these turns, if the judge had to list their flaws.
        summed_up: Whether it had to sum up the conversation.
    """
    reply = find(text, _wanted_scores(criteria, summed_up))
    once(reply)
    entries = _entries(reply, ("scores", SUMMARY) if summed_up else ("scores",))
    numbers = _turn_numbers(entries, range(first, first + turns), reply.repairs)
    ended(reply)
    verdicts = []
    for number, entry in zip(numbers, entries, strict=True):
        said = None if answers is None else answers[number - first]
        given = _turn_verdict(number, entry, criteria, reply.repairs, () if said is None else ("flaws",))
        flaws = None if said is None else flaws_in(entry, number, said, reply.repairs)
        verdicts.append(given.model_copy(update={"flaws": flaws}))
    if numbers != sorted(numbers):
        reply.repairs.add("turns_reordered")
    summary = _summary(reply) if summed_up else ""
    return Verdict(tuple(sorted(verdicts, key=lambda v: v.turn)), in_order(reply.repairs), summary)


def _summary(reply: JsonReply) -> str:
    summary = reply.data.get(SUMMARY)
    if summary is None or (isinstance(summary, str) and not summary.strip()):
        reply.repairs.add("summary_missing")
        return ""
    if not isinstance(summary, str):
        raise ReplyFault("bad_type", f'The value of "{SUMMARY}" is {shown(summary)}; it must be a string.')
    return " ".join(summary.split())


def rating(text: str, *, turn: int, criteria: Sequence[Criterion], more: bool) -> Rating:
    """Read the rating of the answer in ``turn`` and the next user message. Raises ReplyFault.

    ``more`` tells whether a message must follow; after a refusal none has to, as the conversation ends there.
    """
    required = ["is_refusal", *(f"{c.name}_score" for c in criteria)]
    reply = settled(json_object(text, required=required, known=[*_keys(criteria), NEXT]))
    verdict = _turn_verdict(turn, reply.data, criteria, reply.repairs, more=(NEXT,))
    repairs = in_order(reply.repairs)
    if not more or verdict.is_refusal:
        return Rating(verdict, None, repairs)
    if NEXT not in reply.data:
        raise ReplyFault("missing_key", f'The reply has no "{NEXT}"; the talk goes on, so it needs one.')
    return Rating(verdict, text_under(NEXT, reply.data, reply.repairs), in_order(reply.repairs))


def _keys(criteria: Sequence[Criterion]) -> list[str]:
    """The keys of one turn's verdict."""
    scored = [f"{c.name}_{suffix}" for c in criteria for suffix in ("explanation", "score")]
    return ["turn", "is_refusal_explanation", "is_refusal", *scored]


def _wanted_scores(criteria: Sequence[Criterion], summed_up: bool) -> Wanted:
    """An object with ``scores``, or only the array that should be under it."""
    known = frozenset({*_keys(criteria), *([SUMMARY] if summed_up else ())})
    plain = wanted_object(("scores",), known)

    def accept(value: Any) -> tuple[dict[str, Any], str | None] | None:
        if accepted := plain.accept(value):
            return accepted
        if isinstance(value, list) and value and all(_is_entry(item) for item in value):
            return {"scores": value}, "bare_array"
        return None

    return Wanted(accept, ("scores", "_score"), plain.missing, plain.known)


def _is_entry(item: Any) -> bool:
    return isinstance(item, dict) and any(str(key).endswith("_score") for key in item)


def _entries(reply: JsonReply, keys: Collection[str]) -> list[dict[str, Any]]:
    scores = reply.data["scores"]
    if not isinstance(scores, list):
        raise ReplyFault("bad_type", f'The value of "scores" is {shown(scores)}; it must be a list.')
    for item in scores:
        if not isinstance(item, dict):
            raise ReplyFault(
                "bad_type", f'"scores" holds {shown(item)}; each of its items must be an object.'
            )
    if not reply.data.keys() <= set(keys):
        reply.repairs.add("extra_keys")
    return scores


def _turn_numbers(entries: list[dict[str, Any]], turns: range, repairs: set[str]) -> list[int]:
    """The turn number of each entry; they must be those of ``turns``, each once."""
    wanted = f"it must score each of the turns {turns.start} to {turns.stop - 1} exactly once."
    named = sum("turn" in entry for entry in entries)
    if 0 < named < len(entries):
        raise ReplyFault("missing_key", f'Some entries of "scores" have no "turn"; {wanted[3:]}')
    if named:
        numbers = [integer(entry["turn"], '"turn"', repairs) for entry in entries]
    else:
        numbers = list(range(turns.start, turns.start + len(entries)))
    if sorted(numbers) != list(turns):
        scored = f"turns {listed(numbers)}" if named else f"{len(entries)} turns"
        if "truncated" in repairs:
            raise ReplyFault("truncated", f"The reply breaks off after it scored {scored}; {wanted}")
        repeated = max(Counter(numbers).values(), default=0) > 1
        raise ReplyFault(
            "duplicate_turn" if repeated else "wrong_turns", f"The reply scored {scored}; {wanted}"
        )
    if entries and not named:
        repairs.add("turns_from_order")
    return numbers


def _turn_verdict(
    number: int,
    entry: dict[str, Any],
    criteria: Sequence[Criterion],
    repairs: set[str],
    more: Collection[str] = (),
) -> TurnVerdict:
    """Read and check every value of ``entry`` for turn ``number``; keys in ``more`` are read elsewhere."""

    def value(key: str) -> Any:
        if key not in entry:
            raise ReplyFault("missing_key", f'Turn {number} has no "{key}".')
        return entry[key]

    def where(key: str) -> str:
        return f'"{key}" of turn {number}'

    known = {"turn", "is_refusal", "is_refusal_explanation", *more}
    scores, reasons = {}, {}
    refusal_reason = reason(entry, "is_refusal_explanation", where("is_refusal_explanation"), repairs)
    is_refusal = boolean(value("is_refusal"), where("is_refusal"), repairs)
    for criterion in criteria:
        key, why = f"{criterion.name}_score", f"{criterion.name}_explanation"
        known |= {key, why}
        reasons[criterion.name] = reason(entry, why, where(why), repairs)
        score = integer(value(key), where(key), repairs)
        scores[criterion.name] = in_range(score, criterion.low, criterion.high, where(key))
    if not known.issuperset(entry):
        repairs.add("extra_keys")
    return TurnVerdict(
        turn=number, is_refusal=is_refusal, refusal_reason=refusal_reason, scores=scores, reasons=reasons
    )
