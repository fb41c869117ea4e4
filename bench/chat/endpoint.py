"""One provider on the wire: its clients, its limits, and one attempt at a call.

Calls need nothing of the ``openai`` package, whose import takes longer than a hundred calls do: only
``batch_api`` uses it. This module is loaded only when something has to be sent.
"""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from time import monotonic
from urllib.parse import urlsplit, urlunsplit

import httpx2

from bench import __version__
from bench.catalog import Provider
from bench.chat.answers import Answer, answer_from, within
from bench.chat.faults import ADDRESS_HINT, UNREACHABLE_HINT, Fault, fault_of
from bench.chat.limits import Limits
from bench.chat.requests import ChatRequest
from bench.chat.secrets import redacted, secrets_of, shown_url
from bench.chat.waits import reset_in, wait_asked
from bench.replies.reader import in_reader

LARGEST_ANSWER = 8 * 2**20
"""Largest response body in bytes; reading stops there."""
LARGEST_COMPRESSED = 2**17
"""The same for a body that came compressed although we asked for none: it may expand a thousandfold."""
LONGEST_INLINE = 2**16
"""Bytes of a response body that is read in the event loop; a longer one is read in a thread."""
CONNECT_SECONDS = 10.0
KEEP_ALIVE_SECONDS = 30.0

_CONNECT_ERRORS = (httpx2.ConnectError, httpx2.ProxyError)
_ADDRESS_ERRORS = (httpx2.InvalidURL, httpx2.UnsupportedProtocol, httpx2.LocalProtocolError)
_NOISY_LOGGERS = ("openai", "httpx2", "httpcore2")
"""Below warning level they may print URLs and headers with keys."""


class AnswerTooLarge(httpx2.ReadError):
    """A response body over the limit."""


class Endpoint:
    """A provider's clients for the duration of a run. Opened in the event loop that uses it."""

    def __init__(self, provider: Provider, base_url: str, key: str | None, limits: Limits) -> None:
        for logger in _NOISY_LOGGERS:
            logging.getLogger(logger).setLevel(logging.WARNING)
        self.provider = provider
        self.secrets = secrets_of(provider, key)
        self.reached = False
        """Whether any response has ever come back."""
        self._limits = limits
        self._new_client = partial(http_client, provider, tls(base_url), _headers(provider, key))
        url = urlsplit(base_url)
        path = url.path.rstrip("/") + "/chat/completions"
        self._address = urlunsplit(url._replace(path=path, fragment=""))
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
        try:
            async with asyncio.timeout(self.provider.timeout_seconds):
                with self._lent_client() as client:
                    response = await client.post(self._address, content=body)
        except httpx2.ConnectTimeout:
            return Fault("unreachable", f"no connection within {CONNECT_SECONDS:g} s", UNREACHABLE_HINT)
        except (TimeoutError, httpx2.TimeoutException):
            return Fault("transport", f"no complete answer within {self.provider.timeout_seconds:g} s")
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError) as error:
            return _connection_fault(error)
        self.reached = True
        if not response.is_success:
            return self._refused(response, longest_wait)
        content = response.content
        if len(content) <= LONGEST_INLINE:
            return self._answer(content, request)
        return await in_reader(self._answer, content, request)  # here it would block all other calls

    def _answer(self, content: bytes, request: ChatRequest) -> Answer | Fault:
        result = answer_from(content, request.messages, self.secrets)
        return within(result, request.longest_text) if isinstance(result, Answer) else result

    def _refused(self, response: httpx2.Response, longest_wait: float) -> Fault:
        headers = response.headers
        if 300 <= response.status_code < 400:
            target = redacted(shown_url(headers.get("location", "nowhere")), self.secrets)
            return Fault("user", f"HTTP {response.status_code}: redirected to {target}", ADDRESS_HINT)
        wait = wait_asked(headers)
        if wait is None and response.status_code == 429:
            reset = reset_in(headers)
            wait = None if reset is None else min(reset, longest_wait)
        try:
            body = json.loads(response.content)
        except (ValueError, RecursionError):
            body = response.text
        return fault_of(response.status_code, body, self.secrets, wait)

    async def close(self) -> None:
        """Close all connections."""
        await asyncio.gather(*(client.aclose() for client in self._clients))

    @contextmanager
    def _lent_client(self) -> Iterator[httpx2.AsyncClient]:
        """A client that makes no other call; the one used last, whose connection is open.

        One client could make all calls, but it looks at all its connections at each of them.
        """
        if self._free:
            client = self._free.pop()
        else:
            client = self._new_client()
            self._clients.append(client)
        try:
            yield client
        finally:
            self._free.append(client)


