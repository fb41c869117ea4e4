"""The sample of messages that ships with the prompts, with what each of its messages is about."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass

import pytest

from bench.topics.embedding import PACKAGES
from bench.topics.messages import Messages, read_messages
from tests.tiny import ROOT

SAMPLES = ROOT / "prompts" / "topics"
MISSING = [package for module, package in PACKAGES.items() if importlib.util.find_spec(module) is None]

needs_topics = pytest.mark.skipif(
    bool(MISSING), reason=f"not installed: {', '.join(MISSING)} (extra 'topics')"
)


@dataclass(frozen=True)
class Labelled:
    """A sample and what its messages are about; "other" are about nothing in particular."""

    language: str
    messages: Messages
    about: tuple[str, ...]


@pytest.fixture(scope="session", params=["en", "ru"])
def sample(request: pytest.FixtureRequest) -> Labelled:
    path = SAMPLES / f"sample.{request.param}.jsonl"
    about = [json.loads(line)["about"] for line in path.read_text(encoding="utf-8").splitlines()]
    return Labelled(request.param, read_messages(path), tuple(about))
