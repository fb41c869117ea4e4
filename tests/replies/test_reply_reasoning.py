"""Reasoning is separated from what was said, whatever its marks, and prose about thinking is left alone."""

from __future__ import annotations

import json
import time

import pytest

from bench.replies import utterance
from bench.replies.objects import reasoning_around
from bench.replies.reasoning import Separated, separated
from tests.replies.reasoning_marks import ALL, HEADED, MARKS, PROSE, UNOPENED

SAID = "I keep the lamp lit, <sighs> as ever."
THOUGHT = "A stranger {greets} me."


@pytest.mark.parametrize(("before", "after"), ALL)
@pytest.mark.parametrize("shape", ["{}", "\n\n{}\n", "<answer>\n{}\n</answer>", "{}<|im_end|>"])
def test_an_answer_is_what_is_left_without_its_reasoning(before: str, after: str, shape: str) -> None:
    parts = separated(before + THOUGHT + after + shape.format(SAID), cut=False)
    assert parts.answer == SAID
    assert THOUGHT in parts.reasoning
    assert not parts.unclosed


@pytest.mark.parametrize(("before", "after"), ALL)
def test_line_breaks_may_be_those_of_windows(before: str, after: str) -> None:
    parts = separated(f"{before}{THOUGHT}{after}".replace("\n", "\r\n") + SAID, cut=False)
    assert (parts.answer, THOUGHT in parts.reasoning) == (SAID, True)


def test_an_object_with_a_key_for_reasoning_and_one_for_the_answer_is_taken_apart() -> None:
    for text in (
        json.dumps({"thought_process": THOUGHT, "reply": SAID}),
        '```json\n{"reasoning": "x", "answer": "y"}\n```',
    ):
        assert separated(text, cut=False) in (Separated(SAID, THOUGHT), Separated("y", "x"))
    for text in (
        '{"reasoning": "x", "answer": "y", "mood": "z"}',
        '{"answer": "y"}',
        '{"plan": 1, "answer": "y"}',
    ):
        assert separated(text, cut=False) == Separated(text)


@pytest.mark.parametrize(("before", "_"), MARKS)
def test_reasoning_that_was_cut_off_leaves_no_answer(before: str, _: str) -> None:
    for text in (before + THOUGHT, f"\n {before}\n{THOUGHT}"):
        assert separated(text, cut=True) == Separated("", THOUGHT, unclosed=True)


@pytest.mark.parametrize("text", PROSE)
def test_prose_that_looks_like_reasoning_is_kept(text: str) -> None:
    assert separated(text, cut=False) == Separated(text)


def test_a_poem_that_was_cut_off_keeps_its_words_in_angle_brackets() -> None:
    text = "The <reflection> of the moon. The <thought> of you."
    assert separated(text, cut=True) == Separated(text)


def test_reasoning_between_and_after_parts_of_an_answer_is_taken_out() -> None:
    parts = separated("<think>a</think>Ahoy. <reflection>b</reflection>Come in.<think>c", cut=False)
    assert parts == Separated("Ahoy. Come in.", "a\n\nb\n\nc", unclosed=True)


@pytest.mark.parametrize(("before", "after"), [*MARKS, *UNOPENED, HEADED[-1]])
def test_a_message_in_json_is_read_past_reasoning_and_free_of_it(before: str, after: str) -> None:
    thought = THOUGHT.replace("{", "").replace("}", "")
    around = f"{before}{thought}{after}" + json.dumps({"next_utterance": SAID})
    assert utterance(around).text == SAID
    assert thought in reasoning_around(around).reasoning
    inside = json.dumps({"next_utterance": f"{before}{thought}{after}{SAID}"})
    assert utterance(inside).text == SAID
    assert "reasoning_removed" in utterance(inside).repairs


def test_marks_inside_the_strings_of_a_reply_are_not_reasoning_of_its_author() -> None:
    text = json.dumps({"why": "He wrote <think>no</think> and </think>."})
    assert reasoning_around(text) == Separated(text)


def test_a_sentence_that_names_a_mark_hides_no_json() -> None:
    assert utterance("The tag <think> is odd." + json.dumps({"next_utterance": SAID})).text == SAID
    started = time.thread_time()
    assert reasoning_around("a <think> b " * 30_000).reasoning == ""
    assert time.thread_time() - started < 2


@pytest.mark.parametrize("piece", ["<think>", "</think>", "<", "\n", "thinking:\n", "<think a=b "])
def test_separating_takes_time_in_proportion_to_length(piece: str) -> None:
    def seconds(size: int) -> float:
        start = time.thread_time()
        separated(piece * (size // len(piece)), cut=True)
        return time.thread_time() - start

    assert seconds(80_000) < 16 * max(seconds(20_000), 0.02)


@pytest.mark.parametrize("label", ["Holmes:", "ok"])
def test_reasoning_without_a_full_stop_is_taken_out(label: str) -> None:
    text = f"{label} <think> he lies about the boots and hides the letter </think> my dear fellow"
    assert separated(text, cut=False).answer == f"{label}  my dear fellow"


def test_reasoning_in_the_middle_of_a_sentence_is_taken_out() -> None:
    text = "Sure. <think>The user greets me, so I greet back.</think>. Hello, friend."
    assert separated(text, cut=False).reasoning == "The user greets me, so I greet back."


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<musings>", "</musings>\n<response>"),
        ("<SUMMARY>x</SUMMARY>\n<REASONING>", "</REASONING>\n<CONCLUSION> "),
        ("*Thinking...*\n\n> ", "\n> More.\n\n"),
        ("> 💭 Thinking (3 s)\n> ", "\n\n"),
    ],
)
def test_reasoning_of_one_line_ends_with_its_quotation_or_before_the_answers_tag(
    before: str, after: str
) -> None:
    parts = separated(before + THOUGHT + after + SAID, cut=False)
    assert parts.answer == SAID
    assert THOUGHT in parts.reasoning
