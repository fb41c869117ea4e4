"""Public result files of ping_pong_bench, and the results tree that they are imported into."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.interop.pingpong_import import ImportReport, import_pingpong
from bench.records import Conversation, Judgement
from bench.results import ResultsTree

SUITE = "ping-pong-bench"


@pytest.fixture
def tree(tmp_path: Path) -> ResultsTree:
    return ResultsTree(tmp_path / "results")


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    folder = tmp_path / "prompts"
    folder.mkdir()
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for public result files."""
    made = tmp_path / "public"
    made.mkdir()
    return made


def put(folder: Path, data: object, name: str = "judge_gpt_4o_player_p.json") -> None:
    (folder / name).write_text(json.dumps(data), encoding="utf-8")


def import_public(tree: ResultsTree, path: Path, **options: Any) -> ImportReport:
    return import_pingpong(tree, path, language="en", **options)


def conversations_of(tree: ResultsTree, player: str, suite: str = SUITE) -> list[Conversation]:
    return list(tree.conversations(suite, "en", player))


def judgements_of(tree: ResultsTree, player: str, suite: str = SUITE) -> list[Judgement]:
    return list(tree.judgements(suite, "en", player))
