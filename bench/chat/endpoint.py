"""One provider on the wire: its clients, its limits, and one attempt at a call.

Loaded only when something has to be sent. Calls need nothing of the ``openai`` package, whose import takes
longer than a hundred calls: only ``batch_api`` uses it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from time import monotonic

import httpx2

from bench.catalog import Provider
from bench.chat.answers import Answer, answer_from, within
from bench.chat.faults import ADDRESS_HINT, Fault, fault_of, shortened
from bench.chat.limits import Limits
from bench.chat.requests import ChatRequest
from bench.chat.secrets import secrets_of, shown_url
from bench.chat.waits import reset_in, wait_asked
from bench.chat.wire import (
    CALL_ERRORS,
    address,
    body_of,
    connection_fault,
    headers_of,
    http_client,
    payload_of,
    tls,
)
from bench.replies.reader import in_reader

LONGEST_INLINE = 2**16
"""Bytes of a response body that is read in the event loop; a longer one is read in a thread."""


class Endpoint:
    """A provider's clients for the duration of a run. Opened in the event loop that uses it."""

    def __init__(self, provider: Provider, base_url: str, key: str | None, limits: Limits) -> None:
        self.provider = provider
        self.secrets = secrets_of(provider, key)
        self.reached = False
        """Whether any response has ever come back."""
        self._limits = limits
        self._address = address(base_url, "/chat/completions")
        self._context = tls(base_url)
        self._headers = headers_of(provider.headers, key, base_url)
        self._headers.setdefault("content-type", "application/json")
        self._clients: list[httpx2.AsyncClient] = []
        self._free: list[httpx2.AsyncClient] = []

    async def attempt(
        self, request: ChatRequest, body: bytes, longest_wait: float, start: Callable[[], None]
    ) -> Answer | Fault:
        """Send ``body`` once, within the provider's limits.

        Args:
            request: The request that ``body`` encodes.
            body: The JSON to send.
            longest_wait: Upper bound in seconds for waits derived from rate limit resets.
            start: Called once the call has its slot, right before it is sent; may raise.
        """
        async with self._limits.slot(request.role):
            start()
            started = monotonic()
            result = await self._sent(request, body, longest_wait)
            if isinstance(result, Answer):
                return result
        if result.wait is not None and 0 < result.wait <= longest_wait:
            self._limits.pause(result.wait)
        return replace(result, seconds=monotonic() - started)

    async def _sent(self, request: ChatRequest, body: bytes, longest_wait: float) -> Answer | Fault:
        seconds = self.provider.timeout_seconds
        # The client used last, whose connection is open. One client could make all calls, but it looks at all
        # its connections at each of them.
        client = self._free.pop() if self._free else self._opened()
        try:
            async with (
                asyncio.timeout(seconds),
                client.stream("POST", self._address, content=body) as response,
            ):
                content = await body_of(response)
        except CALL_ERRORS as error:
            return connection_fault(error, seconds)
        finally:
            self._free.append(client)
        self.reached = True
        read = (
            partial(self._answer, content, request)
            if response.is_success
            else partial(self._refused, content, response, longest_wait)
        )
        return await in_reader(read) if len(content) > LONGEST_INLINE else read()

    def _opened(self) -> httpx2.AsyncClient:
        """A new client. Bench's own servers are on this machine, where no proxy leads."""
        client = http_client(
            self.provider.timeout_seconds,
            self._context,
            self._headers,
            proxied=not self.provider.embedded,
        )
        self._clients.append(client)
        return client

    def _answer(self, content: bytes, request: ChatRequest) -> Answer | Fault:
        result = answer_from(content, request.messages, self.secrets)
        return within(result, request.longest_text) if isinstance(result, Answer) else result

    def _refused(self, content: bytes, response: httpx2.Response, longest_wait: float) -> Fault:
        headers = response.headers
        if 300 <= response.status_code < 400:
            target = shortened(shown_url(headers.get("location", "")), self.secrets) or "nowhere"
            return Fault("user", f"HTTP {response.status_code}: redirected to {target}", ADDRESS_HINT)
        wait = wait_asked(headers)
        if wait is None and response.status_code == 429:
            reset = reset_in(headers)
            wait = None if reset is None else min(reset, longest_wait)
        return fault_of(response.status_code, payload_of(content, response), self.secrets, wait)

    async def close(self) -> None:
        """Close all connections."""
        await asyncio.gather(*(client.aclose() for client in self._clients))
