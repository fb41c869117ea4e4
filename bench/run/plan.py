"""What a suite still needs: which cells are missing, failed or stale, and what they are likely to take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Literal

from bench.catalog import Catalog
from bench.protocols import Protocol
from bench.records import Cell, Conversation, Failure, Judgement, Role, Usage, messages_sha256
from bench.results import ResultsTree
from bench.run.shards import Shard

State = Literal["done", "missing", "failed", "stale"]
"""``failed``: a recorded failure. ``stale``: made from other prompts or parameters than those of now."""

PASSING = frozenset({"transport", "rate_limited"})
"""Outcomes that another day may change: cells that failed so are done again by the next run."""


@dataclass(frozen=True)
class Redo:
    """Which finished cells are done again."""

    failed: bool = False
    stale: bool = False

    def wants(self, state: State, failure: Failure | None) -> bool:
        """Whether a cell in ``state`` is to be worked on."""
        if state == "failed":
            return self.failed or (failure is not None and failure.outcome in PASSING)
        return state == "missing" or (state == "stale" and self.stale)


@dataclass(frozen=True)
class CellWork:
    """What one cell needs: to be talked (again) or not, and whose judgements."""

    cell: Cell
    turns: int
    calls: int
    """Model calls if nothing has to be asked twice."""
    talk: bool
    judges: tuple[str, ...]
    conversation: Conversation | None
    """The conversation that is there, where it only has to be judged."""


@dataclass
class Plan:
    """All that a command will do, longest conversations first, and what it found."""

    work: list[CellWork] = field(default_factory=list)
    conversations: Counter[State] = field(default_factory=Counter)
    judgements: Counter[State] = field(default_factory=Counter)

    def calls(self) -> int:
        """Model calls if nothing has to be asked twice."""
        return sum(item.calls for item in self.work)


def make_plan(
    protocol: Protocol,
    tree: ResultsTree,
    players: Iterable[str],
    judges: Sequence[str],
    *,
    talk: bool = True,
    redo: Redo = Redo(),
    shard: Shard | None = None,
) -> Plan:
    """What ``players`` need, or one shard of it. With ``talk`` off, only conversations that are complete
    already get judged."""
    plan = Plan()
    for player in players:
        for cell in protocol.cells(player) if shard is None else shard.cells(protocol, player):
            _add_cell(plan, protocol, tree, cell, judges, talk, redo)
    plan.work.sort(key=lambda item: -item.turns if item.talk else 0)
    return plan


def _add_cell(
    plan: Plan,
    protocol: Protocol,
    tree: ResultsTree,
    cell: Cell,
    judges: Sequence[str],
    talk: bool,
    redo: Redo,
) -> None:
    conversation = tree.conversation(cell)
    state = _conversation_state(conversation, protocol, cell)
    plan.conversations[state] += 1
    again = talk and redo.wants(state, conversation.failure if conversation else None)
    if again:
        wanted = tuple(judges)
        plan.judgements["missing"] += len(judges)
    elif conversation is None or conversation.status == "failed":
        wanted = ()
    else:
        wanted = tuple(
            judge for judge in judges if _judge_wanted(plan, protocol, tree, conversation, judge, redo)
        )
    if again or wanted:
        calls = (protocol.talk_calls(cell) if again else 0) + len(wanted) * protocol.judge_calls()
        kept = None if again else conversation
        plan.work.append(CellWork(cell, protocol.turns(cell), calls, again, wanted, kept))


def _conversation_state(record: Conversation | None, protocol: Protocol, cell: Cell) -> State:
    if record is None:
        return "missing"
    if record.fingerprint != protocol.conversation_fingerprint(cell):
        return "stale"
    return "failed" if record.status == "failed" else "done"


def _judge_wanted(
    plan: Plan, protocol: Protocol, tree: ResultsTree, conversation: Conversation, judge: str, redo: Redo
) -> bool:
    record = tree.judgement(conversation, judge)
    state = judgement_state(record, protocol, conversation, judge)
    plan.judgements[state] += 1
    return redo.wants(state, record.failure if record else None)


def judgement_state(
    record: Judgement | None, protocol: Protocol, conversation: Conversation, judge: str
) -> State:
    """How a judge's judgement of a conversation stands."""
    if record is None:
        return "missing"
    sha256 = messages_sha256(conversation.messages)
    if record.fingerprint != protocol.judgement_fingerprint(conversation, judge, sha256):
        return "stale"
    return "failed" if record.status == "failed" else "done"


@dataclass(frozen=True)
class RoleCost:
    """What one model is expected to take in one role. ``cost`` in US dollars, None where unknown."""

    role: Role
    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: Decimal | None


def estimate(plan: Plan, protocol: Protocol, catalog: Catalog) -> list[RoleCost]:
    """Expected calls, tokens and cost by role and model. Guesses: prompts are measured, answers assumed."""
    totals: dict[tuple[Role, str], Counter[str]] = {}
    for item in plan.work:
        guesses = protocol.estimate(item.cell)
        models: list[tuple[Role, str]] = [("judge", judge) for judge in item.judges]
        if item.talk:
            models += protocol.talkers(item.cell.player)
        for role, model in models:
            if role in guesses:
                totals.setdefault((role, model), Counter()).update(asdict(guesses[role]))
    return [_role_cost(role, model, totals[role, model], catalog) for role, model in sorted(totals)]


def _role_cost(role: Role, model: str, sums: Counter[str], catalog: Catalog) -> RoleCost:
    usage = Usage(
        prompt_tokens=sums["prompt_tokens"],
        completion_tokens=sums["completion_tokens"],
        audio_prompt_tokens=sums["audio_prompt_tokens"] or None,
        audio_completion_tokens=sums["audio_completion_tokens"] or None,
    )
    cost = catalog.model(model).cost_of(usage)
    return RoleCost(role, model, sums["calls"], usage.prompt_tokens, usage.completion_tokens, cost)
