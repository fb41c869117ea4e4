"""A provider's Batch API on the wire: files up, batches made and watched, result lines down."""

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
from bench.chat.faults import ADDRESS_HINT, Fault, fault_of, shortened
from bench.chat.secrets import Environment, is_http, key_of, secrets_of, shown_url
from bench.errors import ProviderError

ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
TOKEN_KEY = "dramaturg"
"""Under this key of a batch's metadata stands the token that we gave it."""
CLOCKS_APART = 86_400.0
"""Seconds by which the provider's clock may lie behind ours."""


class BatchTrouble(Exception):
    """A request to the Batch API failed in a way that passes: the same may succeed later."""


@dataclass(frozen=True)
class BatchView:
    """How a batch stands. ``reason`` is what its provider says against it."""

    id: str
    status: str
    done: int
    failed: int
    total: int
    files: tuple[str, ...]
    """Where its result lines are: the answers, the errors."""
    reason: str = ""

    @property
    def ended(self) -> bool:
        return self.status in ENDED


class BatchApi:
    """One provider's files and batches. An async context manager; never repeats a request by itself."""

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
        with self._troubles():
            made = await self._client.files.create(
                file=(name, data, "application/jsonl"), purpose="batch", timeout=600
            )
        return made.id

    async def create(self, file_id: str, token: str) -> BatchView:
        """Make a batch of an uploaded file. After BatchTrouble it may exist all the same (:meth:`find`)."""
        with self._troubles():
            made = await self._client.batches.create(
                input_file_id=file_id,
                endpoint="/v1/chat/completions",
                completion_window="24h",
                metadata={TOKEN_KEY: token},
            )
        return self._view(made)

    async def find(self, token: str, since: float) -> BatchView | None:
        """The batch that bears ``token``, made after ``since`` (Unix time); None where there is none."""
        with self._troubles():
            async for batch in self._client.batches.list(limit=100):  # the newest first
                if (batch.metadata or {}).get(TOKEN_KEY) == token:
                    return self._view(batch)
                if batch.created_at < since - CLOCKS_APART:
                    break
        return None

    async def retrieve(self, batch_id: str) -> BatchView:
        """How a batch stands now."""
        with self._troubles():
            return self._view(await self._client.batches.retrieve(batch_id))

    async def lines(self, file_id: str) -> AsyncIterator[dict[str, Any]]:
        """The objects of a result file; what is no JSON object is left out."""
        with self._troubles():
            content = self._client.files.with_streaming_response.content(file_id, timeout=600)
            async with content as response:
                async for line in response.iter_lines():
                    if len(line) <= LARGEST_ANSWER:
                        try:
                            data = json.loads(line)
                        except (ValueError, RecursionError):
                            continue
                        if isinstance(data, dict):
                            yield data

    def _view(self, batch: Batch) -> BatchView:
        counts = batch.request_counts
        errors = (batch.errors.data if batch.errors else None) or []
        said = "; ".join(dict.fromkeys(e.message or e.code or "" for e in errors))
        return BatchView(
            id=batch.id,
            status=batch.status,
            done=counts.completed if counts else 0,
            failed=counts.failed if counts else 0,
            total=counts.total if counts else 0,
            files=tuple(f for f in (batch.output_file_id, batch.error_file_id) if f),
            reason=shortened(said, self.secrets),
        )

    @contextmanager
    def _troubles(self) -> Iterator[None]:
        """Turn the client's errors into BatchTrouble, which may pass with time, or ProviderError."""
        try:
            yield
        except APIStatusError as error:
            fault = fault_of(error.status_code, error.body, self.secrets)
            if fault.retried:
                raise BatchTrouble(fault.detail) from None
            raise self._error(fault) from None
        except (APIConnectionError, TimeoutError) as error:
            cause = error.__cause__ or error
            raise BatchTrouble(f"the connection was lost ({type(cause).__name__})") from None
        except OpenAIError as error:
            raise BatchTrouble(type(error).__name__) from None

    def _error(self, fault: Fault) -> ProviderError:
        hints = {
            401: f"Check the key in {self.provider.api_key_env}.",
            404: "Its files and batches may have been deleted, or belong to another key.",
        }
        status = int(fault.detail[5:8]) if fault.detail[5:8].isdecimal() else 0
        hint = hints.get(status, "" if fault.hint == ADDRESS_HINT or "{" in fault.hint else fault.hint)
        return ProviderError(f"Batch API: {fault.detail}", where=f"provider {self.name}", hint=hint)


def now() -> float:
    """Unix time, to look for a batch among those made since."""
    return time()
