"""What goes with the body of a request: the key, headers and the query of the address. A key stays there."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from bench.chat import Chat
from bench.errors import ProviderError
from tests.chat.conftest import KEY, Play, asked, catalog
from tests.scripted_server import ScriptedServer, completion


def test_a_missing_key_names_its_variable(play: Play) -> None:
    with pytest.raises(ProviderError, match="P_KEY"):
        play(provider={"api_key_env": "P_KEY"})


def test_a_key_may_stand_in_dotenv(play: Play, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"P_KEY='{KEY}'\n")
    played = play(provider={"api_key_env": "P_KEY"})
    assert played.server.seen[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_key_that_no_header_may_hold_is_not_printed(play: Play) -> None:
    with pytest.raises(ProviderError, match="P_KEY") as caught:
        play(provider={"api_key_env": "P_KEY"}, environ={"P_KEY": f"{KEY}\nsecond"})
    assert KEY not in str(caught.value)


def test_no_key_means_no_authorization(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_ORG_ID", "org-planted")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-planted")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Planted: planted")
    headers = play().server.seen[0].headers
    assert headers.keys() == {
        *("accept", "accept-encoding", "connection", "content-length", "content-type", "host", "user-agent")
    }
    assert headers["content-type"] == "application/json"
    assert headers["user-agent"].startswith("dramaturg/")


def test_headers_and_query_of_a_provider_are_sent(play: Play) -> None:
    async def main() -> ScriptedServer:
        async with ScriptedServer() as server:
            headers = {"X-Title": "Dramaturg", "USER-AGENT": "mine"}
            known = catalog(f"{server.url}/?api-version=7&tag=a&tag=b#here", {"headers": headers})
            async with Chat(known, environ={}) as chat:
                await chat.ask(asked())
            return server

    (seen,) = asyncio.run(main()).seen
    assert seen.path == "/v1/chat/completions?api-version=7&tag=a&tag=b"
    assert seen.headers["x-title"] == "Dramaturg"
    assert seen.headers["user-agent"] == "mine"


def test_debug_logging_shows_no_key(play: Play, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    play(provider={"api_key_env": "P_KEY"}, environ={"P_KEY": KEY})
    assert KEY not in caplog.text


def test_a_key_that_a_provider_echoes_is_not_kept(play: Play) -> None:
    played = play(
        lambda seen: completion(f"Your key is {KEY}", seen),
        provider={"api_key_env": "P_KEY"},
        environ={"P_KEY": KEY},
    )
    assert played.reply.text == "Your key is [redacted]"
