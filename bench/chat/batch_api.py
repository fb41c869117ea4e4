"""A provider's Batch API on the wire: upload files, create and poll batches, download result lines."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import time
from typing import Any
from typing import Protocol as Interface
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import httpx2
from openai import APIConnectionError, APIStatusError, AsyncOpenAI, Omit, OpenAIError, omit

from bench.catalog import Provider
from bench.chat.endpoint import LARGEST_ANSWER, http_client, tls
from bench.chat.faults import Fault, fault_of, shortened
from bench.chat.secrets import Environment, is_http, key_of, secrets_of, shown_url
from bench.errors import ProviderError

ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
TOKEN_KEY = "dramaturg"
"""Key of our token in a batch's metadata."""
CLOCK_SKEW = 86_400.0
"""Seconds by which the provider's clock may lag behind ours."""


CHUNK = 2**16
"""Bytes of a result file that are read at once."""

_CLIENT_HEADERS = ("Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version", "Async")
"""Endings of the ``X-Stainless-`` headers by which the client describes this machine."""

UNEXPECTED = "unexpected answer; does the provider have OpenAI's Batch API?"


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
        self._client = _client(provider, key)
        self._downloads = _client(provider, key, bounded=False)

    async def __aenter__(self) -> BatchApi:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._client.close()
        await self._downloads.close()

    async def upload(self, name: str, data: bytes) -> str:
        """Upload the lines of a batch; returns the file's id."""
        with self._errors():
            file = (name, data, "application/jsonl")
            files = self._client.files.with_raw_response
            uploaded = _object_in(await files.create(file=file, purpose="batch", timeout=600))
        return _text_at(uploaded, "id")

    async def create(self, file_id: str, token: str) -> BatchView:
        """Create a batch from an uploaded file. After BatchTrouble it may still exist (:meth:`find`)."""
        with self._errors():
            batch = await self._client.batches.with_raw_response.create(
                input_file_id=file_id,
                endpoint="/v1/chat/completions",
                completion_window="24h",
                metadata={TOKEN_KEY: token},
            )
        return self._view(_object_in(batch))

    async def find(self, token: str, since: float) -> BatchView | None:
        """The batch with ``token``, created after ``since`` (Unix time); None without one."""
        after: str | Omit = omit
        while True:
            with self._errors():
                batches = self._client.batches.with_raw_response
                page = _object_in(await batches.list(limit=100, after=after))
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
        with self._errors():
            batch = await self._client.batches.with_raw_response.retrieve(batch_id)
        return self._view(_object_in(batch))

    async def lines(self, file_id: str) -> AsyncIterator[dict[str, Any]]:
        """The results in a result file; other lines, and those that are too long, are skipped.

        Raises BatchTrouble for a file with nothing but other lines, such as a proxy's error page.
        """
        read = found = 0
        with self._errors():
            content = self._downloads.files.with_streaming_response.content(file_id, timeout=600)
            async with content as response:
                async for line in lines_of(response.iter_bytes(CHUNK), LARGEST_ANSWER):
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

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn the client's errors into BatchTrouble if they may pass, otherwise into ProviderError."""
        try:
            yield
        except APIStatusError as error:
            fault = fault_of(error.status_code, error.body, self.secrets)
            if fault.retried:
                raise BatchTrouble(fault.detail) from None
            raise ProviderError(
                f"Batch API: {fault.detail}",
                where=f"provider {self.name}",
                hint=self._hint(fault, error.status_code),
            ) from None
        except (APIConnectionError, TimeoutError) as error:
            cause = error.__cause__ or error
            raise BatchTrouble(f"the connection was lost ({type(cause).__name__})") from None
        except httpx2.DecodingError:
            raise BatchTrouble("the answer is compressed and damaged") from None
        except httpx2.HTTPError as error:  # while a file is read
            raise BatchTrouble(f"the connection was lost ({type(error).__name__})") from None
        except OpenAIError as error:
            raise BatchTrouble(type(error).__name__) from None

    def _hint(self, fault: Fault, status: int) -> str:
        if status == 401 and self.provider.api_key_env:
            return f"Check the key in {self.provider.api_key_env}."
        if status == 404:
            return "Its files and batches may have been deleted, or belong to another key."
        return "" if "{" in fault.hint else fault.hint  # the templates are about a call to a model


def _client(provider: Provider, key: str | None, *, bounded: bool = True) -> AsyncOpenAI:
    """A client that never retries."""
    url = urlsplit(provider.base_url)
    http = http_client(provider, tls(provider.base_url), bounded=bounded)
    return AsyncOpenAI(
        api_key=key or "none",
        base_url=urlunsplit(url._replace(query="", fragment="")),
        default_query=dict(parse_qsl(url.query)),
        default_headers=_headers(provider, url.hostname or ""),
        timeout=http.timeout,
        max_retries=0,
        http_client=http,
    )


def _headers(provider: Provider, host: str) -> dict[str, str]:
    """The provider's headers, without those the client would add from the environment or about the host."""
    dropped = [f"X-Stainless-{name}" for name in _CLIENT_HEADERS]
    ambient = os.environ.get("OPENAI_CUSTOM_HEADERS", "").splitlines()
    dropped += [line.partition(":")[0].strip() for line in ambient if ":" in line]
    if host != "api.openai.com":
        dropped += ["OpenAI-Organization", "OpenAI-Project"]
    given = {name.lower() for name in provider.headers}
    omitted: dict[str, str | Omit] = {name: Omit() for name in dropped if name.lower() not in given}
    return {**omitted, **provider.headers}  # type: ignore[dict-item]  # the client takes Omit, untyped


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


class _Response(Interface):
    """What the client returns as a raw response."""

    @property
    def content(self) -> bytes: ...


def _object_in(response: _Response) -> dict[str, Any]:
    """The JSON object in a response. Raises BatchTrouble for anything else."""
    try:
        data = json.loads(response.content)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise BatchTrouble(UNEXPECTED)
    return data


def _text_at(data: Mapping[str, Any], key: str) -> str:
    """The text at ``key``. Raises BatchTrouble if there is none."""
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
