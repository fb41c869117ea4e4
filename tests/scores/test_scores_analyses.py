"""The analyses, each against an independent implementation or a case worked by hand."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats

from bench.scores.analyses.difficulty import difficulty
from bench.scores.analyses.questions import question_variety
from bench.scores.analyses.repeats import repeats_between, repeats_within
from bench.scores.analyses.repetition import repetition
from bench.scores.analyses.report import Material, report
from bench.scores.analyses.scenes import scene_finals
from bench.scores.analyses.sure import mean_estimate
from bench.scores.analyses.swaps import judge_boards, mean_tau, swapped
from bench.scores.analyses.turns import by_turn
from bench.scores.analyses.verbosity import verbosity, within_slope
from bench.scores.frame import Frames
from tests.scores.conftest import SCENES, flat, frames_of, row, turns
from tests.scores.evidence import Evidence, Turn, refused

# Intervals


def test_interval_is_the_two_way_clustered_one_of_statsmodels() -> None:
    rng = np.random.default_rng(3)
    index = pd.MultiIndex.from_product([list("abcdef"), list("uvwxy")], names=["c", "s"])
    effect = rng.normal(0, 0.5, 6).repeat(5) + np.tile(rng.normal(0, 0.4, 5), 6)
    values = pd.Series(effect + rng.normal(0, 0.3, 30), index=index)
    data = values.rename("y").reset_index()
    groups = np.column_stack([pd.factorize(data["c"])[0], pd.factorize(data["s"])[0]])
    fit = smf.ols("y ~ 1", data).fit(cov_type="cluster", cov_kwds={"groups": groups})
    made = mean_estimate(values)
    assert made.value == pytest.approx(values.mean(), abs=1e-6)
    assert made.low is not None
    assert made.high is not None
    half = (made.high - made.low) / 2
    # between the reach with the fewest and with the most degrees of freedom
    error = float(fit.bse.iloc[0])
    assert stats.t.ppf(0.975, 29) * error <= half <= stats.t.ppf(0.975, 4) * error


def test_one_scene_has_a_mean_and_no_interval() -> None:
    index = pd.MultiIndex.from_tuples([("c", "s")])
    made = mean_estimate(pd.Series([3.0], index=index))
    assert (made.value, made.low, made.high) == (3, None, None)
    assert made.reason


# Turns, difficulty, length


def test_turns_worked_by_hand(evidence: Evidence) -> None:
    """A third turn in one conversation only: its change is measured against that conversation's first."""
    evidence.played(
        "ann",
        {
            "c/s": {"a": [*flat(5), *flat(3)]},
            "c/t": {"a": [*flat(3), *flat(3), *flat(2)]},
            "d/s": {"a": [refused(1, 1, 1), *flat(1)]},
        },
    )
    table = by_turn(frames_of(evidence))
    ann = table[table["player"] == "ann"]
    assert ann["score"].tolist() == [4, 3, 2]
    assert ann["conversations"].tolist() == [2, 2, 1]
    assert [None if pd.isna(v) else v for v in ann["change"]] == [None, -1, -1]
    assert row(table, player="ann", turn=3)["low"] is None
    assert table[table["player"] == ""]["score"].tolist() == [4, 3, 2]


def test_difficulty_worked_by_hand(evidence: Evidence) -> None:
    """ben misses d; the effect of c is not tilted by how good ben is."""
    evidence.played("ann", {scene: {"a": flat(5 if scene[0] == "c" else 3)} for scene in SCENES})
    evidence.played("ben", {scene: {"a": flat(1)} for scene in SCENES[:2]})
    table = difficulty(frames_of(evidence))
    assert row(table, kind="character", id="c")["score"] == 3
    assert row(table, kind="character", id="c")["effect"] == 0.5  # (+1 +1 of ann, 0 0 of ben) / 4
    assert row(table, kind="character", id="d")["effect"] == -1
    assert row(table, kind="situation", id="s")["effect"] == 0
    assert table["kind"].tolist() == ["character", "character", "situation", "situation"]
    assert table["id"].tolist()[0] == "d"


def lengths_table() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    index = pd.MultiIndex.from_product(
        [list("pqrs"), list("abcd"), list("wxyz")], names=["player", "character", "situation"]
    )
    doublings = rng.normal(8, 1, 64)
    final = 3 + 0.2 * doublings + rng.normal(0, 0.3, 64) + np.repeat([0.0, 1, 2, 3], 16)
    return pd.DataFrame({"final": final, "doublings": doublings}, index=index).drop(index[[3, 17, 40]])


