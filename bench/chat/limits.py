"""A provider's limits: concurrent calls (in total and per role), calls per minute, and pauses it asks for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from time import monotonic

from aiolimiter import AsyncLimiter

from bench.catalog import Provider
from bench.records import Role


class Limits:
    """The slots of one provider, first come, first served. Belongs to one event loop."""

    def __init__(self, provider: Provider) -> None:
        self._all = asyncio.Semaphore(provider.max_concurrent)
        self._roles = {role: asyncio.Semaphore(count) for role, count in provider.role_concurrent.items()}
        self._rate = _spaced(provider.requests_per_minute) if provider.requests_per_minute else nullcontext()
        self._paused_until = 0.0

    def pause(self, seconds: float) -> None:
        """Start no call for ``seconds``, because the provider asked for it."""
        self._paused_until = max(self._paused_until, monotonic() + seconds)

    @asynccontextmanager
    async def slot(self, role: Role) -> AsyncIterator[None]:
        """A slot for one request of ``role``; released before any wait for a retry."""
        async with self._roles.get(role, nullcontext()), self._all:
            while (left := self._paused_until - monotonic()) > 0:
                await asyncio.sleep(left)
            async with self._rate:
                yield


def _spaced(per_minute: int) -> AsyncLimiter:
    """At most ``per_minute`` requests in any minute, spaced evenly, in bursts of at most a second's share."""
    burst = max(1, per_minute // 60)
    refill = per_minute - burst if burst > 1 else per_minute
    return AsyncLimiter(burst, 60 * burst / refill)
