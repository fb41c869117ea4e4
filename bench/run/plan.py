"""Plans what a suite still needs: missing, failed and stale cells, with their expected calls and cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from functools import partial
from itertools import product
from typing import Literal

from bench.catalog import Catalog, Model
from bench.protocol_facts import left_unclear
from bench.protocols import Protocol
from bench.records import Cell, Conversation, Judgement, Record, Role, Usage, messages_sha256
from bench.results import ResultsTree
from bench.results.facts import mean_reasoning
from bench.run.shards import Shard

State = Literal["done", "missing", "failed", "stale"]
"""``failed``: a recorded failure. ``stale``: version, prompts or parameters have changed since."""

TEMPORARY = frozenset({"transport", "rate_limited"})
"""Temporary failures: the next run retries them."""


class CellWork(Record):
    """What one cell needs: a conversation or not, and judgements."""

    cell: Cell
    turns: int
    calls: int
    """Model calls without retries."""
    talk: bool
    """Whether the conversation is held (again)."""
    judges: tuple[str, ...]
    conversation: Conversation | None
    """The existing conversation, if it only has to be judged."""
    anew: bool = False
    """Whether replies from the cache that make a record fail are asked for again."""


@dataclass
class Plan:
    """The work of a run, longest conversations first, and the state of every cell and judgement."""

    work: list[CellWork] = field(default_factory=list)
    conversations: Counter[State] = field(default_factory=Counter)
    judgements: Counter[State] = field(default_factory=Counter)
    stale: list[CellWork] = field(default_factory=list)
    """What is stale and is not redone."""
    answered: set[str] = field(default_factory=set)
    """Models whose answers, with their current parameters, are among the results."""
    reasoning: dict[str, float] = field(default_factory=dict)
    """Mean tokens of reasoning of each player's answers so far, where a provider counted them."""

    def calls(self) -> int:
        """Model calls without retries."""
        return sum(item.calls for item in self.work)


def make_plan(
    protocol: Protocol,
    tree: ResultsTree,
    players: Iterable[str],
    judges: Sequence[str],
    *,
    talk: bool = True,
    retry_failed: bool = False,
    refresh_stale: bool = False,
    shard: Shard | None = None,
) -> Plan:
    """Plan what ``players`` need, or one shard of it: all repeats of the suite, or the sample of ``tree``.

    Where judges rotate, each scene is planned for those of ``judges`` whose turn it is.

    Without ``talk``, only judgements of complete conversations are planned. Temporary failures are always
    retried; ``retry_failed`` retries all, and ``refresh_stale`` replaces results whose inputs have changed.
    With either of them, no reply from the cache makes a record fail: it is asked for again.
    """
    plan = Plan()

    def wanted(state: State, record: Conversation | Judgement | None) -> bool:
        if state == "failed":
            temporary = record is not None and record.failure and record.failure.outcome in TEMPORARY
            return retry_failed or bool(temporary)
        return state == "missing" or (state == "stale" and refresh_stale)

    suite, rota = protocol.suite, protocol.suite.rota(protocol.language)
    for player in players:
        cells = protocol.cells(player) if shard is None else shard.cells(protocol, player)
        held: list[Conversation] = []
        for repeat, first in product([tree.repeat] if tree.repeat else suite.repeats, cells):
            cell = first.model_copy(update={"repeat": repeat})
            asked = suite.asked(judges, (cell.character, cell.situation), rota)
            item = _cell_work(plan, protocol, tree, cell, asked, talk, wanted)
            if item.talk or item.judges:
                plan.work.append(item.model_copy(update={"anew": retry_failed or refresh_stale}))
            held += [item.conversation] if item.conversation else []
        tokens = mean_reasoning(held)
        if tokens is None and protocol.catalog.model(player).thinks:
            tokens = mean_reasoning(_elsewhere(tree, player))
        plan.reasoning |= {} if tokens is None else {player: tokens}
    _order(plan)
    return plan


def _elsewhere(tree: ResultsTree, player: str) -> Iterator[Conversation]:
    """The conversations of ``player`` in all suites."""
    for suite, language in tree.boards():
        if not tree.is_table(suite):
            yield from tree.conversations(suite, language, player)


def _order(plan: Plan) -> None:
    """Sort the longest conversations to the front, and let characters take turns.

    Conversations of one character begin with the same card. If two of them started together, the server would
    read the card twice, because neither could use the other's cached prompt.
    """
    seen: Counter[tuple[str, str]] = Counter()

    def place(item: CellWork) -> tuple[int, int]:
        whose = (item.cell.player, item.cell.character)
        seen[whose] += 1
        return (-item.turns if item.talk else 0, seen[whose])

    plan.work.sort(key=place)


