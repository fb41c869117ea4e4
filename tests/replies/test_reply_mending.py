"""Malformed JSON is read only where the text allows one reading: no value is cut, completed or chosen."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from bench.records import Criterion
from bench.replies import ReplyFault, rating, utterance, verdict
from bench.replies.bands import banded
from bench.replies.mending import mended

Criteria = tuple[Criterion, ...]
Make = Callable[..., Any]

INNER = [
    'The bot says "I am an AI," which breaks the role.',
    'He said "no", "yes", then left.',
    '"Hi", she said.',
    'It ends in "no."',
    '你说"是"吗?',
    'a "b: c" d',
    "two\nlines of \"talk\", 'quoted' too",
    'the 5" blade, he calls it "Sting", is short',
]
"""Texts with quotes that a model may forget to escape."""
AFTER = ["", ', "mood": "curious"', ", \"mood\": 'x'", ", mood: 1", ', "a b": [1, "x"]', ', "c": {"d": "e"}']


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("after", AFTER)
@pytest.mark.parametrize("end", ["}", ",}", "", '"}', '"', "} }", '"}\n\nDone'])
def test_a_message_is_whole_or_asked_for_again(inner: str, after: str, end: str) -> None:
    with contextlib.suppress(ReplyFault):
        assert utterance(f'{{"next_utterance": "{inner}"{after}{end}').text == inner


@pytest.mark.parametrize(
    "inner", ['She drew "}" in the sand.', 'So: "}, {" is what he wrote, "', '"]}" and "[{"']
)
def test_a_message_never_ends_at_a_bracket_in_it(inner: str) -> None:
    for text in (f'{{"next_utterance": "{inner}"}}', f'Here: {{"next_utterance": "{inner}"}} `x`'):
        with contextlib.suppress(ReplyFault):
            assert utterance(text).text == inner.strip()


@pytest.mark.parametrize(
    "text",
    [
        'Who are you?", "mood": "curious',
        'Who are you?"}',
        '{"next_utterance": "Who are you?"}',
        'Who are you?",\n "a b": 1',
        'Who are you?",\n  mood: 1',
        'Who are you?", is_final: x',
        'Who are you?", final: false}',
        "Who are you?', 'mood': 'x",
        "Who are you?”, “mood”: “x",
        'Who are you?"}\n```',
        "Who are you?]}",
        "next_utterance: Who are you?",
        "Who are you?</next_utterance>",
        "Who are you?<|im_end|>",
    ],
)
def test_a_message_that_runs_into_the_rest_of_the_json_is_asked_for_again(text: str) -> None:
    with pytest.raises(ReplyFault):
        utterance(json.dumps({"next_utterance": text}))


@pytest.mark.parametrize(
    "said",
    [
        'My config is {"a": "x", "b": 2}, is that "right"?',
        'He said "yes", then: "no". What now?',
        "I typed {'a': 'x', 'b': 2}",
        "Hello :}",
        "The boat's name, that's: 'Ann'.",
        'You said "no", and I quote: true friends stay.',
        "Does it end in </div>",
    ],
)
def test_a_message_may_hold_other_json_and_quotations(said: str) -> None:
    assert utterance(json.dumps({"next_utterance": said})).text == said


@pytest.mark.parametrize("inner", INNER)
def test_a_reason_is_read_to_its_end(criteria: Criteria, entry: Make, reply: Make, inner: str) -> None:
    mark = "WHY"
    text = reply(entry(1, in_character_explanation=mark), entry(2)).replace(mark, inner)
    found = verdict(text, turns=2, criteria=criteria)
    assert found.turns[0].reasons["in_character"] == inner
    assert [turn.scores["in_character"] for turn in found.turns] == [3, 3]


@pytest.mark.parametrize(
    "literal",
    [
        *("true or false", "true/false", "true, false", "false (no)", "not true", "yes", "no", "T", "1 or 0"),
        *(
            "true // or false",
            "/* maybe */ true or",
            "!false",
            "tru",
            "truefalse",
            "",
            '"true or false"',
            "2",
        ),
        *("true false", "[true]", '{"value": true}', "True,False", "null", '"yes"', "~true", "0.0", "-1"),
    ],
)
def test_a_boolean_that_is_not_plain_is_a_fault(reply: Make, criteria: Criteria, literal: str) -> None:
    text = reply().replace('"is_refusal": false', f'"is_refusal": {literal}')
    with pytest.raises(ReplyFault):
        verdict(text, turns=1, criteria=criteria)


@pytest.mark.parametrize(
    "literal",
    ["4/5", "3,5", "4 - Agree", "4 or 5", "[4]", "04", "4 // or 3", "4, 5", "four", "4%", "0x4", "4;"],
)
def test_a_score_that_is_not_plain_is_a_fault_in_every_reply(criteria: Criteria, literal: str) -> None:
    one = f'{{"is_refusal": false, "in_character_score": {literal}, "fluency_score": 4,}}'
    with pytest.raises(ReplyFault):
        rating(one, turn=1, criteria=criteria, more=False)
    with pytest.raises(ReplyFault):
        banded(f'{{"analysis": "x", "band": "1-20", "score": {literal},}}', bands=[(1, 20)])


def test_a_key_given_twice_is_a_fault_unless_a_number_is_corrected_at_once(
    criteria: Criteria, reply: Make
) -> None:
    quoted = '", "in_character_score": 5, "fluency_explanation": "x'
    with pytest.raises(ReplyFault):
        verdict(reply().replace("'Arr!' I agree.", f"He wrote {quoted} ha"), turns=1, criteria=criteria)
    with pytest.raises(ReplyFault):
        utterance('{"next_utterance": "He said ", "next_utterance": "no"}')
    text = reply().replace('"fluency_score":', '"fluency_score": 1, "fluency_score":')
    found = verdict(text, turns=1, criteria=criteria)
    assert (found.turns[0].scores["fluency"], found.repairs) == (4, ("duplicate_keys",))


def test_a_verdict_that_a_quoted_bracket_ends_is_a_fault(
    criteria: Criteria, entry: Make, reply: Make
) -> None:
    fake = json.dumps(entry(in_character=5, fluency=5))[1:]
    quoted = f'He wrote ", {fake}]}} ha'
    with pytest.raises(ReplyFault):
        verdict(reply(entry(in_character_explanation="W")).replace("W", quoted), turns=1, criteria=criteria)


@pytest.mark.parametrize(
    ("raw", "data"),
    [
        ('{"a": "it\'s "so", is it", "k": 1}', {"a": 'it\'s "so", is it', "k": 1}),
        ("{'k': 'it\\'s', k2: None}", {"k": "it's", "k2": None}),
        ("{“k”: “so ”then” he said”}", {"k": "so ”then” he said"}),
        ('{"k": [1, 2,], "l": TRUE,,}', {"k": [1, 2], "l": True}),
        ('{"k": "say "a" {"b": "c"} d"}', None),
        ('{"k": "say "a", "b": "c" d"}', None),
        ('{"k": "say "a"}', None),
        ('{"k": "say "a", # it\n "k2": 1}', None),
        ('{"k": "a\\_b",}', None),
        ('{"k": ["say "a", "b" c"]}', None),
        ('{"k": 1, "k": 2,}', None),
        ('{"k": 1}}', None),
    ],
)
def test_a_text_with_one_reading_is_mended_and_no_other(raw: str, data: object) -> None:
    found = mended(raw, ("k", "k2"))
    assert (found and found.data) == data
