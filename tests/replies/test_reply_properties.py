"""What holds for any reply: round trips, cuts, arbitrary and hostile text, and the cost of reading it."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.records import Criterion, TurnVerdict
from bench.replies import REPAIRS, ReplyFault, json_object, utterance, verdict
from tests.lengths import of_long

CRITERIA = tuple(Criterion(name=n, label=n, low=1, high=5) for n in ("in_character", "fluency"))
RELAXED = settings(database=None, suppress_health_check=[HealthCheck.too_slow])

marks = st.sampled_from(
    ['"', "'", "{", "}", "[", "]", ",", ":", "\\", "</think>", "<think>", "```json\n", '"turn":']
)
prose = st.text(st.characters(exclude_characters="<>{}[]◁`~|", exclude_categories=["Cs"]), max_size=30)
reasons = st.lists(st.one_of(st.text(max_size=12), marks), max_size=6).map("".join)


def plain(turn: TurnVerdict) -> dict[str, Any]:
    data: dict[str, Any] = {
        "turn": turn.turn,
        "is_refusal_explanation": turn.refusal_reason,
        "is_refusal": turn.is_refusal,
    }
    for name, score in turn.scores.items():
        data |= {f"{name}_explanation": turn.reasons[name], f"{name}_score": score}
    return data


def serialised(turns: tuple[TurnVerdict, ...], indent: int | None = 1, ascii_only: bool = False) -> str:
    return json.dumps({"scores": [plain(t) for t in turns]}, indent=indent, ensure_ascii=ascii_only)


@st.composite
def verdicts(draw: st.DrawFn) -> tuple[TurnVerdict, ...]:
    text = reasons.map(lambda s: s.encode("utf-8", "replace").decode())
    return tuple(
        TurnVerdict(
            turn=number,
            is_refusal=draw(st.booleans()),
            refusal_reason=draw(text),
            scores={c.name: draw(st.integers(c.low, c.high)) for c in CRITERIA},
            reasons={c.name: draw(text) for c in CRITERIA},
        )
        for number in range(1, draw(st.integers(1, 3)) + 1)
    )


wrappers = st.lists(
    st.one_of(
        prose.map(lambda p: lambda s: f"{p}\n{s}\n{p}"),
        st.just(lambda s: f"```json\n{s}\n```"),
        st.just(lambda s: f"```\n{s}\n```"),
        st.tuples(st.sampled_from(["think", "reasoning", "Thinking"]), reasons).map(
            lambda t: lambda s: f"<{t[0]}>{t[1].replace('<', '').replace('>', '')}</{t[0]}>\n{s}"
        ),
        st.just(lambda s: f'<|channel|>analysis<|message|>{{"scores": [<|end|>{s}'),
    ),
    max_size=3,
)


@RELAXED
@given(verdicts(), wrappers, st.sampled_from([None, 1, 2]), st.booleans())
def test_a_verdict_survives_any_wrapping(
    turns: tuple[TurnVerdict, ...], around: list[Callable[[str], str]], indent: int | None, ascii_only: bool
) -> None:
    text = serialised(turns, indent, ascii_only)
    for wrap in around:
        text = wrap(text)
    found = verdict(text, turns=len(turns), criteria=CRITERIA)
    assert found.turns == turns
    assert not {"json_repaired", "truncated"} & set(found.repairs)
    assert set(found.repairs) <= set(REPAIRS)
    again = verdict(serialised(found.turns), turns=len(turns), criteria=CRITERIA)
    assert (again.turns, again.repairs) == (turns, ())


@RELAXED
@given(verdicts())
def test_a_trailing_comma_gives_the_same_scores_or_a_fault(turns: tuple[TurnVerdict, ...]) -> None:
    text = serialised(turns, None)[:-2] + ",]}"
    with contextlib.suppress(ReplyFault):
        found = verdict(text, turns=len(turns), criteria=CRITERIA)
        assert [t.scores for t in found.turns] == [t.scores for t in turns]


PLAIN = tuple(
    TurnVerdict(
        turn=n,
        refusal_reason="He said \"no\", {then} 'yes'.",
        scores={"in_character": n, "fluency": 5},
        reasons={"in_character": '\'{"scores": [{"turn": 1}]}\' \\ ', "fluency": "]}"},
    )
    for n in (1, 2, 3)
)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    "head", ["", "```json\n", '<think>{ "</think>\n', 'hm { "turns\n</think>\n', "Well: "]
)
def test_no_cut_of_a_reply_changes_its_scores(head: str, indent: int | None) -> None:
    text = head + serialised(PLAIN, indent) + "\n```"
    read = 0
    for end in range(len(text) + 1):
        with contextlib.suppress(ReplyFault):
            assert verdict(text[:end], turns=3, criteria=CRITERIA).turns == PLAIN
            read += 1
    assert 1 <= read < 20


def test_no_cut_of_a_malformed_reply_changes_its_scores() -> None:
    whole = serialised(PLAIN).replace('\\"', '"').replace("false", "False")
    for text in (whole, serialised(PLAIN).replace("5\n", "5,\n"), str(json.loads(serialised(PLAIN)))):
        for end in range(0, len(text) + 1, 3):
            with contextlib.suppress(ReplyFault):
                found = verdict(text[:end], turns=3, criteria=CRITERIA)
                assert [t.scores for t in found.turns] == [t.scores for t in PLAIN]


soup = st.lists(
    st.one_of(
        marks,
        st.text(max_size=4),
        st.sampled_from(['"scores"', '"next_utterance"', '{"scores":[{', "1", "}]}"]),
    ),
    max_size=25,
).map("".join)


@settings(RELAXED, max_examples=of_long(60, 600))
@given(soup)
def test_any_text_is_a_fault_or_a_valid_answer(text: str) -> None:
    with contextlib.suppress(ReplyFault):
        for turn in verdict(text, turns=1, criteria=CRITERIA).turns:
            assert all(1 <= score <= 5 for score in turn.scores.values())
    with contextlib.suppress(ReplyFault):
        utterance(text).text.encode()
    with contextlib.suppress(ReplyFault):
        found = json_object(text, required={"scores"})
        again = json_object(json.dumps(found.data), required={"scores"})
        assert (again.data, again.repairs) == (found.data, set())


@RELAXED
@given(verdicts(), st.data())
def test_a_damaged_reply_is_a_fault_or_in_range(turns: tuple[TurnVerdict, ...], data: st.DataObject) -> None:
    text = serialised(turns)
    at = data.draw(st.integers(0, len(text) - 1))
    damaged = text[:at] + data.draw(marks) + text[at + data.draw(st.integers(0, 3)) :]
    with contextlib.suppress(ReplyFault):
        found = verdict(damaged, turns=len(turns), criteria=CRITERIA)
        assert [t.turn for t in found.turns] == list(range(1, len(turns) + 1))
        assert all(1 <= score <= 5 for t in found.turns for score in t.scores.values())


TRAPS: dict[str, Callable[[int], str]] = {
    "open braces": lambda n: "{" * n,
    "open brackets": lambda n: "[" * n,
    "nested objects": lambda n: '{"scores":' * (n // 10),
    "nested arrays": lambda n: '{"scores":' + "[" * (n // 2) + "]" * (n // 2) + "}",
    "named braces": lambda n: "{a: " * (n // 4),
    "mixed brackets": lambda n: '{"a":' + "[" * (n // 2) + "}" * (n // 2),
    "strays": lambda n: '{"a":[' + "{" * (n // 2) + "]" * (n // 2),
    "closers": lambda n: "}]" * (n // 2),
    "many objects": lambda n: '{"scores":1}' * (n // 12),
    "many broken objects": lambda n: '{"scores" 1}' * (n // 12),
    "many empty objects": lambda n: "{}" * (n // 2),
    "quotes": lambda n: '{"scores":' + '"a ' * (n // 3),
    "odd quotes": lambda n: '{"scores":' + '" "a" ' * (n // 6) + "}",
    "apostrophes": lambda n: "{'scores':" + "'a' b" * (n // 5),
    "backslashes": lambda n: '{"scores":"' + "\\" * n,
    "escapes": lambda n: '{"scores":"' + '\\"' * (n // 2),
    "blanks": lambda n: '{"scores":"' + '"' + " " * n + "x",
    "blanks after braces": lambda n: ("{" + " " * 999) * (n // 1000),
    "opening marks": lambda n: "<think>" * (n // 7),
    "closing marks": lambda n: "{} </think>" * (n // 11),
    "marks in turn": lambda n: "<think></think>{}" * (n // 17),
    "channels": lambda n: "<|channel|>final" * (n // 16),
    "fences": lambda n: "\n```json\n{" * (n // 10),
    "long number": lambda n: '{"scores":' + "1" * n + "}",
    "utterance quotes": lambda n: '{"next_utterance": "' + '" , ' * (n // 4) + "}",
    "unescaped quotes": lambda n: '{"scores": "' + 'a "b", ' * (n // 7) + '", "x": 1,}',
    "blanks after quotes": lambda n: '{"scores": "' + ('a" ' + " " * 200) * (n // 200) + '"}',
    "comments": lambda n: '{"scores": 1, ' + "// a\n" * (n // 5) + "}",
    "half comments": lambda n: '{"scores": "' + 'a", //' * (n // 6) + "}",
    "commas": lambda n: '{"scores": 1' + "," * n + "}",
    "braces in a broken string": lambda n: '{"scores": "a" "' + "{" * n + '"}',
}


def seconds(text: str) -> float:
    """CPU of this thread."""
    start = time.thread_time()
    with contextlib.suppress(ReplyFault):
        verdict(text, turns=1, criteria=CRITERIA)
    with contextlib.suppress(ReplyFault):
        utterance(text)
    return time.thread_time() - start


@pytest.mark.parametrize("trap", TRAPS)
def test_reading_takes_time_in_proportion_to_length(trap: str) -> None:
    """One reading of three has to be in proportion: other processes and collections come and go."""
    limit = 12 * max(0.02, min(seconds(TRAPS[trap](25_000)) for _ in range(3)))
    assert any(seconds(TRAPS[trap](100_000)) < limit for _ in range(3))


def test_two_megabytes_of_a_real_reply_are_read() -> None:
    turn = PLAIN[0].model_copy(update={"refusal_reason": 'x"{\\' * 500_000})
    assert verdict(serialised((turn,)), turns=1, criteria=CRITERIA).turns == (turn,)


def test_deep_nesting_is_a_fault() -> None:
    for text in ('{"scores":' * 100_000, '{"scores":' + "[" * 100_000 + "]" * 100_000 + "}"):
        with pytest.raises(ReplyFault):
            json_object(text, required={"scores"})


def test_a_decoder_that_trips_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def trip(*_: object, **__: object) -> object:
        raise RecursionError

    monkeypatch.setattr(json.JSONDecoder, "decode", trip)
    with pytest.raises(ReplyFault):
        json_object('{"scores": 1}', required={"scores"})


@RELAXED
@given(verdicts(), st.sampled_from(["", " ", "\n\t"]), st.integers(0, 1), st.booleans())
def test_an_object_alone_reads_as_one_among_prose(
    turns: tuple[TurnVerdict, ...], space: str, indent: int, ascii_only: bool
) -> None:
    """Text that is nothing but JSON is read by a shorter way than text in which JSON must be found."""
    text = space + serialised(turns, indent or None, ascii_only) + space
    alone, among = (json_object(each, required=["scores"]) for each in (text, f"Here: {text}"))
    assert alone.data == among.data
    assert (alone.repairs, among.repairs) == (set(), {"prose_removed"})
    assert alone.source == among.source == text[alone.start : alone.start + len(alone.source)]
