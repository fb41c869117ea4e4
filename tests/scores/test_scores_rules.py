"""What scoring takes from a protocol: scale, criteria, and its own rules of length, pooling and rank."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.boards.loading import load_board
from bench.protocol_facts import facts_of
from bench.scores.analyses.swaps import board_scores
from bench.scores.board import Board, BoardRow
from bench.scores.compare import methods as all_methods
from bench.scores.compare import scored_by
from bench.scores.frame import load
from bench.scores.paper import rank_gap, v1_penalty
from bench.scores.robust import robust_board
from tests.scores.evidence import LANGUAGE, SUITE, Evidence, refused

TANH_HALF = 0.46211715726000975  # (e - 1) / (e + 1)


def made(evidence: Evidence) -> Board:
    return load_board(evidence.tree, SUITE, LANGUAGE, prompts={}, resamples=50).board


def rows(evidence: Evidence) -> dict[str, BoardRow]:
    return {row.player: row for row in made(evidence).rows}


@pytest.fixture
def version_1(tmp_path: Path) -> Evidence:
    """ann: 5.5 and 100 characters; bob: 8 and 200; cid: 9 and 500. The median length is 200."""
    evidence = Evidence(tmp_path, protocol="pingpong_v1")
    evidence.player("ann")
    short = evidence.conversation("ann", "c/s", ["x" * 100])
    evidence.judgement(short, "a", [(8, 6, 7)])
    long = evidence.conversation("ann", "c/t", ["y" * 100] * 3)
    evidence.judgement(long, "a", [(4, 6, 5)] * 3)
    evidence.played("bob", {"c/s": {"a": [(8, 8, 8)]}, "c/t": {"a": [(8, 8, 8)]}}, ["x" * 200])
    evidence.played("cid", {"c/s": {"a": [(9, 9, 9)]}, "c/t": {"a": [(9, 9, 9)]}}, ["x" * 500])
    return evidence


def test_facts_of_the_protocols_that_are_here() -> None:
    assert facts_of("pingpong_v2").scale == (1, 5)
    assert facts_of("pingpong_v1").scale == (1, 10)
    assert facts_of("human_likeness").scale == (0, 100)
    assert [facts_of(n).length_rule for n in ("pingpong_v2", "pingpong_v1", "human_likeness")] == [
        "paper_v2",
        "paper_v1",
        "none",
    ]


def test_an_unknown_protocol_has_no_scale_and_is_scored_as_version_2() -> None:
    rules = facts_of("of another time")
    assert (rules.scale, rules.length_rule, rules.pools_turns, rank_gap(rules)) == (
        None,
        "paper_v2",
        False,
        6,
    )


@pytest.mark.parametrize(
    ("protocol", "gap"), [("pingpong_v2", 6), ("pingpong_v1", 13.5), ("human_likeness", 150)]
)
def test_players_share_a_rank_within_the_same_share_of_every_scale(protocol: str, gap: float) -> None:
    assert rank_gap(facts_of(protocol)) == gap


# --- version 1 -------------------------------------------------------------------------------------------


def test_version_1_pools_the_turns_of_a_player(version_1: Evidence) -> None:
    ann = rows(version_1)["ann"]
    # 4 turns: (8 + 3*4)/4, (6 + 3*6)/4, (7 + 3*5)/4; by conversations it would be 6, 6, 6
    assert ann.criteria == {"in_character": 5, "entertaining": 6, "fluency": 5.5}
    assert ann.score == 5.5


def test_version_1_takes_a_share_of_the_boards_range_off_for_length(version_1: Evidence) -> None:
    found = rows(version_1)
    # span 9 - 5.5; cid: tanh((200 - 500) / (3 * 200)) = tanh(-0.5)
    assert found["cid"].length_norm_score == pytest.approx(9 - 3.5 * TANH_HALF, abs=1e-6)
    assert found["bob"].length_norm_score == 8
    assert found["ann"].length_norm_score == 5.5
    assert [row.length_factor for row in found.values()] == [None] * 3
    assert list(found) == ["bob", "cid", "ann"]
    assert found["cid"].length_norm_ci == found["cid"].score_ci


def test_the_other_weightings_have_a_range_of_their_own(version_1: Evidence) -> None:
    heavy = rows(version_1)["cid"].weightings["in_character_heavy"]
    span = 9 - (2 * 5 + 6 + 5.5) / 4
    assert heavy.length_norm_score == pytest.approx(9 - span * TANH_HALF, abs=1e-6)


def test_a_refusal_leaves_version_1s_pool(version_1: Evidence) -> None:
    before = rows(version_1)["bob"]
    third = version_1.conversation("bob", "d/s", ["x" * 200])
    version_1.judgement(third, "a", [refused(1, 1, 1)])
    after = rows(version_1)["bob"]
    assert after.score == before.score
    assert after.refusal_ratio == pytest.approx(1 / 3, abs=1e-6)


def test_other_ways_to_score_keep_version_1s_rules(version_1: Evidence) -> None:
    frames = load(version_1.tree, SUITE, LANGUAGE)
    of_board = {name: row.length_norm_score for name, row in rows(version_1).items()}
    paper = next(all_methods(frames))
    assert dict(scored_by(frames, paper)["length_norm_score"]) == of_board
    assert dict(board_scores(frames)) == of_board


def test_the_robust_scoring_weighs_scenes_alike_under_the_same_length_rule(version_1: Evidence) -> None:
    frames = load(version_1.tree, SUITE, LANGUAGE)
    grid = robust_board(frames, dict.fromkeys(frames.criteria, 1.0)).grid
    means = dict(zip(grid.players, grid.values.reshape(3, -1).mean(axis=1), strict=True))
    # ann: 7 and 5 by scene, so its mean is 6 and the span 3
    assert means == pytest.approx({"ann": 6, "bob": 8, "cid": 9 - 3 * TANH_HALF})


@given(st.floats(1, 1e6), st.floats(1, 1e6))
def test_version_1s_penalty_is_none_up_to_the_median_and_never_the_whole_range(
    length: float, median: float
) -> None:
    penalty = v1_penalty(length, median)
    assert -1 <= penalty <= 0
    assert penalty == 0 if length <= median else penalty < 0 or math.isclose(length, median)


def test_version_1s_penalty_at_twice_and_at_four_times_the_median() -> None:
    assert v1_penalty(200, 100) == pytest.approx(math.tanh(-1 / 3))
    assert v1_penalty(400, 100) == pytest.approx(-math.tanh(1))
    assert v1_penalty(100, 0) == 0


# --- one criterion, no length rule -----------------------------------------------------------------------


def test_human_likeness_is_scored_as_it_is(tmp_path: Path) -> None:
    evidence = Evidence(tmp_path, ["human_likeness"], "human_likeness")
    evidence.played("ann", {"c/s": {"a": [(70,), (80,)]}, "d/t": {"a": [(0,), (10,)]}}, ["x" * 10])
    evidence.played("bob", {"c/s": {"a": [(39,), (39,)]}, "d/t": {"a": [(38,), (38,)]}}, ["x" * 900])
    found = made(evidence)
    ann, bob = found.rows
    assert (ann.score, ann.length_norm_score, ann.length_factor) == (40, 40, None)
    assert (bob.score, bob.length_norm_score, bob.criteria) == (38.5, 38.5, {"human_likeness": 38.5})
    assert (ann.rank, bob.rank) == (1, 1)  # 1.5 points apart, of 100
    assert ann.refusal_ratio == 0
    assert found.weightings == {}
    assert ann.robust is not None


def test_a_verdict_in_several_orders_is_none_that_had_to_be_repaired(tmp_path: Path) -> None:
    evidence = Evidence(tmp_path, ["human_likeness"], "human_likeness")
    evidence.player("ann")
    conversation = evidence.conversation("ann", "c/s")
    evidence.judgement(conversation, "a", [(70,), (80,)], costs=["0.1", "0.2"])
    assert rows(evidence)["ann"].judgements_repaired == 0
