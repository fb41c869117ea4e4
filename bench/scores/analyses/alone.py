"""The board that each judge alone would give, and how far the judges differ on each player."""

from __future__ import annotations

import pandas as pd

from bench.protocol_facts import facts_of
from bench.scores import paper
from bench.scores.analyses.scenes import judge_table
from bench.scores.board import NUMBERS, RESAMPLES, SEED, paper_numbers, published_numbers
from bench.scores.frame import SCENE, Frames
from bench.scores.weights import standard_weightings

ALONE_COLUMNS = ["judge", "weighting", "player", "rank", *NUMBERS]
APART_COLUMNS = ["player", "conversations", "apart"]


def boards_alone(frames: Frames, *, resamples: int = RESAMPLES, seed: int = SEED) -> pd.DataFrame:
    """The paper's numbers from one judge alone: one row per judge, weighting and player, best first.

    Empty with fewer than two judges: the board itself says it.
    """
    weightings = standard_weightings(frames.criteria)
    gap = paper.rank_gap(facts_of(frames.protocol))
    parts = []
    for judge in frames.judges if len(frames.judges) > 1 else ():
        only = frames.only_judges([judge])
        if only.counting.empty:
            continue
        scored, _ = paper_numbers(only, weightings, resamples=resamples, seed=seed)
        for name in weightings:
            table = paper.ranked(published_numbers(scored, name), gap).reset_index(names="player")
            parts.append(table.assign(judge=judge, weighting=name)[ALONE_COLUMNS])
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=ALONE_COLUMNS)


def criteria_alone(frames: Frames) -> dict[str, dict[str, dict[str, float]]]:
    """Judge, player, criterion: the mean from this judge alone. Empty with fewer than two judges."""
    alone: dict[str, dict[str, dict[str, float]]] = {}
    for judge in frames.judges if len(frames.judges) > 1 else ():
        only = frames.only_judges([judge])
        if only.counting.empty:
            continue
        scenes = paper.over_repeats(paper.conversation_scores(only.counting_means))
        for criterion in frames.criteria:
            for player, mean in paper.player_means(only, scenes[criterion]).items():
                means = alone.setdefault(judge, {}).setdefault(str(player), {})
                means[criterion] = paper.published(float(mean))
    return alone


def judges_apart(frames: Frames) -> pd.DataFrame:
    """How far the judges differ on each player, one row per player.

    ``apart``: the largest minus the smallest of the judges' means, in points, over the ``conversations`` that
    all judges judged. Where judges rotate, each mean is over the judge's own scenes, of its scores minus its
    mean score of all players in that scene. Empty with fewer than two judges.
    """
    if len(frames.judges) < 2:
        return pd.DataFrame(columns=APART_COLUMNS)
    table = judge_table(frames)
    if frames.asked is None:
        table = table.dropna()
    else:
        table -= table.groupby(level=SCENE[1:]).transform("mean")
    players = table.groupby(level="player")
    means = players.mean()
    apart = (means.max(axis=1) - means.min(axis=1)).map(paper.published)
    found = pd.DataFrame({"conversations": players.size(), "apart": apart})
    return found.rename_axis("player").reset_index()[APART_COLUMNS]
