"""A judge's band and score, and a rating that goes on: what is read, put right, refused."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.protocol_facts import facts_of
from bench.replies import REPAIRS, ReplyFault, banded, rating
from tests.scripted_server import rating as plausible_rating

BANDS = facts_of("human_likeness").bands
FACTS = facts_of("pingpong_v1")


@given(st.text() | st.text().map(lambda t: f'{{"analysis": "", "band": "{t}", "score": {t}}}'))
def test_whatever_the_text_only_a_fault_is_raised(text: str) -> None:
    for read in (
        lambda: banded(text, bands=BANDS),
        lambda: rating(text, turn=1, criteria=FACTS.criteria, more=True),
    ):
        with contextlib.suppress(ReplyFault):
            assert set(read().repairs) <= set(REPAIRS)


@given(st.integers(-10, 110), st.sampled_from(BANDS))
def test_a_score_is_read_where_it_lies_in_its_band_and_nowhere_else(
    score: int, band: tuple[int, int]
) -> None:
    text = json.dumps({"analysis": "a", "band": f"{band[0]}-{band[1]}", "score": score})
    if band[0] <= score <= band[1]:
        found = banded(text, bands=BANDS)
        assert (found.band, found.score, found.analysis, found.repairs) == (band, score, "a", ())
    else:
        with pytest.raises(ReplyFault):
            banded(text, bands=BANDS)


def test_a_rating_quoted_in_a_reason_is_none() -> None:
    inner = json.dumps(plausible_rating(1) | {"next_utterance": "x"})
    text = json.dumps(plausible_rating(2) | {"fluency_explanation": inner, "next_utterance": "y"})
    found = rating(text, turn=3, criteria=FACTS.criteria, more=True)
    assert (found.verdict.turn, found.said) == (3, "y")
    assert found.verdict.reasons["fluency"] == inner


def test_after_a_refusal_no_message_is_needed() -> None:
    text = json.dumps(plausible_rating(1) | {"is_refusal": True})
    assert rating(text, turn=1, criteria=FACTS.criteria, more=True).said is None
    with pytest.raises(ReplyFault, match="needs one"):
        rating(json.dumps(plausible_rating(1)), turn=1, criteria=FACTS.criteria, more=True)
