"""Which object of a reply binds, and what is put right on the way to it."""

from __future__ import annotations

import json

import pytest

from bench.replies import REPAIRS, ReplyFault, json_object
from bench.replies.faults import in_order

A = '{"a": 1}'
B = '{"a": 2}'


def fault_of(text: str) -> ReplyFault:
    with pytest.raises(ReplyFault) as caught:
        json_object(text, required={"a"})
    return caught.value


def test_a_clean_object_needs_no_repair() -> None:
    parsed = json_object('{"a": {"b": [1, "}"]}}', required=["a"])
    assert parsed.data == {"a": {"b": [1, "}"]}}
    assert not parsed.repairs


@pytest.mark.parametrize(
    ("text", "repairs"),
    [
        (f"```json\n{A}\n```", ("fence_removed",)),
        (f"~~~\n{A}\n~~~", ("fence_removed",)),
        (f"Here you are: {A} I hope it helps!", ("prose_removed",)),
        (f"It's 5\" tall :) {A}", ("prose_removed",)),
        (f"Use {{braces}}, {{x: they said. {A}", ("prose_removed",)),
        (f"\ufeff{A}\n", ()),
        (f"<think>\nhm {B} </think>{A}", ("reasoning_removed",)),
        (f"<Thinking>it's {{ \" </Thinking>\n{A}", ("reasoning_removed",)),
        (f"<reasoning>x</reasoning>{A}<reflection>{B}</reflection>", ("reasoning_removed",)),
        (f"hm {B}\n</think>\n{A}", ("reasoning_removed",)),
        (f'hm {{"b": "it\n</think>\n{A}', ("reasoning_removed",)),
        (f"<think>so </think> in {B} </think>{A}", ("reasoning_removed",)),
        (f"{A}<think>a <think> b {B}</think> c {B}</think>", ("reasoning_removed",)),
        (f"{A}\n<think>never closed {B}", ("reasoning_removed",)),
        (f"◁think▷{B}◁/think▷{A}", ("reasoning_removed",)),
        (f"[THINK]{B}[/THINK]{A}", ("reasoning_removed",)),
        (
            f"<|channel|>analysis<|message|>{B}<|end|><|start|>assistant<|channel|>final<|message|>{A}<|return|>",
            ("reasoning_removed",),
        ),
        (f"<|channel|>final<|message|>{A}<|end|>", ("reasoning_removed",)),
        (f"analysisWe need {B}.assistantfinal{A}", ("reasoning_removed",)),
        (f"{B}\n{A}", ("several_objects",)),
        (f"[{A}]", ("array_unwrapped",)),
        ('{"a": 5, "a": 1}', ("duplicate_keys",)),
        ('{"a": 1, "b": "x\ny"}', ("raw_control",)),
        ('{"a": 1, "b": "\\ud83d"}', ("surrogate_replaced",)),
        ('{"a": 1,}', ("json_repaired",)),
        ("{'a': 1, 'b': 'don\\'t } say'}", ("json_repaired",)),
        ("{'a': 1, 'b': 'don't'}", ("json_repaired",)),
        ("{a: 1}", ("json_repaired",)),
        ('{"a": 1, "b": True, "c": None}', ("json_repaired",)),
        ('{"a": 1 "b": 2}', ("json_repaired",)),
        ('{"a": 1, // one\n "b": 2}', ("json_repaired",)),
        ('{"b": "he said "hi" twice", "a": 1}', ("json_repaired",)),
        ('{"b": "5" tall", "a": 1}', ("json_repaired",)),
        ("{“a”: 1}", ("json_repaired",)),
        ('{"a": 1, "b": [{"c": 2}, {"c": 3', ("truncated",)),
    ],
)
def test_each_deviation_is_repaired_and_named(text: str, repairs: tuple[str, ...]) -> None:
    parsed = json_object(text, required={"a"})
    assert parsed.data["a"] == 1
    assert in_order(parsed.repairs) == repairs
    assert set(repairs) <= set(REPAIRS)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("I would give it a 4.", "no_json"),
        (f"<think>{A}</think>", "no_json"),
        (f"<think>{A}", "no_json"),
        (f"{A}</think>", "no_json"),
        ("[1, 2]", "no_json"),
        ('{"b": 1}', "missing_key"),
        ('{"b": {"a": 1}}', "missing_key"),
        ('{"a": 1', "truncated"),
        ('{"a": "x', "truncated"),
        (f'{A} {{"a": 2, "b', "truncated"),
        (f"{A} {{", "truncated"),
        ('{"a": "say "x"} and th', "truncated"),
        ('{"a": ' + "[" * 200 + "]" * 200 + "}", "bad_json"),
        ('{"a": ' + "[" * 2000 + "]" * 2000 + "}", "bad_json"),
    ],
)
def test_a_reply_without_a_binding_object_is_a_fault(text: str, kind: str) -> None:
    assert fault_of(text).kind == kind


def test_the_fault_names_the_keys_that_are_missing() -> None:
    with pytest.raises(ReplyFault, match='the keys "a" and "b"'):
        json_object('{"a": 1}', required={"b", "a"})


def test_an_object_quoted_in_a_string_does_not_win() -> None:
    inner = json.dumps({"a": 5})
    for quoted in (inner, f"</think>{inner}", f"```json\n{inner}\n```", f"<think> {inner}"):
        assert json_object(json.dumps({"a": 1, "why": quoted}), required={"a"}).data["a"] == 1


def test_an_object_inside_another_does_not_win() -> None:
    assert json_object('{"a": 1, "b": {"a": 5}}', required={"a"}).data["a"] == 1


def test_an_object_quoted_in_a_reply_cut_off_does_not_win() -> None:
    assert fault_of('{"why": "he wrote {\\"a\\": 5} and').kind == "truncated"
    assert fault_of('{"why": "he wrote {"a": 5} and').kind == "truncated"
    assert fault_of('{"why": "he wrote \n```json\n{"a": 5}\n```\n", "a": 1').kind == "truncated"


def test_objects_without_the_keys_are_passed_over() -> None:
    parsed = json_object(f'{{"b": 0}} {A} {{"c": 3}} {{not json}}', required={"a"})
    assert parsed.data == {"a": 1}


def test_surrogates_in_the_text_itself_are_replaced() -> None:
    parsed = json_object('{"a": "x\udc80"}', required={"a"})
    assert parsed.data == {"a": "x\ufffd"}
    assert parsed.repairs == {"surrogate_replaced"}
