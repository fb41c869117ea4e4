"""A provider's Batch API on the wire: upload files, create and poll batches, download result lines."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from time import time
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx2
from openai import APIConnectionError, AsyncAPIResponse, AsyncOpenAI, Omit, OpenAIError, omit

from bench.catalog import Provider
from bench.chat.faults import Fault, fault_of, shortened
from bench.chat.secrets import Environment, is_http, key_of, secrets_of, shown_url
from bench.chat.wire import (
    CALL_ERRORS,
    LARGEST_ANSWER,
    body_of,
    connection_fault,
    headers_of,
    http_client,
    payload_of,
    timeout_of,
    tls,
)
from bench.errors import ProviderError

ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
TOKEN_KEY = "dramaturg"
"""Key of our token in a batch's metadata."""
CLOCK_SKEW = 86_400.0
"""Seconds by which the provider's clock may lag behind ours."""

FILE_SECONDS = 600.0
"""How long the provider may be silent while a file is on its way."""
CHUNK = 2**16
"""Bytes of a result file that are read at once."""
OF_THE_REQUEST = ("host", "connection", "accept", "content-type", "content-length", "transfer-encoding")
"""Headers that follow from an address, a body and what is asked for."""
AS_IT_COMES = "x-stainless-raw-response"
"""Header by which the client finds out, once the response is there, that we want it as it comes."""
UNEXPECTED = "unexpected answer; does the provider have OpenAI's Batch API?"


_Request = AbstractAsyncContextManager[AsyncAPIResponse[Any]]


class BatchTrouble(Exception):
    """A request to the Batch API failed, but may succeed later."""


@dataclass(frozen=True)
class BatchView:
    """A batch's progress. ``reason`` is the provider's error message."""

    id: str
    status: str
    done: int
    failed: int
    total: int
    files: tuple[str, ...]
    """Ids of its result files: answers, errors."""
    reason: str = ""

    @property
    def ended(self) -> bool:
        return self.status in ENDED


