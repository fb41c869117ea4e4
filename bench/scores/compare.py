"""One board scored by several methods: which ranks depend on the method."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from bench.protocol_facts import facts_of
from bench.scores import paper
from bench.scores.frame import Frames
from bench.scores.policy import PAPER, POLICIES, ROBUST, Policy, scene_scores
from bench.scores.weights import EQUAL, Weights, standard_weightings

REFUSALS = "refusals:"
"""How the names of methods begin that differ by their policy for refusals."""


@dataclass(frozen=True)
class Method:
    """One way of scoring a board."""

    name: str
    weights: Weights
    policy: Policy = PAPER
    without_judge: str | None = None


def methods(frames: Frames) -> Iterator[Method]:
    """All methods that are compared. The first is the paper's; moves are against its ranks."""
    weightings = standard_weightings(frames.criteria)
    equal = weightings.pop(EQUAL)
    yield Method("paper", equal)
    yield Method("robust", equal, ROBUST)
    for name, policy in POLICIES.items():
        if policy not in (PAPER, ROBUST):
            yield Method(f"{REFUSALS}{name}", equal, policy)
    for name, weights in weightings.items():
        yield Method(f"weights:{name}", weights)
    for judge in frames.judges if len(frames.judges) > 1 else ():
        yield Method(f"without:{judge}", equal, PAPER, judge)


def scored_by(frames: Frames, method: Method) -> pd.DataFrame:
    """Players (index) ranked by one method, best first: ``length_norm_score``, ``score`` and ``rank``."""
    if method.without_judge is not None:
        frames = frames.only_judges(set(frames.judges) - {method.without_judge})
    means = paper.player_means(frames, scene_scores(frames, method.weights, method.policy)["final"])
    normalised = paper.length_normalised(frames, means)
    table = pd.DataFrame({"length_norm_score": normalised, "score": means}).map(paper.published)
    return paper.ranked(table, paper.rank_gap(facts_of(frames.protocol)))


def compare_methods(frames: Frames) -> pd.DataFrame:
    """Rank of every player by every method, one row each.

    Columns: ``method``, ``player``, ``score`` (length-normalised), ``rank``, ``paper_rank``, and ``moved``,
    the places up from the paper's rank (missing if one of the ranks is).
    """
    tables = {method.name: scored_by(frames, method) for method in methods(frames)}
    ranks = tables["paper"]["rank"]
    parts = [table.reset_index(names="player").assign(method=name) for name, table in tables.items()]
    result = pd.concat(parts, ignore_index=True).drop(columns="score")
    result = result.rename(columns={"length_norm_score": "score"})
    result["paper_rank"] = result["player"].map(ranks).astype("Int64")
    result["moved"] = result["paper_rank"] - result["rank"]
    return result[["method", "player", "score", "rank", "paper_rank", "moved"]]


def rank_moves(frames: Frames) -> pd.DataFrame:
    """Rows of :func:`compare_methods` whose rank is not the paper's, or exists in one of the two only."""
    table = compare_methods(frames)
    return table[table["moved"].isna() | (table["moved"] != 0)].reset_index(drop=True)
