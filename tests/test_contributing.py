"""The protocol that CONTRIBUTING.md shows, taken out of it and run from first call to website."""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import bench.protocols
from bench import protocol_facts
from bench.audit import audit_tree
from bench.boards.loading import all_suites, load_board, write_board
from bench.catalog import load_catalog
from bench.chat.requests import ChatRequest, Reply
from bench.protocols import Protocol, protocol_for
from bench.results import ResultsTree
from bench.run.plan import make_plan
from bench.run.runner import run_plan
from bench.site.build import build_site
from bench.suites import load_suite
from tests.tiny import ROOT, FakeChat, ok

FILES = re.compile(r"^`([\w/.-]+)`\n\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PLAYERS = ("smollm2-135m", "smollm2-135m-warm")


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    """Every file of the worked example, by its path."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return dict(FILES.findall(text.partition("## Add a protocol")[2]))


@pytest.fixture
def example(files: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Protocol]:
    """The protocol of the example, its module beside the real ones, its folder in other prompts."""
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    folder = str(tmp_path / "bench" / "protocols")
    monkeypatch.setattr(bench.protocols, "__path__", [*bench.protocols.__path__, folder])
    monkeypatch.setattr(protocol_facts, "FOLDERS", [*protocol_facts.FOLDERS, Path(folder)])
    importlib.invalidate_caches()
    try:
        suite = load_suite(tmp_path / "prompts", "one-line")
        yield protocol_for(suite, "en", load_catalog(ROOT / "models.toml"))
    finally:
        sys.modules.pop("bench.protocols.one_line", None)


async def answer(request: ChatRequest) -> Reply:
    """One line of a player; of a judge a verdict in prose, and once a score off the scale at first."""
    if request.role == "player":
        return ok(f"Ask the weather. ({request.seed or request.model})")
    if "scheherazade" in request.messages[-1].content.lower() and request.sample == 0:
        return ok('{"reason": "More than all.", "wit": 11}')
    return ok(f"Well: {json.dumps({'reason': 'It rains.', 'wit': 7})}")


def test_the_page_holds_one_module_and_one_folder(files: dict[str, str]) -> None:
    assert {path.rpartition("/")[0] for path in files} == {"bench/protocols", "prompts/one_line"}
    assert sum(path.endswith(".py") for path in files) == 1
    assert "bench/protocols/one_line.toml" in files


@pytest.mark.usefixtures("quick_sites")
def test_the_example_runs_from_the_first_call_to_the_website(example: Protocol, tmp_path: Path) -> None:
    tree, suites = ResultsTree(tmp_path / "results"), all_suites(tmp_path / "prompts")
    chat, catalog = FakeChat(answer), example.catalog
    plan = make_plan(example, tree, PLAYERS, example.suite.judges)
    asyncio.run(run_plan(example, plan, tree, chat.ask))
    assert plan.calls() == 8
    assert chat.stats.asked == 8 + 2  # two verdicts were asked for again

    board = load_board(tree, "one-line", "en", prompts=suites).board
    write_board(tree, board)
    assert [(row.score, row.judgements_ok, row.judgements_repaired) for row in board.rows] == [(7, 2, 2)] * 2
    findings = audit_tree(tree, suites, catalog, strict=True).findings
    assert {finding.code for finding in findings} == {"repeated-calls"}  # those two verdicts

    build_site(tree, tmp_path / "site", models=catalog, jobs=1)
    pages = tmp_path / "site" / "boards" / "one-line" / "en"
    assert "on a scale of 0 to 10" in (pages / "index.html").read_text(encoding="utf-8")
    talk = next((pages / "players").glob("*/holmes.umbrella.html")).read_text(encoding="utf-8")
    assert "Whose umbrella is this?" in talk
    assert "It rains." in talk
    assert "7.00" in (pages / "audit.html").read_text(encoding="utf-8")


def test_the_example_reads_its_raw_replies_anew(example: Protocol) -> None:
    cell = example.cells(PLAYERS[0])[0]
    talk = asyncio.run(example.converse(cell, answer))
    verdict = asyncio.run(example.judge(talk, PLAYERS[0], answer))
    assert example.reread(verdict, talk) == verdict
