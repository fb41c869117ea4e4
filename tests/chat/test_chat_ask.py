"""From a request to a reply: what is sent, what is read, what is shared."""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from bench.catalog import LocalFile
from bench.chat import Chat, ChatRequest, Reply, ResponseCache
from bench.chat.answers import Answer as ReadAnswer
from bench.chat.answers import answer_from, usage_of
from bench.local import LocalServers
from tests.chat.conftest import KEY, Play, asked, catalog
from tests.scripted_faults import FAULTS, faulty, scripted
from tests.scripted_server import Answer, ScriptedServer, Seen, completion, plausible, plausible_text

CONNECTION_FAULTS = ("reset_before", "reset_during", "close_before", "truncated_body")
PRICES = {"prices": {"input": "2", "output": "10"}}


def test_an_answer_comes_with_its_facts(play: Play) -> None:
    played = play(lambda seen: completion("Boo.", seen), model=PRICES)
    reply = played.reply
    assert (reply.outcome, reply.text, reply.finish_reason) == ("ok", "Boo.", "stop")
    assert (reply.system_fingerprint, reply.served_model) == ("fp_scripted", "scripted")
    assert reply.usage is not None
    assert not reply.usage.estimated
    cost = (Decimal(2) * reply.usage.prompt_tokens + Decimal(10) * reply.usage.completion_tokens) / 1_000_000
    assert reply.cost == cost == played.stats.cost
    assert (reply.attempts, reply.cached) == (1, False)


def test_an_unknown_price_is_said(play: Play) -> None:
    played = play()
    assert played.reply.cost is None
    assert (played.stats.cost, played.stats.unpriced) == (Decimal(0), 1)


@pytest.mark.parametrize(
    ("fault", "outcome", "words"),
    [
        ("null_content", "empty", "blank"),
        ("blank_content", "empty", "blank"),
        ("only_reasoning", "empty", "reasoning"),
        ("length", "length", "token limit"),
        ("content_filter", "content_filter", "content filter"),
        ("refusal_field", "refused", "I cannot help"),
    ],
)
def test_odd_endings_are_outcomes(play: Play, fault: str, outcome: str, words: str) -> None:
    played = play(FAULTS[fault])
    assert played.reply.outcome == outcome
    assert words in played.reply.detail
    assert played.server.count == 1


def test_text_of_a_cut_off_answer_is_kept(play: Play) -> None:
    assert play(FAULTS["length"]).reply.text


def test_lone_surrogates_become_replacement_characters(play: Play) -> None:
    body = '{"choices": [{"message": {"content": "a\\ud800b \\ud83d\\ude00"}, "finish_reason": "stop"}]}'
    assert play(lambda seen: Answer(body)).reply.text == "a\ufffdb \U0001f600"


def test_missing_usage_is_estimated_and_marked(play: Play) -> None:
    usage = play(lambda seen: completion("привет" * 10, seen, usage=None)).reply.usage
    assert usage is not None
    assert usage.estimated
    assert usage.completion_tokens == 30


@pytest.mark.parametrize(
    "usage",
    [
        *({}, {"prompt_tokens": -1, "completion_tokens": 1}, {"prompt_tokens": "9"}, [], 7),
        {"prompt_tokens": 0, "completion_tokens": 9, "total_tokens": 9},
        {"prompt_tokens": 10**400, "completion_tokens": 2**40},
    ],
)
def test_unusable_usage_is_estimated(play: Play, usage: Any) -> None:
    got = play(lambda seen: completion("Boo.", seen, usage=usage)).reply.usage
    assert got is not None
    assert got.estimated


