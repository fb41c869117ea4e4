"""Judges in turn recover what the whole panel says, for a fraction of the calls."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from bench.scores.frame import load
from bench.scores.robust import paired_differences, robust_grid
from bench.scores.weights import EQUAL, standard_weightings
from bench.suites.rotation import rota_of
from tests.synthetic import make_tree

JUDGES = ("judge-1", "judge-2", "judge-3", "judge-4")


@pytest.mark.parametrize("per_scene", [1, 2])
def test_rotated_judges_recover_the_panel_mean(tmp_path: Path, per_scene: int) -> None:
    """8 players, 64 scenes, a panel of 4 judges who differ in leniency."""
    made = make_tree(tmp_path, players=8, judges=JUDGES, seed=3)
    panel = load(made.tree, made.suite, "en")
    scenes = {(str(c), str(s)) for c, s in panel.scores[["character", "situation"]].itertuples(index=False)}
    rota = rota_of(tuple((scene, 4) for scene in sorted(scenes)), panel.judges, per_scene)
    rotated = panel.rotated(rota)
    assert len(rotated.judgements) == len(panel.judgements) * per_scene / 4
    weights = standard_weightings(panel.criteria)[EQUAL]
    whole, part = (paired_differences(robust_grid(frames, weights)) for frames in (panel, rotated))
    assert len(whole) == len(list(combinations(range(8), 2)))
    assert stats.pearsonr(whole["difference"], part["difference"]).statistic > 0.98
    missed = (whole["difference"] - part["difference"]).abs()
    reach = stats.t.ppf(0.975, part["df"]) * part["standard_error"]
    assert (missed <= reach).mean() >= 0.95
    assert np.sqrt((missed**2).mean()) < 0.1
