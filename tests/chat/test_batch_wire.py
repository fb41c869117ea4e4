"""Requests to the Batch API: what is sent, and what an answer that is none comes to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from bench.catalog import Provider
from bench.chat.batch_api import BatchApi, BatchTrouble
from bench.chat.secrets import Environment
from bench.errors import ProviderError
from tests.chat.conftest import KEY
from tests.scripted_batches import BatchServer
from tests.scripted_server import Answer

AMBIENT = {
    "OPENAI_API_KEY": "ambient",
    "OPENAI_ORG_ID": "ambient é",
    "OPENAI_PROJECT_ID": "ambient",
    "OPENAI_BASE_URL": "http://ambient",
    "OPENAI_CUSTOM_HEADERS": "X-Ambient: ambient",
}


class Watched(BatchServer):
    """Keeps paths and headers."""

    def elsewhere(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> Answer:
        self.headers = [*getattr(self, "headers", []), dict(headers)]
        self.paths = [*getattr(self, "paths", []), path]
        return super().elsewhere(method, path, headers, raw)


async def all_of_it(api: BatchApi) -> list[dict[str, Any]]:
    line = json.dumps({"custom_id": "1", "body": {"messages": [{"content": "x"}]}}).encode()
    batch = await api.create(await api.upload("a.jsonl", line + b"\n"), "token")
    found = await api.find("token", 0)
    assert found is not None
    while not batch.ended:
        batch = await api.retrieve(batch.id)
    return [result for name in batch.files async for result in api.lines(name)]


def played(server: Watched, use: Callable[[BatchApi], Awaitable[Any]], query: str = "", **fields: Any) -> Any:
    async def main() -> Any:
        async with server:
            provider = Provider(base_url=server.url + query, **fields)
            async with BatchApi("p", provider, Environment({"P_KEY": KEY})) as api:
                return await use(api)

    return asyncio.run(main())


@pytest.mark.parametrize("key", [None, "P_KEY"])
def test_requests_hold_what_models_toml_says_and_nothing_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    for name, value in AMBIENT.items():
        monkeypatch.setenv(name, value)
    server = Watched()
    headers = {"X-Title": "Dramaturg", "Content-Type": "application/json; charset=utf-8"}
    results = played(server, all_of_it, "?version=7&tag=a&tag=b", headers=headers, api_key_env=key)
    assert [result["custom_id"] for result in results] == ["1"]
    for path, sent in zip(server.paths, server.headers, strict=True):
        assert "version=7&tag=a&tag=b" in path
        assert sent["x-title"] == "Dramaturg"
        assert sent.get("authorization") == (f"Bearer {KEY}" if key else None)
        assert "ambient" not in str(sent)
        assert [name for name in sent if name.startswith("x-stainless")] == ["x-stainless-raw-response"]


HTML = {"content-type": "text/html; charset=hex"}
TROUBLES = [
    (Answer("[" * 100_000), BatchTrouble),
    (Answer("<h1>Closed</h1>", 503, HTML), BatchTrouble),
    (Answer("<h1>Who are you?</h1>", 401, HTML), ProviderError),
    (Answer("", 302, {"location": "http://["}), ProviderError),
    (Answer("x", headers={"content-encoding": "gzip"}), BatchTrouble),
    (Answer(b"HTTP/1.1 200\r\n\0", way="raw"), BatchTrouble),
    (Answer(way="reset_before"), BatchTrouble),
    (Answer("{}", way="slow"), BatchTrouble),
]


@pytest.mark.parametrize(("answer", "kind"), TROUBLES)
def test_an_answer_that_is_none_passes_or_is_the_users_to_mend(answer: Answer, kind: type[Exception]) -> None:
    server = Watched()
    server.troubles = {"GET /batches/ID": [answer]}
    with pytest.raises(kind):
        played(server, lambda api: api.retrieve("batch-1"), timeout_seconds=0.5)
