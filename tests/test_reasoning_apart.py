"""Reasoning stays apart from what is said and judged, in every role; what came beside a text is evidence."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bench.chat.answers import Answer, answer_from
from bench.chat.evidence import REASONING_FIELDS
from bench.chat.requests import Reply
from bench.protocol_facts import facts_of
from bench.protocols.calls import without_reasoning
from bench.records import Conversation, Judgement, Role
from tests.replies.reasoning_marks import MARKS
from tests.tiny import Script, Tiny, make_tiny, ok

CRITERIA = facts_of("pingpong_v2").criteria

SAID = "I keep the lamp lit."
THOUGHT = "A stranger greets me."
INLINE = f"<think>{THOUGHT}</think>\n\n{SAID}"


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    return make_tiny(tmp_path)


def talk(tiny: Tiny, script: Script) -> Conversation:
    protocol = tiny.protocol()
    return asyncio.run(protocol.converse(protocol.cells("bard")[0], script))


def judged(tiny: Tiny, *steps: str | Reply) -> Judgement:
    return asyncio.run(tiny.protocol().judge(talk(tiny, Script()), "strict", Script({"judge": list(steps)})))


def verdict_text(score: int = 4) -> str:
    scores = [
        {"turn": turn, "is_refusal_explanation": "no", "is_refusal": False}
        | {f"{c.name}_explanation": "fine" for c in CRITERIA}
        | {f"{c.name}_score": score for c in CRITERIA}
        for turn in (1, 2)
    ]
    return json.dumps({"scores": scores})


@pytest.mark.parametrize("reply", [ok(INLINE), ok(SAID, reasoning=THOUGHT), ok(INLINE, reasoning="First.")])
def test_a_players_reasoning_is_kept_and_goes_nowhere(tiny: Tiny, reply: Reply) -> None:
    script = Script({"player": [reply]})
    record = talk(tiny, script)
    assert record.messages[1].content == SAID
    assert THOUGHT in (record.calls[1].reasoning or "")
    assert THOUGHT not in tiny.protocol().judge_prompt(record, 1)
    assert not any(THOUGHT in message.content for request in script.asked for message in request.messages)


@pytest.mark.parametrize(("before", "_"), MARKS)
def test_a_player_whose_reasoning_was_cut_off_is_asked_again(tiny: Tiny, before: str, _: str) -> None:
    record = talk(tiny, Script({"player": [Reply("length", before + THOUGHT), ok(SAID)]}))
    assert record.messages[1].content == SAID
    assert [(call.outcome, call.reasoning) for call in record.calls[1:3]] == [
        ("empty", THOUGHT),
        ("ok", None),
    ]


def test_a_player_who_only_reasons_fails_as_empty(tiny: Tiny) -> None:
    record = talk(tiny, Script({"player": [ok(f"<think>{THOUGHT}</think>")] * 3}))
    assert record.failure is not None
    assert (record.failure.outcome, record.failure.reason) == ("empty", "nothing but reasoning was written")


def test_a_players_text_that_holds_json_is_not_judged_as_json(tiny: Tiny) -> None:
    text = '{"a": 1} she wrote, and th'
    assert talk(tiny, Script({"player": [Reply("length", text)]})).messages[1].content == text


def test_an_interrogators_reasoning_is_kept_and_not_said(tiny: Tiny) -> None:
    message = json.dumps({"next_utterance": "Who are you?"})
    record = talk(tiny, Script({"interrogator": [ok(f"<think>{THOUGHT}</think>{message}")]}))
    assert record.messages[0].content == "Who are you?"
    assert record.calls[0].reasoning == THOUGHT


def test_a_judges_reasoning_is_kept_beside_its_raw_reply(tiny: Tiny) -> None:
    text = f"<think>{THOUGHT} {verdict_text(1)}</think>{verdict_text(5)}"
    record = judged(tiny, text)
    assert {score for turn in record.turns for score in turn.scores.values()} == {5}
    assert record.raw == (text,)
    assert THOUGHT in (record.calls[0].reasoning or "")


def test_a_judge_who_only_reasons_is_asked_again_and_its_text_is_evidence(tiny: Tiny) -> None:
    text = f"<think>{verdict_text(1)}"
    record = judged(tiny, Reply("length", text), verdict_text(5))
    assert [call.outcome for call in record.calls] == ["empty", "ok"]
    assert record.raw[0] == text
    protocol = tiny.protocol()
    assert protocol.reread(record, talk(tiny, Script())) == record


@pytest.mark.parametrize("after", ["\n\nWait, turn 2 should", " <think>But turn 2", "\n```\nHm", "\n{"])
def test_a_verdict_cut_off_in_what_follows_it_is_unfinished(tiny: Tiny, after: str) -> None:
    record = judged(tiny, Reply("length", verdict_text(1) + after), verdict_text(5))
    assert len(record.calls) == 2
    assert {score for turn in record.turns for score in turn.scores.values()} == {5}
    protocol = tiny.protocol()
    assert protocol.reread(record, talk(tiny, Script())) == record


@pytest.mark.parametrize("after", ["", "\n```", "\n", "<|im_end|>"])
def test_a_verdict_at_the_very_end_of_a_cut_reply_is_whole(tiny: Tiny, after: str) -> None:
    assert len(judged(tiny, Reply("length", verdict_text(1) + after)).calls) == 1


def test_a_verdict_in_the_arguments_of_a_tool_call_is_read_and_kept(tiny: Tiny) -> None:
    record = judged(tiny, Reply("empty", detail="no text", tool_arguments=verdict_text(5)))
    assert (record.status, record.raw) == ("ok", (verdict_text(5),))
    assert record.calls[0].tool_arguments == verdict_text(5)
    protocol = tiny.protocol()
    assert protocol.reread(record, talk(tiny, Script())) == record


def test_a_tool_call_of_a_player_is_no_answer(tiny: Tiny) -> None:
    record = talk(tiny, Script({"player": [Reply("empty", detail="x", tool_arguments='{"say": "hi"}')] * 3}))
    assert record.failure is not None
    assert record.failure.outcome == "empty"
    assert record.calls[1].tool_arguments == '{"say": "hi"}'


# --- what comes beside the text --------------------------------------------------------------------------


def answered(message: dict[str, Any], finish: str = "stop") -> Answer:
    body = {"choices": [{"message": message, "finish_reason": finish}]}
    found = answer_from(json.dumps(body).encode(), (), ())
    assert isinstance(found, Answer)
    return found


@pytest.mark.parametrize(
    "beside",
    [
        {"reasoning_content": THOUGHT},
        {"reasoning": THOUGHT},
        {"reasoningContent": THOUGHT},
        {"content": [{"type": "Thinking", "thinking": THOUGHT}, {"type": "text", "text": SAID}]},
        {"reasoning": {"content": THOUGHT}},
        {"reasoning": THOUGHT, "reasoning_details": [{"type": "reasoning.text", "text": THOUGHT}]},
        {"reasoning_details": [{"type": "reasoning.summary", "summary": THOUGHT}, {"data": "x"}]},
        {"thinking": THOUGHT},
        {"thought_process": THOUGHT},
        {
            "chain_of_thought": THOUGHT,
            "reasoning_tokens": 9,
            "thinking_time": "3 s",
            "reasoning_format": "parsed",
            "thought_signature": "x",
        },
        {"reasoning_steps": [THOUGHT]},
        {"model_extra": {"reasoning": THOUGHT}},
        {"content": [{"reasoningContent": {"reasoningText": {"text": THOUGHT}}}, {"text": SAID}]},
        {"content": [{"type": "analysis", "text": THOUGHT}, {"type": "text", "text": SAID}]},
        {"content": [{"text": THOUGHT, "channel": "analysis"}, {"text": SAID, "channel": "final"}]},
        {"thinking_blocks": [{"type": "thinking", "thinking": THOUGHT, "signature": "s"}]},
        {"provider_specific_fields": {"reasoning_content": THOUGHT}},
        {"content": [{"type": "thinking", "thinking": THOUGHT}, {"type": "text", "text": SAID}]},
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]},
                {"type": "text", "text": SAID},
            ]
        },
        {
            "content": [
                {"type": "reasoning", "summary": [{"text": THOUGHT}]},
                {"type": "output_text", "text": SAID},
            ]
        },
    ],
)
def test_reasoning_in_any_field_is_kept_apart(beside: dict[str, Any]) -> None:
    found = answered({"content": SAID, **beside})
    assert (found.text, found.reasoning) == (SAID, THOUGHT)


def test_reasoning_beside_the_message_is_kept_apart() -> None:
    choice = {"message": {"content": SAID}, "finish_reason": "stop", "reasoning_content": THOUGHT}
    found = answer_from(json.dumps({"choices": [choice]}).encode(), (), ())
    assert isinstance(found, Answer)
    assert (found.text, found.reasoning) == (SAID, THOUGHT)


@pytest.mark.parametrize(
    "message",
    [
        {"content": SAID, "refusal": "I will not."},
        {"content": [{"type": "text", "text": SAID}, {"type": "refusal", "refusal": "I will not."}]},
    ],
)
def test_a_refusal_is_kept_beside_the_text(message: dict[str, Any]) -> None:
    found = answered(message)
    assert (found.outcome, found.text, found.refusal) == ("refused", SAID, "I will not.")


def test_the_arguments_of_tool_calls_are_kept() -> None:
    call = {"type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    for message in ({"tool_calls": [call]}, {"function_call": call["function"]}):
        found = answered({"content": None, **message}, "tool_calls")
        assert (found.outcome, found.tool_arguments) == ("empty", '{"a": 1}')
    assert answered({"content": SAID, "tool_calls": [call]}).tool_arguments == '{"a": 1}'


@pytest.mark.parametrize(
    ("role", "text", "read"),
    [
        ("judge", "I call the tool.", 'I call the tool.\n{"a": 1}'),
        ("interrogator", "I call the tool.", 'I call the tool.\n{"a": 1}'),
        ("judge", 'So: {"a": 2}', 'So: {"a": 2}'),
        ("player", "I call the tool.", "I call the tool."),
    ],
)
def test_json_in_a_tool_call_beside_a_text_without_any_is_read(role: Role, text: str, read: str) -> None:
    assert without_reasoning(role, ok(text, tool_arguments='{"a": 1}')).text == read


@pytest.mark.parametrize(
    "odd",
    ["None", " null ", None, 7, [], {}, [None, 3], {"text": {"text": {}}}, [[[[[[[[[["x"]]]]]]]]]], True],
)
def test_odd_values_beside_a_text_do_no_harm(odd: Any) -> None:
    names = ("reasoning", "reasoning_details", "thinking", "refusal", "tool_calls", "function_call")
    for name in names:
        found = answered({"content": SAID, name: odd})
        assert (found.outcome, found.text, found.reasoning, found.refusal) == ("ok", SAID, None, None)


def test_reasoning_and_tool_calls_in_a_stream_are_joined() -> None:
    deltas: list[dict[str, Any]] = [
        {"reasoning_content": "A "},
        {"reasoning_content": "stranger."},
        {"content": "I keep "},
        {"content": [{"type": "text", "text": "it."}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"a"'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": ": 1}"}}]},
    ]
    events = [{"choices": [{"delta": delta}]} for delta in deltas]
    for last in ([], [{"choices": [{"delta": {}, "finish_reason": "stop"}]}]):
        text = "".join(f"data: {json.dumps(event)}\n\n" for event in [*events, *last])
        found = answer_from(f"{text}data: [DONE]\n".encode(), (), ())
        if last:
            assert isinstance(found, Answer)
            assert (found.text, found.reasoning) == ("I keep it.", "A stranger.")
        else:
            assert not isinstance(found, Answer)


@pytest.mark.parametrize("name", REASONING_FIELDS)
def test_every_known_field_of_reasoning_counts_whole_and_in_a_stream(name: str) -> None:
    choices: list[dict[str, Any]] = [{"delta": {name: THOUGHT}}, {"delta": {"content": SAID}}]
    choices.append({"delta": {}, "finish_reason": "stop"})
    events = [{"choices": [choice]} for choice in choices]
    stream = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    for found in (answered({"content": SAID, name: THOUGHT}), answer_from(stream.encode(), (), ())):
        assert isinstance(found, Answer)
        assert (found.text, found.reasoning) == (SAID, THOUGHT)
