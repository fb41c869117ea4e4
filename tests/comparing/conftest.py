"""A bench of three players in miniature, for comparisons in pairs, and a judge that follows a script."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import bench
from bench.audit import audit_tree
from bench.boards.loading import all_suites
from bench.boards.rating import load_rating
from bench.cli import cli
from bench.results.comparison_records import Comparison
from bench.results.comparisons import comparisons
from bench.scores.pairwise_records import Rating
from tests.scripted_batches import BatchServer
from tests.scripted_server import Answer, Seen, completion, plausible
from tests.tiny import ROOT, Tiny, edit, make_tiny

WORDS = {"bard-1": "lamps", "actor-1": "boats", "lenient-1": "kites"}
"""What each player always talks about, by its model."""
STRENGTH = {"lamps": 3, "boats": 2, "kites": 1}
PLAYERS = ("bard", "actor", "lenient")
PAIRS, SCENES = 3, 4
CRITERIA = ("in_character", "entertaining", "fluency")

Margin = Callable[[str, str], int | None]
"""A judge: the words of the conversations shown first and second to its margin; None: nothing usable."""


def fair(first: str, second: str) -> int:
    return STRENGTH[first] - STRENGTH[second]


class Judge:
    """Answers players by their word, and comparisons by ``margin``; ``refusing`` is the word of a refusal."""

    def __init__(self) -> None:
        self.margin: Margin = fair
        self.refusing = ""
        self.prompts: list[str] = []

    def __call__(self, seen: Seen) -> Answer:
        last = str(seen.body["messages"][-1]["content"])
        if "_margin" not in last:
            model = str(seen.body["model"])
            if model in WORDS and "response_format" not in seen.body:
                return completion(f"I like {WORDS[model]}. ({seen.digest % 997})", seen)
            return plausible(seen)
        self.prompts.append(last)
        first, second = (part for part in last.split("\nConversation ")[1:3])
        shown = [next(word for word in STRENGTH if f"I like {word}" in part) for part in (first, second)]
        margin = self.margin(*shown)
        if margin is None:
            return completion("I would rather not say.", seen)
        refused = [word == self.refusing for word in shown]
        reply: dict[str, Any] = {"refusal_explanation": "", "first_refuses": refused[0]}
        reply["second_refuses"] = refused[1]
        for name in CRITERIA:
            reply |= {f"{name}_explanation": f"'{shown[0]}' against '{shown[1]}'", f"{name}_margin": margin}
        return completion(json.dumps(reply), seen)


@pytest.fixture(scope="module")
def judge() -> Judge:
    return Judge()


@pytest.fixture(scope="module")
def server(judge: Judge) -> Iterator[BatchServer]:
    with BatchServer(judge).in_thread() as running:
        assert isinstance(running, BatchServer)
        yield running


@pytest.fixture(scope="module")
def played(server: BatchServer, tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    """Three players who have played all scenes and been judged, but not compared."""
    tiny = make_tiny(tmp_path_factory.mktemp("compare") / "tiny", server.url)
    shutil.copytree(ROOT / "prompts" / "comparison", tiny.prompts / "comparison")
    edit(tiny.models, "schema_limits = true\n", "schema_limits = true\nbatch = true\n")
    bench.run_suite("tiny", players=PLAYERS, **places(tiny))
    return tiny


@pytest.fixture
def tiny(played: Tiny, judge: Judge, server: BatchServer, tmp_path: Path) -> Tiny:
    judge.margin, judge.refusing = fair, ""
    judge.prompts.clear()
    server.batch_lines.clear()
    server.count = 0
    shutil.copytree(played.root, tmp_path / "tiny")
    return Tiny(tmp_path / "tiny")


@pytest.fixture(scope="module")
def all_compared(played: Tiny, judge: Judge, tmp_path_factory: pytest.TempPathFactory) -> Path:
    judge.margin, judge.refusing = fair, ""  # whatever an earlier test has set
    root = tmp_path_factory.mktemp("compared") / "tiny"
    shutil.copytree(played.root, root)
    assert len(compare(Tiny(root))) == PAIRS * SCENES
    return root


@pytest.fixture
def compared(tiny: Tiny, all_compared: Path) -> Tiny:
    """``tiny`` after the fair judge has compared all pairs; with what it was answered."""
    for name in ("results", "cache"):
        shutil.rmtree(tiny.root / name, ignore_errors=True)
        shutil.copytree(all_compared / name, tiny.root / name)
    return tiny


def places(tiny: Tiny) -> dict[str, Any]:
    folders = {"results": tiny.tree.root, "cache": tiny.root / "cache"}
    return folders | {"models": tiny.models, "prompts": tiny.prompts}


def compare(tiny: Tiny, **options: Any) -> list[Comparison]:
    bench.compare_suite("tiny", **places(tiny), **options)
    return list(comparisons(tiny.tree, "tiny", "en"))


def rating(tiny: Tiny, **options: Any) -> Rating:
    prompts = all_suites(tiny.prompts)
    return load_rating(tiny.tree, "tiny", "en", prompts=prompts, catalog=tiny.catalog(), **options)


def found(tiny: Tiny, *severities: str) -> set[str]:
    report = audit_tree(tiny.tree, all_suites(tiny.prompts), tiny.catalog())
    return {f.code for f in report.findings if f.severity in severities and "_comparisons" in f.path}


def invoke(tiny: Tiny, *words: str) -> str:
    ended = CliRunner().invoke(cli, [*words, *tiny.options()], catch_exceptions=False)
    assert ended.exit_code == 0, ended.output
    return ended.output
