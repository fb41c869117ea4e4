"""Two runs on one results tree that know nothing of each other: neither spoils what the other finished."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bench.chat.requests import ChatRequest, Reply
from bench.records import Judgement, messages_sha256
from bench.run.plan import make_plan
from bench.run.progress import RunReport
from bench.run.runner import Runner
from bench.run.storage import TreeStorage
from tests.tiny import FakeChat, Tiny, bad, bytes_below, good_text, make_tiny, ok

TALKS = 4


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    return make_tiny(tmp_path)


def runner(
    tiny: Tiny, name: str, *, slow: str = "", broken: bool = False, gate: asyncio.Event | None = None
) -> tuple[Runner, RunReport]:
    """A run whose player says something of its own; the ``slow`` role is slow, all wait for ``gate``."""

    async def answer(request: ChatRequest) -> Reply:
        await asyncio.sleep(0.05 if request.role == slow else 0)
        if gate is not None:
            await gate.wait()
        if broken:
            return bad("transport", detail="connection lost")
        text = good_text(request)
        return ok(f"{name}: {text}" if request.role == "player" else text)

    report = RunReport()
    protocol = tiny.protocol()
    return Runner(protocol, TreeStorage(protocol, tiny.tree), FakeChat(answer).ask, report), report


async def together(tiny: Tiny, *runners: Runner) -> None:
    plans = [make_plan(tiny.protocol(), tiny.tree, ["bard"], ["strict"]) for _ in runners]
    await asyncio.gather(*(one.run(plan) for one, plan in zip(runners, plans, strict=True)))


def judgements(tiny: Tiny) -> list[Judgement]:
    return list(tiny.tree.judgements("tiny", "en", "bard"))


@pytest.mark.parametrize("slow", ["", "interrogator", "judge"])
def test_a_judgement_is_always_of_the_conversation_beside_it(tiny: Tiny, slow: str) -> None:
    one, two = runner(tiny, "one"), runner(tiny, "two", slow=slow)
    asyncio.run(together(tiny, one[0], two[0]))
    hashes = {
        c.character + c.situation: messages_sha256(c.messages)
        for c in tiny.tree.conversations("tiny", "en", "bard")
    }
    assert len(hashes) == len(judgements(tiny)) == TALKS
    assert {j.character + j.situation: j.conversation_sha256 for j in judgements(tiny)} == hashes
    assert make_plan(tiny.protocol(), tiny.tree, ["bard"], ["strict"]).work == []


def test_what_another_run_has_finished_is_not_replaced(tiny: Tiny) -> None:
    gate = asyncio.Event()
    late, report = runner(tiny, "late", gate=gate)
    early, _ = runner(tiny, "early")
    kept: dict[str, bytes] = {}

    async def main() -> None:
        plan = make_plan(tiny.protocol(), tiny.tree, ["bard"], ["strict"])
        waiting = asyncio.create_task(late.run(plan))
        await early.run(make_plan(tiny.protocol(), tiny.tree, ["bard"], ["strict"]))
        kept.update(bytes_below(tiny.tree.root))
        gate.set()
        await waiting

    asyncio.run(main())
    assert bytes_below(tiny.tree.root) == kept
    assert b"late: " not in b"".join(kept.values())
    assert (report.conversations, report.judgements) == (TALKS, TALKS)


def test_a_failure_of_another_run_is_replaced_by_a_success(tiny: Tiny) -> None:
    broken, _ = runner(tiny, "broken", broken=True)
    good, _ = runner(tiny, "good", slow="interrogator")
    asyncio.run(together(tiny, broken, good))
    assert {c.status for c in tiny.tree.conversations("tiny", "en", "bard")} == {"complete"}
    assert [j.status for j in judgements(tiny)] == ["ok"] * TALKS


def test_a_failure_does_not_replace_the_success_of_another_run(tiny: Tiny) -> None:
    broken, _ = runner(tiny, "broken", slow="interrogator", broken=True)
    good, _ = runner(tiny, "good")
    asyncio.run(together(tiny, broken, good))
    assert {c.status for c in tiny.tree.conversations("tiny", "en", "bard")} == {"complete"}
