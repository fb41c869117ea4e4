"""Failures: what is tried again, how long is waited, and what it comes to in the end."""

from __future__ import annotations

import asyncio
import gzip
import socket
import traceback
from dataclasses import replace
from email.utils import formatdate
from time import monotonic, time

import pytest

from bench.chat import Chat, Reply, RetryPolicy
from bench.chat.faults import fault_in_success, fault_of
from bench.chat.secrets import redacted
from bench.chat.waits import duration, reset_in, wait_asked
from bench.chat.wire import LARGEST_ANSWER
from bench.errors import ProviderError
from tests.chat.conftest import KEY, QUICK, Play, asked, catalog
from tests.scripted_faults import FAULTS, faulty, scripted
from tests.scripted_server import Answer, ScriptedServer, Seen, completion, error, plausible

RETRIED = [
    "rate_limit",
    "status_500",
    "status_502",
    "status_503",
    "status_529",
    "reset_before",
    "reset_during",
    "close_before",
    "truncated_body",
    "invalid_body",
    "html_body",
    "empty_choices",
    "null_choices",
    "error_with_200",
]


@pytest.mark.parametrize("fault", RETRIED)
def test_passing_faults_are_recovered(play: Play, fault: str) -> None:
    played = play(scripted(fault, fault))
    assert (played.reply.outcome, played.reply.attempts, played.server.count) == ("ok", 3, 3)
    assert (played.stats.sent, played.stats.retried) == (3, 2)


@pytest.mark.parametrize("fault", RETRIED)
def test_lasting_faults_end_as_an_outcome_with_words(play: Play, fault: str) -> None:
    played = play(scripted(None, *[fault] * 9), asked(), asked("Again?"))
    reply = played.replies[1]
    assert reply.outcome == ("rate_limited" if fault == "rate_limit" else "transport")
    assert "after 4 attempts" in reply.detail
    assert (reply.attempts, reply.text, played.server.count) == (4, "", 5)


def test_a_reset_after_the_whole_reply_loses_nothing(play: Play) -> None:
    played = play(FAULTS["reset_after"], asked(), asked("More?"))
    assert [r.outcome for r in played.replies] == ["ok", "ok"]


@pytest.mark.parametrize("fault", ["stall", "slow"])
def test_stalls_and_slow_bytes_end_at_the_time_limit(play: Play, fault: str) -> None:
    start = monotonic()
    played = play(scripted(fault), provider={"timeout_seconds": 0.3})
    assert (played.reply.outcome, played.reply.attempts) == ("ok", 2)
    assert monotonic() - start < 2


@pytest.mark.parametrize("status", [408, 409, 425])
def test_statuses_that_pass_are_retried(play: Play, status: int) -> None:
    assert play(scripted(error(status))).reply.attempts == 2


@pytest.mark.parametrize(
    ("status", "hint"),
    [
        (401, "Check the key in P_KEY"),
        (402, "credit"),
        (403, "may use 'scripted'"),
        (404, "model = 'scripted' in [models.m]"),
        (405, "base_url"),
    ],
)
def test_what_the_user_must_mend_is_raised_at_once(play: Play, status: int, hint: str) -> None:
    said = f"Incorrect API key provided: {KEY}\nsecond line " + "x" * 500
    script = scripted(None, error(status, said))
    with pytest.raises(ProviderError) as caught:
        play(script, asked(), asked("More?"), provider={"api_key_env": "P_KEY"}, environ={"P_KEY": KEY})
    line = caught.value.line()
    assert f"HTTP {status}: Incorrect API key provided: [redacted] second line" in line
    assert hint in line
    assert "provider p" in line
    assert len(line) < 600
    assert KEY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("status", [400, 422])
def test_a_rejection_before_any_success_is_the_users_to_mend(play: Play, status: int) -> None:
    with pytest.raises(ProviderError, match="no such parameter"):
        play(scripted(error(status, "no such parameter")))


def test_a_rejection_after_a_success_is_an_outcome(play: Play) -> None:
    played = play(scripted(None, error(400, "odd")), asked(), asked("More?"))
    assert (played.replies[1].outcome, played.replies[1].detail) == ("rejected", "HTTP 400: odd")


@pytest.mark.parametrize(
    "answer",
    [
        error(400, "filtered", "content_filter"),
        error(400, "violates", "content_policy_violation"),
        error(403, "Your input was flagged by moderation"),
        replace(error(400, "filtered", "content_filter"), status=200),
    ],
)
def test_a_providers_filter_is_an_outcome_even_at_first(play: Play, answer: Answer) -> None:
    assert play(scripted(answer)).reply.outcome == "content_filter"


@pytest.mark.parametrize(
    ("code", "outcome"), [("rate_limit_exceeded", "ok"), (503, "ok"), (429, "ok"), (None, "ok")]
)
def test_error_objects_with_status_200_are_read_by_their_code(
    play: Play, code: str | int, outcome: str
) -> None:
    played = play(scripted(replace(error(200, "odd", code), status=200)))
    assert (played.reply.outcome, played.reply.attempts) == (outcome, 2)


