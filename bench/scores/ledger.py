"""The ledger: every judgement that a board should have, and its state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bench.scores.frame import TALK, VERDICT, Frames

STATES = ("ok", "repaired", "refused", "failed", "stale", "missing")
"""States of an expected judgement; each has exactly one.

ok: counts.
repaired: counts, but the judge's reply was repaired or asked for again.
refused: the judge saw a refusal.
failed: the judge gave no usable verdict.
stale: the conversation has changed since.
missing: does not exist, or there is no complete conversation to judge.
"""

Scene = tuple[str, str]
"""(character, situation)"""


def scenes_of(frames: Frames) -> list[Scene]:
    """All scenes that any player of the board was given, sorted."""
    return sorted(set(zip(frames.conversations["character"], frames.conversations["situation"], strict=True)))


def ledger(frames: Frames, scenes: Sequence[Scene]) -> pd.DataFrame:
    """Every judgement expected in ``scenes``: columns of VERDICT, and ``state``."""
    cells = [
        (player, *scene, repeat, judge)
        for player in frames.names
        for scene in scenes
        for repeat in frames.samples
        for judge in frames.judges_of(scene)
    ]
    expected = pd.DataFrame(cells, columns=VERDICT, dtype="object").astype({"repeat": "int64"})
    talks = frames.conversations[[*TALK, "status"]]
    rows = expected.merge(frames.judgements, on=VERDICT, how="left")
    rows = rows.merge(talks, on=TALK, how="left", suffixes=("", "_conversation"))
    conditions = {
        "missing": rows["status"].isna() | (rows["status_conversation"] != "complete"),
        "stale": rows["stale"].eq(True),
        "failed": rows["status"].eq("failed"),
        "refused": rows["refusal"].eq(True),
        "repaired": rows["repaired"].eq(True),
    }
    met = [np.asarray(condition, dtype=bool) for condition in conditions.values()]
    return expected.assign(state=np.select(met, list(conditions), default="ok"))


def judgement_counts(table: pd.DataFrame) -> pd.DataFrame:
    """Judgements of a :func:`ledger` by player (index) and state (columns, all of STATES)."""
    return pd.crosstab(table["player"], table["state"]).reindex(columns=list(STATES), fill_value=0)


def conversation_counts(frames: Frames, scenes: Sequence[Scene]) -> pd.DataFrame:
    """Conversations of each player (index): ``complete``, ``failed``, ``missing`` and ``expected``.

    Conversations of unexpected scenes are counted as complete or failed, never as missing.
    """
    wanted = {(*scene, repeat) for scene in scenes for repeat in frames.samples}
    rows = []
    for name in frames.names:
        mine = frames.conversations[frames.conversations["player"] == name]
        present = set(zip(mine["character"], mine["situation"], mine["repeat"], strict=True))
        states = mine["status"].value_counts()
        counts = (states.get("complete", 0), states.get("failed", 0))
        rows.append((*counts, len(wanted - present), len(wanted)))
    columns = ["complete", "failed", "missing", "expected"]
    return pd.DataFrame(rows, index=pd.Index(frames.names, name="player"), columns=columns)
