"""Results trees for the tests of scores: one to be written by hand, and one of made-up scores."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from bench.scores.analyses.texts import turns_of
from bench.scores.frame import Frames, load
from tests.scores.evidence import LANGUAGE, SUITE, Evidence, Turn
from tests.synthetic import make_tree

SCENES = ("c/s", "c/t", "d/s", "d/t")


@pytest.fixture
def evidence(tmp_path: Path) -> Evidence:
    return Evidence(tmp_path)


@pytest.fixture(scope="session")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Frames:
    tree = make_tree(
        tmp_path_factory.mktemp("tree"),
        players=4,
        characters=4,
        situations=4,
        refusal_rate=0.1,
        failure_rate=0.05,
    )
    return load(tree.tree, tree.suite, "en")


def frames_of(evidence: Evidence) -> Frames:
    return load(evidence.tree, SUITE, LANGUAGE)


def turns(evidence: Evidence) -> pd.DataFrame:
    players = evidence.tree.players(SUITE, LANGUAGE)
    return turns_of(
        talk for info in players for talk in evidence.tree.conversations(SUITE, LANGUAGE, info.player)
    )


def flat(score: int, count: int = 1) -> list[Turn]:
    return [(score, score, score)] * count


def row(table: pd.DataFrame, **keys: object) -> dict[str, object]:
    """The one row with these keys; missing cells as None."""
    mine = table
    for name, value in keys.items():
        mine = mine[mine[name] == value]
    assert len(mine) == 1, (keys, table)
    return {str(k): None if pd.isna(v) else v for k, v in mine.iloc[0].items()}
