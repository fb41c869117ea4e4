"""Flaws that judges list, each with a quotation, counted by player and kind."""

from __future__ import annotations

import pandas as pd

from bench.records import Record
from bench.replies.flaws import FLAWS
from bench.scores.digits import published
from bench.scores.frame import SCENE, TALK, VERDICT, Frames, rows_with


class FlawRates(Record):
    """A player's flaws."""

    turns: int
    """Turns whose flaws a judge listed, added up over the judges."""
    per_turn: float
    """Flaws in a turn: mean over the turns of a judgement, then judges, then conversations."""
    kinds: dict[str, float]
    """The same of each kind."""


def flaw_rates(frames: Frames) -> dict[str, FlawRates]:
    """The flaws of every player, by all usable judgements; players without any are left out."""
    rows = rows_with(frames.flaws, frames.usable, VERDICT)
    if rows.empty:
        return {}
    by_judge = rows.groupby([*VERDICT, "flaw"])["count"].mean()
    scenes = by_judge.groupby(level=[*TALK, "flaw"]).mean().groupby(level=[*SCENE, "flaw"]).mean()
    means = scenes.groupby(level=["player", "flaw"]).mean().unstack("flaw")
    turns = rows.drop_duplicates([*VERDICT, "turn"])["player"].astype(str).value_counts().to_dict()
    return {
        str(player): FlawRates(
            turns=turns[str(player)],
            per_turn=published(float(pd.Series(row).sum())),
            kinds={name: published(float(row[name])) for name in FLAWS},
        )
        for player, row in means.iterrows()
    }
