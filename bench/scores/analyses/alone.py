"""The board that each judge alone would give, and how far the judges differ on each player."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from bench.scores import paper
from bench.scores.analyses.scenes import judge_table
from bench.scores.board import NUMBERS, RESAMPLES, SEED, paper_numbers, ranked_numbers
from bench.scores.frame import SCENE, Frames
from bench.scores.weights import standard_weightings

ALONE_COLUMNS = ["judge", "weighting", "player", "rank", *NUMBERS]
APART_COLUMNS = ["player", "conversations", "apart"]


def _alone(frames: Frames) -> Iterator[tuple[str, Frames]]:
    """Each judge with a judgement that counts, and the evidence as if it alone had judged.

    Nothing with fewer than two judges: the board itself says it.
    """
    for judge in frames.judges if len(frames.judges) > 1 else ():
        only = frames.only_judges([judge])
        if len(only.counting):
            yield judge, only


def boards_alone(frames: Frames) -> pd.DataFrame:
    """The paper's numbers from one judge alone: one row per judge, weighting and player, best first."""
    weightings = standard_weightings(frames.criteria)
    parts = []
    for judge, only in _alone(frames):
        scored, _ = paper_numbers(only, weightings, resamples=RESAMPLES, seed=SEED)
        for name in weightings:
            table = ranked_numbers(only, scored, name).reset_index(names="player")
            parts.append(table.assign(judge=judge, weighting=name)[ALONE_COLUMNS])
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=ALONE_COLUMNS)


def criteria_alone(frames: Frames) -> dict[str, dict[str, dict[str, float]]]:
    """Judge, player, criterion: the mean from this judge alone."""
    alone: dict[str, dict[str, dict[str, float]]] = {}
    for judge, only in _alone(frames):
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