def test_slope_within_is_that_of_statsmodels() -> None:
    data = lengths_table().reset_index()
    data["scene"] = data["character"] + data["situation"]
    groups = np.column_stack([pd.factorize(data["character"])[0], pd.factorize(data["situation"])[0]])
    fit = smf.ols("final ~ doublings + C(player) + C(scene)", data).fit(
        cov_type="cluster", cov_kwds={"groups": groups}
    )
    made = within_slope(lengths_table())
    assert made.value == pytest.approx(fit.params["doublings"], abs=1e-6)
    assert made.low is not None
    assert made.high is not None
    error = (made.high - made.low) / 2 / stats.t.ppf(0.975, 3)
    both = smf.ols("final ~ doublings + C(player) + C(scene)", data).fit(
        cov_type="cluster", cov_kwds={"groups": pd.factorize(data["scene"])[0]}
    )
    expected = max(float(fit.bse["doublings"]), float(both.bse["doublings"]))
    assert error == pytest.approx(expected, rel=1e-4)


def test_lengths_that_are_all_alike_have_no_slope(evidence: Evidence) -> None:
    for name in ("ann", "ben"):
        evidence.played(name, {scene: {"a": flat(4)} for scene in SCENES})
    table = verbosity(frames_of(evidence))
    for kind in ("between", "within"):
        assert row(table, kind=kind)["value"] is None
        assert row(table, kind=kind)["reason"]


def test_correlation_between_players_is_that_of_scipy(synthetic: Frames) -> None:
    finals = scene_finals(synthetic).groupby(level="player").mean()
    complete = synthetic.conversations[synthetic.conversations["status"] == "complete"]
    sums = complete.groupby("player", observed=True)[["answer_characters", "turns"]].sum()
    lengths = sums["answer_characters"] // sums["turns"]
    expected = stats.spearmanr(lengths, finals).statistic
    assert row(verbosity(synthetic), kind="between")["value"] == pytest.approx(expected, abs=1e-6)


# Texts


def test_repetition_worked_by_hand(evidence: Evidence) -> None:
    """Runs of four words: `a b c d e` has 2; said twice, 2 of 4 are repeats."""
    evidence.player("ann")
    evidence.conversation("ann", "c/s", ("a b c d e", "A, b; c d e!"))
    evidence.conversation("ann", "d/t", ("b c d e", "one two three four"))
    evidence.conversation("ann", "c/t", ("b c d e",))
    made = row(repetition(turns(evidence)), player="ann")
    assert made["within"] == pytest.approx(0.5 / 3, abs=1e-6)
    assert made["verbatim"] == pytest.approx(0.5 / 3, abs=1e-6)
    assert made["pairs"] == 1  # c/s and d/t alone share neither character nor situation
    assert made["across"] == 0.5  # {abcd, bcde} and {bcde, one...}: one of two
    assert made["words"] == pytest.approx((10 + 8 + 4) / 3, abs=1e-6)


def test_repetition_of_too_short_answers_is_null(evidence: Evidence) -> None:
    evidence.player("ann")
    evidence.conversation("ann", "c/s", ("no", "yes"))
    made = row(repetition(turns(evidence)), player="ann")
    assert (made["within"], made["across"]) == (None, None)
    assert made["reason"]


def asked(player: str, scene: str, question: str) -> dict[str, object]:
    character, situation = scene.split("/")
    return {
        "player": player,
        "character": character,
        "situation": situation,
        "turn": 1,
        "question": question,
        "answer": "x",
    }


def test_questions_worked_by_hand() -> None:
    table = pd.DataFrame(
        [
            asked("ann", "c/s", "who are you"),
            asked("ben", "c/s", "Who are you?"),
            asked("ann", "d/t", "who is there"),
            asked("ben", "d/t", "who was there"),
        ]
    )
    made = row(question_variety(table), turn=1)
    assert made["pairs"] == 2
    assert made["overlap"] == 0.75  # all of three words; two of four
    assert made["same"] == 0.5
    assert made["baseline"] == 0.2  # `who` of five words


def test_questions_that_were_asked_once_are_compared_with_nothing() -> None:
    made = row(question_variety(pd.DataFrame([asked("ann", "c/s", "who")])), turn=1)
    assert (made["overlap"], made["same"], made["baseline"]) == (None, None, None)
    assert made["reason"] == "no scene was played twice"


# Repeats and swaps


def test_same_player_twice_worked_by_hand(evidence: Evidence) -> None:
    first, second = (5, 4, 4, 3), (4, 4, 5, 5)
    for name, scores in (("ann", first), ("ann-again", second), ("warm", second)):
        evidence.played(name, {s: {"a": flat(n)} for s, n in zip(SCENES, scores, strict=True)})
        evidence.player(
            name, model="m", sampling={"temperature": 1.0 if name == "warm" else 0.6, "seed": len(name)}
        )
    table = repeats_within(frames_of(evidence))
    assert len(table) == 1
    made = row(table, player="ann", other="ann-again")
    assert (made["score"], made["other_score"], made["difference"]) == (4, 4.5, 0.5)
    assert made["noise"] == pytest.approx(np.std([-1, 0, 1, 2], ddof=1) / math.sqrt(2), abs=1e-6)
    assert made["spearman"] == pytest.approx(stats.spearmanr(first, second).statistic, abs=1e-6)