def _cell_work(
    plan: Plan,
    protocol: Protocol,
    tree: ResultsTree,
    cell: Cell,
    judges: Sequence[str],
    talk: bool,
    wanted: Callable[[State, Conversation | Judgement | None], bool],
) -> CellWork:
    """What ``cell`` needs; counts the states of its records in ``plan``."""
    conversation = tree.conversation(cell)
    state = _state_of(conversation, cell.version, partial(protocol.conversation_fingerprint, cell))
    plan.conversations[state] += 1
    if state == "done":
        plan.answered.update(model for _, model in protocol.talkers(cell.player))
    again = talk and wanted(state, conversation)
    needed: list[str] = []
    old: list[str] = []
    stale = talk and state == "stale" and not again
    if again:
        needed += judges
        plan.judgements["missing"] += len(judges)
    elif conversation is not None and conversation.status != "failed":
        sha256 = messages_sha256(conversation.messages)
        for judge in judges:
            record = tree.judgement(conversation, judge)
            fingerprint = partial(protocol.judgement_fingerprint, cell, judge, sha256)
            state = _state_of(record, cell.version, fingerprint)
            plan.judgements[state] += 1
            plan.answered.update([judge] if state == "done" else [])
            if wanted(state, record):
                needed.append(judge)
            elif state == "stale":
                old.append(judge)

    def work(talk: bool, judging: Sequence[str]) -> CellWork:
        return CellWork(
            cell=cell,
            turns=protocol.turns(cell),
            calls=(protocol.talk_calls(cell) if talk else 0) + len(judging) * protocol.judge_calls(cell),
            talk=talk,
            judges=tuple(judging),
            conversation=None if talk else conversation,
        )

    if stale or old:
        plan.stale.append(work(stale, judges if stale else old))
    return work(again, needed)


def _state_of(record: Conversation | Judgement | None, version: str, fingerprint: Callable[[], str]) -> State:
    """The state of a record whose suite and inputs now have the given version and fingerprint."""
    if record is None:
        return "missing"
    if record.version != version or record.fingerprint != fingerprint():
        return "stale"
    unclear = isinstance(record, Judgement) and left_unclear(record)  # asking again changes nothing
    return "failed" if record.status == "failed" and not unclear else "done"


@dataclass(frozen=True)
class RoleCost:
    """Expected calls, tokens and cost (US dollars, None if unknown) of one model in one role."""

    role: Role
    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: Decimal | None
    reasoning_tokens: int | None = 0
    """Of the completion tokens, those of reasoning. None: the model reasons, but nobody knows how long, so
    they are not counted."""


def estimate(plan: Plan, protocol: Protocol) -> list[RoleCost]:
    """Expected calls, tokens and cost by role and model. Prompts are measured, lengths of answers assumed."""
    totals: dict[tuple[Role, str], Counter[str]] = {}
    for item in plan.work:
        guesses = protocol.estimate(item.cell)
        models: list[tuple[Role, str]] = [("judge", judge) for judge in item.judges]
        if item.talk:
            models += protocol.talkers(item.cell.player)
        for role, model in models:
            if role in guesses:
                totals.setdefault((role, model), Counter()).update(asdict(guesses[role]))
    return [
        _role_cost(
            role,
            model,
            totals[role, model],
            protocol.catalog,
            plan.reasoning.get(model) if role == "player" else None,
        )
        for role, model in sorted(totals)
    ]


def reasoning_each(model: Model, measured: float | None = None) -> float | None:
    """Expected tokens of reasoning of one answer: what the catalogue says, or what was ``measured``.

    None if the model reasons and neither is known; 0 if nothing says that it reasons.
    """
    if model.reasoning_tokens is not None:
        return model.reasoning_tokens
    return measured if measured is not None or model.thinks else 0


def _role_cost(
    role: Role, model: str, sums: Counter[str], catalog: Catalog, measured: float | None
) -> RoleCost:
    each = reasoning_each(catalog.model(model), measured)
    reasoning = None if each is None else round(each * sums["calls"])
    usage = Usage(
        prompt_tokens=sums["prompt_tokens"],
        completion_tokens=sums["completion_tokens"] + (reasoning or 0),
        audio_prompt_tokens=sums["audio_prompt_tokens"] or None,
        audio_completion_tokens=sums["audio_completion_tokens"] or None,
    )
    cost = catalog.model(model).cost_of(usage)
    return RoleCost(role, model, sums["calls"], usage.prompt_tokens, usage.completion_tokens, cost, reasoning)
