"""Plays a scene with made-up replies, to find out whether the templates of a suite can be rendered."""

from __future__ import annotations

import json
from collections.abc import Coroutine
from typing import Any

from bench.chat.requests import ChatRequest, Reply
from bench.errors import CatalogError
from bench.prompts import PromptSet
from bench.protocols import Protocol
from bench.protocols.comparing import Comparer, comparable, templates_of
from bench.protocols.verdicts import Reading
from bench.records import Conversation

SAID = "Hello!"


def templates_key(protocol: Protocol) -> tuple[object, ...]:
    """What the outcome of :func:`rehearse` depends on: suites that share it need one rehearsal."""
    entry, prompts = protocol.suite.entry, protocol.prompts
    texts = [prompts.sha256(role) for role in protocol.facts.roles]
    return protocol.name, protocol.suite.templates, *texts, entry.symmetric, entry.greeting


def rehearse(protocol: Protocol) -> list[CatalogError]:
    """Render each template of ``protocol`` in its first scene, and return the faults. No model is called."""
    protocol.prompts = prompts = _Collecting(protocol.prompts)
    try:
        _play(protocol)
    except CatalogError as error:
        prompts.faults.append(error)
    return prompts.faults


class _Collecting(PromptSet):
    """Templates that go on after one that cannot be rendered."""

    def __init__(self, prompts: PromptSet) -> None:
        vars(self).update(vars(prompts))
        self.faults: list[CatalogError] = []

    def render(self, role: str, **variables: object) -> str:
        try:
            return super().render(role, **variables)
        except CatalogError as error:
            self.faults.append(error)
            return SAID


def _play(protocol: Protocol) -> None:
    model = next(iter(protocol.catalog.models))
    cell = protocol.cells(model)[0]
    if protocol.facts.spoken:  # there is no sound to make up
        protocol.estimate(cell)
        return
    conversation = _finished(protocol.converse(cell, _made_up))
    if protocol.facts.judged_in_talk:
        return
    questions = protocol.judge_calls(conversation)
    for number in range(1, questions + 1):
        protocol.judge_question(conversation, model, number, [Reading(summary=SAID)] * (number - 1))
    if not questions:
        protocol.judge_prompt(conversation, 1)
    if comparable(protocol.facts) and any(templates_of(protocol.suite).glob("judge*.jinja")):
        Comparer(protocol).prompt(conversation, conversation)


def _finished(talk: Coroutine[Any, Any, Conversation]) -> Conversation:
    """The result of ``talk``, which waits for nothing. (Importing asyncio would take longer.)"""
    try:
        talk.send(None)
    except StopIteration as ended:
        conversation: Conversation = ended.value
        return conversation
    raise AssertionError("a rehearsal waits for nothing")


async def _made_up(request: ChatRequest) -> Reply:
    schema = request.response_schema
    return Reply("ok", text=SAID if schema is None else json.dumps(_of(schema)))


def _of(schema: Any) -> Any:
    """A value that fits ``schema``, as far as suites' schemas go."""
    if choices := schema.get("enum"):
        return choices[0]
    match schema["type"]:
        case "object":
            return {key: _of(value) for key, value in schema["properties"].items()}
        case "array":
            return [_of(schema["items"])] * schema.get("minItems", 1)
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return False
    return SAID
