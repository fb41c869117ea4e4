"""Scenes as items: spread and item-rest correlation, against pandas and cases worked by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bench.scores.analyses.items import LEAST_PLAYERS, scene_items
from bench.scores.analyses.scenes import scene_finals
from bench.scores.frame import Frames, load
from tests.scores.evidence import LANGUAGE, SUITE, Evidence
from tests.synthetic import make_tree


def frames_of(root: Path, scores: dict[str, list[int | None]]) -> Frames:
    """A board whose players have these scores in the scenes c/s0, c/s1 and so on; None: not played."""
    evidence = Evidence(root)
    for player, row in scores.items():
        scenes = {
            f"c/s{n}": {"j": [(score, score, score)]} for n, score in enumerate(row) if score is not None
        }
        evidence.played(player, scenes)
    return load(evidence.tree, SUITE, LANGUAGE)


def players(count: int) -> list[str]:
    return [f"p{n:02}" for n in range(count)]


def test_correlation_is_that_of_pandas_and_its_interval_that_of_scipy(tmp_path: Path) -> None:
    frames = load(make_tree(tmp_path, players=12, characters=2, situations=3).tree, "synthetic", "en")
    table = scene_finals(frames).unstack(["character", "situation"])
    assert table.notna().all(axis=None)
    for _, row in scene_items(frames).iterrows():
        scene = (row["character"], row["situation"])
        rest = table.drop(columns=[scene]).mean(axis=1)
        assert row["item_rest"] == pytest.approx(table[scene].corr(rest), abs=1e-6)
        assert row["spread"] == pytest.approx(table[scene].std(), abs=1e-6)
        interval = stats.pearsonr(table[scene], rest).confidence_interval()
        assert (row["low"], row["high"]) == pytest.approx(tuple(interval), abs=1e-5)


def test_scene_that_was_not_played_by_all_is_worked_by_hand(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    cells: dict[str, list[int | None]] = {
        name: [int(score) for score in rng.integers(1, 6, 4)] for name in players(12)
    }
    cells["p03"][2] = None
    cells["p07"][0] = None
    table = pd.DataFrame(cells).T.astype("float64")
    centred = table - table.mean()
    items = scene_items(frames_of(tmp_path, cells))
    for n in range(4):
        rest = centred.drop(columns=[n]).mean(axis=1)
        assert items["item_rest"][n] == pytest.approx(table[n].corr(rest), abs=1e-6)
    assert items["players"].tolist() == [11, 12, 11, 12]


def test_dead_and_contrary_scenes_are_flagged(tmp_path: Path) -> None:
    good = [1, 2, 2, 3, 3, 3, 4, 4, 5, 5, 1, 5]
    cells: dict[str, list[int | None]] = {
        name: [score, min(5, score + n % 2), score, 4, 6 - score]
        for n, (name, score) in enumerate(zip(players(12), good, strict=True))
    }
    items = scene_items(frames_of(tmp_path, cells))
    assert items["flag"].tolist() == ["", "", "", "spread", "unrelated"]
    assert items["item_rest"][4] < -0.9
    assert "same score" in str(items["reason"][3])


def test_too_few_players_are_unknown_and_not_flagged(tmp_path: Path) -> None:
    names = players(LEAST_PLAYERS - 1)
    items = scene_items(frames_of(tmp_path, {name: [n % 5 + 1, 3] for n, name in enumerate(names)}))
    assert items["item_rest"].isna().all()
    assert items["flag"].isna().all()
    assert items["reason"].str.contains("a correlation needs").all()
    assert items["spread"].notna().all()


def test_one_player_and_one_scene_have_no_spread_and_no_rest(tmp_path: Path) -> None:
    alone = scene_items(frames_of(tmp_path / "a", {"p": [3, 4]}))
    assert alone["spread"].isna().all()
    single = scene_items(frames_of(tmp_path / "b", {name: [n % 5 + 1] for n, name in enumerate(players(12))}))
    assert single["item_rest"].isna().all()
    assert single["reason"].notna().all()
