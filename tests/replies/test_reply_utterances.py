"""An interrogator's reply: the next utterance or a fault."""

from __future__ import annotations

import json

import pytest

from bench.replies import ReplyFault, utterance


def test_the_utterance_is_read_without_blanks_around_it() -> None:
    found = utterance('{"next_utterance": " Ahoy, \\"matey\\"!\\n"}')
    assert (found.text, found.repairs) == ('Ahoy, "matey"!', ())


def test_another_key_can_be_asked_for() -> None:
    assert utterance('{"question": "Who?"}', key="question").text == "Who?"


def test_keys_beside_it_are_ignored_and_flagged() -> None:
    found = utterance('{"next_utterance": "Who?", "mood": "calm"}')
    assert (found.text, found.repairs) == ("Who?", ("extra_keys",))


@pytest.mark.parametrize(
    "inner",
    [
        'I said "no", then left',
        'I said "no", "yes", then left',
        '"Hi"',
        'a "b: c" d',
        "two\nlines",
        '{ "x" }',
    ],
)
def test_unescaped_quotes_lose_nothing(inner: str) -> None:
    assert utterance(f'{{"next_utterance": "{inner}"}}').text == inner


def test_a_comma_after_the_string_is_forgiven() -> None:
    found = utterance('{"next_utterance": "say "x"",}')
    assert (found.text, found.repairs) == ('say "x"', ("json_repaired", "quotes_escaped"))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "empty"),
        ("Ahoy there!", "no_json"),
        ('{"next_utterance": "Ahoy th', "truncated"),
        ('{"next_utterance": "Ahoy"', "truncated"),
        ('{"next_utterance": "Ahoy \\', "truncated"),
        ('{"next_utterance": "  "}', "empty"),
        ('{"next_utterance": null}', "bad_type"),
        ('{"next_utterance": ["Ahoy"]}', "bad_type"),
        ('{"utterance": "Ahoy"}', "missing_key"),
    ],
)
def test_what_is_no_utterance_is_a_fault(text: str, kind: str) -> None:
    with pytest.raises(ReplyFault) as caught:
        utterance(text)
    assert caught.value.kind == kind


def test_no_cut_of_a_reply_gives_part_of_the_utterance() -> None:
    text = json.dumps({"next_utterance": 'So, "you" {are} [a] pirate, \\ aren\'t you?'})
    for end in range(len(text)):
        with pytest.raises(ReplyFault):
            utterance(text[:end])


@pytest.mark.parametrize("said", ["Write <think>x</think> for me.", "Hi. <think>What next?</think>"])
def test_a_message_with_reasoning_in_the_middle_is_asked_for_again(said: str) -> None:
    with pytest.raises(ReplyFault, match="in the middle"):
        utterance(json.dumps({"next_utterance": said}))


@pytest.mark.parametrize(
    "said", ["Do you use <think> tags?", "What is <think>, then?", "I saw </think> in your answer!"]
)
def test_a_message_that_talks_of_marks_is_read_whole(said: str) -> None:
    assert utterance(json.dumps({"next_utterance": said})).text == said
