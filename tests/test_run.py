"""Runs: in what order, when judged, how they stop, and that what was finished stays."""

from __future__ import annotations

import asyncio
import errno
import os
import time
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pytest

from bench.chat.requests import ChatRequest, Reply
from bench.errors import CatalogError, ProviderError, StorageError
from bench.records import Conversation, Judgement
from bench.run.plan import make_plan
from bench.run.progress import RunReport
from bench.run.runner import run_plan
from tests.tiny import CALLS, COST, FakeChat, Tiny, bad, bytes_below, good_text, make_tiny, ok

TALKS = 4


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    return make_tiny(tmp_path)


def run(
    tiny: Tiny,
    chat: FakeChat,
    *,
    players: Sequence[str] = ("bard",),
    judges: Sequence[str] = ("strict",),
) -> RunReport:
    protocol = tiny.protocol()
    plan = make_plan(protocol, tiny.tree, players, judges)
    return asyncio.run(run_plan(protocol, plan, tiny.tree, chat.ask))


def conversations(tiny: Tiny, player: str = "bard") -> list[Conversation]:
    return list(tiny.tree.conversations("tiny", "en", player))


def judgements(tiny: Tiny, player: str = "bard") -> list[Judgement]:
    return list(tiny.tree.judgements("tiny", "en", player))


async def good(request: ChatRequest) -> Reply:
    await asyncio.sleep(0)
    return ok(good_text(request))


def test_a_run_writes_every_conversation_and_judgement(tiny: Tiny) -> None:
    chat = FakeChat()
    report = run(tiny, chat)
    assert (report.conversations, report.judgements) == (TALKS, TALKS)
    assert (report.conversations_failed, report.judgements_failed) == (0, 0)
    assert [c.status for c in conversations(tiny)] == ["complete"] * TALKS
    assert [j.status for j in judgements(tiny)] == ["ok"] * TALKS


def test_no_call_is_made_twice(tiny: Tiny) -> None:
    chat = FakeChat()
    run(tiny, chat)
    assert {role: len(chat.script.of(role)) for role in CALLS} == CALLS


def test_a_second_run_asks_nothing_and_leaves_every_byte(tiny: Tiny) -> None:
    run(tiny, FakeChat())
    before = bytes_below(tiny.root)
    stamps = {path: path.stat().st_mtime_ns for path in tiny.tree.root.rglob("*")}
    chat = FakeChat()
    run(tiny, chat)
    assert chat.stats.asked == 0
    assert bytes_below(tiny.root) == before
    assert {path: path.stat().st_mtime_ns for path in tiny.tree.root.rglob("*")} == stamps


def test_two_runs_of_equal_answers_are_equal_bytes(tmp_path: Path) -> None:
    trees = []
    for name in ("one", "two"):
        tiny = make_tiny(tmp_path / name)
        run(tiny, FakeChat(good if name == "two" else None))
        trees.append(bytes_below(tiny.tree.root))
    assert trees[0] == trees[1]


def test_no_temporary_file_is_left(tiny: Tiny) -> None:
    run(tiny, FakeChat())
    assert not list(tiny.root.rglob(".tmp-*"))


# --- order -----------------------------------------------------------------------------------------------


def test_the_first_request_does_not_wait_until_all_conversations_have_begun(tiny: Tiny) -> None:
    """A request takes several steps of the event loop before it is sent."""
    begun, sent = 0, []

    async def stepwise(request: ChatRequest) -> Reply:
        nonlocal begun
        begun += 1
        for _ in range(3):
            await asyncio.sleep(0)
        sent.append(begun)
        return ok(good_text(request))

    protocol = tiny.protocol()
    plan = make_plan(protocol, tiny.tree, ("bard",), ("strict",))
    assert len(plan.work) == TALKS
    asyncio.run(run_plan(protocol, plan, tiny.tree, stepwise))
    assert sent[0] < TALKS


def test_a_judge_starts_as_soon_as_a_conversation_has_ended(tiny: Tiny) -> None:
    """The long conversation of one character is held up until a short one has been judged."""
    judged = asyncio.Event()

    async def answer(request: ChatRequest) -> Reply:
        text = " ".join(m.content for m in request.messages)
        if request.role == "judge":
            judged.set()
        elif "SITUATION storm" in text and request.role == "interrogator":
            await asyncio.wait_for(judged.wait(), 20)
        return ok(good_text(request))

    assert run(tiny, FakeChat(answer)).judgements == TALKS


def test_judges_of_one_conversation_work_side_by_side(tiny: Tiny) -> None:
    at_once = most = 0

    async def answer(request: ChatRequest) -> Reply:
        nonlocal at_once, most
        if request.role == "judge":
            at_once += 1
            most = max(most, at_once)
            await asyncio.sleep(0.02)
            at_once -= 1
        return ok(good_text(request))

    run(tiny, FakeChat(answer), judges=("strict", "lenient"))
    assert most >= 2