@pytest.mark.parametrize("number", [401, 404, 429, 500])
def test_numbers_in_a_long_text_named_code_are_no_status(number: int) -> None:
    text = f"accept: */*; content-length: {number}; content-type: application/json; host: example.org"
    assert fault_in_success({"code": text}, ()).kind == "transport"
    assert fault_in_success({"code": f"HTTP {number}"}, ()) == fault_of(
        number, {"code": f"HTTP {number}"}, ()
    )


def test_a_wrong_key_told_with_status_200_is_raised(play: Play) -> None:
    with pytest.raises(ProviderError, match="HTTP 401"):
        play(scripted(replace(error(200, "bad key", "invalid_api_key"), status=200)))


def test_a_spent_quota_is_not_waited_for(play: Play) -> None:
    with pytest.raises(ProviderError, match="credit"):
        play(scripted(error(429, "You exceeded your current quota", "insufficient_quota")))


def test_a_redirect_is_a_wrong_address(play: Play) -> None:
    moved = Answer("", 308, {"location": "https://user:secret-word@elsewhere.example/v1"})
    with pytest.raises(ProviderError, match="redirected to https://elsewhere") as caught:
        play(scripted(moved))
    assert "secret-word" not in str(caught.value)


def test_an_address_that_is_none_is_told(play: Play) -> None:
    async def main() -> Reply:
        async with Chat(catalog("http://[x"), retry=QUICK, environ={}) as chat:
            return await chat.ask(asked())

    with pytest.raises(ProviderError, match="base_url"):
        asyncio.run(main())


def test_a_server_that_is_not_there_is_told_soon(play: Play) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"

    async def main() -> Reply:
        async with Chat(catalog(url), environ={}) as chat:
            return await chat.ask(asked())

    start = monotonic()
    with pytest.raises(ProviderError, match="no connection") as caught:
        asyncio.run(main())
    assert url in str(caught.value)
    assert monotonic() - start < 4


def test_a_server_that_went_away_is_an_outcome(play: Play) -> None:
    async def main() -> Reply:
        async with ScriptedServer() as server, Chat(catalog(server.url), retry=QUICK, environ={}) as chat:
            await chat.ask(asked())
            await server.__aexit__()
            return await chat.ask(asked("More?"))

    assert asyncio.run(main()).outcome == "transport"


# --- waits ---


def waits(**headers: str) -> float | None:
    return wait_asked({name.replace("_", "-"): value for name, value in headers.items()})


def test_retry_after_is_read_in_all_its_forms() -> None:
    assert waits(retry_after="7") == 7
    assert waits(retry_after="1.5") == 1.5
    assert waits(retry_after="2m") == 120
    assert waits(retry_after_ms="250", retry_after="7") == 0.25
    date = formatdate(time() + 20, usegmt=True)
    assert waits(retry_after=date) == pytest.approx(20, abs=2)
    skewed = formatdate(time() + 3620, usegmt=True)
    assert waits(retry_after=skewed, date=formatdate(time() + 3600, usegmt=True)) == 20
    assert waits(retry_after=formatdate(0, usegmt=True)) == 0


@pytest.mark.parametrize(
    "value", ["", "-3", "nan", "inf", "soon", "1e999", "Wed, 99 Foo 2020", "\ud800", "9" * 60_000]
)
def test_an_unreadable_retry_after_says_nothing(value: str) -> None:
    assert waits(retry_after=value) is None


def test_durations_are_read() -> None:
    assert [duration(t) for t in ("1s", "6m0s", "250ms", "1h2m3.5s", "2d")] == [1, 360, 0.25, 3723.5, 172800]
    assert [duration(t) for t in ("", "6", "6m0", "x1s")] == [None] * 4


def test_the_budget_that_is_spent_sets_the_wait() -> None:
    headers = {
        "x-ratelimit-reset-requests": "6m0s",
        "x-ratelimit-remaining-requests": "12",
        "x-ratelimit-reset-tokens": "250ms",
        "x-ratelimit-remaining-tokens": "0",
    }
    assert reset_in(headers) == 0.25
    assert reset_in({"x-ratelimit-reset-tokens": "1s"}) == 1
    assert reset_in({"x-ratelimit-reset": str(int(1000 * (time() + 5)))}) == pytest.approx(5, abs=1)
    assert reset_in({}) is None


@pytest.mark.parametrize(
    "headers",
    [{"retry-after": "0.4"}, {"retry-after-ms": "400"}, {"x-ratelimit-reset-requests": "400ms"}],
)
def test_a_wait_that_was_asked_for_is_kept(play: Play, headers: dict[str, str]) -> None:
    start = monotonic()
    played = play(scripted(Answer("", 429, headers)))
    assert played.reply.outcome == "ok"
    assert 0.4 <= monotonic() - start < 1.5


