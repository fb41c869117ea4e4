"""Scores of scenes and judgements that the other analyses start from."""

from __future__ import annotations

import pandas as pd

from bench.scores import paper
from bench.scores.frame import SCENE, Frames
from bench.scores.memo import once
from bench.scores.weights import EQUAL, standard_weightings


@once
def judge_finals(frames: Frames) -> pd.Series:
    """The plain final of every judgement that counts, by (player, character, situation, judge)."""
    weightings = {EQUAL: standard_weightings(frames.criteria)[EQUAL]}
    if not frames.criteria:
        return _empty([*SCENE, "judge"])
    finals = paper.judge_scores(frames, weightings)[paper.final_column(EQUAL)]
    return plain_index(finals)


def judge_table(frames: Frames) -> pd.DataFrame:
    """Those finals with one column per judge of the board, by (player, character, situation); NaN: none."""
    finals = judge_finals(frames)
    table = (
        finals.unstack("judge") if len(finals) else pd.DataFrame(index=_empty(SCENE).index, dtype="float64")
    )
    return table.reindex(columns=list(frames.judges))


def scene_finals(frames: Frames) -> pd.Series:
    """The plain final of every conversation, over its judges, by (player, character, situation)."""
    finals = judge_finals(frames)
    return finals.groupby(level=SCENE).mean() if len(finals) else _empty(SCENE)


@once
def turn_scores(frames: Frames) -> pd.DataFrame:
    """Scores of judgements that count: the rows of ``scores`` with plain key columns."""
    judged = paper.usable_judgements(frames)
    judged = judged[~judged["refusal"]]
    keys = [*SCENE, "judge"]
    rows = frames.scores.astype(dict.fromkeys([*keys, "criterion"], "object"))
    wanted = pd.MultiIndex.from_frame(judged[keys].astype(str))
    return rows[pd.MultiIndex.from_frame(rows[keys].astype(str)).isin(wanted)]


def plain_index(values: pd.Series) -> pd.Series:
    """The series with plain text in its index, so that unused categories do not come back."""
    index = [tuple(map(str, key)) for key in values.index]
    names = [str(name) for name in values.index.names]
    made = pd.MultiIndex.from_tuples(index, names=names) if index else _empty(names).index
    return pd.Series(values.to_numpy(dtype="float64"), index=made, name="final")


def _empty(names: list[str]) -> pd.Series:
    index = pd.MultiIndex.from_arrays([[] for _ in names], names=names)
    return pd.Series([], index=index, dtype="float64", name="final")
