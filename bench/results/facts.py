"""What the records of calls say besides the scores: how answers ended, what was asked again, who answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from pydantic import Field

from bench.records import Conversation, Judgement, Record, Role
from bench.tables import printable

Entry = tuple[str, Role, str]
"""Player, role, and the model in that role: a name in the catalog; of an interrogator the provider's id."""
Tally = dict[Entry, Counter[tuple[str, str]]]
"""By entry, the counts of CallFacts: (field, ""), (SERVED, name), and (TOKENS, "sum" or "answers")."""
SERVED, TOKENS = "served_models", "reasoning_tokens"

SAID = {
    "cut": "cut off at the token limit",
    "unknown_endings": "with an unknown finish reason",
    "empty": "empty",
    "repeated": "asked for again",
    "reasoned": "with reasoning, which is not judged",
}
"""What each count is, in words that follow the number."""
_BY_OUTCOME = {"length": "cut", "unknown_ending": "unknown_endings", "empty": "empty"}


class CallFacts(Record):
    """What stands out among the calls of one model in one role."""

    role: Role
    model: str
    """The catalog's name of a player or judge; the provider's id of an interrogator."""
    answers: int = 0
    """Calls that were answered."""
    cut: int = 0
    """Answers cut off at the token limit."""
    unknown_endings: int = 0
    """Answers whose finish reason is missing or not known."""
    empty: int = 0
    repeated: int = 0
    """Calls made because an earlier reply could not be used."""
    reasoned: int = 0
    """A player's answers that came with reasoning."""
    reasoning_tokens: float | None = None
    """Mean tokens of reasoning of the player's answers whose usage counts them; left out where all are 0."""
    served_models: dict[str, int] = Field(default_factory=dict)
    """Where the provider names several models that answered: answers by name."""

    def remarks(self) -> dict[str, str]:
        """What stands out, in words, by the name of its count."""
        noun = "answers" if self.role == "player" else "replies"
        remarks = {
            name: f"{count} of {self.answers} {noun} {text}"
            for name, text in SAID.items()
            if (count := getattr(self, name))
        }
        if self.reasoning_tokens is not None:
            remarks["reasoning_tokens"] = f"{self.reasoning_tokens:,.0f} tokens of reasoning an answer"
        if self.served_models:
            names = [f"{printable(name)} ({count})" for name, count in self.served_models.items()]
            remarks["served_models"] = f"answered by {' and '.join(names)}"
        return remarks

    def line(self, player: str) -> str:
        """The remarks in one line, about the calls of ``player`` or those made for it."""
        whose = "" if self.role == "player" else f", {self.role} {self.model}"
        return printable(f"{player}{whose}: {'; '.join(self.remarks().values())}")


def count_calls(record: Conversation | Judgement, tally: Tally) -> None:
    """Add the calls of ``record`` to ``tally``."""
    seen: set[tuple[Role, int]] = set()
    for call in record.calls:
        model = record.judge if isinstance(record, Judgement) else call.model
        counts = tally.setdefault(
            (record.player, call.role, record.player if call.role == "player" else model), Counter()
        )
        counts["answers", ""] += call.usage is not None
        if call.outcome in _BY_OUTCOME:
            counts[_BY_OUTCOME[call.outcome], ""] += 1
        if call.turn > 1 if isinstance(record, Judgement) else (call.role, call.turn) in seen:
            counts["repeated", ""] += 1
        if call.role == "player" and call.reasoning:
            counts["reasoned", ""] += 1
        if call.role == "player" and call.usage is not None and call.usage.reasoning_tokens is not None:
            counts[TOKENS, "sum"] += call.usage.reasoning_tokens
            counts[TOKENS, "answers"] += 1
        if call.served_model:
            counts[SERVED, call.served_model] += 1
        seen.add((call.role, call.turn))


def mean_reasoning(records: Iterable[Conversation]) -> float | None:
    """Mean tokens of reasoning of the player's answers in ``records``; None if no provider counted them."""
    tally: Tally = {}
    for record in records:
        count_calls(record, tally)
    counts = sum(tally.values(), Counter())
    return counts[TOKENS, "sum"] / counts[TOKENS, "answers"] if counts[TOKENS, "answers"] else None


def summed(tallies: Iterable[Tally]) -> Tally:
    """The sum of several tallies."""
    sums: Tally = {}
    for tally in tallies:
        for entry, counts in tally.items():
            sums.setdefault(entry, Counter()).update(counts)
    return sums


def standing_out(tally: Mapping[Entry, Mapping[tuple[str, str], int]]) -> dict[Entry, CallFacts]:
    """The entries of ``tally`` that deserve a remark; of each player its own calls come first.

    A model that served an entry is remarked where the entry had several, over all players.
    """
    served: dict[tuple[str, str], set[str]] = {}
    for (_, role, model), counts in tally.items():
        names = {name for field, name in counts if field == SERVED}
        served.setdefault((role, model), set()).update(names)
    facts = {}
    for entry in sorted(tally, key=lambda entry: (entry[0], entry[1] != "player", entry)):
        _, role, model = entry
        counts = tally[entry]
        plain = {field: count for (field, name), count in counts.items() if not name}
        named = {name: counts[field, name] for field, name in sorted(counts) if field == SERVED}
        several = named if len(served[role, model]) > 1 else {}
        tokens = counts.get((TOKENS, "sum"), 0) / max(1, counts.get((TOKENS, "answers"), 0))
        facts[entry] = CallFacts(
            role=role, model=model, **plain, reasoning_tokens=round(tokens, 1) or None, served_models=several
        )
    return {entry: fact for entry, fact in facts.items() if fact.remarks()}