def test_conversations_run_side_by_side(tiny: Tiny) -> None:
    waiting = 0
    all_here = asyncio.Event()

    async def answer(request: ChatRequest) -> Reply:
        nonlocal waiting
        if request.role == "interrogator" and not all_here.is_set():
            waiting += 1
            if waiting == TALKS:
                all_here.set()
            await asyncio.wait_for(all_here.wait(), 20)
        return ok(good_text(request))

    assert run(tiny, FakeChat(answer)).conversations == TALKS


def test_the_first_questions_are_of_the_longest_conversations(tiny: Tiny) -> None:
    chat = FakeChat(good)
    run(tiny, chat)
    first = [p for p in chat.script.prompts("interrogator") if "the user writes first" in p]
    assert ["storm" in prompt for prompt in first] == [True, True, False, False]


# --- failures --------------------------------------------------------------------------------------------


def test_a_failed_conversation_is_kept_and_gets_no_judge(tiny: Tiny) -> None:
    async def answer(request: ChatRequest) -> Reply:
        if request.role == "player" and "Anna" in request.messages[0].content:
            return bad("content_filter", detail="stopped")
        return ok(good_text(request))

    chat = FakeChat(answer)
    report = run(tiny, chat)
    assert (report.conversations, report.conversations_failed, report.judgements) == (TALKS, 2, 2)
    assert sorted(c.status for c in conversations(tiny)) == ["complete", "complete", "failed", "failed"]
    assert {j.character for j in judgements(tiny)} == {"bruno"}


def test_a_failed_judgement_is_kept_beside_the_good_one(tiny: Tiny) -> None:
    async def answer(request: ChatRequest) -> Reply:
        return bad("refused") if request.model == "lenient" else ok(good_text(request))

    report = run(tiny, FakeChat(answer), judges=("strict", "lenient"))
    assert (report.judgements, report.judgements_failed) == (2 * TALKS, TALKS)
    assert {(j.judge, j.status) for j in judgements(tiny)} == {("strict", "ok"), ("lenient", "failed")}


def test_the_failed_is_replaced_by_a_later_success(tiny: Tiny) -> None:
    async def broken(request: ChatRequest) -> Reply:
        return bad("transport", detail="connection lost")

    run(tiny, FakeChat(broken))
    assert [c.status for c in conversations(tiny)] == ["failed"] * TALKS
    run(tiny, FakeChat())
    assert [c.status for c in conversations(tiny)] == ["complete"] * TALKS
    assert len(judgements(tiny)) == TALKS


# --- stops -----------------------------------------------------------------------------------------------


def test_a_budget_stops_the_run_cleanly(tiny: Tiny) -> None:
    chat = FakeChat(good, COST * 12)
    report = run(tiny, chat)
    assert report.budget_reached
    assert 12 <= chat.stats.asked < sum(CALLS.values())
    assert chat.stats.cost <= COST * (12 + TALKS)
    assert report.conversations < TALKS


def test_a_budget_lets_calls_in_flight_end(tiny: Tiny) -> None:
    """One dear call ends first; the others are under way and are waited for."""
    ended: list[str] = []

    async def answer(request: ChatRequest) -> Reply:
        first = not chat.script.asked[1:]
        await asyncio.sleep(0.01 if first else 0.05)
        ended.append(request.role)
        return ok(good_text(request), cost=Decimal(1) if first else COST)

    chat = FakeChat(answer, Decimal(1))
    assert run(tiny, chat).budget_reached
    assert len(ended) == chat.stats.asked == TALKS
    assert chat.in_flight == 0


def test_a_run_goes_on_where_its_budget_ended(tiny: Tiny) -> None:
    run(tiny, FakeChat(good, COST * 24))
    before = bytes_below(tiny.tree.root)
    run(tiny, FakeChat(good))
    after = bytes_below(tiny.tree.root)
    assert len(conversations(tiny)) == len(judgements(tiny)) == TALKS
    assert {name: after[name] for name in before} == before


def test_a_budget_that_is_not_reached_changes_nothing(tiny: Tiny) -> None:
    report = run(tiny, FakeChat(good, Decimal(100)))
    assert (report.budget_reached, report.judgements) == (False, TALKS)


def test_calls_of_unknown_price_do_not_use_up_a_budget(tiny: Tiny) -> None:
    async def answer(request: ChatRequest) -> Reply:
        return ok(good_text(request), cost=None)

    assert not run(tiny, FakeChat(answer, COST)).budget_reached


