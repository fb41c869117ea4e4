"""Cassettes are published: nothing in one may be a secret, or tell who recorded it and where."""

from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from vcr import VCR

from bench.catalog import Catalog, Model, Provider
from bench.chat import Chat, ChatRequest, RetryPolicy
from bench.records import Message
from tests import recording
from tests.scripted_server import Answer, ScriptedServer, Seen, completion

CASSETTE_FILES = sorted(path for path in recording.folders_in_use()[0].rglob("*") if path.is_file())
LARGEST_TOTAL = 300_000
KEY = "sk-planted-0123456789abcdefghij"

PLANTED = {
    "key": f"my key is {KEY}",
    "key of Google": "AIzaSyA-0123456789abcdefghijklmnop",
    "long random word": "q7Gk2mX9vB4nL8sD1fH6jP3wR5tY0zC2eU4iO6aQ8x",
    "Authorization": "Authorization: Basic Zm9vOmJhcg==",
    "cookie": "Set-Cookie: __cf_bm=1",
    "organisation": "openai-organization: user-1",
    "organisation id": "org-Ab12Cd34Ef56",
    "request id": "x-request-id: 1",
    "host path": "/home/alice/models/model.gguf",
    "temporary path": "/tmp/model.gguf",
    "Windows path": "C:\\\\Users\\\\alice",
    "address": "http://127.0.0.1:40123/v1",
}


def test_recorded_cassettes_are_there_and_small() -> None:
    assert len(CASSETTE_FILES) > 5
    assert sum(path.stat().st_size for path in CASSETTE_FILES) < LARGEST_TOTAL


@pytest.mark.parametrize("path", CASSETTE_FILES, ids=lambda path: path.name)
def test_recorded_cassettes_hold_no_secret(path: Path) -> None:
    assert recording.leaks(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("kind", PLANTED)
@pytest.mark.parametrize("side", ["request", "response"])
def test_recorded_secrets_are_found_where_one_is_planted(kind: str, side: str, tmp_path: Path) -> None:
    cassette = json.loads(CASSETTE_FILES[0].read_text(encoding="utf-8"))
    cassette["interactions"][-1][side]["body"]["model"] = PLANTED[kind]
    planted = tmp_path / "planted.json"
    planted.write_text(json.dumps(cassette), encoding="utf-8")
    assert recording.leaks(planted.read_text(encoding="utf-8"))


@pytest.mark.parametrize("side", ["request", "response"])
def test_recorded_headers_off_the_list_are_found(side: str) -> None:
    cassette = json.loads(CASSETTE_FILES[0].read_text(encoding="utf-8"))
    cassette["interactions"][0][side]["headers"]["Server"] = "x"
    assert recording.leaks(json.dumps(cassette)) == [f"header of a {side}: Server"]


@pytest.mark.block_network(allowed_hosts=["127\\.0\\.0\\.1"])
def test_recorded_traffic_is_stripped_before_it_is_written(tmp_path: Path) -> None:
    """A server that tells all it can, and compresses: only the content type and the words are kept."""

    def telling(seen: Seen) -> Answer:
        assert seen.headers["authorization"] == f"Bearer {KEY}"
        whole = completion("Good evening.", seen, id="chatcmpl-0123456789", created=1_700_000_000)
        headers = {
            "content-encoding": "gzip",
            "content-type": "application/json",
            "date": "Mon, 01 Jan 2024 00:00:00 GMT",
            "set-cookie": "__cf_bm=secret",
            "openai-organization": "org-Ab12Cd34Ef56",
            "x-request-id": "req_0123456789",
        }
        return Answer(gzip.compress(whole.payload()), headers=headers)

    vcr = VCR(record_mode="new_episodes")
    vcr.register_serializer("json", recording)
    path = tmp_path / "stripped.json"
    with vcr.use_cassette(str(path), **recording.vcr_config()):
        assert asyncio.run(_ask(telling)) == "Good evening."
    text = path.read_text(encoding="utf-8")
    (one,) = json.loads(text)["interactions"]
    assert recording.leaks(text) == []
    assert one["request"]["uri"] == f"{recording.EMBEDDED}/v1/chat/completions"
    assert one["response"]["headers"] == {"content-type": ["application/json"]}
    assert one["response"]["body"]["choices"][0]["message"]["content"] == "Good evening."
    assert {"id", "created"}.isdisjoint(one["response"]["body"])


async def _ask(answer: Any) -> str:
    async with ScriptedServer(answer) as server:
        provider = Provider(base_url=server.url, api_key_env="KEY")
        model = Model(provider="p", model="m", name="M", family="m", weights="open", licence="x")
        catalog = Catalog(Path("models.toml"), {"p": provider}, {"m": model})
        once = RetryPolicy(attempts=1)
        async with Chat(catalog, retry=once, environ={"KEY": KEY}, dotenv=Path("none/.env")) as chat:
            reply = await chat.ask(ChatRequest("m", "player", (Message(role="user", content="Hello"),)))
    return reply.text
