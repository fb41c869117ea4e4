"""Which recorded reply a request gets: the one to its own body, or none at all."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from vcr.errors import CannotOverwriteExistingCassetteException

from bench.chat import ChatRequest
from bench.records import Message
from tests.recorded.conftest import Play

QUESTIONS = ("Name a bird.", "Name a fish.", "Name a tree.", "Name a star.")


def asked(question: str) -> ChatRequest:
    return ChatRequest(
        "small", "player", (Message(role="user", content=question),), {"max_tokens": 12}, seed=7
    )


def together(play: Play, questions: tuple[str, ...]) -> dict[str, str]:
    """What was answered to each question, all of them asked at the same time."""

    async def ask() -> dict[str, str]:
        async with play.chat() as chat:
            replies = await asyncio.gather(*(chat.ask(asked(question)) for question in questions))
        return {question: reply.text for question, reply in zip(questions, replies, strict=True)}

    return asyncio.run(ask())


def recorded(cassette: Any) -> dict[str, str]:
    """What the cassette holds as the answer to each question."""
    return {
        json.loads(request.body)["messages"][0]["content"]: json.loads(response["body"]["string"])["choices"][
            0
        ]["message"]["content"]
        for request, response in cassette.data
    }


@pytest.mark.vcr
@pytest.mark.default_cassette("questions_asked_together")
@pytest.mark.parametrize("step", [1, -1], ids=["in order", "in reverse"])
def test_recorded_replies_are_never_swapped_between_calls_at_the_same_time(
    play: Play, vcr: Any, step: int
) -> None:
    answers = together(play, QUESTIONS[::step])
    assert answers == recorded(vcr)
    assert len(set(answers.values())) == len(QUESTIONS)


@pytest.mark.vcr(record_mode="none")
@pytest.mark.default_cassette("questions_asked_together")
def test_recorded_replies_are_not_given_to_another_body(play: Play) -> None:
    with pytest.raises(CannotOverwriteExistingCassetteException):
        together(play, ("Name a stone.",))


def test_recorded_tests_reach_no_network(play: Play, record_mode: str) -> None:
    if record_mode != "none":
        pytest.skip("while recording there is a server to reach")
    blocked = pytest.RaisesExc(RuntimeError, match="Network is disabled")
    with pytest.RaisesGroup(blocked, flatten_subgroups=True):
        together(Play(play.folder, "http://127.0.0.1:9/v1"), ("Name a bird.",))