@pytest.mark.parametrize(
    ("usage", "prompt", "spoken", "reasoning"),
    [
        ({"total_tokens": 6100, "completion_tokens_details": {"reasoning_tokens": 5000}}, 1000, 5100, 5000),
        ({"total_tokens": 6100}, 1000, 5100, None),
        ({"total_tokens": 1100}, 1000, 100, None),
        ({"total_tokens": 5}, 1000, 100, None),
        ({"total_tokens": None}, 1000, 100, None),
        ({"completion_tokens_details": {"reasoning_tokens": 40}}, 1000, 100, 40),
        ({"completion_tokens_details": {"reasoning_tokens": 400}}, 1000, 500, 400),
        ({"reasoning_tokens": 400, "total_tokens": 1500}, 1000, 500, 400),
        ({"completion_tokens": None, "total_tokens": 1300}, 1000, 300, None),
        ({"prompt_tokens": None, "total_tokens": 1300}, 1200, 100, None),
        ({"completion_tokens": 0, "total_tokens": 1300}, 1000, 300, None),
    ],
)
def test_all_tokens_that_are_charged_are_counted(
    play: Play, usage: dict[str, Any], prompt: int, spoken: int, reasoning: int | None
) -> None:
    reported = {"prompt_tokens": 1000, "completion_tokens": 100, **usage}
    played = play(lambda seen: completion("Boo.", seen, usage=reported), model=PRICES)
    got = played.reply.usage
    assert got is not None
    assert (got.prompt_tokens, got.completion_tokens, got.reasoning_tokens) == (prompt, spoken, reasoning)
    assert not got.estimated
    assert played.stats.cost == (2 * Decimal(prompt) + 10 * Decimal(spoken)) / 1_000_000


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        (
            {"input_tokens": 10, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 50},
            (160, 5, 100),
        ),
        ({"prompt_tokens": 10, "total_tokens": 115, "cache_read_input_tokens": 100}, (110, 5, 100)),
        ({"prompt_tokens": 110, "total_tokens": 115, "cache_read_input_tokens": 100}, (110, 5, 100)),
        (
            {"prompt_tokens": 10, "total_tokens": 115, "prompt_tokens_details": {"cached_tokens": 100}},
            (110, 5, 100),
        ),
        ({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 100}}, (10, 5, None)),
        ({"prompt_tokens": 10, "prompt_cache_hit_tokens": 8}, (10, 5, 8)),
        ({"prompt_tokens": 10, "cached_tokens": 7}, (10, 5, 7)),
        ({"prompt_tokens": 10, "total_tokens": 10, "completion_tokens": None}, (10, 0, None)),
    ],
)
def test_cached_tokens_are_part_of_the_prompt(
    usage: dict[str, Any], counts: tuple[int, int, int | None]
) -> None:
    got = usage_of({"completion_tokens": 5, **usage}, asked().messages, "")
    assert (got.prompt_tokens, got.completion_tokens, got.cached_tokens) == counts
    assert not got.estimated


TEXT = {"type": "text", "text": "Boo."}


@pytest.mark.parametrize(
    "content",
    [
        *("Boo.", ["Boo."], TEXT, [TEXT], [{"text": "Boo."}], [{"type": "TEXT", "text": "Boo."}]),
        [{"type": "text", "text": {"value": "Boo."}}],
        [{"text": "Hm", "thought": True}, TEXT],
        [{"type": "thinking", "thinking": "Hm"}, TEXT],
    ],
)
@pytest.mark.parametrize("place", ["message", "delta"])
@pytest.mark.parametrize("finish", [{"finish_reason": "stop"}, {"finish_details": {"type": "stop"}}])
def test_the_text_of_an_answer_is_read_in_every_form(
    content: Any, place: str, finish: dict[str, Any]
) -> None:
    body = {"choices": [{place: {"content": content}, **finish}]}
    answer = answer_from(json.dumps(body).encode(), asked().messages, ())
    assert isinstance(answer, ReadAnswer)
    assert (answer.outcome, answer.text) == ("ok", "Boo.")


def test_a_finish_reason_that_is_a_number_is_kept() -> None:
    body = {"choices": [{"message": {"content": "Boo."}, "finish_reason": 4}]}
    answer = answer_from(json.dumps(body).encode(), asked().messages, ())
    assert isinstance(answer, ReadAnswer)
    assert (answer.outcome, answer.finish_reason) == ("unknown_ending", "4")


@pytest.mark.parametrize("stop", ["Error:", "\n[internal", "### Safety", "Max length:"])
def test_the_text_at_which_the_model_was_told_to_stop_is_no_finish_reason(stop: str) -> None:
    body = {"choices": [{"message": {"content": "Boo."}, "finish_reason": "stop", "stop_reason": stop}]}
    answer = answer_from(json.dumps(body).encode(), asked().messages, ())
    assert isinstance(answer, ReadAnswer)
    assert (answer.outcome, answer.finish_reason) == ("ok", "stop")


def test_a_stream_that_nobody_asked_for_is_read(play: Play) -> None:
    streamed, whole = play(FAULTS["streamed"]).reply, play().reply
    assert (streamed.outcome, streamed.text) == ("ok", whole.text)


@pytest.mark.parametrize(
    ("event", "outcome"),
    [
        ({"choices": [{"delta": {"content": 7}, "finish_reason": None}]}, "ok"),
        ({"choices": [{"delta": "Yes", "finish_reason": None}, "No"]}, "ok"),
        ({"choices": 3}, "ok"),
        ({"choices": [{"index": 1, "delta": {"content": "No"}, "finish_reason": "length"}]}, "ok"),
        ([1], "transport"),
    ],
)
def test_an_odd_event_in_a_stream_is_skipped_or_a_failure(play: Play, event: Any, outcome: str) -> None:
    last = {"choices": [{"delta": {"content": "Boo."}, "finish_reason": "stop"}]}
    text = "".join(f"data: {json.dumps(line)}\n\n" for line in (event, last))
    odd = Answer(text, headers={"content-type": "text/event-stream"})
    reply = play(scripted(None, *[odd] * 9), asked(), asked("More?")).replies[1]
    assert reply.outcome == outcome
    assert outcome != "ok" or reply.text == "Boo."


def test_content_parts_are_joined(play: Play) -> None:
    parts = [
        {"type": "thinking", "thinking": []},
        {"type": "text", "text": "Bo"},
        {"type": "text", "text": "o."},
    ]
    assert play(lambda seen: completion("", seen, content=parts)).reply.text == "Boo."


