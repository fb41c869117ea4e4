"""Chat: the way from a request to a reply, through cache, limits and retries."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property, partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from bench.catalog import Catalog, LocalFile, Model, Provider
from bench.chat.answers import Answer, as_read_now
from bench.chat.body import body_of, body_text
from bench.chat.budget import Budget
from bench.chat.cache import ResponseCache
from bench.chat.faults import Fault
from bench.chat.limits import Limits
from bench.chat.requests import ChatRequest, Reply
from bench.chat.retry import RetryPolicy
from bench.chat.secrets import Environment, is_http, key_of, searched, secrets_of, shown_url, without
from bench.chat.stats import Stats
from bench.errors import ProviderError
from bench.records import Outcome, Usage

if TYPE_CHECKING:
    from bench.chat.endpoint import Endpoint
    from bench.local import LocalServers

FIRST_POLL, LONGEST_POLL = 0.02, 0.5
"""Polling interval in seconds while another process has the same request in flight."""
FAILED_OUTCOMES: dict[str, Outcome] = {
    "content_filter": "content_filter",
    "rejected": "rejected",
    "too_long": "rejected",
    "rate_limited": "rate_limited",
}
"""Outcome of a call by the kind of its last fault; every other kind is ``transport``."""


_Place = tuple[str, LocalFile | None]
"""What serves a model: the name of its provider and, for a local model, its GGUF file."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request as it would be sent, and the key of its answer in the cache."""

    request: ChatRequest
    model: Model
    provider: Provider
    place: _Place
    body: str
    key: str

    def cost_of(self, usage: Usage, *, batch: bool = False) -> Decimal | None:
        """Cost of ``usage`` for this request in US dollars; None if the price is unknown."""
        heard, spoke = bool(self.request.sounds), self.request.spoken
        return self.model.cost_of(usage, batch=batch, heard=heard, spoke=spoke)

    def reply(self, answer: Answer, attempts: int) -> Reply:
        """``answer`` as a reply to this request."""
        cost = self.cost_of(answer.usage, batch=bool(answer.batch))
        return Reply(**vars(answer), cost=cost, attempts=attempts)


@dataclass(slots=True)
class _Flight:
    """A call under way, and how many callers wait for it."""

    task: asyncio.Task[Reply]
    waiting: int = 0


