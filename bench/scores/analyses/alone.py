"""The board that each judge alone would make, and how far the judges lie apart on each player."""

from __future__ import annotations

import pandas as pd

from bench.protocol_facts import facts_of
from bench.scores import paper
from bench.scores.analyses.scenes import judge_finals, judge_table
from bench.scores.board import RESAMPLES, SEED, paper_numbers
from bench.scores.frame import Frames
from bench.scores.paper import published
from bench.scores.weights import standard_weightings

NUMBERS = ("length_norm_score", "length_norm_ci", "score", "score_ci")
ALONE = ["judge", "weighting", "player", "rank", *NUMBERS]
APART = ["player", "conversations", "apart"]


def boards_alone(frames: Frames, *, resamples: int = RESAMPLES, seed: int = SEED) -> pd.DataFrame:
    """One row per judge, weighting and player, best first: the paper's numbers as if it alone had judged.

    Empty with fewer than two judges: then it is the board itself.
    """
    parts = []
    for judge in frames.judges if len(frames.judges) > 1 else ():
        only = frames.only_judges([judge])
        if judge_finals(only).empty:
            continue
        weightings = standard_weightings(frames.criteria)
        scored, _ = paper_numbers(only, weightings, resamples=resamples, seed=seed)
        for name in weightings:
            table = _ranked(scored, name, paper.rank_gap(facts_of(frames.protocol))).reset_index(
                names="player"
            )
            parts.append(table.assign(judge=judge, weighting=name)[ALONE])
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=ALONE)


def _ranked(scored: pd.DataFrame, weighting: str, gap: float) -> pd.DataFrame:
    final = paper.final_column(weighting)
    norm = final.replace("final:", "norm:", 1)
    columns = dict(zip(NUMBERS, (norm, f"{norm}_ci", final, f"{final}_ci"), strict=True))
    table = pd.DataFrame(
        {name: [published(float(x)) for x in scored[column]] for name, column in columns.items()},
        index=scored.index,
    )
    return paper.ranked(table, gap)


def judges_apart(frames: Frames) -> pd.DataFrame:
    """One row per player: the largest minus the smallest of the judges' means of it (``apart``), over the
    ``conversations`` that all judges judged. Empty with fewer than two judges."""
    if len(frames.judges) < 2:
        return pd.DataFrame(columns=APART)
    wide = judge_table(frames).dropna()
    means = wide.groupby(level="player").mean()
    apart = (means.max(axis=1) - means.min(axis=1)).map(published)
    made = pd.DataFrame({"conversations": wide.groupby(level="player").size(), "apart": apart})
    return made.rename_axis("player").reset_index()[APART]
