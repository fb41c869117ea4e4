"""Agreement, leniency and preference of judges: each against another library or a case worked by hand."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from scipy import stats

from bench.scores.analyses.judges import agreement, alpha_of, leniency, pairwise
from bench.scores.analyses.preference import JudgeModel, judge_models, preference
from bench.scores.analyses.scenes import scene_finals
from bench.scores.frame import Frames
from tests.scores.conftest import SCENES, flat, frames_of, row
from tests.scores.evidence import Evidence


def test_alpha_is_that_of_krippendorffs_own_example() -> None:
    """Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), section D: ordinal alpha 0.815."""
    nan = math.nan
    rows = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
        [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan],
    ]
    value, reason = alpha_of(pd.DataFrame(rows))
    assert value == pytest.approx(0.815, abs=5e-4)
    assert reason is None


@pytest.mark.parametrize(
    "rows", [[[4, 4, 4], [4, 4, 4]], [[1, math.nan], [math.nan, 2]]], ids=["constant", "apart"]
)
def test_alpha_that_does_not_exist_is_null(rows: list[list[float]]) -> None:
    value, reason = alpha_of(pd.DataFrame(rows))
    assert value is None
    assert reason


def test_leniency_worked_by_hand(evidence: Evidence) -> None:
    evidence.played("ann", {scene: {"a": flat(5), "b": flat(3)} for scene in SCENES})
    evidence.played("ben", {"c/s": {"a": flat(1)}})  # b never judged it: not compared
    table = leniency(frames_of(evidence))
    assert table["offset"].tolist() == [1, -1]
    assert table["conversations"].tolist() == [4, 4]


def test_one_judge_has_nobody_to_be_compared_with(evidence: Evidence) -> None:
    evidence.played("ann", {scene: {"a": flat(5)} for scene in SCENES})
    frames = frames_of(evidence)
    assert row(leniency(frames), judge="a")["offset"] is None
    assert set(agreement(frames)["alpha"]) == {None}
    assert pairwise(frames).empty
    own = preference(frames, {"a": JudgeModel("ann", "Test")})
    assert own["preference"].isna().all()
    assert "one judge" in str(row(own, kind="self")["reason"])


def test_pairs_of_judges_are_as_scipy_says(synthetic: Frames) -> None:
    finals = [scene_finals(synthetic.only_judges([judge])) for judge in synthetic.judges]
    both = pd.concat(finals, axis=1, keys=["a", "b"]).dropna()
    means = both.groupby(level="player").mean()
    made = row(pairwise(synthetic), judge="judge-01")
    assert made["conversations"] == len(both)
    assert made["spearman"] == pytest.approx(stats.spearmanr(both["a"], both["b"]).statistic, abs=1e-6)
    expected = stats.kendalltau(means["a"], means["b"]).statistic
    assert made["kendall_players"] == pytest.approx(expected, abs=1e-6)


def judged(evidence: Evidence, player: str, family: str, a: int, b: int) -> None:
    evidence.played(player, {scene: {"ja": flat(a), "jb": flat(b)} for scene in SCENES})
    evidence.player(player, family=family, model=f"m-{player}")


def test_preference_worked_by_hand(evidence: Evidence) -> None:
    """ja gives its own model 2 more than jb does, a relative 1 more, strangers 0 or 1 less."""
    judged(evidence, "self", "A", 5, 3)
    judged(evidence, "kin", "A", 4, 3)
    judged(evidence, "rival", "B", 1, 5)
    judged(evidence, "x", "X", 3, 3)
    judged(evidence, "y", "Y", 3, 4)
    models = {"ja": JudgeModel("m-self", "A"), "jb": JudgeModel("m-none", "B")}
    table = preference(frames_of(evidence), models)
    own = row(table, judge="ja", kind="self")
    assert (own["own"], own["preference"], own["others"], own["scenes"]) == ("self", 2.5, 2, 4)
    assert own["chance"] == pytest.approx(1 / 3, abs=1e-6)
    assert row(table, judge="ja", kind="family")["preference"] == 1.5
    assert "not a player" in str(row(table, judge="jb", kind="self")["reason"])
    assert row(table, judge="jb", kind="family")["preference"] == 4 - 0.5


@pytest.mark.parametrize(
    ("models", "reason"),
    [
        ({}, "not known"),
        ({"ja": JudgeModel("m-self", "A")}, "no other judge is known"),
        ({"ja": JudgeModel("m-self", "A"), "jb": JudgeModel("z", "A")}, "of another family"),
        ({"ja": JudgeModel("m-self", "A"), "jb": JudgeModel("z", "X")}, "nothing neutral"),
    ],
)
def test_preference_that_cannot_be_told_says_why(
    evidence: Evidence, models: dict[str, JudgeModel], reason: str
) -> None:
    judged(evidence, "self", "A", 5, 3)
    judged(evidence, "x", "X", 3, 3)
    made = row(preference(frames_of(evidence), models), judge="ja", kind="self")
    assert made["preference"] is None
    assert reason in str(made["reason"])


@pytest.mark.parametrize("family", ["", "unknown", "Unknown "])
def test_models_of_unknown_family_are_not_of_one_family(evidence: Evidence, family: str) -> None:
    judged(evidence, "kin", family, 5, 3)
    judged(evidence, "x", "X", 3, 3)
    models = {"ja": JudgeModel("m-a", family), "jb": JudgeModel("m-b", family)}
    table = preference(frames_of(evidence), models)
    for judge in ("ja", "jb"):
        made = row(table, judge=judge, kind="family")
        assert made["preference"] is None
        assert "family is unknown" in str(made["reason"])


def test_judge_that_is_a_player_is_known_without_a_catalog(evidence: Evidence) -> None:
    evidence.played("ja", {"c/s": {"ja": flat(5), "jb": flat(4)}})
    evidence.player("ja", family="A", model="m-1")
    assert judge_models(frames_of(evidence), None) == {"ja": JudgeModel("m-1", "A")}
