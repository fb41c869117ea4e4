"""The sample of messages that ships with the prompts, with what each of its messages is about."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.topics.embedding import PACKAGES, Vectors, embedded
from bench.topics.grouping import Grouped, grouped
from bench.topics.messages import Messages, read_messages
from tests.sharing import computed_once, shared_folder
from tests.tiny import ROOT

SAMPLES = ROOT / "prompts" / "topics"
MISSING = [package for module, package in PACKAGES.items() if importlib.util.find_spec(module) is None]

needs_topics = pytest.mark.skipif(
    bool(MISSING), reason=f"not installed: {', '.join(MISSING)} (extra 'topics')"
)


@pytest.fixture(scope="module")
def grouped_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Each input is embedded and grouped once: it takes seconds, and test_topics_analysis.py tests it."""
    folder = shared_folder(tmp_path_factory)
    vectors_of, groups_of = computed_once(folder, embedded), computed_once(folder, grouped)

    def embedded_once(texts: Sequence[str], on_progress: Any = None) -> Vectors:
        return vectors_of(list(texts))

    def once(texts: Sequence[str], vectors: Vectors, counts: NDArray[np.int64], **settings: Any) -> Grouped:
        return groups_of(list(texts), vectors, counts, **settings)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bench.topics.analysis.grouped", once)
        patch.setattr("bench.topics.analysis.embedded", embedded_once)
        yield


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
