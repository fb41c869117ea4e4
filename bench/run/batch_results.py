"""The result lines of one batch: sorted by request, and its answers put into the response cache."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from bench.chat.answers import Answer, answer_from, within
from bench.chat.cache import ResponseCache
from bench.chat.client import Prepared
from bench.errors import StorageError
from bench.records import Usage

MOST_IN_MEMORY = 500
"""Answers that wait to be written into the cache."""


class BatchResults:
    """Takes the lines of a batch's result files in any order. Of several good answers to a request, the first
    counts.

    Args:
        keys: Cache keys of the batch's requests.
        by_key: The requests that are still wanted, by key.
        secrets: Texts that must not be stored.
        cache_folder: Where the answers go.
    """

    def __init__(
        self,
        keys: Iterable[str],
        by_key: Mapping[str, Prepared],
        secrets: Iterable[str],
        cache_folder: Path,
    ) -> None:
        self._keys = frozenset(keys)
        self._by_key = by_key
        self._secrets = tuple(secrets)
        self._cache_folder = cache_folder
        self._waiting: dict[str, Answer] = {}
        self._good: set[str] = set()
        self._bad: set[str] = set()
        self._seen: set[str] = set()
        self.answers: dict[str, Usage] = {}
        """What each answer took, by key."""
        self.duplicates: set[str] = set()
        """Keys that more than one line has."""

    @property
    def declined(self) -> set[str]:
        """Keys of requests that the provider declined, or answered with nothing that can be used."""
        return self._bad - self.answers.keys()

    @property
    def unanswered(self) -> set[str]:
        """Keys without a line, or with one that says that the batch ended before it was their turn."""
        return set(self._keys - self.answers.keys() - self._bad)

    def read(self, line: Mapping[str, object]) -> None:
        """Take one line. Raises StorageError if the cache cannot keep its answers."""
        key = line.get("custom_id")
        if not isinstance(key, str) or key not in self._keys:
            return
        if key in self._seen:
            self.duplicates.add(key)
        self._seen.add(key)
        if key in self._good:
            return
        response = line.get("response")
        if isinstance(response, dict) and response and str(response.get("status_code", 200)) == "200":
            messages = self._by_key[key].request.messages if key in self._by_key else ()
            body = response.get("body")
            content = body if isinstance(body, str) else json.dumps(body)
            answer = answer_from(content.encode(errors="replace"), messages, self._secrets)
            if isinstance(answer, Answer):
                if key in self._by_key:
                    answer = within(answer, self._by_key[key].request.longest_text)
                if answer.outcome == "ok":
                    self._good.add(key)
                elif key in self.answers:
                    return
                self.answers[key] = answer.usage
                self._waiting[key] = answer.model_copy(update={"batch": True})
                if len(self._waiting) >= MOST_IN_MEMORY:
                    self.store()
                return
        elif not response:
            fault = line.get("error")
            code = str(fault.get("code")) if isinstance(fault, dict) else ""
            if code.lower() in ("batch_expired", "batch_cancelled"):
                return
        self._bad.add(key)

    def store(self) -> None:
        """Write the answers that wait into the cache, and check that another process would find them."""
        with ResponseCache(self._cache_folder) as cache:
            for key, answer in self._waiting.items():
                cache.put(key, answer)
        with ResponseCache(self._cache_folder) as cache:
            lost = sum(cache.get(key) is None for key in self._waiting)
        if lost:
            raise StorageError(
                f"{lost} answers of a batch could not be stored in the response cache",
                where=str(self._cache_folder),
                hint="Free some space, or close what locks it; the batch will be collected next time.",
            )
        self._waiting.clear()
