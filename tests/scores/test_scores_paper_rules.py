"""Each rule of the paper's scoring on a case worked by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.records import Message
from bench.scores.board import Board, BoardRow, board_of
from bench.scores.forms import to_json
from bench.scores.frame import load
from bench.scores.paper import hundredths, length_factor, median_length, ranks
from bench.scores.weights import Weights
from tests.scores.evidence import LANGUAGE, SUITE, Evidence, refused

Scenes = list[tuple[str, str]]


def made(evidence: Evidence, scenes: Scenes | None = None, weights: Weights | None = None) -> Board:
    frames = load(evidence.tree, SUITE, LANGUAGE)
    return board_of(frames, scenes=scenes, weights=weights, resamples=50)


def row(
    evidence: Evidence, player: str = "ann", scenes: Scenes | None = None, weights: Weights | None = None
) -> BoardRow:
    return {r.player: r for r in made(evidence, scenes, weights).rows}[player]


def test_turns_then_criteria_then_judges_then_conversations(evidence: Evidence) -> None:
    evidence.played(
        "ann",
        {
            # a: (4 + 2)/2 = 3, 5, (3 + 4)/2 = 3.5 -> final 11.5/3; b: 1, 2, 3 -> final 2
            "c/s": {"a": [(4, 5, 3), (2, 5, 4)], "b": [(1, 2, 3), (1, 2, 3)]},
            "c/t": {"a": [(5, 5, 5)], "b": [(4, 4, 4)]},
        },
    )
    first = (11.5 / 3 + 2) / 2
    found = row(evidence)
    assert found.score == pytest.approx((first + 4.5) / 2, abs=1e-6)
    assert found.criteria["in_character"] == pytest.approx(((3 + 1) / 2 + 4.5) / 2, abs=1e-6)
    assert found.criteria["entertaining"] == pytest.approx(((5 + 2) / 2 + 4.5) / 2, abs=1e-6)
    assert found.criteria["fluency"] == pytest.approx(((3.5 + 3) / 2 + 4.5) / 2, abs=1e-6)
    assert (found.conversations, found.judgements_ok) == (2, 4)


def test_conversations_of_different_length_count_alike(evidence: Evidence) -> None:
    evidence.played("ann", {"c/s": {"a": [(1, 1, 1)] * 8}, "c/t": {"a": [(5, 5, 5)] * 4}})
    assert row(evidence).score == 3


def test_equal_weights_are_exactly_a_third(evidence: Evidence) -> None:
    evidence.played("ann", {"c/s": {"a": [(5, 5, 5)]}, "c/t": {"a": [(5, 5, 5)]}})
    assert row(evidence).score == 5


def test_weights_need_not_sum_to_one(evidence: Evidence) -> None:
    evidence.played("ann", {"c/s": {"a": [(5, 1, 1)]}})
    given_weights = {"in_character": 20.0, "entertaining": 10.0, "fluency": 10.0}
    assert row(evidence, weights=given_weights).score == 3
    assert row(evidence).weightings["in_character_heavy"].score == 3


def test_judgement_with_a_refusal_is_left_out_and_the_other_judge_kept(evidence: Evidence) -> None:
    evidence.played(
        "ann",
        {
            "c/s": {"a": [(1, 1, 1), refused(1, 1, 1)], "b": [(4, 4, 4), (4, 4, 4)]},
            "c/t": {"a": [(5, 5, 5)], "b": [(5, 5, 5)]},
        },
    )
    found = row(evidence)
    assert found.score == 4.5
    assert found.refusal_ratio == 0.5
    assert (found.judgements_refused, found.judgements_ok) == (1, 3)


def test_conversation_that_all_judges_saw_refused_counts_only_in_ratio_and_length(evidence: Evidence) -> None:
    evidence.player("ann")
    short = evidence.conversation("ann", "c/s", ["x" * 10])
    evidence.judgement(short, "a", [refused(1, 1, 1)])
    evidence.judgement(evidence.conversation("ann", "c/t", ["x" * 20]), "a", [(4, 4, 4)])
    found = row(evidence)
    assert (found.score, found.refusal_ratio, found.avg_length) == (4, 0.5, 15)
    assert (found.conversations, found.conversations_scored) == (2, 1)


def test_player_with_refusals_only_is_shown_without_a_score_and_not_in_the_median(evidence: Evidence) -> None:
    evidence.played("ann", {"c/s": {"a": [(4, 4, 4)]}}, ["x" * 100])
    evidence.played("bob", {"c/s": {"a": [refused(1, 1, 1)]}}, ["x" * 900])
    found = made(evidence)
    assert [r.player for r in found.rows] == ["ann", "bob"]
    assert found.median_length == 100
    last = found.rows[1]
    assert (last.rank, last.score, last.length_norm_score, last.criteria) == (None, None, None, {})
    assert (last.refusal_ratio, last.avg_length, last.conversations) == (1, 900, 1)


def test_player_without_any_conversation_is_shown_as_missing(evidence: Evidence) -> None:
    evidence.played("ann", {"c/s": {"a": [(4, 4, 4)]}})
    evidence.player("zoe")
    last = made(evidence).rows[1]
    assert (last.player, last.rank, last.score, last.refusal_ratio, last.avg_length) == (
        "zoe",
        None,
        None,
        None,
        None,
    )
    assert (last.conversations, last.conversations_missing, last.cost) == (0, 1, None)


def test_board_of_players_without_evidence(evidence: Evidence) -> None:
    evidence.player("ann")
    found = made(evidence)
    assert found.median_length is None
    assert found.rows[0].score is None


def test_failed_judgement_is_left_out_and_counted(evidence: Evidence) -> None:
    evidence.played(
        "ann", {"c/s": {"a": [(2, 2, 2)], "b": None}, "c/t": {"a": [(4, 4, 4)], "b": [(2, 2, 2)]}}
    )
    found = row(evidence)
    assert (found.score, found.judgements_failed, found.judgements_missing) == (2.5, 1, 0)


def test_conversation_whose_judgements_all_failed_is_not_in_the_refusal_ratio(evidence: Evidence) -> None:
    evidence.played("ann", {"c/s": {"a": None}, "c/t": {"a": [refused(1, 1, 1)]}, "c/u": {"a": [(3, 3, 3)]}})
    assert row(evidence).refusal_ratio == 0.5


def test_missing_judgement_of_one_judge_is_counted_not_imagined(evidence: Evidence) -> None:
    evidence.played("ann", {"c/s": {"a": [(2, 2, 2)]}, "c/t": {"a": [(4, 4, 4)], "b": [(2, 2, 2)]}})
    found = row(evidence)
    assert (found.score, found.judgements_missing, found.judgements_expected) == (2.5, 1, 4)


def test_failed_conversation_counts_neither_in_scores_nor_length(evidence: Evidence) -> None:
    evidence.player("ann")
    evidence.judgement(evidence.conversation("ann", "c/s", ["x" * 100]), "a", [(4, 4, 4)])
    evidence.judgement(evidence.conversation("ann", "c/t", ["x" * 900], failed=True), "a", [(1, 1, 1)])
    found = row(evidence)
    assert (found.score, found.avg_length) == (4, 100)
    assert (found.conversations, found.conversations_failed, found.conversations_missing) == (1, 1, 0)


def test_stale_judgement_is_left_out_and_counted(evidence: Evidence) -> None:
    evidence.player("ann")
    evidence.judgement(evidence.conversation("ann", "c/s"), "a", [(4, 4, 4)])
    evidence.judgement(evidence.conversation("ann", "c/t"), "a", [refused(1, 1, 1)], sha256="0" * 64)
    found = row(evidence)
    assert (found.score, found.refusal_ratio, found.judgements_stale) == (4, 0, 1)


def test_incomplete_player_says_how_much_is_missing(evidence: Evidence) -> None:
    evidence.played("ann", {"c/s": {"a": [(4, 4, 4)]}, "c/t": {"a": [(4, 4, 4)]}, "d/s": {"a": [(4, 4, 4)]}})
    evidence.played("bob", {"c/s": {"a": [(4, 4, 4)]}})
    found = row(evidence, "bob")
    assert (found.conversations, found.conversations_missing, found.conversations_expected) == (1, 2, 3)
    assert row(evidence, scenes=[("c", "s"), ("c", "t"), ("d", "s"), ("d", "t")]).conversations_missing == 1


def test_repaired_judgement_counts(evidence: Evidence) -> None:
    evidence.player("ann")
    evidence.judgement(evidence.conversation("ann", "c/s"), "a", [(4, 4, 4)], repairs=("fence",))
    found = row(evidence)
    assert (found.score, found.judgements_ok, found.judgements_repaired) == (4, 1, 1)


def test_mean_length_is_over_answers_and_cut_to_an_integer(evidence: Evidence) -> None:
    evidence.player("ann")
    evidence.judgement(evidence.conversation("ann", "c/s", ["x" * 10, "x" * 11]), "a", [(4, 4, 4)] * 2)
    evidence.judgement(evidence.conversation("ann", "c/t", ["ё" * 20]), "a", [(4, 4, 4)])
    assert row(evidence).avg_length == 41 // 3


def test_greeting_before_the_first_question_is_no_answer(evidence: Evidence) -> None:
    evidence.player("ann")
    plain = evidence.conversation("ann", "c/s", ["x" * 10])
    greeted = plain.model_copy(
        update={"messages": (Message(role="assistant", content="y" * 500), *plain.messages)}
    )
    evidence.tree.write_conversation(greeted, replace=True)
    evidence.judgement(greeted, "a", [(4, 4, 4)])
    assert row(evidence).avg_length == 10


def test_longer_answers_cost_and_shorter_do_not_gain(evidence: Evidence) -> None:
    for player, length in (("ann", 100), ("bob", 200), ("cy", 400)):
        evidence.played(player, {"c/s": {"a": [(4, 4, 4)]}}, ["x" * length])
    found = {r.player: r for r in made(evidence).rows}
    assert made(evidence).median_length == 200
    assert found["ann"].length_norm_score == found["bob"].length_norm_score == 4
    assert found["cy"].length_norm_score == pytest.approx(4 * (1 + 0.07 * (200 / 400 - 1)))
    assert found["cy"].score == 4


def test_single_player_is_the_median(evidence: Evidence) -> None:
    evidence.played("ann", {"c/s": {"a": [(4, 4, 4)]}}, ["x" * 5000])
    assert row(evidence).length_factor == 1


@pytest.mark.parametrize(
    ("lengths", "median"), [([5], 5), ([1, 2], 1.5), ([3, 1, 2], 2), ([4, 1, 3, 2], 2.5), ([], None)]
)
def test_median_length(lengths: list[int], median: float | None) -> None:
    assert median_length(lengths) == median


@pytest.mark.parametrize(
    ("length", "median", "factor"),
    [(100, 100, 1), (50, 100, 1), (200, 100, 0.965), (0, 100, 1), (10**9, 100, 0.93), (100, 0, 0.93)],
)
def test_length_factor(length: int, median: float, factor: float) -> None:
    assert length_factor(length, median) == pytest.approx(factor, abs=1e-6)


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ([], []),
        ([450], [1]),
        ([462, 456, 455], [1, 1, 3]),  # a gap of exactly 0.06 belongs to the group
        ([462, 456, 450], [1, 1, 3]),  # the gap counts from the leader, not from the neighbour
        ([500, 400, 400, 390], [1, 2, 2, 4]),
    ],
)
def test_rank_rule(printed: list[int], expected: list[int]) -> None:
    assert ranks(printed) == expected


def test_gap_of_exactly_six_hundredths_never_splits() -> None:
    for top in range(100, 501):
        assert ranks([hundredths(top / 100), hundredths(top / 100 - 0.06)]) == [1, 1]


@given(st.lists(st.integers(100, 500), max_size=30))
def test_ranks_are_places_of_leaders(scores: list[int]) -> None:
    printed = sorted(scores, reverse=True)
    for place, (rank, score) in enumerate(zip(ranks(printed), printed, strict=True), start=1):
        assert rank <= place
        assert printed[rank - 1] - score <= 6


def test_other_protocols_have_other_criteria_and_scales(tmp_path: Path) -> None:
    evidence = Evidence(tmp_path, criteria=["human_likeness"], protocol="human_likeness")
    evidence.played("ann", {"c/s": {"a": [(80,)]}, "c/t": {"a": [(61,)]}})
    found = row(evidence)
    assert (found.score, found.criteria) == (70.5, {"human_likeness": 70.5})
    assert json.loads(to_json(made(evidence)))["rows"][0]["fluency"] is None
    assert made(evidence).weightings == {}
