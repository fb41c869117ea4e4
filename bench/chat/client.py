"""Chat: the way from a request to a reply, through cache, limits and retries."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from bench.catalog import Catalog, Model, Provider
from bench.chat.answers import Answer
from bench.chat.body import body_of, body_text
from bench.chat.budget import Budget
from bench.chat.cache import ResponseCache
from bench.chat.faults import UNREACHABLE_HINT, Fault
from bench.chat.limits import Limits
from bench.chat.requests import ChatRequest, Reply
from bench.chat.retry import RetryPolicy
from bench.chat.secrets import Environment, is_http, key_of, shown_url
from bench.chat.stats import Stats
from bench.errors import ProviderError
from bench.records import Outcome, Usage

if TYPE_CHECKING:
    from bench.chat.endpoint import Endpoint

NO_EMBEDDED = "embedded"
"""What stands for the embedded model in cache keys where nobody gave its identity."""
FIRST_LOOK, LONGEST_LOOK = 0.02, 0.5
"""Seconds between looks at a call that another process has in flight."""


class EmbeddedHandle(Protocol):
    """The embedded model's server, running."""

    @property
    def base_url(self) -> str:
        """Where its OpenAI-compatible API is, ``/v1`` included."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request as it would be sent, and the key under which its answer is kept."""

    request: ChatRequest
    model: Model
    provider: Provider
    body: str
    key: str

    def cost_of(self, usage: Usage, *, batch: bool = False) -> Decimal | None:
        """US dollars for ``usage`` of this request; None where it is not known."""
        heard, spoke = bool(self.request.sounds), self.request.spoken
        return self.model.cost_of(usage, batch=batch, heard=heard, spoke=spoke)


@dataclass(slots=True)
class _Flight:
    """A call under way, and how many wait for it."""

    task: asyncio.Task[Reply]
    waiting: int = 0


