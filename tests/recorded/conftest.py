"""Runs against the embedded model: replayed from cassettes, or for real where they are recorded."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pytest_recording.plugin import block_network, vcr  # noqa: F401  # fixtures

from bench.catalog import LocalFile, load_catalog
from bench.chat import Chat, RetryPolicy, Stats
from bench.local import LocalServers
from bench.protocols import protocol_for
from bench.records import Call, Conversation, Judgement
from bench.results import ResultsTree
from bench.run.plan import make_plan
from bench.run.runner import run_plan
from bench.suites import load_suite
from tests import recording

HERE = Path(__file__).parent
EXPECTED = recording.folders_in_use()[1]
SUITE = "recorded"


@pytest.fixture(scope="session")
def embedded(record_mode: str) -> Iterator[str]:
    """Base URL of the embedded model's server, which runs only while cassettes are recorded."""
    if record_mode == "none":
        yield f"{recording.EMBEDDED}/v1"  # an address where nobody listens
        return
    from bench.local.embedded import EmbeddedServer

    with EmbeddedServer() as server:
        yield server.base_url


@dataclass(frozen=True)
class Played:
    """What a run left in its results tree, and what its calls came to."""

    conversations: list[Conversation]
    judgements: list[Judgement]
    stats: Stats

    def evidence(self) -> dict[str, Any]:
        """What models said and how it was read, without the fingerprints and digests that follow from it."""
        return {
            "conversations": {
                _name(record): {
                    "status": record.status,
                    "messages": [m.plain() for m in record.messages],
                    "calls": [_asked(call) for call in record.calls],
                    "repairs": list(record.repairs),
                }
                for record in self.conversations
            },
            "judgements": {
                _name(record): {
                    "status": record.status,
                    "turns": [turn.plain() for turn in record.turns],
                    "calls": [_asked(call) for call in record.calls],
                    "repairs": list(record.repairs),
                    "failure": record.failure.plain() if record.failure else None,
                }
                for record in self.judgements
            },
        }


def _name(record: Conversation | Judgement) -> str:
    return f"{record.player}/{record.character}.{record.situation}"


def _asked(call: Call) -> dict[str, Any]:
    kept = {"role", "turn", "outcome", "finish_reason", "usage", "seed"}
    sound = {"audio_prompt_tokens", "audio_completion_tokens"}  # nothing here is spoken
    return call.model_dump(mode="json", include=kept, exclude={"usage": sound})


class Recorded(LocalServers):
    """Stands for the embedded model's server, which runs already or is replayed."""

    def __init__(self, url: str) -> None:
        super().__init__(slots=1)
        self._url = url

    def start(self, file: LocalFile | None) -> str:
        return self._url


@dataclass(frozen=True)
class Play:
    """Plays the recorded suite, or asks single questions, through the embedded server or its cassette."""

    folder: Path
    embedded_url: str

    def chat(self) -> Chat:
        """A Chat without cache, retries or an environment."""
        return Chat(
            load_catalog(HERE / "models.toml"),
            local=Recorded(self.embedded_url),
            retry=RetryPolicy(attempts=1),
            environ={},
            dotenv=self.folder / ".env",
        )

    def suite(self, language: str, *players: str, name: str = SUITE) -> Played:
        """A whole run of the suite ``name``: every scene of ``language`` with ``players``, judged."""
        tree = ResultsTree(self.folder / "results")

        async def play() -> Stats:
            async with self.chat() as chat:
                suite = load_suite(HERE / "prompts", name)
                protocol = protocol_for(suite, language, chat.catalog)
                plan = make_plan(protocol, tree, players, suite.judges)
                await run_plan(protocol, plan, tree, chat.ask)
                return chat.stats

        stats = asyncio.run(play())
        conversations = [c for player in players for c in tree.conversations(name, language, player)]
        judgements = [j for player in players for j in tree.judgements(name, language, player)]
        return Played(conversations, judgements, stats)


@pytest.fixture
def play(tmp_path: Path, embedded: str) -> Play:
    return Play(tmp_path, embedded)


@dataclass(frozen=True)
class Expected:
    """Evidence that was kept with the cassette of a test."""

    path: Path
    recording: bool

    def check(self, played: Played) -> None:
        """Raise AssertionError where ``played`` is not what it was when recorded; when recording, keep it."""
        evidence = json.loads(json.dumps(played.evidence()))
        if self.recording:
            text = json.dumps(evidence, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
            self.path.write_text(text, encoding="utf-8")
        assert evidence == json.loads(self.path.read_text(encoding="utf-8"))


@pytest.fixture
def expected(request: pytest.FixtureRequest, record_mode: str) -> Expected:
    return Expected(EXPECTED / f"{request.node.name}.json", recording=record_mode != "none")
