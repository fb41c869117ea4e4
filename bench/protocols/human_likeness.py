"""Human likeness: one answer in a conversation, held against what three people answered there, 0 to 100.

The player sees a profile and the conversation so far and writes one response. The judge sees the three real
answers besides, thinks step by step, picks one of five bands and then a score inside it. It is asked once for
each of several orders of the real answers, so that a verdict's "turns" are orders. A response that does not
play the role gets 0, which counts. Source: the method's description of a human-likeness evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field, JsonValue

from bench.chat.requests import ChatRequest, estimated_tokens
from bench.protocol_facts import facts_of
from bench.protocols._asking import (
    Read,
    Reader,
    Verdict,
    ask_judge,
    ask_player,
    coordinates,
    failure,
    judgement,
    reread,
    strict_object,
    updated,
)
from bench.protocols._likeness import BANDS, CANNOT_PLAY, MOST_ORDERS, LikenessItem, Order, item_of, orders_of
from bench.protocols.base import Ask, Estimate, Protocol
from bench.records import (
    Call,
    Cell,
    Conversation,
    Judgement,
    Message,
    TurnVerdict,
    sealed,
    sha256_of,
)
from bench.replies import banded
from bench.replies.bands import named
from bench.replies.faults import in_order
from bench.toml_entries import Entry

FACTS = facts_of("human_likeness")
(CRITERION,) = FACTS.criteria

ANSWER_TOKENS = 80
"""A guess at a player's response where nothing bounds it, for estimates."""
ANALYSIS_TOKENS = 250
"""A guess at what a judge thinks of one order."""


class LikenessOptions(Entry):
    """``[options]`` of a suite."""

    orders: int = Field(default=2, ge=1, le=MOST_ORDERS)
    """In how many orders a judge is shown the real answers, one call each."""


