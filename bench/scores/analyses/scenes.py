"""Final scores that the other analyses start from, indexed by SCENE, TALK or VERDICT."""

from __future__ import annotations

import pandas as pd

from bench.scores import paper
from bench.scores.frame import Frames
from bench.scores.weights import EQUAL, standard_weightings


def judge_finals(frames: Frames) -> pd.Series:
    """The final score of every judgement that counts, indexed by VERDICT: the plain mean over criteria."""
    finals = paper.judge_scores(frames, {EQUAL: standard_weightings(frames.criteria)[EQUAL]})
    return finals[paper.final_column(EQUAL)].rename("final")


def judge_table(frames: Frames) -> pd.DataFrame:
    """:func:`judge_finals` with one column per judge of the board, indexed by TALK; NaN if missing."""
    return judge_finals(frames).unstack("judge").reindex(columns=list(frames.judges))


def scene_finals(frames: Frames) -> pd.Series:
    """The final score of every scene, indexed by SCENE: the mean over its repeats."""
    return paper.over_repeats(talk_finals(frames).to_frame())["final"]


def talk_finals(frames: Frames) -> pd.Series:
    """The final score of every conversation, indexed by TALK: the mean over its judges."""
    return paper.conversation_scores(judge_finals(frames).to_frame())["final"]