def test_an_absurd_wait_ends_the_call(play: Play) -> None:
    start = monotonic()
    reply = play(scripted("rate_limit_absurd")).reply
    assert (reply.outcome, reply.attempts) == ("rate_limited", 1)
    assert "86400 s" in reply.detail
    assert monotonic() - start < 1


def test_retries_end_at_the_total_time(play: Play) -> None:
    policy = RetryPolicy(attempts=100, total_seconds=0.5, first_wait=0.1, longest_backoff=0.1)
    start = monotonic()
    reply = play(lambda seen: error(500), retry=policy).reply
    assert reply.outcome == "transport"
    assert 1 < reply.attempts < 100
    assert monotonic() - start < 2


# --- sizes ---


def test_a_long_answer_is_read(play: Play) -> None:
    reply = play(lambda seen: completion("x" * 200_000)).reply
    assert (reply.outcome, len(reply.text)) == ("ok", 200_000)


def test_an_answer_far_beyond_its_token_limit_is_kept_in_part(play: Play) -> None:
    reply = play(FAULTS["huge"]).reply
    assert (reply.outcome, len(reply.text)) == ("length", asked().longest_text)


@pytest.mark.parametrize("announced", [True, False])
def test_an_answer_beyond_the_limit_is_not_read(play: Play, announced: bool) -> None:
    huge = completion("x" * (LARGEST_ANSWER + 1))
    way = huge if announced else replace(huge, way="unannounced")
    played = play(scripted(None, *[way] * 9), asked(), asked("More?"))
    assert "the answer has more than 8388608 bytes" in played.replies[1].detail


def test_an_answer_without_announced_length_is_read(play: Play) -> None:
    assert play(lambda seen: replace(plausible(seen), way="unannounced")).reply.outcome == "ok"


@pytest.mark.parametrize("times", [1, 2])
def test_a_compressed_answer_is_read_up_to_the_limit_of_its_text(play: Play, times: int) -> None:
    def packed(seen: Seen) -> Answer:
        body = completion("Boo.", seen).payload()
        if seen.number == 2:
            body += b" " * LARGEST_ANSWER
        for _ in range(times):
            body = gzip.compress(body)
        return Answer(body, headers={"content-encoding": ", ".join(["gzip"] * times)})

    played = play(packed, asked(), asked("More?"))
    assert [(r.text, r.attempts) for r in played.replies] == [("Boo.", 1), ("Boo.", 2)]


@pytest.mark.parametrize("coding", ["Identity", "", "utf-8"])
def test_a_coding_that_changes_nothing_sets_no_limit(play: Play, coding: str) -> None:
    played = play(lambda seen: replace(completion("x" * 200_000), headers={"content-encoding": coding}))
    assert len(played.reply.text) == 200_000


def test_deep_nesting_is_a_fault(play: Play) -> None:
    assert play(scripted(Answer("[" * 100_000))).reply.attempts == 2


def test_redaction_knows_shapes_of_keys() -> None:
    text = "sk-abcdef123456 Bearer abcdef123456 https://user:pw@host/?api_key=12345 AIza" + "x" * 30
    cleaned = redacted(text, ())
    for secret in ("abcdef123456", "user:pw", "12345", "AIzax"):
        assert secret not in cleaned


def test_six_shapes_of_planted_keys_appear_nowhere(play: Play, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)

    def tell_all(seen: Seen) -> Answer:
        return error(401, f"{seen.headers} {seen.path} {seen.raw!r}")

    async def main() -> Reply:
        async with ScriptedServer(tell_all) as server:
            url = server.url.replace("http://", "http://someone:planted-userinfo@") + "?token=planted-query"
            provider = {"headers": {"X-Auth": "Bearer planted-header"}, "api_key_env": "P_KEY"}
            async with Chat(catalog(url, provider), environ={"P_KEY": "planted-key-1234"}) as chat:
                return await chat.ask(asked())

    with pytest.raises(ProviderError) as caught:
        asyncio.run(main())
    everything = "".join(traceback.format_exception(caught.value)) + caplog.text
    assert "HTTP 401" in everything
    assert "planted" not in everything.replace("test_six_shapes_of_planted_keys", "")


def test_a_run_with_mixed_faults_ends_in_outcomes(play: Play) -> None:
    kinds = [k for k in FAULTS if k not in ("stall", "slow", "huge", "rate_limit_date", "rate_limit_seconds")]
    requests = [asked(f"Request {i}") for i in range(150)]
    played = play(
        faulty(0.3, 7, kinds), *requests, together=True, provider={"max_concurrent": 32}, retry=QUICK
    )
    assert len(played.replies) == 150
    assert sum(r.attempts for r in played.replies) == played.server.count == played.stats.sent
    assert all(r.detail for r in played.replies if r.outcome != "ok")
    again = play(
        faulty(0.3, 7, kinds), *requests, together=True, provider={"max_concurrent": 32}, retry=QUICK
    )
    assert [(r.outcome, r.text) for r in again.replies] == [(r.outcome, r.text) for r in played.replies]


def test_plausible_is_deterministic(play: Play) -> None:
    assert play(plausible).reply.text == play(plausible).reply.text
