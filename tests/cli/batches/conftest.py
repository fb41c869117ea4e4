"""Conversations whose judges are at a provider with batches, and what `judge --batch` makes of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import cli
from bench.records import Judgement
from tests.scripted_batches import BatchServer
from tests.tiny import Tiny, edit, make_tiny

POLL = ("--batch", "--poll", "0.01")


@pytest.fixture
def server() -> Iterator[BatchServer]:
    with BatchServer().in_thread() as running:
        assert isinstance(running, BatchServer)
        yield running


@pytest.fixture(scope="module")
def conversations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of one run, without its judgements, for tests to copy."""
    with BatchServer().in_thread() as server:
        tiny = _with_batches(tmp_path_factory.mktemp("talked"), server.url)
        cli.cli(["run", "tiny", *tiny.options()], standalone_mode=False)
    shutil.rmtree(tiny.tree.player_folder("tiny", "en", "bard") / "judgements")
    return tiny.tree.root


@pytest.fixture
def talked(conversations: Path, tmp_path: Path, server: BatchServer) -> Tiny:
    """Conversations without judgements; their judges are at a provider with batches at half price."""
    tiny = _with_batches(tmp_path / "tiny", server.url)
    shutil.copytree(conversations, tiny.tree.root, dirs_exist_ok=True)
    return tiny


def _with_batches(root: Path, url: str) -> Tiny:
    tiny = make_tiny(root, url)
    edit(tiny.models, "schema_limits = true\n", "schema_limits = true\nbatch = true\n")
    text = tiny.models.read_text()
    tiny.models.write_text(text.replace('output = "2" }', 'output = "2", batch_discount = "0.5" }'))
    return tiny


def judgements(tiny: Tiny, judge: str = "strict") -> list[Judgement]:
    return [j for j in tiny.tree.judgements("tiny", "en", "bard") if j.judge == judge]


def states(tiny: Tiny) -> list[Path]:
    return list((tiny.root / "cache" / "batches").rglob("*.json"))