class HumanLikeness(Protocol):
    """One suite of this protocol in one language."""

    name = "human_likeness"
    facts = FACTS
    options_type = LikenessOptions
    options: LikenessOptions

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._items = {(item.character, item.situation): item_of(item) for item in self.scenes.items}

    def _item(self, cell: Cell) -> LikenessItem:
        return self._items[cell.character, cell.situation]

    def turns(self, cell: Cell) -> int:
        return 1

    def verdicts_due(self, conversation: Conversation) -> int:
        return self.options.orders

    def judge_calls(self) -> int:
        return self.options.orders

    # Fingerprints

    def conversation_fingerprint(self, cell: Cell) -> str:
        item = self._item(cell)
        return sha256_of(
            {
                "protocol": self.name,
                "language": self.language,
                "template": self.prompts.sha256("player"),
                "item": item.model_dump(include={"name", "profile", "history"}),
                "player": self.model_facts(cell.player, self.suite.entry.player.sampling),
            }
        )

    def judgement_fingerprint(self, cell: Cell, judge: str, conversation_sha256: str) -> str:
        entry = self.suite.entry
        return sha256_of(
            {
                "protocol": self.name,
                "template": self.prompts.sha256("judge"),
                "item": self._item(cell).model_dump(include={"name", "profile", "history", "real_answers"}),
                "orders": self.options.orders,
                "reason_limit": entry.limits.reason,
                "judge": self.model_facts(judge, entry.judge.sampling),
                "conversation": conversation_sha256,
            }
        )

    # The response

    async def converse(self, cell: Cell, ask: Ask) -> Conversation:
        item = self._item(cell)
        card = self._player_prompt(item)
        last = Message(role="user", content=item.history[-1].content)
        tries = await ask_player(self, cell, card, [last], ask)
        said = tries[-1].found
        fault = failure("player", 1, tries[-1])
        return sealed(
            Conversation(
                **cell.plain(),
                fingerprint=self.conversation_fingerprint(cell),
                scene=item.scene(cell.situation, card),
                status="complete" if fault is None else "failed",
                messages=(last,) if said is None else (last, Message(role="assistant", content=said)),
                calls=tuple(self.call_record(one.request, one.reply, 1) for one in tries),
                failure=fault,
            )
        )

    def _player_prompt(self, item: LikenessItem) -> str:
        lines = [item.said(line, "user") for line in item.history]
        return self.prompts.render(
            "player", name=item.name, profile=item.profile, history=lines[:-1], partner=lines[-1]["speaker"]
        )

    # Judging

    async def judge(self, conversation: Conversation, judge: str, ask: Ask) -> Judgement:
        verdicts: list[Verdict] = []
        orders = _orders(conversation)
        for number in range(1, self.options.orders + 1):
            made = await self._judged_once(conversation, judge, number, orders[number - 1], ask)
            verdicts.append(made)
            if made.read.failure is not None:
                break  # a score of some of the orders would not be the others' equal
        return judgement(self, conversation, judge, _together([one.read for one in verdicts]), verdicts)

    async def _judged_once(
        self, conversation: Conversation, judge: str, number: int, order: Order, ask: Ask
    ) -> Verdict:
        item = self._item(conversation)
        entry = self.suite.entry
        prompt = self._judge_prompt(item, order, conversation.messages[-1].content)
        bounded = self.catalog.provider_of(judge).schema_limits

        def request_for(complaint: str, attempt: int) -> ChatRequest:
            return self.request(
                "judge",
                judge,
                [Message(role="user", content=prompt + complaint)],
                entry.judge.sampling,
                schema=verdict_schema(entry.limits.reason if bounded else None),
                seed_of=[judge, *coordinates(conversation, number)],
                attempt=attempt,
            )

        return await ask_judge(self, request_for, _reader(number, order), ask)

    def _judge_prompt(self, item: LikenessItem, order: Order, response: str) -> str:
        return self.prompts.render(
            "judge",
            name=item.name,
            profile=item.profile,
            history=[item.said(line, "user") for line in item.history],
            real_answers=[item.real_answers[n - 1] for n in order],
            response=response,
            bands=[named(band) for band in BANDS],
            cannot_play=CANNOT_PLAY,
        )

    def reparsed(self, judgement: Judgement, conversation: Conversation) -> Judgement:
        orders = _orders(judgement)
        reads: list[Read] = []
        for number, (calls, raw) in enumerate(_by_order(judgement), 1):
            before = Read(judgement.turns[number - 1 : number], (), judgement.failure)
            reads.append(reread(calls, raw, _reader(number, orders[number - 1]), before))
        return updated(judgement, _together(reads))

    # Before anyone pays

    def estimate(self, cell: Cell) -> Estimate:
        item = self._item(cell)
        entry = self.suite.entry
        orders = self.options.orders
        answer = min(ANSWER_TOKENS, int(entry.player.sampling.max_tokens or ANSWER_TOKENS))
        asked_of_judge = estimated_tokens(self._judge_prompt(item, (1, 2, 3), ""))
        last = estimated_tokens(item.history[-1].content)
        return Estimate(
            calls={"player": 1, "interrogator": 0, "judge": orders},
            prompt_tokens={
                "player": estimated_tokens(self._player_prompt(item)) + last,
                "interrogator": 0,
                "judge": orders * (asked_of_judge + answer),
            },
            completion_tokens={
                "player": answer,
                "interrogator": 0,
                "judge": orders * (15 + min(ANALYSIS_TOKENS, entry.limits.reason // 4)),
            },
        )


def _orders(cell: Cell) -> tuple[Order, ...]:
    return orders_of(cell.character, cell.situation)


def _reader(number: int, order: Order) -> Reader:
    """Reads a judge's reply to the answers in ``order``, the suite's ``number`` th."""

    def read(text: str) -> tuple[tuple[TurnVerdict, ...], tuple[str, ...]]:
        found = banded(text, bands=BANDS)
        turn = TurnVerdict(
            turn=number,
            scores={CRITERION.name: found.score},
            reasons={CRITERION.name: found.analysis},
            detail={"order": list(order), "band": named(found.band)},
        )
        return (turn,), found.repairs

    return read


def _by_order(record: Judgement) -> list[tuple[list[Call], list[str]]]:
    """Calls and raw replies order by order: each begins with a first ask."""
    parts: list[tuple[list[Call], list[str]]] = []
    for call, raw in zip(record.calls, record.raw, strict=True):
        if call.turn == 1 or not parts:
            parts.append(([], []))
        parts[-1][0].append(call)
        parts[-1][1].append(raw)
    return parts


def _together(reads: Sequence[Read]) -> Read:
    """The verdicts of all orders as one; a failure of any of them is that of the whole."""
    for number, one in enumerate(reads, 1):
        if one.failure is not None:
            reason = f"order {number}: {one.failure.reason.removeprefix(f'order {number}: ')}"
            return Read(failure=one.failure.model_copy(update={"reason": reason}))
    turns = tuple(turn for one in reads for turn in one.turns)
    return Read(turns, in_order(repair for one in reads for repair in one.repairs))


def verdict_schema(limit: int | None) -> dict[str, JsonValue]:
    """JSON Schema of a judge's reply.

    Without ``limit`` it keeps to what strict structured output takes everywhere; with it, the analysis is at
    most that many characters long and the score lies in the band.
    """
    if limit is None:
        names: list[JsonValue] = [named(band) for band in BANDS]
        band: dict[str, JsonValue] = {"type": "string", "enum": names}
        return strict_object({"analysis": {"type": "string"}, "band": band, "score": {"type": "integer"}})
    analysis: dict[str, JsonValue] = {"type": "string", "maxLength": limit}
    each: list[JsonValue] = [
        strict_object(
            {
                "analysis": analysis,
                "band": {"const": named((low, high))},
                "score": {"type": "integer", "enum": list(range(low, high + 1))},
            }
        )
        for low, high in BANDS
    ]
    return {"anyOf": each}
