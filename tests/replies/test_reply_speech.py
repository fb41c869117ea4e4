"""A judge's steps about a spoken answer: the score they lead to, where they stop, repairs and faults."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.replies import REPAIRS, ReplyFault
from bench.replies.speech import STEPS_SCHEMA, speech_verdict, stored_steps
from tests.scripted_speech import steps


def style(*scores: Any) -> list[dict[str, Any]]:
    return [{"requirement": f"r{n}", "reason": "heard", "score": score} for n, score in enumerate(scores)]


def asking(*requirements: str) -> dict[str, Any]:
    return {"language": "en", "role": "", "scenario": "", "style_requirements": list(requirements)}


def whole(*scores: int, natural: bool = False, final: int = 4) -> dict[str, Any]:
    """A verdict that goes all the way, with these style scores."""
    return steps(
        3,
        instruction=asking(*(f"r{n}" for n in range(len(scores)))),
        style=style(*scores),
        naturalness={"reason": "even", "highly_natural": natural},
        final=f"Final score: [[{final}]]",
    )


def fault(reply: dict[str, Any] | str) -> ReplyFault:
    with pytest.raises(ReplyFault) as caught:
        speech_verdict(reply if isinstance(reply, str) else json.dumps(reply))
    return caught.value


@pytest.mark.parametrize(
    ("scores", "natural", "derived", "stopped_at"),
    [
        # The rule: none at 70 or above is 2, some is 3, all go on to 4 or 5.
        ((0, 69), True, 2, "style"),
        ((70, 69), True, 3, "style"),
        ((69, 69, 100), True, 3, "style"),
        ((70, 70), False, 4, "naturalness"),
        ((70, 100), True, 5, "naturalness"),
        ((70,), True, 5, "naturalness"),
        ((69,), False, 2, "style"),
    ],
)
def test_the_style_decides_by_the_threshold(
    scores: tuple[int, ...], natural: bool, derived: int, stopped_at: str
) -> None:
    found = speech_verdict(json.dumps(whole(*scores, natural=natural, final=derived)))
    assert found.score == derived
    assert (found.steps.derived_score, found.steps.stopped_at) == (derived, stopped_at)
    assert found.steps.consistent is True


@pytest.mark.parametrize("key", ["language", "content"])
def test_a_wrong_language_or_content_stops_at_one(key: str) -> None:
    stops: dict[str, dict[str, Any]] = {
        "language": {"language": {"response_language": "German", "consistent": False}, "content": None},
        "content": {"content": {"reason": "A recipe.", "compliant": False}},
    }
    reply = steps(4, **stops[key], style=None, naturalness=None, final="Final score: [[1]]")
    found = speech_verdict(json.dumps(reply))
    assert (found.score, found.steps.stopped_at, found.repairs) == (1, key, ())
    assert found.steps.style is None
    assert (
        found.reason
        == {"language": "The answer is in another language: German.", "content": "A recipe."}[key]
    )


def test_a_final_score_that_does_not_follow_is_kept_and_marked() -> None:
    found = speech_verdict(json.dumps(whole(90, 20, final=5)))
    assert found.score == 5
    assert found.steps.derived_score == 3
    assert found.steps.consistent is False
    assert found.repairs == ("steps_after_stop",)


@pytest.mark.parametrize(("digest", "stopped_at"), [(4, "naturalness"), (2, "style"), (0, "content")])
def test_the_steps_come_back_as_data_and_from_a_record(digest: int, stopped_at: str) -> None:
    reply = {key: value for key, value in steps(digest).items() if key != "final" and value is not None}
    found = speech_verdict(json.dumps(steps(digest)))
    facts = {
        "threshold": 70,
        "stopped_at": stopped_at,
        "derived_score": digest + 1,
        "consistent": True,
    }
    detail = found.steps.model_dump(mode="json", exclude_none=True)
    assert detail == {**reply, **facts}
    assert found.repairs == ()
    assert stored_steps(detail) == found.steps


@pytest.mark.parametrize("detail", [None, {}, {"order": 1}, {"description": "A tone.", "style": "loud"}])
def test_a_detail_of_another_kind_holds_no_steps(detail: Any) -> None:
    assert stored_steps(detail) is None


@pytest.mark.parametrize(
    ("change", "repair"),
    [
        (lambda d: json.dumps({**d, "final": 4}), "final_unmarked"),
        (lambda d: json.dumps({**d, "final": "4"}), "final_unmarked"),
        (
            lambda d: json.dumps({k: v for k, v in d.items() if k != "final"}) + "\nFinal score: [[4]]",
            "final_from_prose",
        ),
        (lambda d: json.dumps(d) + "\n\n**Final score: [[4]]**", "prose_removed"),
        (lambda d: json.dumps({**d, "style": style("80", 80.0)}), "number_from_string"),
        (lambda d: json.dumps({**d, "breaks_off": "false"}), "boolean_from_string"),
        (lambda d: json.dumps({**d, "mood": "good"}), "extra_keys"),
        (lambda d: json.dumps({**d, "content": {"compliant": True}}), "reason_missing"),
        (lambda d: json.dumps(d).replace('"breaks_off": false,', '"breaks_off": False,,'), "json_repaired"),
    ],
)
def test_small_faults_are_repaired_and_named(change: Any, repair: str) -> None:
    found = speech_verdict(change(whole(80, 80)))
    assert found.score == 4
    assert repair in found.repairs
    assert set(found.repairs) <= set(REPAIRS)


@pytest.mark.parametrize(
    ("reply", "kind", "said"),
    [
        ("", "empty", "empty"),
        ("Final score: [[4]]", "no_json|missing_key", ""),
        (steps(3, final=None), "missing_key", "final score is missing"),
        (steps(3, final="Final score: [[6]]"), "out_of_range", "from 1 to 5"),
        (steps(3, final="Final score: [[0]]"), "out_of_range", "from 1 to 5"),
        (steps(3, final="quite good"), "bad_type", "must be an integer"),
        (steps(3, final="[[3]] or [[4]]"), "contradiction", "3 and 4"),
        (json.dumps(steps(2)) + " Final score: [[4]]", "contradiction", "3 and 4"),
        (steps(3, description=" "), "empty", '"description" is blank'),
        (steps(3, transcript=None), "bad_type", '"transcript"'),
        (steps(3, content=None), "missing_key", '"content" is missing'),
        (steps(3, style=None), "missing_key", '"style" must be a list'),
        (steps(3, style=style(80)), "missing_key", "lists 2 style requirements"),
        (steps(3, style=style(80, 101)), "out_of_range", "from 0 to 100"),
        (steps(3, style=style(80, -1)), "out_of_range", "from 0 to 100"),
        (steps(3, style=style(80, 70.5)), "bad_type", "must be an integer"),
        (steps(3, style=style(80, True)), "bad_type", "must be an integer"),
        (steps(3, naturalness=None), "missing_key", '"naturalness" is missing'),
        (steps(3, language={}), "missing_key", '"consistent" of "language"'),
        (steps(3, instruction=asking()), "missing_key", "is empty"),
        (steps(3, instruction={"style_requirements": "calm"}), "bad_type", "list of strings"),
    ],
)
def test_what_is_missing_or_impossible_is_a_fault_that_names_it(reply: Any, kind: str, said: str) -> None:
    found = fault(reply)
    assert found.kind in kind.split("|")
    assert said in found.fault


def test_a_score_that_a_repair_would_have_to_guess_is_a_fault() -> None:
    text = json.dumps(whole(80, 80)).replace('"score": 80}', '"score": 80 - clear}', 1)
    assert fault(text).kind == "bad_json"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda c: st.lists(c, max_size=3)
    )
)
def test_whatever_stands_in_a_step_is_read_or_a_fault(value: Any) -> None:
    for key in steps():
        with contextlib.suppress(ReplyFault):
            speech_verdict(json.dumps(steps(3, **{key: value})))


def test_the_schema_asks_for_what_is_read() -> None:
    assert list(STEPS_SCHEMA["properties"]) == STEPS_SCHEMA["required"] == list(steps())
    assert STEPS_SCHEMA["additionalProperties"] is False
    assert STEPS_SCHEMA["properties"]["naturalness"] == {
        "type": ["object", "null"],
        "properties": {"reason": {"type": "string"}, "highly_natural": {"type": "boolean"}},
        "required": ["reason", "highly_natural"],
        "additionalProperties": False,
    }
