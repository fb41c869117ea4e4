"""What is remembered of frames: made once for each, apart from its callers, and gone with them."""

from __future__ import annotations

import gc
from pathlib import Path

import pandas as pd

from bench.scores.frame import Frames, load
from bench.scores.memo import once
from tests.synthetic import make_tree


def frames_of(root: Path) -> Frames:
    made = make_tree(root, players=2, languages=("en",), characters=1, situations=2)
    return load(made.tree, made.suite, "en")


def test_it_is_made_once_for_each_frames(tmp_path: Path) -> None:
    asked = []

    @once
    def players(frames: Frames) -> pd.DataFrame:
        asked.append(frames.judges)
        return pd.DataFrame({"judge": list(frames.judges)})

    frames = frames_of(tmp_path)
    assert players(frames).equals(players(frames))
    fewer = frames.only_judges(frames.judges[:1])
    assert list(players(fewer)["judge"]) == list(frames.judges[:1])
    assert asked == [frames.judges, fewer.judges]


def test_a_caller_that_writes_changes_its_own_table_only(tmp_path: Path) -> None:
    @once
    def table(frames: Frames) -> pd.DataFrame:
        return pd.DataFrame({"a": [1, 2]})

    frames = frames_of(tmp_path)
    mine = table(frames)
    mine.loc[0, "a"] = 9
    mine["b"] = 0
    assert table(frames).to_dict("list") == {"a": [1, 2]}


def test_nothing_outlives_its_frames(tmp_path: Path) -> None:
    asked = []

    @once
    def column(frames: Frames) -> pd.Series:
        asked.append(1)
        return pd.Series([1.0])

    for n in range(3):
        frames = frames_of(tmp_path / str(n))
        column(frames)
        del frames
        gc.collect()
    assert len(asked) == 3
    (cell,) = (c.cell_contents for c in column.__closure__ or () if isinstance(c.cell_contents, dict))
    assert cell == {}
