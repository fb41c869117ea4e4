"""pandas keeps text in three ways, by its version and by whether pyarrow is there: the numbers are equal."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pandas as pd
import pytest

from bench.interop.export import exported, tidy_table
from bench.records import canonical
from bench.results import ResultsTree
from bench.scores.analyses.report import Material, report
from bench.scores.analyses.texts import turns_of
from bench.scores.board import board_of
from bench.scores.compare import compare_methods
from bench.scores.forms import to_json
from bench.scores.frame import load
from bench.scores.separate import separation
from tests.synthetic import make_tree

WAYS: dict[str, tuple[Any, ...]] = {
    "objects": ("future.infer_string", False),
    "python": ("future.infer_string", True, "mode.string_storage", "python"),
    "pyarrow": ("future.infer_string", True, "mode.string_storage", "pyarrow"),
}


@contextmanager
def kept_as(way: str) -> Iterator[None]:
    """Text in new tables is kept in one of WAYS."""
    if way == "pyarrow":
        pytest.importorskip("pyarrow")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # future.infer_string goes with pandas 4
        with pd.option_context(*WAYS[way]):
            yield


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> ResultsTree:
    root = tmp_path_factory.mktemp("results")
    make_tree(root, players=4, characters=3, situations=3, failure_rate=0.1, refusal_rate=0.2)
    return ResultsTree(root)


def everything(tree: ResultsTree) -> list[str]:
    """Board, analyses, comparison of methods and a separation, as text."""
    frames = load(tree, "synthetic", "en")
    talks = (t for info in frames.players for t in tree.conversations("synthetic", "en", info.player))
    made = report(Material(frames=frames, turns=turns_of(talks)))
    pair = separation(frames, "player-01", "player-02")
    return [
        to_json(board_of(frames, resamples=50)),
        canonical(made.model_dump(mode="json")),
        compare_methods(frames).to_csv(),
        canonical(pair.model_dump(mode="json")),
    ]


@pytest.fixture(scope="module")
def due(tree: ResultsTree) -> list[str]:
    return everything(tree)


@pytest.mark.parametrize("way", WAYS)
def test_all_numbers_are_the_same_however_pandas_keeps_text(
    tree: ResultsTree, due: list[str], way: str
) -> None:
    with kept_as(way):
        kept = "object" if way == "objects" else way
        assert getattr(pd.Series(["text"]).dtype, "storage", "object") == kept
        assert everything(tree) == due


def test_an_export_is_the_same_however_pandas_keeps_text(tree: ResultsTree) -> None:
    made = {}
    for way in ("objects", "python"):
        with kept_as(way):
            made[way] = exported(tidy_table(tree, "synthetic"), "csv")
    assert made["objects"] == made["python"] == exported(tidy_table(tree, "synthetic"), "csv")
