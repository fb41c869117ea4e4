"""A provider's Batch API on the wire: upload files, create and poll batches, download result lines."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import time
from typing import Any

from openai import APIConnectionError, APIStatusError, OpenAIError
from openai.types import Batch

from bench.catalog import Provider
from bench.chat.endpoint import LARGEST_ANSWER, new_client
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
        self._client = new_client(provider, provider.base_url, key, bounded=False)

    async def __aenter__(self) -> BatchApi:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._client.close()

    async def upload(self, name: str, data: bytes) -> str:
        """Upload the lines of a batch; returns the file's id."""
        with self._errors():
            file = (name, data, "application/jsonl")
            return (await self._client.files.create(file=file, purpose="batch", timeout=600)).id

    async def create(self, file_id: str, token: str) -> BatchView:
        """Create a batch from an uploaded file. After BatchTrouble it may still exist (:meth:`find`)."""
        with self._errors():
            batch = await self._client.batches.create(
                input_file_id=file_id,
                endpoint="/v1/chat/completions",
                completion_window="24h",
                metadata={TOKEN_KEY: token},
            )
        return self._view(batch)

    async def find(self, token: str, since: float) -> BatchView | None:
        """The batch with ``token``, created after ``since`` (Unix time); None without one."""
        with self._errors():
            async for batch in self._client.batches.list(limit=100):  # newest first
                if (batch.metadata or {}).get(TOKEN_KEY) == token:
                    return self._view(batch)
                if batch.created_at < since - CLOCK_SKEW:
                    break
        return None

    async def retrieve(self, batch_id: str) -> BatchView:
        """The batch's current progress."""
        with self._errors():
            return self._view(await self._client.batches.retrieve(batch_id))

    async def lines(self, file_id: str) -> AsyncIterator[dict[str, Any]]:
        """The JSON objects in a result file; other lines, and those that are too long, are skipped."""
        with self._errors():
            content = self._client.files.with_streaming_response.content(file_id, timeout=600)
            async with content as response:
                async for line in lines_of(response.iter_bytes(CHUNK), LARGEST_ANSWER):
                    try:
                        data = json.loads(line)
                    except (ValueError, RecursionError):
                        continue
                    if isinstance(data, dict):
                        yield data

    def _view(self, batch: Batch) -> BatchView:
        counts = batch.request_counts
        errors = (batch.errors.data if batch.errors else None) or []
        messages = dict.fromkeys(e.message or e.code or "" for e in errors)
        return BatchView(
            id=batch.id,
            status=batch.status,
            done=counts.completed if counts else 0,
            failed=counts.failed if counts else 0,
            total=counts.total if counts else 0,
            files=tuple(f for f in (batch.output_file_id, batch.error_file_id) if f),
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
        except OpenAIError as error:
            raise BatchTrouble(type(error).__name__) from None

    def _hint(self, fault: Fault, status: int) -> str:
        if status == 401:
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


def now() -> float:
    """Unix time, to look for a batch among those created since."""
    return time()