class Chat:
    """Asks models. An async context manager that belongs to one event loop; :func:`open_chat` opens one.

    Args:
        catalog: The providers and models that may be called.
        cache: Where replies are kept; None: nowhere.
        local: Starts the server of a local model, in a thread, at the first call that the cache does not
            answer. The caller closes it.
        retry: The retry policy.
        on_call: Called with every request and its reply, cached replies included.
        max_cost: US dollars. Once they are spent, a call that may cost more raises BudgetReached.
        models: Catalog names of all models that will be called. If one of them lacks its API key, the first
            call to any of them fails, before anything is paid for. Replies from the cache need no key.
        proven: Catalog names of models that have answered in earlier runs: if one of them rejects a request,
            that is about the request, and not a mistake in the catalog.
        environ: Environment variables that hold API keys.
        dotenv: File with further variables.
    """

    def __init__(
        self,
        catalog: Catalog,
        *,
        cache: ResponseCache | None = None,
        local: LocalServers | None = None,
        retry: RetryPolicy | None = None,
        on_call: Callable[[ChatRequest, Reply], None] | None = None,
        max_cost: Decimal | None = None,
        models: Iterable[str] = (),
        proven: Iterable[str] = (),
        environ: Mapping[str, str] = os.environ,
        dotenv: Path = Path(".env"),
    ) -> None:
        self.catalog = catalog
        self.cache = cache
        self.stats = Stats()
        self._budget = Budget(max_cost, self.stats)
        self._local = local
        self._retry = retry or RetryPolicy()
        self._on_call = on_call
        self._environment = Environment(environ, dotenv)
        self._checked: set[str] = set()
        """Models whose entries hold no credential."""
        self._expected = self._unchecked = frozenset(models)
        self._endpoints: dict[_Place, asyncio.Task[Endpoint]] = {}
        self._identities: dict[_Place, str] = {}
        self._flights: dict[str, _Flight] = {}
        self._succeeded = set(proven)

    async def __aenter__(self) -> Chat:
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Cancel all calls under way and close all connections."""
        tasks = [flight.task for flight in self._flights.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._close(list(self._endpoints))

    async def ask(self, request: ChatRequest) -> Reply:
        """The reply to ``request``.

        Raises:
            ProviderError: The key, the model id or the address is wrong, so only the user can fix it.
            BudgetReached: The budget is spent and this call may cost money.
        """
        self.stats.asked += 1
        prepared = self.prepared(request)
        reply = self.kept(prepared) or await self._shared(prepared)
        self.stats.replied(reply)
        if self._on_call is not None:
            self._on_call(request, reply)
        return reply

    async def keep_local(self, models: Iterable[str]) -> None:
        """Stop the servers of local models that none of ``models`` needs, to free their memory.

        Call it while no call is under way.
        """
        needed = {self.catalog.local_file(name) for name in models}
        await self._close([place for place in self._endpoints if place[1] and place[1] not in needed])
        if self._local is not None:
            await asyncio.to_thread(self._local.stop_except, needed | {None})

    async def _close(self, places: Iterable[_Place]) -> None:
        """Close the connections of ``places``."""
        opening = [self._endpoints.pop(place) for place in places]
        for endpoint in await asyncio.gather(*opening, return_exceptions=True):
            if not isinstance(endpoint, BaseException):
                await endpoint.close()

    def prepared(self, request: ChatRequest) -> Prepared:
        """``request`` as it would be sent, with its cache key; sends and starts nothing."""
        model = self.catalog.model(request.model)
        provider = self.catalog.providers[model.provider]
        place = (model.provider, self.catalog.local_file(request.model))
        if place not in self._identities:
            local = self._local if provider.embedded else None
            self._identities[place] = local.identity(place[1]) if local else provider.base_url.rstrip("/")
        body = body_text(body_of(request, model, provider))
        key = ResponseCache.key(self._identities[place], body, request.sample, request.repeat)
        return Prepared(request, model, provider, place, body, key)

    def kept(self, prepared: Prepared) -> Reply | None:
        """The reply in the cache; None without one, or if the request has to be sent all the same."""
        if self.cache is None or prepared.request.fresh:
            return None
        cached = self.cache.get(prepared.key)
        answer = None if cached is None else as_read_now(cached)
        if answer is None:
            return None
        self._succeeded.add(prepared.request.model)
        return replace(prepared.reply(answer, 0), cached=True)

    async def _shared(self, prepared: Prepared) -> Reply:
        """Send the request, unless an equal one is already in flight; then share its reply."""
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
        """Send the request, unless another process on the same cache is sending it; then wait for that."""
        cache = self.cache
        if cache is None:
            return await self._asked(prepared)
        wait, deadline = FIRST_POLL, monotonic() + self._retry.total_seconds
        while not (claimed := cache.claim(prepared.key)) and monotonic() < deadline:
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_POLL)
        try:
            return self.kept(prepared) or await self._asked(prepared)
        finally:
            if claimed:
                cache.release(prepared.key)

    def check_prompt(self, request: ChatRequest) -> None:
        """Raise ProviderError if the prompt, or the model's entry, holds a credential of any provider in the
        catalog."""
        self._check_entry(request.model)
        for name, secrets in self._secrets.items():
            if any(without(message.content, secrets)[1] for message in request.messages):
                raise ProviderError(
                    f"a prompt to {request.model} holds a credential of provider {name}; it was not sent",
                    where=f"role {request.role}",
                    hint="Remove it from prompts/ or from the conversation, and change it at the provider.",
                )

    def _check_entry(self, model: str) -> None:
        """Raise ProviderError if the entry of ``model``, which records repeat, holds a credential."""
        if model in self._checked:
            return
        entry = self.catalog.model(model).model_dump_json()
        for name, secrets in self._secrets.items():
            if without(entry, secrets)[1]:
                raise ProviderError(
                    f"[models.{model}] holds a credential of provider {name}; nothing was sent to it",
                    where=str(self.catalog.path),
                    hint="Results repeat a model's entry. Put the credential into `api_key_env` or"
                    " `headers` of the provider, and have a new one made.",
                )
        self._checked.add(model)

    @cached_property
    def _secrets(self) -> dict[str, tuple[str, ...]]:
        """What is searched for in prompts, by provider; only of those that have any."""
        found: dict[str, tuple[str, ...]] = {}
        for name, provider in self.catalog.providers.items():
            key = self._environment.get(provider.api_key_env) if provider.api_key_env else None
            if secrets := searched(secrets_of(provider, key)):
                found[name] = secrets
        return found

    async def _asked(self, prepared: Prepared) -> Reply:
        self.check_prompt(prepared.request)
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
            result = await endpoint.attempt(prepared.request, body, policy.longest_wait, start)
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
        reply = prepared.reply(result, attempts)
        self.stats.paid(result.usage, reply.cost)
        return reply

    def _failed(self, prepared: Prepared, fault: Fault, attempts: int, reached: bool) -> Reply:
        """The reply of a call that ended in ``fault``. Raises ProviderError if only the user can fix it."""
        model = prepared.request.model
        hopeless = fault.kind == "user" or (fault.kind == "unreachable" and not reached)
        if hopeless or (fault.kind == "rejected" and model not in self._succeeded):
            where = f"provider {prepared.model.provider}, model {model}"
            raise ProviderError(fault.detail, where=where, hint=fault.hint_for(model, self.catalog))
        detail = fault.detail
        if fault.wait is not None and fault.wait > self._retry.longest_wait:
            detail += f" (asked to wait {fault.wait:.0f} s, longer than {self._retry.longest_wait:.0f} s)"
        elif attempts > 1:
            detail += f" (after {attempts} attempts)"
        outcome = FAILED_OUTCOMES.get(fault.kind, "transport")
        return Reply(
            outcome,
            filtered=fault.filtered,
            finish_reason=fault.finish_reason,
            detail=detail,
            attempts=attempts,
        )

    async def _endpoint(self, prepared: Prepared) -> Endpoint:
        """The endpoint of the provider or local model, opened by the first call that needs it."""
        place = prepared.place
        opening = self._endpoints.get(place)
        if opening is None or (opening.done() and (opening.cancelled() or opening.exception())):
            opening = asyncio.create_task(self._opened(place, prepared.provider))
            self._endpoints[place] = opening
        return opening.result() if opening.done() else await asyncio.shield(opening)

    def _check_files(self) -> None:
        """Raise ModelFileError, before anything is paid for, if the file of a local model cannot be read."""
        expected, self._unchecked = self._unchecked, frozenset()
        for model in sorted(expected):
            if self._local is not None and (file := self.catalog.local_file(model)):
                self._local.check(file)

    async def _opened(self, place: _Place, provider: Provider) -> Endpoint:
        name, file = place
        for other in sorted({self.catalog.model(model).provider for model in self._expected}):
            key_of(other, self.catalog.providers[other], self._environment)
        self._check_files()
        key = key_of(name, provider, self._environment)
        base_url, starting = provider.base_url, None
        if provider.embedded:
            if self._local is None:
                raise ProviderError("local models are not available here", where=f"provider {name}")
            starting = asyncio.get_running_loop().run_in_executor(None, self._local.start, file)
        elif not is_http(base_url):
            raise ProviderError(
                f"invalid HTTP address {shown_url(base_url)!r}",
                where=f"provider {name}",
                hint=f"Set base_url in [providers.{name}] of {self.catalog.path}.",
            )
        # Late: a run from the cache never loads the client. A local server loads its model in the meantime.
        from bench.chat.endpoint import Endpoint

        if starting is not None:
            base_url = await starting
        return Endpoint(provider, base_url, key, Limits(provider))