def test_two_equal_requests_in_flight_are_one_call(play: Play) -> None:
    played = play(plausible, asked(), asked(), asked(sample=1), together=True, delay=0.05, model=PRICES)
    assert played.server.count == 2
    assert [r.cached for r in played.replies] == [False, True, False]
    assert played.replies[0].text == played.replies[1].text
    assert played.stats.cost == sum(r.cost or 0 for r in played.replies if not r.cached)


def test_cancelling_one_waiter_leaves_the_other(play: Play) -> None:
    async def script(chat: Chat, server: ScriptedServer) -> list[Reply]:
        first, second = (asyncio.create_task(chat.ask(asked())) for _ in range(2))
        await asyncio.sleep(0.05)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        return [await second]

    played = play.run(script, delay=0.2, model=PRICES)
    assert (played.reply.outcome, played.server.count) == ("ok", 1)
    assert played.stats.cost > 0


def test_a_cancelled_call_is_given_up(play: Play) -> None:
    async def script(chat: Chat, server: ScriptedServer) -> list[Reply]:
        task = asyncio.create_task(chat.ask(asked()))
        while not server.count:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0.05)
        return [await chat.ask(asked("Another?"))]

    played = play.run(script, stalled_first, provider={"max_concurrent": 1})
    assert played.reply.outcome == "ok"


def stalled_first(seen: Seen) -> Answer:
    return FAULTS["stall"](seen) if seen.number == 1 else plausible(seen)


def test_a_cached_request_connects_to_nothing_and_needs_no_key(play: Play, tmp_path: Path) -> None:
    with ResponseCache(tmp_path / "cache") as cache:
        first = play(cache=cache, provider={"api_key_env": "P_KEY"}, environ={"P_KEY": KEY})

        async def again() -> tuple[Reply, Chat]:
            known = catalog(first.server.url, {"api_key_env": "P_KEY"})
            async with Chat(known, cache=cache, environ={}, dotenv=tmp_path / "none") as chat:
                return await chat.ask(asked()), chat

        reply, chat = asyncio.run(again())
    assert (reply.text, reply.cached, reply.attempts) == (first.reply.text, True, 0)
    assert (chat.stats.sent, chat.stats.cached) == (0, 1)


def test_a_call_asked_again_after_its_cancelling_is_shared_again(play: Play) -> None:
    async def script(chat: Chat, server: ScriptedServer) -> list[Reply]:
        task = asyncio.create_task(chat.ask(asked()))
        while not server.count:
            await asyncio.sleep(0.01)
        task.cancel()
        again = [asyncio.create_task(chat.ask(asked())) for _ in range(2)]
        await asyncio.wait([task])
        await asyncio.sleep(0.01)
        again.append(asyncio.create_task(chat.ask(asked())))
        return [await task for task in again]

    played = play.run(script, delay=0.2)
    assert played.server.count == 2
    assert [r.cached for r in played.replies] == [False, True, True]


def test_no_descriptor_is_left_open(play: Play) -> None:
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():
        pytest.skip("needs /proc")
    play()
    before = len(list(descriptors.iterdir()))
    requests = [asked(str(i)) for i in range(100)]
    played = play(
        faulty(0.3, 1, CONNECTION_FAULTS),
        *requests,
        together=True,
        delay=0.3,
        provider={"max_concurrent": 50},
    )
    assert played.server.most_at_once == 50
    assert len(list(descriptors.iterdir())) <= before


def test_every_reply_is_heard(play: Play) -> None:
    heard: list[tuple[ChatRequest, Reply]] = []
    played = play(on_call=lambda request, reply: heard.append((request, reply)))
    assert heard == [(asked(), played.reply)]


def test_the_embedded_server_starts_at_the_first_miss_only(tmp_path: Path) -> None:
    starts = []

    async def main(cache: ResponseCache) -> list[Reply]:
        async with ScriptedServer() as server:

            class Servers(LocalServers):
                def identity(self, file: LocalFile | None) -> str:
                    return "smol"

                def start(self, file: LocalFile | None) -> str:
                    starts.append(file)
                    return server.url

            async with Chat(catalog("embedded"), cache=cache, local=Servers(1)) as chat:
                return [await chat.ask(asked()), await chat.ask(asked("More?")), await chat.ask(asked())]

    with ResponseCache(tmp_path / "cache") as cache:
        replies = asyncio.run(main(cache))
        assert len(starts) == 1
        assert [r.cached for r in replies] == [False, False, True]
        assert all(r.cached for r in asyncio.run(main(cache)))  # another port, the same identity
        assert len(starts) == 1


def test_the_scripted_server_plays_all_roles(play: Play) -> None:
    talk = "Turn 1:\nuser: a\nTurn 2:\nuser: b\n" + '{"scores": []}'
    played = play(plausible, asked(talk), asked('{"next_utterance": ""}'), asked(talk))
    judge, interrogator, again = (r.text for r in played.replies)
    assert judge.count('"turn"') == 2
    assert "next_utterance" in interrogator
    assert judge == again == plausible_text(played.server.seen[0])
