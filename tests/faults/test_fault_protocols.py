"""Every fault of a provider in every role of the other protocols: a record each, and the run goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.chat import Chat
from bench.records import digest_of
from bench.run.plan import make_plan
from bench.run.progress import RunReport
from bench.run.runner import run_plan
from tests.faults.fault_cases import QUICK, SLOW_FAULTS, TIME_LIMIT
from tests.other_benches import Other, make_likeness, make_v1
from tests.scripted_server import FAULTS, Answer, ScriptedServer, Seen, plausible
from tests.tiny import edit

pytestmark = pytest.mark.block_network(allowed_hosts=["127\\.0\\.0\\.1", "localhost"])

CASES: dict[str, tuple[Callable[[Path, str], Other], str]] = {
    "v1 player": (make_v1, "bard-1"),
    "v1 interrogator": (make_v1, "asker-1"),
    "likeness player": (make_likeness, "bard-1"),
    "likeness judge": (make_likeness, "strict-1"),
}
HARMLESS = {"no_usage", "reasoning_block", "fences", "prose_around", "single_quotes", "trailing_comma"}
"""Read as they come or after a repair, in every role."""


async def ended(case: str, fault: str, folder: Path) -> tuple[Other, RunReport]:
    """One cell's run, in which ``fault`` befalls one model's every call."""
    make, model = CASES[case]

    def answer(seen: Seen) -> Answer:
        return FAULTS[fault](seen) if seen.body["model"] == model else plausible(seen)

    async with ScriptedServer(answer, record=False) as server:
        other = make(folder, server.url)
        if fault in SLOW_FAULTS:
            edit(other.models, "timeout_seconds = 20", f"timeout_seconds = {TIME_LIMIT}")
        protocol, catalog, report = other.made(), other.catalog(), RunReport()
        plan = make_plan(protocol, other.tree, ["bard"], protocol.suite.judges)
        plan.work[:] = [item for item in plan.work if item.cell == other.first()]
        async with Chat(catalog, retry=QUICK, environ={}, dotenv=folder / ".env") as chat:
            await run_plan(protocol, plan, other.tree, chat.ask, report)
    return other, report


@pytest.mark.parametrize("case", CASES)
def test_every_fault_is_read_or_a_recorded_failure(case: str, tmp_path: Path) -> None:
    async def main() -> list[tuple[str, Other, RunReport]]:
        runs = [ended(case, fault, tmp_path / fault) for fault in FAULTS]
        made = await asyncio.gather(*runs)
        return [(fault, *one) for fault, one in zip(FAULTS, made, strict=True)]

    for fault, other, report in asyncio.run(main()):
        protocol, cell = other.made(), other.first()
        talk = other.tree.conversation(cell)
        assert talk is not None, fault
        assert talk.digest == digest_of(talk)
        verdict = other.tree.judgement(cell, protocol.suite.judges[0])
        failure = talk.failure or (verdict.failure if verdict else None)
        assert report.conversations_failed + report.judgements_failed == (failure is not None), fault
        if failure is not None:
            assert failure.reason, fault
            assert fault not in HARMLESS, fault
        else:
            assert verdict is not None
            assert len(verdict.turns) == protocol.verdicts_due(talk)
            assert protocol.reread(verdict, talk) == verdict