class BatchApi:
    """One provider's files and batches. An async context manager; never retries by itself."""

    def __init__(self, name: str, provider: Provider, environment: Environment) -> None:
        self.name = name
        self.provider = provider
        key = key_of(name, provider, environment)
        if not is_http(provider.base_url):
            raise ProviderError(
                f"{shown_url(provider.base_url)!r} has no Batch API", where=f"provider {name}"
            )
        self.secrets = secrets_of(provider, key)
        self._headers = headers_of(provider.headers, key, provider.base_url)
        url = urlsplit(provider.base_url)
        http = http_client(provider.timeout_seconds, tls(provider.base_url))
        http.params = httpx2.QueryParams(url.query)
        http.event_hooks = {"request": [self._only_ours], "response": [self._refused]}
        self._client = AsyncOpenAI(
            api_key=key or "none",
            organization="",  # None would mean the environment's
            project="",
            base_url=urlunsplit(url._replace(query="", fragment="")),
            timeout=http.timeout,
            max_retries=0,
            http_client=http,
        )

    async def __aenter__(self) -> BatchApi:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._client.close()

    async def upload(self, name: str, data: bytes) -> str:
        """Upload the lines of a batch; returns the file's id."""
        files = self._client.files.with_streaming_response
        uploaded = files.create(
            file=(name, data, "application/jsonl"), purpose="batch", timeout=timeout_of(FILE_SECONDS)
        )
        return _text_at(await self._answer(uploaded, is_file=True), "id")

    async def create(self, file_id: str, token: str) -> BatchView:
        """Create a batch from an uploaded file. After BatchTrouble it may still exist (:meth:`find`)."""
        created = self._client.batches.with_streaming_response.create(
            input_file_id=file_id,
            endpoint="/v1/chat/completions",
            completion_window="24h",
            metadata={TOKEN_KEY: token},
        )
        return self._view(await self._answer(created))

    async def find(self, token: str, since: float) -> BatchView | None:
        """The batch with ``token``, created after ``since`` (Unix time); None without one."""
        after: str | Omit = omit
        while True:
            batches = self._client.batches.with_streaming_response
            page = await self._answer(batches.list(limit=100, after=after))
            if not isinstance(page.get("data"), list):
                raise BatchTrouble(UNEXPECTED)  # not the same as no batches: one would be paid for twice
            last = after
            for batch in map(_object, page["data"]):  # newest first
                if _object(batch.get("metadata")).get(TOKEN_KEY) == token:
                    return self._view(batch)
                created = batch.get("created_at")
                if isinstance(created, int | float) and created < since - CLOCK_SKEW:
                    return None
                last = _text_at(batch, "id")
            if page.get("has_more") is not True or last == after:
                return None
            after = last

    async def retrieve(self, batch_id: str) -> BatchView:
        """The batch's current progress."""
        batches = self._client.batches.with_streaming_response
        return self._view(await self._answer(batches.retrieve(batch_id)))

    async def lines(self, file_id: str) -> AsyncIterator[dict[str, Any]]:
        """The results in a result file; other lines, and those that are too long, are skipped.

        Raises BatchTrouble for a file with nothing but other lines, such as a proxy's error page.
        """
        read = found = 0
        files = self._client.files.with_streaming_response
        content = files.content(file_id, timeout=timeout_of(FILE_SECONDS))
        async with self._response(content, is_file=True) as response:
            async for line in lines_of(response.aiter_bytes(CHUNK), LARGEST_ANSWER):
                read += bool(line.strip())
                try:
                    data = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(data, dict) and "custom_id" in data:
                    found += 1
                    yield data
        if read and not found:
            raise BatchTrouble("a result file holds no results")

    def _view(self, batch: Mapping[str, Any]) -> BatchView:
        counts = _object(batch.get("request_counts"))
        errors = _object(batch.get("errors")).get("data")
        found = map(_object, errors if isinstance(errors, list) else [])
        messages = dict.fromkeys(str(e.get("message") or e.get("code") or "") for e in found)
        files = (batch.get("output_file_id"), batch.get("error_file_id"))
        return BatchView(
            id=_text_at(batch, "id"),
            status=_text_at(batch, "status").lower(),
            done=_count(counts.get("completed")),
            failed=_count(counts.get("failed")),
            total=_count(counts.get("total")),
            files=tuple(f for f in files if isinstance(f, str) and f),
            reason=shortened("; ".join(messages), self.secrets),
        )

    async def _answer(self, request: _Request, *, is_file: bool = False) -> dict[str, Any]:
        """The JSON object that the provider answers. Raises as :meth:`_response`."""
        async with self._response(request, is_file=is_file) as response:
            body = await body_of(response)
        try:
            data = json.loads(body)
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            raise BatchTrouble(UNEXPECTED)
        return data

    @asynccontextmanager
    async def _response(self, request: _Request, *, is_file: bool) -> AsyncIterator[httpx2.Response]:
        """The response to a request; one with a file may take as long as it goes on. Raises BatchTrouble for
        an error that may pass, otherwise ProviderError."""
        seconds = FILE_SECONDS if is_file else self.provider.timeout_seconds
        try:
            async with asyncio.timeout(None if is_file else seconds), request as response:
                yield response.http_response
        except (OpenAIError, *CALL_ERRORS) as error:
            cause = error.__cause__ if isinstance(error, APIConnectionError) else None
            found = cause if isinstance(cause, Exception) else error
            if isinstance(found, BatchTrouble | ProviderError):
                raise found from None
            raise self._error(connection_fault(found, seconds)) from None

    async def _only_ours(self, request: httpx2.Request) -> None:
        """Drop the headers that the client adds about this machine and from its environment."""
        kept = [*OF_THE_REQUEST, AS_IT_COMES, *(["authorization"] if request.url.userinfo else [])]
        own = {name: request.headers[name] for name in kept if name in request.headers}
        request.headers = httpx2.Headers({**self._headers, **own})

    async def _refused(self, response: httpx2.Response) -> None:
        """Raise for an error before the client does, which would read a body of any length."""
        if not response.is_success:
            payload = payload_of(await body_of(response), response)
            status = response.status_code
            raise self._error(fault_of(status, payload, self.secrets), status)

    def _error(self, fault: Fault, status: int = 0) -> BatchTrouble | ProviderError:
        if fault.retried:
            return BatchTrouble(fault.detail)
        where = f"provider {self.name}"
        return ProviderError(f"Batch API: {fault.detail}", where=where, hint=self._hint(fault, status))

    def _hint(self, fault: Fault, status: int) -> str:
        if status == 401 and self.provider.api_key_env:
            return f"Check the key in {self.provider.api_key_env}."
        if status == 404:
            return "Its files and batches may have been deleted, or belong to another key."
        return "" if "{" in fault.hint else fault.hint  # the templates are about a call to a model


async def lines_of(chunks: AsyncIterator[bytes], longest: int) -> AsyncIterator[bytes]:
    """The lines in ``chunks`` of at most ``longest`` bytes. Never holds more than one of them and a chunk."""
    line = bytearray()
    async for chunk in chunks:
        for number, part in enumerate(chunk.split(b"\n")):
            if number:
                if len(line) <= longest:
                    yield bytes(line)
                line.clear()
            line += part[: longest + 1 - len(line)]
    if line and len(line) <= longest:
        yield bytes(line)


def _text_at(data: Mapping[str, Any], key: str) -> str:
    """The text at ``key``. Raises BatchTrouble if it is missing or empty."""
    text = data.get(key)
    if not isinstance(text, str) or not text:
        raise BatchTrouble(UNEXPECTED)
    return text


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: object) -> int:
    return value if isinstance(value, int) and value >= 0 else 0


def now() -> float:
    """Unix time, to look for a batch among those created since."""
    return time()
