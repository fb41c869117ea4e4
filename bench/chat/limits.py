"""How hard a provider may be pressed: calls at once, per role and in all, calls a minute, pauses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic

from aiolimiter import AsyncLimiter

from bench.catalog import Provider
from bench.records import Role


class Limits:
    """The slots of one provider, first come, first served. Belongs to one event loop."""

    def __init__(self, provider: Provider) -> None:
        self._all = asyncio.Semaphore(provider.max_concurrent)
        self._roles = {role: asyncio.Semaphore(count) for role, count in provider.role_concurrent.items()}
        self._rate = _spaced(provider.requests_per_minute) if provider.requests_per_minute else None
        self._paused_until = 0.0

    def pause(self, seconds: float) -> None:
        """No call starts within ``seconds`` from now: the provider has asked for it."""
        self._paused_until = max(self._paused_until, monotonic() + seconds)

    @asynccontextmanager
    async def slot(self, role: Role) -> AsyncIterator[None]:
        """A slot for one request of ``role``; given back on leaving, so before any wait for a retry."""
        own = self._roles.get(role)
        if own is None:
            async with self._all:
                await self._turn()
                yield
        else:
            async with own, self._all:
                await self._turn()
                yield

    async def _turn(self) -> None:
        while (left := self._paused_until - monotonic()) > 0:
            await asyncio.sleep(left)
        if self._rate is not None:
            await self._rate.acquire()


def _spaced(per_minute: int) -> AsyncLimiter:
    """At most ``per_minute`` requests in any minute: spaced evenly, in bursts of a second's share at most."""
    burst = max(1, per_minute // 60)
    refill = per_minute - burst if burst > 1 else per_minute
    return AsyncLimiter(burst, 60 * burst / refill)