def test_second_tree_is_compared_player_by_player(tmp_path: Path) -> None:
    trees = [Evidence(tmp_path / name) for name in ("one", "two")]
    for tree, score in zip(trees, (4, 3), strict=True):
        tree.played("ann", {scene: {"a": flat(score)} for scene in SCENES})
    trees[1].played("new", {"c/s": {"a": flat(5)}})
    table = repeats_between(*(frames_of(tree) for tree in trees))
    assert table["player"].tolist() == ["ann"]
    assert table["difference"].tolist() == [-1]


def test_swapped_boards_are_compared_by_scipys_tau() -> None:
    rng = np.random.default_rng(1)
    boards = {name: pd.Series(rng.normal(size=6).round(1), index=list("pqrstu")) for name in "abc"}
    boards["c"] = boards["c"].drop("p")
    table = swapped(boards)
    taus = []
    for a, b in (("a", "b"), ("a", "c"), ("b", "c")):
        common = boards[a].index.intersection(boards[b].index)
        expected = float(stats.kendalltau(boards[a][common], boards[b][common]).statistic)
        assert row(table, board=a, other=b)["kendall"] == pytest.approx(expected, abs=1e-6)
        taus.append(expected)
    assert row(table, board="", other="")["kendall"] == pytest.approx(np.mean(taus), abs=1e-6)


def test_one_board_or_tied_boards_have_no_mean_tau() -> None:
    one = pd.Series([1.0, 2.0], index=["p", "q"])
    assert mean_tau(swapped({"a": one}).iloc[:-1])[0] is None
    tied = swapped({"a": one, "b": pd.Series([1.0, 1.0], index=["p", "q"])})
    assert row(tied, board="")["kendall"] is None
    assert "1 of 1" in str(row(tied, board="")["reason"])


def test_each_judge_alone_makes_a_board(evidence: Evidence) -> None:
    evidence.played("ann", {"c/s": {"a": flat(5), "b": flat(2)}})
    evidence.played("ben", {"c/s": {"a": flat(4), "b": flat(3)}})
    boards = judge_boards(frames_of(evidence))
    assert {name: scores.to_dict() for name, scores in boards.items()} == {
        "a": {"ann": 5, "ben": 4},
        "b": {"ann": 2, "ben": 3},
    }
    assert swapped(boards)["kendall"].tolist() == [-1, -1]


# The report


def test_every_gap_of_the_report_has_a_reason(synthetic: Frames, evidence: Evidence) -> None:
    """Null cells only where the row says why, and no NaN; in a full board and in one without a verdict."""
    evidence.player("ann")
    evidence.conversation("ann", "c/s")
    for frames in (synthetic, frames_of(evidence)):
        made = report(Material(frames, turns(evidence)))
        assert "NaN" not in made.model_dump_json()
        for analysis in made.analyses:
            assert analysis.rows or analysis.reason
            for cells in analysis.rows:
                gaps = [name for name, cell in cells.items() if cell is None and name not in OPTIONAL]
                assert not gaps or cells["reason"], (analysis.name, cells)


OPTIONAL = {
    "reason",
    "p",
    "low",
    "high",
    "change_low",
    "change_high",
    "largest_move",
    "moved_most",
    "noise",
    "reasoning_tokens",
}
"""Cells that a row's kind has no use for."""


def test_ledger_of_the_report_adds_up(synthetic: Frames) -> None:
    made = report(Material(synthetic, pd.DataFrame(columns=["player", "turn"])), ["ledger"])
    for cells in made.analyses[0].rows:
        counts = [cells[name] for name in ("ok", "repaired", "refused", "failed", "stale", "missing")]
        assert cells["expected"] == 16 * 2 == sum(int(str(n)) for n in counts)


# Nothing that counts


@pytest.mark.parametrize("case", ["refused by all", "failed", "no judgement", "no conversation", "no player"])
def test_every_analysis_of_a_board_on_which_nothing_counts_says_why(tmp_path: Path, case: str) -> None:
    evidence = Evidence(tmp_path)
    verdict: dict[str, list[Turn] | None] = {"refused by all": [refused(1, 1, 1)], "failed": None}
    for name in () if case == "no player" else ("ann", "ben"):
        if case == "no conversation":
            evidence.player(name)
        else:
            judges = dict.fromkeys(("a", "b"), verdict[case]) if case in verdict else {}
            evidence.played(name, {"c/s": judges, "d/t": judges})
    frames = frames_of(evidence)
    made = report(Material(frames, turns(evidence)))
    for analysis in made.analyses:
        assert analysis.rows or analysis.reason, analysis.name
        for found in analysis.rows:
            known = [v for name, v in found.items() if isinstance(v, float)]
            assert known == [] or analysis.name in ("repetition", "questions"), (analysis.name, found)