class Chat:
    """Asks models. An async context manager; belongs to one event loop.

    ``embedded`` starts the embedded model's server; it is called in a thread, at the first call that the
    cache does not answer. ``embedded_identity`` stands for it in cache keys. Its owner ends the server.
    ``on_call`` hears every reply, cached ones too. Once ``max_cost`` US dollars are spent, what may cost more
    is not sent and raises BudgetReached.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        cache: ResponseCache | None = None,
        embedded: Callable[[], EmbeddedHandle] | None = None,
        embedded_identity: Callable[[], str] | None = None,
        retry: RetryPolicy | None = None,
        on_call: Callable[[ChatRequest, Reply], None] | None = None,
        max_cost: Decimal | None = None,
        environ: Mapping[str, str] = os.environ,
        dotenv: Path = Path(".env"),
    ) -> None:
        self.catalog = catalog
        self.stats = Stats()
        self._budget = Budget(max_cost, self.stats)
        self.cache = cache
        self._embedded = embedded
        self._embedded_identity = embedded_identity
        self._retry = retry or RetryPolicy()
        self._on_call = on_call
        self._environment = Environment(environ, dotenv)
        self._expected: frozenset[str] = frozenset()
        self._limits: dict[str, Limits] = {}
        self._endpoints: dict[str, asyncio.Task[Endpoint]] = {}
        self._identities: dict[str, str] = {}
        self._flights: dict[str, _Flight] = {}
        self._succeeded: set[str] = set()

    async def __aenter__(self) -> Chat:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End what is under way, and close all connections."""
        tasks = [flight.task for flight in self._flights.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        opening = list(self._endpoints.values())
        self._endpoints.clear()
        for endpoint in await asyncio.gather(*opening, return_exceptions=True):
            if not isinstance(endpoint, BaseException):
                await endpoint.close()

    async def ask(self, request: ChatRequest) -> Reply:
        """The reply to ``request``. Raises ProviderError where only the user can put things right."""
        self.stats.asked += 1
        prepared = self.prepared(request)
        reply = self.kept(prepared)
        if reply is None:
            reply = await self._shared(prepared)
        self.stats.replied(reply)
        if self._on_call is not None:
            self._on_call(request, reply)
        return reply

    def prepared(self, request: ChatRequest) -> Prepared:
        """``request`` as it would be sent, with its cache key; nothing is sent or started."""
        model = self.catalog.model(request.model)
        provider = self.catalog.providers[model.provider]
        body = body_text(body_of(request, model, provider))
        key = ResponseCache.key(self._identity(model.provider, provider), body, request.sample)
        return Prepared(request, model, provider, body, key)

    def _identity(self, name: str, provider: Provider) -> str:
        """What stands for the provider in cache keys: its base URL, or the embedded model's identity."""
        identity = self._identities.get(name)
        if identity is None:
            if not provider.embedded:
                identity = provider.base_url.rstrip("/")
            else:
                identity = self._embedded_identity() if self._embedded_identity else NO_EMBEDDED
            self._identities[name] = identity
        return identity

    def kept(self, prepared: Prepared) -> Reply | None:
        """The reply that the cache holds; None where there is none."""
        answer = self.cache.get(prepared.key) if self.cache is not None else None
        return None if answer is None else replace(_reply(answer, prepared, attempts=0), cached=True)

    async def _shared(self, prepared: Prepared) -> Reply:
        """The reply to a call that is sent, or that an equal request in flight has sent already."""
        flight = self._flights.get(prepared.key)
        first = flight is None
        if flight is None:
            flight = _Flight(asyncio.create_task(self._sent(prepared)))
            self._flights[prepared.key] = flight
            flight.task.add_done_callback(partial(self._land, prepared.key, flight))
        flight.waiting += 1
        try:
            reply = await asyncio.shield(flight.task)
        except asyncio.CancelledError:
            if flight.waiting == 1:
                flight.task.cancel()
                self._land(prepared.key, flight)
            raise
        finally:
            flight.waiting -= 1
        return reply if first else replace(reply, cached=True, attempts=0)

    def _land(self, key: str, flight: _Flight, task: asyncio.Task[Reply] | None = None) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]

    async def _sent(self, prepared: Prepared) -> Reply:
        """The reply to a call that is sent, unless another process on the same cache is just sending it."""
        cache = self.cache
        if cache is None:
            return await self._asked(prepared)
        wait, patience = FIRST_LOOK, monotonic() + self._retry.total_seconds
        while not (claimed := cache.claim(prepared.key)) and monotonic() < patience:
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_LOOK)
        try:
            return self.kept(prepared) or await self._asked(prepared)
        finally:
            if claimed:
                cache.release(prepared.key)

    async def _asked(self, prepared: Prepared) -> Reply:
        endpoint = await self._endpoint(prepared)
        body = prepared.body.encode()
        policy = self._retry
        attempts = 0

        def start() -> None:
            nonlocal attempts
            self._budget.check(prepared.model)
            attempts += 1
            self.stats.sent += 1
            self.stats.retried += attempts > 1

        async def attempt() -> Answer | Fault:
            self.stats.in_flight += 1
            try:
                result = await endpoint.attempt(prepared.request, body, policy.longest_wait, start)
            finally:
                self.stats.in_flight -= 1
            if isinstance(result, Fault) and result.usage is not None:
                self.stats.paid(result.usage, prepared.cost_of(result.usage))
            return result

        result = await attempt()
        if isinstance(result, Fault) and result.retried:
            result = await policy.run(result, attempt, reached=lambda: endpoint.reached, sleep=asyncio.sleep)
        if isinstance(result, Fault):
            return self._failed(prepared, result, attempts, endpoint.reached)
        self._succeeded.add(prepared.request.model)
        if self.cache is not None:
            self.cache.put(prepared.key, result)
        reply = _reply(result, prepared, attempts)
        self.stats.spent(reply)
        return reply

    def _failed(self, prepared: Prepared, fault: Fault, attempts: int, reached: bool) -> Reply:
        """The failed reply for ``fault``. Raises ProviderError if the user has to fix something."""
        hopeless = fault.kind == "user" or (fault.kind == "unreachable" and not reached)
        if hopeless or (fault.kind == "rejected" and prepared.request.model not in self._succeeded):
            raise self._error(prepared, fault)
        outcome: Outcome
        if fault.kind == "content_filter":
            outcome = "content_filter"
        elif fault.kind == "rejected":
            outcome = "refused"
        else:
            outcome = "rate_limited" if fault.kind == "rate_limited" else "transport"
        detail = fault.detail
        if fault.wait is not None and fault.wait > self._retry.longest_wait:
            detail += f" (asked to wait {fault.wait:.0f} s, longer than {self._retry.longest_wait:.0f} s)"
        elif attempts > 1:
            detail += f" (after {attempts} attempts)"
        return Reply(outcome, detail=detail, attempts=attempts)

    def _error(self, prepared: Prepared, fault: Fault) -> ProviderError:
        model = prepared.model
        variable = prepared.provider.api_key_env
        url = shown_url(prepared.provider.base_url)
        hint = fault.hint
        if fault.kind == "unreachable":
            hint = UNREACHABLE_HINT
        names = {
            "key": variable or f"[providers.{model.provider}], which names none (api_key_env)",
            "id": model.model,
            "model": prepared.request.model,
            "provider": model.provider,
            "url": url,
            "catalog": str(self.catalog.path),
        }
        return ProviderError(
            fault.detail,
            where=f"provider {model.provider}, model {prepared.request.model}",
            hint=hint.format_map(names),
        )

    async def _endpoint(self, prepared: Prepared) -> Endpoint:
        """The provider's endpoint, opened by the first call that needs it."""
        name = prepared.model.provider
        opening = self._endpoints.get(name)
        if opening is None or (opening.done() and (opening.cancelled() or opening.exception())):
            opening = asyncio.create_task(self._opened(name, prepared.provider))
            self._endpoints[name] = opening
        return opening.result() if opening.done() else await asyncio.shield(opening)

    def expect(self, models: Iterable[str]) -> None:
        """Say which models of the catalog will be asked: a key that one of them lacks stops the first call to
        any, before others are paid. What the cache answers needs no key."""
        self._expected = frozenset(models)

    async def _opened(self, name: str, provider: Provider) -> Endpoint:
        for other in sorted({self.catalog.model(model).provider for model in self._expected}):
            key_of(other, self.catalog.providers[other], self._environment)
        key = key_of(name, provider, self._environment)
        if not (provider.embedded or is_http(provider.base_url)):
            raise ProviderError(
                f"{shown_url(provider.base_url)!r} is no HTTP address",
                where=f"provider {name}",
                hint=f"Set base_url in [providers.{name}] of {self.catalog.path}.",
            )
        base_url = provider.base_url
        if provider.embedded:
            if self._embedded is None:
                raise ProviderError("the embedded model is not available here", where=f"provider {name}")
            base_url = (await asyncio.to_thread(self._embedded)).base_url
        from bench.chat.endpoint import Endpoint  # late: a run from the cache never loads the client

        return Endpoint(name, provider, base_url, key, Limits(provider))


def _reply(answer: Answer, prepared: Prepared, attempts: int) -> Reply:
    return Reply(
        outcome=answer.outcome,
        text=answer.text,
        finish_reason=answer.finish_reason,
        usage=answer.usage,
        cost=prepared.cost_of(answer.usage, batch=bool(answer.batch)),
        system_fingerprint=answer.system_fingerprint,
        served_model=answer.served_model,
        detail=answer.detail,
        batch=answer.batch,
        attempts=attempts,
        sound=answer.sound,
    )
