"""Scores by turn: do players stay in character as a conversation goes on?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from bench.protocol_facts import facts_of
from bench.scores.analyses.sure import Estimate, as_array, grid_estimate
from bench.scores.bootstrap import Array
from bench.scores.clusters import mean_of_known
from bench.scores.frame import SCENE, TALK, VERDICT, Frames

ALL = ""
"""Stands for the average over all players in the column ``player``."""


def by_turn(frames: Frames) -> pd.DataFrame:
    """One row per player (and one for all, ``player`` empty) and turn.

    ``score``: mean over conversations of the turn's score (over criteria, then judges), with ``low`` and
    ``high``.
    ``change``: the same minus the first turn's, over the conversations that have both, with its interval.
    Only longer situations have later turns, so compare turns by ``change``, not by ``score``.
    Empty where a verdict's turns are not those of the conversation.
    """
    if not facts_of(frames.protocol).multi_turn:
        return pd.DataFrame(columns=COLUMNS)
    players, turns, values = _turn_finals(frames)
    groups = [(ALL, values)] if players else []
    groups += [(name, values[n : n + 1]) for n, name in enumerate(players)]
    rows = []
    for name, mine in groups:
        for at, turn in enumerate(turns):
            score = grid_estimate(mean_of_known(mine[..., at]))
            if score.value is None:
                continue
            change = Estimate(None, reason="changes are measured from this turn")
            if at:
                change = grid_estimate(mean_of_known(mine[..., at] - mine[..., 0]))
            rows.append(
                {
                    "player": name,
                    "turn": turn,
                    "conversations": int((~np.isnan(mine[..., at])).sum()),
                    **score.cells("score"),
                    "change": change.value,
                    "change_low": change.low,
                    "change_high": change.high,
                    "reason": (score.reason if at else None) or change.reason,
                }
            )
    return pd.DataFrame(rows, columns=COLUMNS)


COLUMNS = [
    "player",
    "turn",
    "conversations",
    "score",
    "low",
    "high",
    "change",
    "change_low",
    "change_high",
    "reason",
]


def _turn_finals(frames: Frames) -> tuple[list[str], list[int], Array]:
    """Players, turns, and an array players x characters x situations x turns; NaN where a turn has no score.

    Each value is the mean over repeats of the mean over judges of the mean over criteria.
    """
    by_judge = frames.counting_scores.groupby([*VERDICT, "turn"])["score"].mean()
    finals = by_judge.groupby(level=[*TALK, "turn"]).mean().groupby(level=[*SCENE, "turn"]).mean()
    (players, _, _, turns), values = as_array(finals)
    return list(players), [int(turn) for turn in turns], values
