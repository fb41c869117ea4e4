"""One board scored in many ways: which ranks hang on the method."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from bench.protocol_facts import facts_of
from bench.scores import paper
from bench.scores.frame import Frames
from bench.scores.policy import PAPER, POLICIES, ROBUST, Policy, scene_scores
from bench.scores.weights import EQUAL, Weights, standard_weightings


@dataclass(frozen=True)
class Method:
    """One way of scoring a board."""

    name: str
    weights: Weights
    policy: Policy = PAPER
    without_judge: str | None = None


def methods(frames: Frames) -> Iterator[Method]:
    """All methods that are compared; the first is the paper's, against which ranks move."""
    weightings = standard_weightings(frames.criteria)
    equal = weightings.pop(EQUAL)
    yield Method("paper", equal)
    yield Method("robust", equal, ROBUST)
    for name, policy in POLICIES.items():
        if policy not in (PAPER, ROBUST):
            yield Method(f"refusals:{name}", equal, policy)
    for name, weights in weightings.items():
        yield Method(f"weights:{name}", weights)
    if len(frames.judges) > 1:
        for judge in frames.judges:
            yield Method(f"without:{judge}", equal, PAPER, judge)


def scored_by(frames: Frames, method: Method) -> pd.DataFrame:
    """Players ranked by one method, best first: published ``length_norm_score`` and ``score``, ``rank``."""
    if method.without_judge is not None:
        frames = frames.only_judges(set(frames.judges) - {method.without_judge})
    scenes = scene_scores(frames, method.weights, method.policy)
    means = paper.player_means(frames, scenes["final"])
    means.index = means.index.astype(str)
    normalised = paper.length_normalised(frames, means)
    table = pd.DataFrame({"length_norm_score": normalised, "score": means}).map(paper.published)
    return paper.ranked(table, paper.rank_gap(facts_of(frames.protocol)))


def compare_methods(frames: Frames) -> pd.DataFrame:
    """Every method's rank of every player: ``method``, ``player``, ``score``, ``rank``, ``paper_rank``,
    ``moved`` (positive: up; missing where either has no rank)."""
    tables = [(method.name, scored_by(frames, method)) for method in methods(frames)]
    base = tables[0][1]["rank"]
    parts = []
    for name, table in tables:
        part = table.rename(columns={"length_norm_score": name}).reset_index(names="player")
        parts.append(
            pd.DataFrame(
                {
                    "method": name,
                    "player": part["player"],
                    "score": part[name],
                    "rank": part["rank"],
                    "paper_rank": part["player"].map(base).astype("Int64"),
                }
            )
        )
    result = pd.concat(parts, ignore_index=True)
    return result.assign(moved=result["paper_rank"] - result["rank"])


def rank_moves(frames: Frames) -> pd.DataFrame:
    """The rows of :func:`compare_methods` where a rank moves, or is there under one method only."""
    table = compare_methods(frames)
    return table[(table["moved"].isna()) | (table["moved"] != 0)].reset_index(drop=True)
