"""Analyses that compare pairs take all of them, or a sample that is always the same and says its size."""

from __future__ import annotations

import random
from itertools import combinations

import pandas as pd
import pytest

from bench.scores.analyses import pairs
from bench.scores.analyses.pairs import drawn_pairs
from bench.scores.analyses.questions import question_variety
from bench.scores.analyses.repetition import repetition

WORDS = [f"w{n}" for n in range(30)]


def turns(players: int, scenes: int) -> pd.DataFrame:
    """Questions of eight words and answers of twenty, all drawn from thirty."""
    rng = random.Random(1)
    return pd.DataFrame(
        {
            "player": f"p{p:02d}",
            "character": f"c{s}",
            "situation": f"s{s}",
            "repeat": 1,
            "turn": 1,
            "question": " ".join(rng.choices(WORDS, k=8)),
            "answer": " ".join(rng.choices(WORDS[:6], k=20)),
        }
        for p in range(players)
        for s in range(scenes)
    )


def test_few_things_are_compared_in_all_pairs() -> None:
    assert drawn_pairs(64, "x") == list(combinations(range(64), 2))
    assert drawn_pairs(1, "x") == drawn_pairs(0, "x") == []


def test_of_many_pairs_a_sample_is_drawn_by_its_key_alone() -> None:
    drawn = drawn_pairs(500, "x")
    assert len(set(drawn)) == pairs.MOST_PAIRS
    assert all(0 <= a < b < 500 for a, b in drawn)
    assert drawn == drawn_pairs(500, "x") != drawn_pairs(500, "y")
    assert sum(a for a, _ in drawn) / len(drawn) == pytest.approx(500 / 3, rel=0.05)


def test_question_variety_of_a_sample_is_near_that_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    table = turns(players=40, scenes=6)
    [every] = question_variety(table).to_dict("records")
    monkeypatch.setattr(pairs, "MOST_PAIRS", 200)
    [some] = question_variety(table).to_dict("records")
    assert (every["pairs"], every["compared"]) == (6 * 780, 6 * 780)
    assert (some["pairs"], some["compared"]) == (6 * 780, 6 * 200)
    assert some["overlap"] != every["overlap"]
    assert some["overlap"] == pytest.approx(every["overlap"], rel=0.1)


def test_repetition_across_a_sample_is_near_that_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    table = turns(players=1, scenes=60)
    [every] = repetition(table).to_dict("records")
    monkeypatch.setattr(pairs, "MOST_PAIRS", 400)
    [some] = repetition(table).to_dict("records")
    assert (every["pairs"], some["pairs"]) == (1770, 400)
    assert some["across"] == pytest.approx(every["across"], rel=0.3)
    assert some["within"] == every["within"]
