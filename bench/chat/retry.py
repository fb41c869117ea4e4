"""The one retry policy: which attempts are repeated, how long we wait, and when to give up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import uniform
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_result, wait_random_exponential

from bench.chat.faults import Fault

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential backoff with full jitter, unless the provider says how long to wait."""

    attempts: int = 8
    total_seconds: float = 900.0
    """Time for all attempts and waits of one call, without queueing for a slot."""
    first_wait: float = 1.0
    """Upper bound of the first backoff; it doubles each time."""
    longest_backoff: float = 30.0
    longest_wait: float = 120.0
    """If a provider asks for a longer wait, the call ends as rate_limited."""
    unreachable_attempts: int = 3
    """Attempts on a server that has never been reached in this run."""
    unreachable_seconds: float = 3.0

    async def run(
        self,
        first: Fault,
        attempt: Callable[[], Awaitable[T | Fault]],
        *,
        reached: Callable[[], bool],
        sleep: Callable[[float], Awaitable[None]],
    ) -> T | Fault:
        """Repeat ``attempt``, whose first try ended in ``first``; returns an answer or the last fault.

        ``reached`` tells whether the server has ever been reached.
        """
        spent = _Spent(self, reached)
        retrying = AsyncRetrying(
            retry=retry_if_result(lambda result: isinstance(result, Fault) and result.retried),
            wait=spent.wait,
            stop=spent.enough,
            sleep=sleep,
            retry_error_callback=lambda state: state.outcome and state.outcome.result(),
        )
        earlier: list[Fault] = [first]

        async def next_attempt() -> T | Fault:
            return earlier.pop() if earlier else await attempt()

        result: T | Fault = await retrying(next_attempt)
        return result


class _Spent:
    """Decides on the waits and the end of one call; adds up the time of its attempts and waits."""

    def __init__(self, policy: RetryPolicy, reached: Callable[[], bool]) -> None:
        self._policy = policy
        self._reached = reached
        self._seconds = 0.0
        self._backoff = wait_random_exponential(multiplier=policy.first_wait, max=policy.longest_backoff)

    def wait(self, state: RetryCallState) -> float:
        fault = _fault(state)
        self._seconds += fault.seconds
        if fault.wait is not None and fault.wait > 0:
            return fault.wait + uniform(0, min(1.0, fault.wait / 10))
        wait = self._backoff(state)
        return min(wait, 1.0) if self._never_reached(fault) else wait

    def enough(self, state: RetryCallState) -> bool:
        policy, fault = self._policy, _fault(state)
        if fault.wait is not None and fault.wait > policy.longest_wait:
            return True
        attempts, seconds = policy.attempts, policy.total_seconds
        if self._never_reached(fault) and state.attempt_number > 1:
            attempts = min(attempts, policy.unreachable_attempts)
            seconds = min(seconds, policy.unreachable_seconds)
        spent = self._seconds + state.upcoming_sleep
        if state.attempt_number >= attempts or spent > seconds:
            return True
        self._seconds = spent
        return False

    def _never_reached(self, fault: Fault) -> bool:
        return fault.kind == "unreachable" and not self._reached()


def _fault(state: RetryCallState) -> Fault:
    assert state.outcome is not None
    fault = state.outcome.result()
    assert isinstance(fault, Fault)
    return fault
