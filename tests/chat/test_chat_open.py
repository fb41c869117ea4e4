"""open_chat: cache, embedded server and budget in one context manager."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import ClassVar

import pytest

import bench.local.servers
from bench.chat import Reply, open_chat
from bench.errors import ProviderError
from bench.local import ModelFileError
from tests.chat.conftest import asked, catalog
from tests.scripted_server import ScriptedServer


class Server:
    """Stands in for the embedded model's server and notes when it runs."""

    running = 0
    started_with: ClassVar[list[int]] = []

    def __init__(self, url: str, slots: int) -> None:
        self.base_url = url
        self.slots = slots

    def start(self) -> None:
        self.started_with.append(self.slots)
        type(self).running += 1

    def stop(self) -> None:
        type(self).running -= 1


@pytest.fixture
def servers() -> type[Server]:
    Server.running = 0
    Server.started_with = []
    return Server


def test_a_second_chat_on_the_same_cache_sends_nothing(tmp_path: Path) -> None:
    async def replies() -> tuple[list[Reply], int]:
        async with ScriptedServer() as server:
            got = []
            for _ in range(2):
                async with open_chat(catalog(server.url), cache=tmp_path / "cache") as chat:
                    got.append(await chat.ask(asked()))
            async with open_chat(catalog(server.url)) as chat:
                got.append(await chat.ask(asked()))
            return got, len(server.seen)

    got, sent = asyncio.run(replies())
    assert [reply.cached for reply in got] == [False, True, False]
    assert len({reply.text for reply in got}) == 1
    assert sent == 2


def test_the_embedded_server_starts_only_when_needed_and_ends_with_the_chat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, servers: type[Server]
) -> None:
    async def main() -> None:
        async with ScriptedServer() as server:
            monkeypatch.setattr(
                bench.local.servers, "EmbeddedServer", lambda file, slots: servers(server.url, slots)
            )
            known = catalog("embedded", {"max_concurrent": 3})
            for _ in range(2):
                async with open_chat(known, cache=tmp_path / "cache") as chat:
                    assert servers.running == 0
                    reply = await chat.ask(asked())
                    assert servers.running == (0 if reply.cached else 1)
                assert servers.running == 0

    asyncio.run(main())
    assert servers.started_with == [3]


def test_a_missing_key_of_any_expected_model_stops_the_first_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MISSING_KEY", raising=False)

    async def main() -> int:
        async with ScriptedServer() as server:
            known = catalog(server.url)
            other = catalog(server.url, {"api_key_env": "MISSING_KEY"})
            known.providers["q"] = other.providers["p"]
            known.models["n"] = known.models["m"].model_copy(update={"provider": "q"})
            async with open_chat(known, models=["m", "n"]) as chat:
                with pytest.raises(ProviderError, match="no API key") as raised:
                    await chat.ask(asked())
                assert "MISSING_KEY" in raised.value.hint
            return len(server.seen)

    assert asyncio.run(main()) == 0


def test_a_missing_model_file_is_named_before_anyone_is_called(tmp_path: Path) -> None:
    async def main() -> int:
        async with ScriptedServer() as server:
            known = catalog(server.url)
            known.providers["here"] = catalog("embedded").providers["p"]
            local = {"provider": "here", "file": str(tmp_path / "nothing.gguf")}
            known.models["n"] = known.models["m"].model_copy(update=local)
            async with open_chat(known, models=["m", "n"]) as chat:
                with pytest.raises(ModelFileError, match="No such file"):
                    await chat.ask(asked())
            return len(server.seen)

    assert asyncio.run(main()) == 0


def test_a_cache_that_cannot_be_used_warns_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    warnings: list[str] = []

    async def main() -> Reply:
        async with (
            ScriptedServer() as server,
            open_chat(
                catalog(server.url), cache=tmp_path / "file", warn=warnings.append, without_cache="Sorry."
            ) as chat,
        ):
            return await chat.ask(asked())

    assert asyncio.run(main()).outcome == "ok"
    (warning,) = warnings
    assert "Sorry." in warning
