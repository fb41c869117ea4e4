"""Every fault of a provider in every role of the other protocols: a record each, and the run goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.chat import Chat
from bench.protocols import Protocol, protocol_for
from bench.records import digest_of
from bench.results import ResultsTree
from bench.run.plan import make_plan
from bench.run.progress import RunReport
from bench.run.runner import run_plan
from bench.suites import load_suite
from tests.faults.fault_cases import QUICK, SLOW_FAULTS, TIME_LIMIT
from tests.other_benches import Other, make_likeness, make_v1
from tests.scripted_faults import FAULTS
from tests.scripted_server import Answer, ScriptedServer, Seen, plausible
from tests.tiny import served_at

pytestmark = pytest.mark.block_network(allowed_hosts=["127\\.0\\.0\\.1", "localhost"])

CASES: dict[str, tuple[Callable[[Path, str], Other], str]] = {
    "v1 player": (make_v1, "bard-1"),
    "v1 interrogator": (make_v1, "asker-1"),
    "likeness player": (make_likeness, "bard-1"),
    "likeness judge": (make_likeness, "strict-1"),
}
HARMLESS = {"no_usage", "reasoning_block", "fences", "prose_around", "single_quotes", "trailing_comma"}
"""Read as they come or after a repair, in every role."""


async def ended(protocol: Protocol, tree: ResultsTree) -> RunReport:
    """The run of the first cell."""
    report, cell = RunReport(), protocol.cells("bard")[0]
    plan = make_plan(protocol, tree, ["bard"], protocol.suite.judges)
    plan.work[:] = [item for item in plan.work if item.cell == cell]
    async with Chat(protocol.catalog, retry=QUICK, environ={}, dotenv=tree.root / ".env") as chat:
        await run_plan(protocol, plan, tree, chat.ask, report)
    return report


@pytest.mark.parametrize("case", CASES)
def test_every_fault_is_read_or_a_recorded_failure(case: str, tmp_path: Path) -> None:
    """Each fault befalls every call of one model; the path of a request says which fault."""
    make, model = CASES[case]
    other = make(tmp_path / "other", "http://127.0.0.1:9/v1")
    suite, catalog = load_suite(other.prompts, other.suite), other.catalog()
    protocol = protocol_for(suite, "en", catalog)

    def answer(seen: Seen) -> Answer:
        fault = seen.path.split("/")[1]
        return FAULTS[fault](seen) if seen.body["model"] == model else plausible(seen)

    async def main() -> list[RunReport]:
        async with ScriptedServer(answer, record=False) as server:
            runs = []
            for fault in FAULTS:
                changes = {"timeout_seconds": TIME_LIMIT} if fault in SLOW_FAULTS else {}
                served = served_at(catalog, server.url.replace("/v1", f"/{fault}/v1"), **changes)
                runs.append(ended(protocol_for(suite, "en", served), ResultsTree(tmp_path / fault)))
            return await asyncio.gather(*runs)

    for fault, report in zip(FAULTS, asyncio.run(main()), strict=True):
        tree, cell = ResultsTree(tmp_path / fault), protocol.cells("bard")[0]
        talk = tree.conversation(cell)
        assert talk is not None, fault
        assert talk.digest == digest_of(talk)
        verdict = tree.judgement(cell, protocol.suite.judges[0])
        failure = talk.failure or (verdict.failure if verdict else None)
        assert report.conversations_failed + report.judgements_failed == (failure is not None), fault
        if failure is not None:
            assert failure.reason, fault
            assert fault not in HARMLESS, fault
        else:
            assert verdict is not None
            assert len(verdict.turns) == protocol.verdicts_due(talk)
            assert protocol.reread(verdict, talk) == verdict
