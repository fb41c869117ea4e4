"""Replies far longer than they may be: what is kept of them, and that they hold up nothing else."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from time import thread_time

import pytest

from bench.catalog import load_catalog
from bench.chat import Chat, ChatRequest, Reply
from bench.chat.answers import Answer, answer_from, within
from bench.records import Message, Role, Usage
from tests.scripted_server import Answer as Scripted
from tests.scripted_server import ScriptedServer, completion
from tests.tiny import make_tiny

USAGE = Usage(prompt_tokens=1, completion_tokens=1)


def request(role: Role = "player", number: int = 0, **parameters: int) -> ChatRequest:
    return ChatRequest(
        "bard", role, (Message(role="user", content=f"Hello {number}"),), parameters=dict(parameters)
    )


def test_the_limit_follows_the_token_limit() -> None:
    limits = [request(max_tokens=count).longest_text for count in (100, 1000, 10_000)]
    assert limits == sorted(set(limits))
    assert request().longest_text > limits[-1]
    assert all(limit > 4 * count for limit, count in zip(limits, (100, 1000, 10_000), strict=True))


def test_a_text_within_the_limit_is_kept_as_it_is() -> None:
    answer = Answer(outcome="ok", text="x" * 10, usage=USAGE)
    assert within(answer, 10) is answer


@pytest.mark.parametrize("outcome", ["ok", "unknown_ending", "length"])
def test_a_longer_text_is_cut_off(outcome: str) -> None:
    answer = Answer.model_validate({"outcome": outcome, "text": "x" * 11, "usage": USAGE})
    cut = within(answer, 10)
    assert (cut.outcome, cut.text) == ("length", "x" * 10)


@pytest.mark.parametrize("field", ["reasoning", "tool_arguments", "refusal"])
def test_the_other_texts_are_cut_alone(field: str) -> None:
    answer = Answer.model_validate({"outcome": "ok", "text": "Hm.", "usage": USAGE, field: "x" * 11})
    cut = within(answer, 10)
    assert (cut.outcome, cut.text, getattr(cut, field)) == ("ok", "Hm.", "x" * 10)


async def longest_block(done: asyncio.Event) -> float:
    """The longest that the thread of the event loop computed without letting others run, until ``done``."""
    longest = 0.0
    while not done.is_set():
        started = thread_time()
        await asyncio.sleep(0)
        longest = max(longest, thread_time() - started)
    return longest


@pytest.mark.parametrize("role", ["player", "interrogator", "judge"])
def test_long_replies_do_not_hold_up_the_event_loop(tmp_path: Path, role: Role) -> None:
    text = '{"a": "he said "no" and ' * (6 * 2**20 // 24)
    body = json.dumps(completion(text).body).encode()
    requests = [request(role, number, max_tokens=100) for number in range(4)]

    async def ask(url: str) -> tuple[list[Reply], float]:
        async with Chat(load_catalog(make_tiny(tmp_path / "tiny", url).models)) as chat:
            await chat.ask(request(role, 99, max_tokens=100))  # loads the client
            done = asyncio.Event()
            watching = asyncio.create_task(longest_block(done))
            replies = await asyncio.gather(*map(chat.ask, requests))
            done.set()
            return replies, await watching

    with ScriptedServer(lambda seen: Scripted(body)).in_thread() as server:
        replies, blocked = asyncio.run(ask(server.url))
    started = thread_time()
    answer_from(body, requests[0].messages, ())
    assert blocked < (thread_time() - started) / 2  # reading even one of them would take longer
    assert {(reply.outcome, len(reply.text)) for reply in replies} == {("length", requests[0].longest_text)}