@pytest.mark.parametrize("error", [ProviderError("no API key"), StorageError("disk full")])
def test_an_error_that_only_the_user_can_mend_stops_the_run(tiny: Tiny, error: Exception) -> None:
    calls = 0

    async def answer(request: ChatRequest) -> Reply:
        nonlocal calls
        calls += 1
        await asyncio.sleep(0)
        if calls == 6:
            raise error
        return ok(good_text(request))

    with pytest.raises(type(error), match=str(error)):
        run(tiny, FakeChat(answer))
    assert calls <= 6 + TALKS


def test_what_was_finished_before_an_error_is_kept(tiny: Tiny) -> None:
    async def answer(request: ChatRequest) -> Reply:
        text = " ".join(m.content for m in request.messages)
        if "SITUATION storm" in text:
            while len(judgements(tiny)) < 2:
                await asyncio.sleep(0.01)
            raise ProviderError("no API key")
        return ok(good_text(request))

    with pytest.raises(ProviderError):
        run(tiny, FakeChat(answer))
    assert [c.situation for c in conversations(tiny)] == ["hello", "hello"]
    assert [j.situation for j in judgements(tiny)] == ["hello", "hello"]


def test_a_judge_in_flight_is_waited_for_when_another_judge_meets_an_error(tiny: Tiny) -> None:
    async def answer(request: ChatRequest) -> Reply:
        if request.model == "lenient":
            raise ProviderError("no such model")
        if request.role == "judge":
            await asyncio.sleep(0.1)
        return ok(good_text(request))

    with pytest.raises(ProviderError, match="no such model"):
        run(tiny, FakeChat(answer), judges=("lenient", "strict"))
    assert {j.judge for j in judgements(tiny)} == {"strict"}


def test_an_unfinished_conversation_leaves_no_file(tiny: Tiny) -> None:
    calls = 0

    async def answer(request: ChatRequest) -> Reply:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise ProviderError("no API key")
        return ok(good_text(request))

    with pytest.raises(ProviderError):
        run(tiny, FakeChat(answer))
    assert bytes_below(tiny.tree.root) == {}


def test_a_full_disk_stops_the_run_with_no_half_file(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    writes = 0
    sync = os.fsync

    def full(number: int) -> None:
        nonlocal writes
        writes += 1
        if writes > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(number)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="No space left"):
        run(tiny, FakeChat(good))
    files = bytes_below(tiny.tree.root)
    assert len(files) == 2
    assert all(data.endswith(b"}\n") for data in files.values())


def test_a_mistake_in_a_template_stops_the_run_at_once(tiny: Tiny) -> None:
    (tiny.prompts / "pingpong_v2" / "judge.jinja").write_text("{{ nobody }}", encoding="utf-8")
    with pytest.raises(CatalogError, match="nobody"):
        run(tiny, FakeChat(good))


def test_a_cancelled_run_stops_its_calls_and_keeps_what_is_finished(tiny: Tiny) -> None:
    async def answer(request: ChatRequest) -> Reply:
        if "SITUATION storm" in " ".join(m.content for m in request.messages):
            await asyncio.sleep(3600)
        return ok(good_text(request))

    chat = FakeChat(answer)

    async def main() -> None:
        protocol = tiny.protocol()
        plan = make_plan(protocol, tiny.tree, ["bard"], ["strict"])
        task = asyncio.create_task(run_plan(protocol, plan, tiny.tree, chat.ask))
        while len(judgements(tiny)) < 2:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert chat.in_flight == 0
    assert len(conversations(tiny)) == len(judgements(tiny)) == 2


def test_a_cancelled_run_ends_the_write_that_is_under_way(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = asyncio.Event()
    sync = os.fsync

    async def main() -> None:
        loop = asyncio.get_running_loop()

        def slow(number: int) -> None:
            loop.call_soon_threadsafe(started.set)
            time.sleep(0.2)
            sync(number)

        monkeypatch.setattr(os, "fsync", slow)
        protocol = tiny.protocol()
        plan = make_plan(protocol, tiny.tree, ["bard"], ["strict"])
        task = asyncio.create_task(run_plan(protocol, plan, tiny.tree, FakeChat(good).ask))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert conversations(tiny)
    assert not list(tiny.root.rglob(".tmp-*"))


def test_progress_never_counts_more_calls_than_it_says_there_are() -> None:
    """A plan has no second asks, which a model that cannot be read gets."""
    report = RunReport(planned_calls=1)
    assert "calls 0/1" in report.line(report.started)
    report.stats.outcomes["ok"] += 4
    assert "calls 4/4" in report.line(report.started)
    assert " · left " in report.line(report.started + 90)
    assert report.line(report.started + 90, ended=True).endswith("took 1m30s")