def http_client(
    provider: Provider,
    context: ssl.SSLContext,
    headers: httpx2.Headers | None = None,
    *,
    bounded: bool = True,
) -> httpx2.AsyncClient:
    """A client for a provider. If ``bounded``, it reads no body beyond ``LARGEST_ANSWER``."""
    seconds = provider.timeout_seconds
    return httpx2.AsyncClient(
        verify=context,
        timeout=httpx2.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds), pool=None),
        limits=httpx2.Limits(
            max_connections=None,
            max_keepalive_connections=None,
            keepalive_expiry=KEEP_ALIVE_SECONDS,
        ),
        headers={"accept-encoding": "identity", **(headers or {})},
        follow_redirects=False,
        event_hooks={"response": [_bound] if bounded else []},
    )


def tls(base_url: str) -> ssl.SSLContext:
    """The TLS context that a provider's clients share; loads certificate authorities only if needed."""
    if urlsplit(base_url).scheme == "http":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx2.create_ssl_context()


def _headers(provider: Provider, key: str | None) -> httpx2.Headers:
    headers = httpx2.Headers({"accept": "application/json", "content-type": "application/json"})
    headers["user-agent"] = f"dramaturg/{__version__}"
    if key is not None:
        headers["authorization"] = f"Bearer {key}"
    headers.update(provider.headers)
    return headers


async def _bound(response: httpx2.Response) -> None:
    """A response hook that stops reading the body at the limit."""
    encoded = response.headers.get("content-encoding", "identity") != "identity"
    limit = LARGEST_COMPRESSED if encoded else LARGEST_ANSWER
    announced = response.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced) > limit:
        raise AnswerTooLarge(f"an answer of {announced} bytes", request=response.request)
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Bounded(response.stream, limit, response.request)


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, limit: int, request: httpx2.Request) -> None:
        self._stream = stream
        self._limit = limit
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._limit
        async for chunk in self._stream:
            left -= len(chunk)
            if left < 0:
                raise AnswerTooLarge(f"an answer beyond {self._limit} bytes", request=self._request)
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def _connection_fault(error: BaseException) -> Fault:
    """The fault of a call that ended without a response. Drops texts that may hold a URL."""
    if isinstance(error, AnswerTooLarge):
        return Fault("transport", f"{error}; the limit is {LARGEST_ANSWER} bytes")
    if isinstance(error, _ADDRESS_ERRORS):
        return Fault("user", "the request cannot be sent to this address", ADDRESS_HINT)
    if isinstance(error, _CONNECT_ERRORS):
        return Fault("unreachable", f"no connection ({_system_message(error)})", UNREACHABLE_HINT)
    if isinstance(error, httpx2.DecodingError):
        return Fault("transport", "the answer is compressed and damaged")
    return Fault("transport", f"the connection was lost ({type(error).__name__})")


def _system_message(error: BaseException) -> str:
    """The operating system's message, found along the chain of causes."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror and not str(cause.strerror).startswith("["):
            return str(cause.strerror)
        cause = cause.__cause__ or cause.__context__
    text = str(error)
    return "refused or unknown" if not text or "://" in text else text[:120]
