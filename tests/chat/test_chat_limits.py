"""How hard a provider is pressed."""

from __future__ import annotations

import asyncio
from time import monotonic

import pytest

from bench.catalog import Provider
from bench.chat import RetryPolicy
from bench.chat.limits import Limits
from tests.chat.conftest import Play, asked
from tests.scripted_server import Answer, Seen, error, plausible


def test_calls_at_once_stay_within_the_providers_limit(play: Play) -> None:
    requests = [asked(str(i), role=role) for i in range(8) for role in ("player", "interrogator", "judge")]
    played = play(plausible, *requests, together=True, delay=0.02, provider={"max_concurrent": 5})
    assert played.server.most_at_once == 5


def test_a_role_has_a_limit_of_its_own(play: Play) -> None:
    requests = [asked(str(i), role="judge") for i in range(8)]
    limits = {"max_concurrent": 6, "role_concurrent": {"judge": 2}}
    played = play(plausible, *requests, together=True, delay=0.02, provider=limits)
    assert played.server.most_at_once == 2


def test_a_waiting_retry_holds_no_slot(play: Play) -> None:
    def answer(seen: Seen) -> Answer:
        return error(500) if seen.number == 1 else plausible(seen)

    slow = RetryPolicy(first_wait=0.6, longest_backoff=0.6)
    played = play(
        answer, *[asked(str(i)) for i in range(4)], together=True, provider={"max_concurrent": 1}, retry=slow
    )
    order = [seen.body["messages"][-1]["content"] for seen in played.server.seen]
    assert order[:2] == ["0", "1"]


def test_first_come_first_served(play: Play) -> None:
    requests = [asked(str(i)) for i in range(12)]
    played = play(plausible, *requests, together=True, delay=0.005, provider={"max_concurrent": 1})
    assert [seen.body["messages"][-1]["content"] for seen in played.server.seen] == [
        str(i) for i in range(12)
    ]


def test_a_pause_holds_for_the_whole_provider(play: Play) -> None:
    times: list[float] = []

    def answer(seen: Seen) -> Answer:
        times.append(monotonic())
        return error(429, retry_after="0.5") if seen.number == 1 else plausible(seen)

    played = play(answer, *[asked(str(i)) for i in range(4)], together=True, provider={"max_concurrent": 1})
    assert all(r.outcome == "ok" for r in played.replies)
    assert times[1] - times[0] >= 0.5


@pytest.mark.parametrize(("per_minute", "calls"), [(50, 2), (600, 15), (6000, 200)])
def test_requests_a_minute_are_spaced(per_minute: int, calls: int) -> None:
    async def main() -> float:
        limits = Limits(Provider(base_url="http://x", max_concurrent=500, requests_per_minute=per_minute))

        async def one() -> None:
            async with limits.slot("player"):
                pass

        start = monotonic()
        await asyncio.gather(*(one() for _ in range(calls)))
        return monotonic() - start

    burst = max(1, per_minute // 60)  # a second's share may go at once
    ideal = (calls - burst) * 60 / per_minute
    assert 0.9 * ideal <= asyncio.run(main()) < 1.5 * ideal + 0.3
