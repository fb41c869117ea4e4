"""Judges in turn recover what the whole panel says, for a fraction of the calls."""

from __future__ import annotations

from itertools import combinations

import krippendorff
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bench.scores.analyses.judges import agreement, leniency, pairwise
from bench.scores.analyses.scenes import judge_table
from bench.scores.analyses.variance import notes, variance_study
from bench.scores.frame import SCENE, TALK, Frames, load
from bench.scores.robust import paired_differences, robust_board
from bench.scores.weights import EQUAL, standard_weightings
from bench.suites.rotation import rota_of
from tests.synthetic import make_tree

JUDGES = ("judge-1", "judge-2", "judge-3", "judge-4")


@pytest.fixture(scope="module")
def panel(tmp_path_factory: pytest.TempPathFactory) -> Frames:
    """8 players, 64 scenes, a panel of 4 judges who differ in leniency."""
    made = make_tree(tmp_path_factory.mktemp("panel"), players=8, judges=JUDGES, seed=3)
    return load(made.tree, made.suite, "en")


@pytest.mark.parametrize("per_scene", [1, 2])
def test_rotated_judges_recover_the_panel_mean(panel: Frames, per_scene: int) -> None:
    scenes = {(str(c), str(s)) for c, s in panel.scores[["character", "situation"]].itertuples(index=False)}
    rota = rota_of(tuple((scene, 4) for scene in sorted(scenes)), panel.judges, per_scene)
    rotated = panel.rotated(rota)
    assert len(rotated.judgements) == len(panel.judgements) * per_scene / 4
    weights = standard_weightings(panel.criteria)[EQUAL]
    whole, part = (paired_differences(robust_board(frames, weights).grid) for frames in (panel, rotated))
    assert len(whole) == len(list(combinations(range(8), 2)))
    assert stats.pearsonr(whole["difference"], part["difference"]).statistic > 0.98
    missed = (whole["difference"] - part["difference"]).abs()
    reach = stats.t.ppf(0.975, part["df"]) * part["standard_error"]
    assert (missed <= reach).mean() >= 0.95
    assert np.sqrt((missed**2).mean()) < 0.1


def test_leniency_and_agreement_of_rotated_judges(panel: Frames) -> None:
    """Against offsets solved by least squares, and Krippendorff's alpha of the turns that a pair shares."""
    panel = panel.only_players(panel.names[:4])
    scenes = sorted({(str(c), str(s)) for c, s in panel.scores[SCENE[1:]].itertuples(index=False)})

    def rotated(per_scene: int) -> Frames:
        return panel.rotated(rota_of(tuple((scene, 4) for scene in scenes), panel.judges, per_scene))

    pairs = rotated(2)
    said = notes(variance_study(pairs))[-1]
    assert said.startswith(f"From {8 * len(scenes):,} scores of 4 players")
    assert said.endswith("by 4 judges who take turns.")
    rows = leniency(pairs).set_index("judge")
    talks = judge_table(pairs)
    assert (talks.notna().sum(axis=1) == 2).all()
    # score = talk + judge, judges summing to 0
    long = talks.melt(var_name="judge", value_name="score", ignore_index=False).dropna().reset_index()
    judge = pd.get_dummies(long.pop("judge")).to_numpy(dtype=float)
    talk = pd.get_dummies(long.groupby(TALK, observed=True).ngroup()).to_numpy(dtype=float)
    design = np.vstack([np.hstack([judge, talk]), np.hstack([np.ones(4), np.zeros(talk.shape[1])])])
    solved = np.linalg.lstsq(design, np.append(long["score"].to_numpy(), 0.0), rcond=None)[0][:4]
    for name, offset in zip(sorted(JUDGES), solved, strict=True):
        assert rows.loc[name, "offset"] == pytest.approx(offset, abs=0.05)
        assert rows.loc[name, "low"] < offset < rows.loc[name, "high"]

    rows = agreement(pairs)
    mine = rows[(rows["judges"] == "judge-1 / judge-2") & (rows["criterion"] == pairs.criteria[0])]
    turns = pairs.counting_scores
    turns = turns[(turns["criterion"] == pairs.criteria[0]) & turns["judge"].isin(JUDGES[:2])]
    table = turns.pivot(index="judge", columns=[*TALK, "turn"], values="score").dropna(axis=1)
    alpha = krippendorff.alpha(table.to_numpy(dtype=float), level_of_measurement="ordinal")
    assert mine["turns"].tolist() == [table.shape[1]]
    assert mine["alpha"].tolist() == [pytest.approx(alpha, abs=1e-6)]

    alone = rotated(1)
    assert leniency(alone)["offset"].isna().all()
    assert leniency(alone)["reason"].notna().all()
    assert agreement(alone)["alpha"].isna().all()
    assert pairwise(alone)["spearman"].isna().all()
