"""Providers' errors: a filter and the size of an input are recognised by any code and any wording."""

from __future__ import annotations

import json
from time import thread_time
from typing import Any

import pytest

from bench.chat.answers import Answer, answer_from
from bench.chat.faults import Fault, fault_of
from bench.errors import ProviderError
from bench.records import Message
from tests.chat.conftest import Play, asked
from tests.chat.provider_errors import ERRORS as OTHERS
from tests.chat.provider_errors import error
from tests.chat.provider_filters import FILTERS
from tests.chat.provider_wordings import WORDINGS
from tests.scripted_faults import scripted
from tests.scripted_server import Answer as Scripted

ERRORS = OTHERS | FILTERS

ASKED = (Message(role="user", content="Hello?"),)


def kind_of(fault: Fault | Answer) -> str:
    """The kind, and of a filter what it blocked."""
    kind = fault.outcome if isinstance(fault, Answer) else fault.kind
    return (fault.filtered or "answer") if kind == "content_filter" else kind


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_is_of_its_kind(name: str) -> None:
    status, body, expected = ERRORS[name]
    assert kind_of(fault_of(status, body, ())) == expected


@pytest.mark.parametrize("kind", WORDINGS)
def test_a_message_alone_says_what_an_error_is(kind: str) -> None:
    for message in WORDINGS[kind].strip().splitlines():
        for body in (error(message), {"message": message}, {"detail": message}, {"error": message}, message):
            assert kind_of(fault_of(400, body, ())) == kind, message


CONTENT = [name for name, (_, _, kind) in ERRORS.items() if kind in ("input", "answer", "too_long")]


@pytest.mark.parametrize("name", CONTENT)
def test_an_error_means_the_same_with_status_200(name: str) -> None:
    status, body, expected = ERRORS[name]
    if status in (413, 429, 451) or not isinstance(body, dict):
        pytest.skip("its status or its form says what it is")
    read = answer_from(json.dumps(body).encode(), ASKED, ())
    assert kind_of(read) == expected


@pytest.mark.parametrize("name", [n for n in CONTENT if ERRORS[n][2] != "too_long"])
def test_a_filter_is_sent_once_even_at_first(play: Play, name: str) -> None:
    status, body, _ = ERRORS[name]
    played = play(scripted(*[Scripted(body, status)] * 4))
    assert (played.reply.outcome, played.server.count) == ("content_filter", 1)
    assert played.reply.detail


def test_an_input_that_is_too_long_is_rejected_and_the_run_goes_on(play: Play) -> None:
    status, body, _ = ERRORS["openai context"]
    played = play(scripted(Scripted(body, status)), asked(), asked("More?"))
    assert [(r.outcome, r.attempts) for r in played.replies] == [("rejected", 1), ("ok", 1)]


def test_an_answer_of_an_earlier_run_shows_that_the_catalog_is_right(play: Play) -> None:
    status, body, _ = ERRORS["temperature"]
    assert play(scripted(Scripted(body, status)), proven=["m"]).reply.outcome == "rejected"


HARMLESS: list[Any] = [None, {}, "", [], False, 0, {"code": 0, "message": "success"}, {"message": None}]


@pytest.mark.parametrize("value", HARMLESS)
@pytest.mark.parametrize("place", ["body", "choice", "message"])
def test_an_empty_error_is_no_error(place: str, value: Any) -> None:
    assert kind_of(_with("error", value, place)) == "ok"


@pytest.mark.parametrize(
    "said", [{"code": 1, "msg": "success"}, {"code": "200 OK"}, {"status_code": 200, "message": "ok"}]
)
def test_a_code_of_success_is_no_error(said: dict[str, Any]) -> None:
    assert kind_of(answer_from(json.dumps({**json.loads(BODY), **said}).encode(), ASKED, ())) == "ok"


@pytest.mark.parametrize("said", [{"message": "x"}, {"msg": "x"}, {}])
def test_a_code_of_failure_beside_text_is_an_error(said: dict[str, Any]) -> None:
    body = {**json.loads(BODY), "code": "InternalError", **said}
    assert kind_of(answer_from(json.dumps(body).encode(), ASKED, ())) == "transport"


@pytest.mark.parametrize("place", ["body", "choice", "message", "elsewhere"])
@pytest.mark.parametrize("value", ["upstream died", {"code": 502, "message": "x"}, [{"message": "x"}], True])
def test_an_error_anywhere_wins_over_the_text(place: str, value: Any) -> None:
    assert kind_of(_with("error", value, place)) == "transport"


@pytest.mark.parametrize(
    "name", ["Error", "errorMessage", "exception", "failure", "upstream_error", "is_error"]
)
def test_an_error_has_many_names(name: str) -> None:
    assert kind_of(_with(name, "upstream died", "body")) == "transport"
    nothing: list[Any] = [None, "", False, {}, 0, 0.5, "No error.", "N/A"]
    for none in nothing:
        assert kind_of(_with(name, none, "body")) == "ok"


def _reported(source: str, blocked: bool) -> list[dict[str, Any]]:
    results = {"violence": {"filtered": blocked, "severity": "high"}}
    return [{"blocked": blocked, "source_type": source, "content_filter_results": results}]


