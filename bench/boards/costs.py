"""What the committed evidence cost, exactly: tokens and money by player, role and model.

Each call's record holds its cost at the prices of the day it was made; models.toml is not read here. A sum of
money has two parts: the known dollars, and the number of calls whose price is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from itertools import chain

from bench.records import Call, Conversation, Judgement, Role
from bench.results.comparison_records import Comparison


@dataclass(frozen=True)
class Part:
    """Whose calls a row counts. ``model`` is the catalog's name of a player or judge, and the provider's id
    of an interrogator, whose records do not keep the other."""

    suite: str
    language: str
    player: str
    role: Role
    model: str
    provider: str


@dataclass(frozen=True)
class Took:
    """What some calls cost."""

    calls: int = 0
    """Calls of the records, however they ended."""
    unanswered: int = 0
    """Of these, calls without an answer, for which no charge is known."""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    """Of the prompt tokens, those that the provider had cached."""
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    """Of the completion tokens, those of reasoning."""
    cost: Decimal = Decimal(0)
    """US dollars of the calls whose price is known."""
    unpriced: int = 0
    """Answered calls whose price is unknown; ``cost`` does not include them."""
    estimated: int = 0
    """Answered calls whose tokens the provider did not count: estimated from the length of the text."""
    batch: int = 0
    """Calls that went through a Batch API."""
    silent: int = 0
    """Records without calls (imported evidence), whose cost is unknown."""

    def __add__(self, other: Took) -> Took:
        return Took(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Took)))

    @property
    def known(self) -> bool:
        """Whether anything at all is known of the cost."""
        return not (self.unpriced or self.silent) or self.cost > 0


@dataclass(frozen=True)
class CostRow:
    """One part of the evidence and what it cost."""

    part: Part
    took: Took


def took(call: Call) -> Took:
    """What one call cost."""
    usage = call.usage
    if usage is None:
        return Took(calls=1, unanswered=1, batch=call.batch is True)
    return Took(
        calls=1,
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=usage.cached_tokens or 0,
        completion_tokens=usage.completion_tokens,
        reasoning_tokens=usage.reasoning_tokens or 0,
        cost=Decimal(call.cost or 0),
        unpriced=call.cost is None,
        estimated=usage.estimated,
        batch=call.batch is True,
    )


def cost_rows(conversations: Iterable[Conversation], judgements: Iterable[Judgement]) -> list[CostRow]:
    """The evidence by suite, language, player, role and model, in that order."""
    records: Iterable[Conversation | Judgement] = chain(conversations, judgements)
    return _summed(cost for record in records for cost in _costs_of(record))


def _costs_of(record: Conversation | Judgement) -> Iterator[tuple[Part, Took]]:
    """What each call of a record cost."""
    board = (record.suite, record.language, record.player)
    judge = record.judge if isinstance(record, Judgement) else ""
    for call in record.calls:
        model = judge or (record.player if call.role == "player" else call.model)
        yield Part(*board, "judge" if judge else call.role, model, call.provider), took(call)
    if not record.calls and record.origin is not None:  # without one, nobody was called for it
        yield Part(*board, "judge" if judge else "player", judge or record.player, ""), Took(silent=1)


def _summed(costs: Iterable[tuple[Part, Took]]) -> list[CostRow]:
    """A row for each part, in order."""
    sums: dict[Part, Took] = {}
    for part, more in costs:
        sums[part] = sums.get(part, Took()) + more
    order = {"player": 0, "interrogator": 1, "judge": 2}
    parts = sorted(sums, key=lambda p: (p.suite, p.language, p.player, order[p.role], p.model, p.provider))
    return [CostRow(part, sums[part]) for part in parts]


PAIRS = "(pairs)"
"""Used as the player in the costs of comparisons, which have two players each."""


def comparison_cost_rows(records: Iterable[Comparison]) -> list[CostRow]:
    """What comparisons cost, by suite, language and judge."""
    return _summed(
        (Part(record.suite, record.language, PAIRS, "judge", record.judge, call.provider), took(call))
        for record in records
        for call in record.calls
    )


def total(rows: Iterable[CostRow]) -> Took:
    """All rows in one sum."""
    return sum((row.took for row in rows), Took())


def totals(rows: Sequence[CostRow], by: Callable[[Part], str]) -> dict[str, Took]:
    """Sums by one name of the parts, such as their player; in the order in which the names come."""
    names = dict.fromkeys(by(row.part) for row in rows)
    return {name: total(row for row in rows if by(row.part) == name) for name in names}
