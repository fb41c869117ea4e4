"""What counts under each policy, and how ranks hang on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.boards.loading import load_board
from bench.errors import UserError
from bench.records import Failure
from bench.scores.board import board_of
from bench.scores.compare import compare_methods, rank_moves
from bench.scores.frame import Frames, load
from bench.scores.paper import judge_scores
from bench.scores.policy import PAPER, POLICIES, ROBUST, Policy, leniency, scale_of, scene_scores
from tests.scores.evidence import CRITERIA, LANGUAGE, SUITE, Evidence, refused
from tests.synthetic import make_tree

EQUAL = dict.fromkeys(CRITERIA, 1.0)


def frames_of(evidence: Evidence) -> Frames:
    return load(evidence.tree, SUITE, LANGUAGE)


def finals(evidence: Evidence, policy: Policy) -> dict[str, float]:
    """Final scores by player and scene."""
    table = scene_scores(frames_of(evidence), EQUAL, policy)["final"]
    flat = table.reset_index()
    names = flat["player"] + " " + flat["character"] + "/" + flat["situation"]
    return dict(zip(names, flat["final"].round(12), strict=True))


def test_refusal_is_left_out_or_the_lowest_score(evidence: Evidence) -> None:
    evidence.played(
        "ann",
        {"c/s": {"a": [refused(3, 3, 3)], "b": [(4, 4, 4)]}, "c/t": {"a": [(5, 5, 5)], "b": [(5, 5, 5)]}},
    )
    assert finals(evidence, PAPER) == {"ann c/s": 4, "ann c/t": 5}
    assert finals(evidence, POLICIES["lowest"]) == {"ann c/s": 2.5, "ann c/t": 5}


def test_failed_conversation_counts_where_the_player_itself_ended_it(evidence: Evidence) -> None:
    evidence.played("ann", {"c/s": {"a": [(5, 5, 5)]}})
    for scene, role, outcome, filtered, reason in (
        ("c/t", "player", "refused", None, "r"),
        ("c/u", "player", "transport", None, "r"),
        ("c/v", "interrogator", "empty", None, "r"),
        ("c/w", "player", "rejected", None, "HTTP 400: prompt is too long"),
        ("c/x", "player", "refused", None, "HTTP 400: prompt is too long"),
        ("c/y", "player", "content_filter", "input", "r"),
        ("c/z", "player", "content_filter", None, "r"),
    ):
        failed = evidence.conversation("ann", scene, failed=True)
        why = Failure.model_validate(
            {"role": role, "turn": 1, "outcome": outcome, "filtered": filtered, "reason": reason}
        )
        evidence.tree.write_conversation(failed.model_copy(update={"failure": why}), replace=True)
    assert finals(evidence, PAPER) == {"ann c/s": 5}
    assert finals(evidence, POLICIES["lowest"]) == {"ann c/s": 5, "ann c/t": 1, "ann c/z": 1}


def test_absent_judgement_is_filled_by_the_others_and_the_judges_leniency(evidence: Evidence) -> None:
    evidence.played(
        "ann",
        {
            "c/s": {"strict": [(2, 2, 2)], "mild": [(4, 4, 4)]},  # the mild judge gives 2 more
            "c/t": {"strict": None, "mild": [(4, 4, 4)]},
            "c/u": {"strict": [(1, 1, 1)]},
        },
    )
    assert finals(evidence, PAPER) == {"ann c/s": 3, "ann c/t": 4, "ann c/u": 1}
    assert finals(evidence, ROBUST) == {"ann c/s": 3, "ann c/t": 3, "ann c/u": 2}


def test_filled_scores_stay_within_the_scale(evidence: Evidence) -> None:
    evidence.played(
        "ann", {"c/s": {"a": [(1, 1, 1)], "b": [(5, 5, 5)]}, "c/t": {"a": [(4, 4, 4)], "b": None}}
    )
    assert finals(evidence, ROBUST)["ann c/t"] == 4.5


def test_leniency_by_hand(evidence: Evidence) -> None:
    evidence.played("ann", {"c/s": {"a": [(2, 3, 4)], "b": [(4, 3, 2)]}, "c/t": {"b": [(5, 5, 5)]}})
    found = leniency(judge_scores(frames_of(evidence), {}))
    assert found.loc["a"].to_dict() == {"in_character": -1, "entertaining": 0, "fluency": 1}
    assert found.loc["b"].to_dict() == {"in_character": 1, "entertaining": 0, "fluency": -1}


def test_shared_scenes_are_those_that_all_players_have(evidence: Evidence) -> None:
    evidence.played("ann", {"c/s": {"a": [(5, 5, 5)]}, "c/t": {"a": [(4, 4, 4)]}})
    evidence.played("bob", {"c/s": {"a": [(3, 3, 3)]}, "c/t": {"a": [refused(1, 1, 1)]}})
    assert finals(evidence, POLICIES["shared"]) == {"ann c/s": 5, "bob c/s": 3}


def test_unknown_protocol_has_no_robust_scoring(evidence: Evidence) -> None:
    evidence.played("ann", {"c/s": {"a": [(5, 5, 5)]}})
    path = evidence.tree.root / "tiny/en/ann"
    for file in [*path.glob("conversations/*"), *path.glob("judgements/*/*")]:
        file.write_text(file.read_text().replace("pingpong_v2", "mystery"))
    made = load_board(evidence.tree, SUITE, LANGUAGE, prompts={}, resamples=10).board
    assert (made.robust, made.rows[0].robust, made.rows[0].score) == (None, None, 5)
    with pytest.raises(UserError, match="mystery"):
        scale_of(frames_of(evidence))


def test_refusing_what_is_hard_lifts_a_player_only_under_the_paper_scoring(evidence: Evidence) -> None:
    scenes = [f"c{c}/s{s}" for c in range(4) for s in range(4)]
    evidence.played("fair", {scene: {"a": [(4, 4, 4)]} for scene in scenes})
    evidence.played(
        "shy", {scene: {"a": [refused(2, 2, 2) if n % 2 else (5, 5, 5)]} for n, scene in enumerate(scenes)}
    )
    rows = {
        row.player: row
        for row in load_board(evidence.tree, SUITE, LANGUAGE, prompts={}, resamples=50).board.rows
    }
    assert (rows["shy"].rank, rows["fair"].rank) == (1, 2)
    assert rows["shy"].robust is not None
    assert rows["fair"].robust is not None
    assert rows["shy"].robust.score == 3
    assert rows["fair"].robust.score == 4
    moves = rank_moves(frames_of(evidence))
    assert set(moves["method"]) == {"robust", "refusals:lowest"}


def test_paper_method_of_the_comparison_is_the_board(tmp_path: Path) -> None:
    made = make_tree(tmp_path, players=5, characters=3, situations=3, failure_rate=0.1, refusal_rate=0.2)
    frames = load(made.tree, made.suite, "en")
    table = compare_methods(frames)
    assert set(table["method"]) == {
        "paper",
        "robust",
        "refusals:lowest",
        "refusals:shared",
        "weights:in_character_heavy",
        "weights:entertaining_heavy",
        "weights:fluency_heavy",
        "without:judge-01",
        "without:judge-02",
    }
    ours = table[table["method"] == "paper"].set_index("player")
    rows = board_of(frames, resamples=10).rows
    assert ours["rank"].to_dict() == {row.player: row.rank for row in rows}
    assert ours["score"].to_dict() == pytest.approx(
        {row.player: row.length_norm_score for row in rows}, abs=2e-6
    )