@pytest.mark.parametrize(
    ("name", "value", "side"),
    [
        ("content_filter_results", {"violence": {"filtered": "true"}}, "answer"),
        ("contentFilterResult", {"violence": {"filtered": 1}}, "answer"),
        ("content_filter_results", {"violence": {"filtered": "false"}, "hate": {"filtered": 0}}, "ok"),
        ("content_filters", _reported("prompt", blocked=True), "input"),
        ("content_filters", _reported("completion", blocked=True), "answer"),
        ("content_filters", _reported("prompt", blocked=False), "ok"),
        ("inputAssessment", {"g": {"topicPolicy": {"topics": [{"action": "BLOCKED"}]}}}, "input"),
        ("outputAssessments", {"g": [{"topicPolicy": {"topics": [{"action": "BLOCKED"}]}}]}, "answer"),
        ("vertex_ai_safety_results", [[{"category": "x", "blocked": True}]], "answer"),
        ("safetyRatings", [{"category": "x", "probability": "HIGH"}], "ok"),
        ("output_sensitive", "0", "ok"),
        ("output_sensitive", 1, "answer"),
    ],
)
def test_a_filter_is_seen_in_every_form_of_its_report(name: str, value: Any, side: str) -> None:
    for place in ("body", "choice", "message"):
        assert kind_of(_with(name, value, place)) == side


def test_a_filter_that_did_not_run_blocks_nothing() -> None:
    not_run = {"error": {"code": "content_filter_error", "message": "The contents are not filtered"}}
    assert kind_of(_with("content_filter_results", not_run, "choice")) == "ok"


def _with(name: str, value: Any, place: str) -> Answer | Fault:
    """What a good answer is read as, with a field added in one place of its body."""
    message: dict[str, Any] = {"role": "assistant", "content": "Boo."}
    choice: dict[str, Any] = {"index": 0, "finish_reason": "stop", "message": message}
    body: dict[str, Any] = {"choices": [choice], "provider": {"name": "x"}}
    {"body": body, "choice": choice, "message": message, "elsewhere": body["provider"]}[place][name] = value
    return answer_from(json.dumps(body).encode(), ASKED, ())


def test_a_wait_in_the_body_is_kept() -> None:
    status, body, _ = ERRORS["quota of google"]
    assert fault_of(status, body, ()).wait == 32.5
    assert fault_of(status, body, (), 2.0).wait == 2.0


BODY = json.dumps(
    {"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "Ay."}}]}
)


@pytest.mark.parametrize("before", ["\ufeff", "\n\n", ": keep-alive\n\n: keep-alive\n", "\n:\n"])
def test_what_keeps_a_connection_alive_is_not_part_of_the_body(before: str) -> None:
    read = answer_from((before + BODY).encode(), ASKED, ())
    assert isinstance(read, Answer)
    assert (read.outcome, read.text) == ("ok", "Ay.")


EXHAUSTED = {"code": 429, "message": "Resource exhausted", "status": "RESOURCE_EXHAUSTED"}


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ([{"error": EXHAUSTED}], "rate_limited"),
        ({"code": "Throttling.RateQuota", "message": "Requests rate limit exceeded"}, "rate_limited"),
        ({"code": "Throttling.AllocationQuota", "message": "Allocated quota exceeded"}, "rate_limited"),
        ({"error": {"type": "overloaded_error", "message": "Overloaded"}}, "transport"),
    ],
)
def test_an_error_with_status_200_is_of_its_kind(error: object, kind: str) -> None:
    assert kind_of(answer_from(json.dumps(error).encode(), ASKED, ())) == kind


NATIVE: dict[str, str] = {
    "Anthropic": json.dumps(
        {"type": "message", "content": [{"type": "text", "text": "Boo."}], "stop_reason": "end_turn"}
    ),
    "Anthropic's stream": 'event: a\ndata: {"type": "message_start", "message": {"content": []}}\n\n',
    "Ollama": json.dumps({"message": {"role": "assistant", "content": "Boo."}, "done": True}),
    "Ollama's stream": '{"message": {"content": "B"}, "done": false}\n' * 2,
    "Gemini": json.dumps(
        {"candidates": [{"content": {"parts": [{"text": "Boo."}]}, "finishReason": "STOP"}]}
    ),
    "Cohere": json.dumps(
        {"message": {"content": [{"type": "text", "text": "Boo."}]}, "finish_reason": "COMPLETE"}
    ),
    "Responses": json.dumps({"object": "response", "status": "completed", "output": [{"type": "message"}]}),
    "DashScope": json.dumps({"output": {"text": "Boo.", "finish_reason": "stop"}, "request_id": "1"}),
    "Hugging Face": json.dumps([{"generated_text": "Boo."}]),
    "a wrapper": json.dumps({"code": 0, "data": json.loads(BODY)}),
    "completions": json.dumps({"choices": [{"text": "Boo.", "finish_reason": "stop"}]}),
}


@pytest.mark.parametrize("api", NATIVE)
def test_the_format_of_another_api_stops_the_run_and_says_what_to_do(play: Play, api: str) -> None:
    with pytest.raises(ProviderError, match="not of OpenAI's chat completions") as caught:
        play(scripted(*[Scripted(NATIVE[api], 200)] * 3))
    assert "base_url" in caught.value.hint


@pytest.mark.parametrize(
    "error",
    [
        "model 'llama3.1:8b' not found, try pulling it first",
        "Incorrect API key provided",
        "Insufficient credits",
    ],
)
def test_a_users_mistake_with_status_200_stops_the_run(error: str) -> None:
    assert kind_of(answer_from(json.dumps({"error": error}).encode(), ASKED, ())) == "user"


@pytest.mark.parametrize(
    "piece", ["token", "content ", "exceed ", "prompt_", "limit ", "fail", "violat", "превыша"]
)
def test_a_long_error_is_read_at_once(piece: str) -> None:
    started = thread_time()
    fault_of(400, {"error": piece * (60_000 // len(piece))}, ())
    assert thread_time() - started < 2
