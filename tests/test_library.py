"""The calls that ``import bench`` offers: they do what the commands do, also from a notebook's event loop."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import bench
from bench.errors import CatalogError
from bench.run.jobs import Job
from bench.run.progress import Listener, RunReport
from tests.scripted_server import ScriptedServer
from tests.tiny import CALLS, ROOT, Tiny, bytes_below, edit, make_tiny

TALKS = 4

pytestmark = pytest.mark.block_network(allowed_hosts=["127\\.0\\.0\\.1"])


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer().in_thread() as running:
        yield running


@pytest.fixture
def tiny(tmp_path: Path, server: ScriptedServer) -> Tiny:
    return make_tiny(tmp_path / "tiny", server.url)


def places(tiny: Tiny) -> dict[str, Any]:
    return {name: tiny.root / path for name, path in (("results", "results"), ("cache", "cache"))} | {
        "models": tiny.models,
        "prompts": tiny.prompts,
    }


class Heard(Listener):
    """Notes what it hears."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def planned(self, jobs: Sequence[Job]) -> None:
        self.events.append(f"planned {len(jobs)}")

    def started(self, report: RunReport) -> None:
        self.events.append(f"started {report.planned_calls}")

    def ended(self) -> None:
        self.events.append("ended")

    def warning(self, message: str) -> None:
        self.events.append(message)


def test_a_run_and_a_further_judge_without_the_command_line(tiny: Tiny, server: ScriptedServer) -> None:
    heard = Heard()
    report = bench.run_suite("tiny", **places(tiny), listener=heard)
    assert (report.conversations, report.judgements, report.stats.sent) == (TALKS, TALKS, server.count)
    assert heard.events == ["planned 1", f"started {sum(CALLS.values())}", "ended"]
    again = bench.judge_suite("tiny", judges=["lenient"], **places(tiny))
    assert (again.conversations, again.judgements) == (0, TALKS)
    loaded = bench.load_board(tiny.tree, "tiny", "en", prompts=tiny.prompts, resamples=20)
    assert [row.player for row in loaded.board.rows] == ["bard"]


def test_a_run_inside_a_running_event_loop(tiny: Tiny) -> None:
    """As in a notebook, whose cells are called by a loop."""

    async def cell() -> RunReport:
        return bench.run_suite("tiny", **places(tiny))

    assert asyncio.run(cell()).judgements == TALKS


def test_the_cost_limit_is_reported_and_not_raised(tiny: Tiny, server: ScriptedServer) -> None:
    report = bench.run_suite("tiny", max_cost=Decimal("0.0000001"), **places(tiny))
    assert report.budget_reached
    assert 0 < server.count < sum(CALLS.values())


def test_a_limit_that_cannot_be_kept_is_an_error_or_a_warning(tiny: Tiny, server: ScriptedServer) -> None:
    limited = {"players": ["actor"], "max_cost": Decimal(1), **places(tiny)}
    with pytest.raises(CatalogError, match="actor"):
        bench.run_suite("tiny", **limited)
    assert server.count == 0
    heard = Heard()
    bench.run_suite("tiny", unknown_prices=True, listener=heard, **limited)
    assert any("actor" in event for event in heard.events)


def test_stored_replies_are_re_parsed_without_a_call(tiny: Tiny, server: ScriptedServer) -> None:
    bench.run_suite("tiny", **places(tiny))
    before, calls = bytes_below(tiny.tree.root), server.count
    report = bench.judge_suite("tiny", reparse=True, **places(tiny))
    assert report.reparsed == {"tiny en": (TALKS, 0)}
    assert (bytes_below(tiny.tree.root), server.count) == (before, calls)


def test_options_that_contradict_each_other_are_refused(tiny: Tiny) -> None:
    with pytest.raises(ValueError, match="reparse"):
        bench.judge_suite("tiny", reparse=True, batch=True, **places(tiny))
    with pytest.raises(ValueError, match="cache"):
        bench.judge_suite("tiny", batch=True, **{**places(tiny), "cache": None})


def test_an_unknown_model_is_named_before_any_call(tiny: Tiny, server: ScriptedServer) -> None:
    edit(tiny.suite_file, 'models = ["bard"]', 'models = ["bart"]')
    with pytest.raises(CatalogError, match="bart"):
        bench.run_suite("tiny", **places(tiny))
    assert server.count == 0


def test_every_public_call_is_there_and_import_bench_loads_none_of_them() -> None:
    assert set(bench.__all__) <= set(dir(bench))
    for name in bench.__all__:
        assert getattr(bench, name).__doc__
    code = "import sys, bench; print(*[name for name in sys.modules if name.startswith('bench.')])"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []


def test_an_unknown_attribute_is_an_error() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        bench.nothing  # noqa: B018
