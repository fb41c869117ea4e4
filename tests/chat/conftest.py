"""A chat with one provider, played by the scripted server."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from bench.catalog import Catalog, Model, Provider  # noqa: E402
from bench.chat import Chat, ChatRequest, Reply, ResponseCache, RetryPolicy, Stats  # noqa: E402
from bench.records import Message  # noqa: E402
from tests.scripted_server import Answerer, ScriptedServer, plausible  # noqa: E402

QUICK = RetryPolicy(attempts=4, first_wait=0.02, longest_backoff=0.05, unreachable_seconds=0.2)
KEY = "sk-planted-0123456789abcdef"


@dataclass(frozen=True)
class Played:
    """What came of a play."""

    replies: list[Reply]
    server: ScriptedServer
    stats: Stats

    @property
    def reply(self) -> Reply:
        (reply,) = self.replies
        return reply


def asked(text: str = "Hello?", **changes: Any) -> ChatRequest:
    """A player's request."""
    fields: dict[str, Any] = {
        "model": "m",
        "role": "player",
        "messages": (Message(role="system", content="You are a ghost."), Message(role="user", content=text)),
        "parameters": {"temperature": 0.5},
        **changes,
    }
    return ChatRequest(**fields)


def catalog(
    base_url: str, provider: dict[str, Any] | None = None, model: dict[str, Any] | None = None
) -> Catalog:
    """A catalog of one provider ``p`` and one model ``m``."""
    fields = {
        "provider": "p",
        "model": "scripted",
        "name": "S",
        "family": "s",
        "weights": "open",
        "licence": "x",
    }
    return Catalog(
        Path("models.toml"),
        {"p": Provider.model_validate({"base_url": base_url, **(provider or {})})},
        {"m": Model.model_validate({**fields, **(model or {})})},
    )


@dataclass
class Play:
    """Plays requests against a scripted server, one after another unless ``together``."""

    folder: Path

    def __call__(
        self,
        answer: Answerer = plausible,
        *requests: ChatRequest,
        together: bool = False,
        cache: ResponseCache | None = None,
        provider: dict[str, Any] | None = None,
        model: dict[str, Any] | None = None,
        retry: RetryPolicy = QUICK,
        delay: float = 0.0,
        **options: Any,
    ) -> Played:
        async def script(chat: Chat, server: ScriptedServer) -> list[Reply]:
            todo = requests or (asked(),)
            if together:
                return list(await asyncio.gather(*map(chat.ask, todo)))
            return [await chat.ask(request) for request in todo]

        return self.run(
            script, answer, cache=cache, provider=provider, model=model, retry=retry, delay=delay, **options
        )

    def run(
        self,
        script: Callable[[Chat, ScriptedServer], Awaitable[list[Reply]]],
        answer: Answerer = plausible,
        *,
        cache: ResponseCache | None = None,
        provider: dict[str, Any] | None = None,
        model: dict[str, Any] | None = None,
        retry: RetryPolicy = QUICK,
        delay: float = 0.0,
        **options: Any,
    ) -> Played:
        async def main() -> Played:
            async with ScriptedServer(answer, delay=delay) as server:
                options.setdefault("environ", {})
                options.setdefault("dotenv", self.folder / ".env")
                known = catalog(server.url, provider, model)
                async with Chat(known, cache=cache, retry=retry, **options) as chat:
                    replies = await script(chat, server)
                return Played(replies, server, chat.stats)

        return asyncio.run(main())


@pytest.fixture
def play(tmp_path: Path) -> Play:
    return Play(tmp_path)
