"""The one retry policy: what is tried again, how long is waited, and when it is enough."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import uniform
from typing import TypeVar

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_result,
    stop_after_attempt,
    wait_random_exponential,
)

from bench.chat.faults import Fault

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Full-jitter exponential backoff, unless the provider says how long to wait."""

    attempts: int = 8
    total_seconds: float = 900.0
    """Time for all attempts and waits of one call, queueing left out."""
    first_wait: float = 1.0
    """The first backoff lies between 0 and this; each further one doubles the bound."""
    longest_backoff: float = 30.0
    longest_wait: float = 120.0
    """A provider that asks to wait longer than this ends the call as rate_limited."""
    unreachable_attempts: int = 3
    """Attempts on a server that nothing in this run has ever reached."""
    unreachable_seconds: float = 3.0

    async def run(
        self,
        first: Fault,
        attempt: Callable[[], Awaitable[T | Fault]],
        *,
        reached: Callable[[], bool],
        sleep: Callable[[float], Awaitable[None]],
    ) -> T | Fault:
        """What ``attempt`` ends in after its first try ended in ``first``: an answer, or the last fault."""
        spent = _Spent(self, reached)
        retrying = AsyncRetrying(
            retry=retry_if_result(lambda result: isinstance(result, Fault) and result.retried),
            wait=spent.wait,
            stop=spent.enough,
            sleep=sleep,
            retry_error_callback=lambda state: _result(state),
        )
        done: list[Fault] = [first]

        async def next_attempt() -> T | Fault:
            return done.pop() if done else await attempt()

        result: T | Fault = await retrying(next_attempt)
        return result


class _Spent:
    """Waits and stops of one call; keeps the time that its attempts and waits have taken."""

    def __init__(self, policy: RetryPolicy, reached: Callable[[], bool]) -> None:
        self._policy = policy
        self._reached = reached
        self._seconds = 0.0
        self._backoff = wait_random_exponential(multiplier=policy.first_wait, max=policy.longest_backoff)
        self._by_attempts = stop_after_attempt(policy.attempts)

    def wait(self, state: RetryCallState) -> float:
        fault = _result(state)
        assert isinstance(fault, Fault)
        self._seconds += fault.seconds
        if fault.wait is not None and fault.wait > 0:
            return fault.wait + uniform(0, min(1.0, fault.wait / 10))
        wait = self._backoff(state)
        return min(wait, 1.0) if self._never_reached(fault) else wait

    def enough(self, state: RetryCallState) -> bool:
        fault = _result(state)
        assert isinstance(fault, Fault)
        if fault.wait is not None and fault.wait > self._policy.longest_wait:
            return True
        if self._by_attempts(state) or self._seconds + state.upcoming_sleep > self._policy.total_seconds:
            return True
        if self._never_reached(fault) and state.attempt_number > 1:
            tries, limit = self._policy.unreachable_attempts, self._policy.unreachable_seconds
            return state.attempt_number >= tries or self._seconds + state.upcoming_sleep > limit
        self._seconds += state.upcoming_sleep
        return False

    def _never_reached(self, fault: Fault) -> bool:
        return fault.kind == "unreachable" and not self._reached()


def _result(state: RetryCallState) -> object:
    assert state.outcome is not None
    return state.outcome.result()
