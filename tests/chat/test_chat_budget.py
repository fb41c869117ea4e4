"""--max-cost: never exceeded by more than the calls on the wire, whatever queues, retries or is shared."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from bench.chat import Chat, Reply
from bench.chat.budget import BudgetReached
from tests.chat.conftest import Play, Played, asked
from tests.scripted_faults import scripted
from tests.scripted_server import Answerer, ScriptedServer, completion

PRICES = {"input": "0", "output": "1000000"}
"""A dollar a token: a call of one token costs a dollar."""
AT_ONCE = 16


def dollar(seen: Any) -> Any:
    usage = {"prompt_tokens": 1, "completion_tokens": 1}
    return completion("Yes.", seen, usage=usage)


def spend(play: Play, answer: Answerer, limit: int, questions: list[str], delay: float = 0.01) -> Played:
    async def script(chat: Chat, server: ScriptedServer) -> list[Reply]:
        ends = await asyncio.gather(*(chat.ask(asked(q)) for q in questions), return_exceptions=True)
        assert all(isinstance(end, Reply | BudgetReached) for end in ends)
        return [end for end in ends if isinstance(end, Reply)]

    return play.run(
        script,
        answer,
        provider={"max_concurrent": AT_ONCE},
        model={"prices": PRICES},
        max_cost=Decimal(limit),
        delay=delay,
    )


def test_calls_that_queue_for_a_slot_are_not_sent_once_the_money_is_spent(play: Play) -> None:
    played = spend(play, dollar, 20, [f"q{n}" for n in range(200)])
    assert 20 <= played.stats.cost < 20 + AT_ONCE
    assert played.server.count == played.stats.cost == len(played.replies)
    assert played.server.most_at_once == AT_ONCE


def test_every_attempt_of_a_retry_asks_for_leave(play: Play) -> None:
    steps: list[Any] = ["status_500"] * 40
    played = spend(play, scripted(*steps, then=dollar), 3, [f"q{n}" for n in range(60)])
    assert played.stats.cost < 3 + AT_ONCE
    assert played.server.count <= 40 + 3 + AT_ONCE
    assert played.stats.sent == played.server.count


def test_reasoning_outside_the_completion_tokens_counts(play: Play) -> None:
    def thinking(seen: Any) -> Any:
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 102}
        return completion("Yes.", seen, usage=usage)

    played = spend(play, thinking, 50, [f"q{n}" for n in range(60)])
    assert played.server.count <= AT_ONCE
    assert played.stats.cost == 101 * played.server.count


def test_useless_answers_that_are_charged_count(play: Play) -> None:
    def useless(seen: Any) -> Any:
        return completion("", seen, choices=[], usage={"prompt_tokens": 1, "completion_tokens": 1})

    played = spend(play, useless, 10, [f"q{n}" for n in range(60)])
    assert played.replies == [] or all(reply.outcome == "transport" for reply in played.replies)
    assert 10 <= played.stats.cost < 10 + AT_ONCE
    assert played.server.count == played.stats.cost


def test_a_shared_flight_is_paid_once(play: Play) -> None:
    played = spend(play, dollar, 20, [f"q{n % 8}" for n in range(200)])
    assert played.stats.cost == played.server.count == 8
    assert len(played.replies) == 200


def test_costs_that_are_known_late_are_those_of_the_calls_in_flight(play: Play) -> None:
    """The first answer comes at once and spends all; the fifteen others are on the wire and still count."""
    from dataclasses import replace

    def late(seen: Any) -> Any:
        return replace(dollar(seen), delay=0.0 if seen.number == 1 else 0.2)

    played = spend(play, late, 1, [f"q{n}" for n in range(100)])
    assert played.stats.cost == played.server.count <= AT_ONCE


@pytest.mark.parametrize("limit", [0, 5])
def test_a_limit_that_is_reached_before_leaves_nothing_to_send(play: Play, limit: int) -> None:
    async def script(chat: Chat, server: ScriptedServer) -> list[Reply]:
        for number in range(limit):
            await chat.ask(asked(f"q{number}"))
        with pytest.raises(BudgetReached):
            await chat.ask(asked("one more"))
        return []

    played = play.run(script, dollar, model={"prices": PRICES}, max_cost=Decimal(limit))
    assert played.server.count == limit
