"""The ledger: every judgement that a board ought to have, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bench.scores.frame import SCENE, Frames

STATES = ("ok", "repaired", "refused", "failed", "stale", "missing")
"""What an expected judgement can be; exactly one each.

ok: counts. repaired: counts, after the judge's reply had been repaired or asked for again.
refused: the judge saw a refusal. failed: the judge gave no usable verdict.
stale: of other messages than the conversation holds now.
missing: there is none, also where there is no complete conversation to judge.
"""

Scene = tuple[str, str]
"""(character, situation)"""


def scenes_of(frames: Frames) -> list[Scene]:
    """All scenes that any player of the board was given."""
    pairs = frames.conversations[["character", "situation"]].drop_duplicates()
    return sorted(zip(pairs["character"], pairs["situation"], strict=True))


def ledger(frames: Frames, scenes: Sequence[Scene] | None = None) -> pd.DataFrame:
    """One row per (player, character, situation, judge) with the ``state``.

    ``scenes`` are those that the suite asks for; without them, those that any player of the board was given.
    """
    expected = _expected(frames, scenes_of(frames) if scenes is None else list(scenes))
    found = expected.merge(_plain(frames.judgements, "judge"), on=[*SCENE, "judge"], how="left")
    found = found.merge(
        _plain(frames.conversations)[[*SCENE, "status"]], on=SCENE, how="left", suffixes=("", "_conversation")
    )
    status = found["status"]
    conditions = [
        (status.isna() | (found["status_conversation"] != "complete")),
        found["stale"].eq(True),
        status.eq("failed"),
        found["refusal"].eq(True),
        found["repaired"].eq(True),
    ]
    names = ["missing", "stale", "failed", "refused", "repaired"]
    state = np.select([np.asarray(c, dtype=bool) for c in conditions], names, default="ok")
    return expected.assign(state=pd.Categorical(state, categories=STATES))


def judgement_counts(table: pd.DataFrame) -> pd.DataFrame:
    """Judgements per player (index) and state (columns, all of STATES) of a ledger."""
    counted = table.groupby(["player", "state"], observed=False).size().unstack("state", fill_value=0)
    return counted.reindex(columns=list(STATES), fill_value=0)


def conversation_counts(frames: Frames, scenes: Sequence[Scene] | None = None) -> pd.DataFrame:
    """Per player (index): conversations ``complete``, ``failed``, ``missing`` and ``expected``.

    Conversations of other scenes than the expected ones are counted as they are, never as missing.
    """
    wanted = set(scenes_of(frames) if scenes is None else scenes)
    names = [info.player for info in frames.players]
    plain = _plain(frames.conversations)
    rows = []
    for name in names:
        mine = plain[plain["player"] == name]
        have = set(zip(mine["character"], mine["situation"], strict=True))
        rows.append(
            {
                "complete": int((mine["status"] == "complete").sum()),
                "failed": int((mine["status"] == "failed").sum()),
                "missing": len(wanted - have),
                "expected": len(wanted),
            }
        )
    columns = ["complete", "failed", "missing", "expected"]
    return pd.DataFrame(rows, index=pd.Index(names, name="player"), columns=columns)


def _expected(frames: Frames, scenes: list[Scene]) -> pd.DataFrame:
    names = [info.player for info in frames.players]
    rows = [(p, c, s, j) for p in names for c, s in scenes for j in frames.judges]
    return pd.DataFrame(rows, columns=[*SCENE, "judge"])


def _plain(table: pd.DataFrame, *more: str) -> pd.DataFrame:
    """The table with its key columns as plain text, so that tables with other categories can be joined."""
    return table.astype(dict.fromkeys((*SCENE, *more), "object"))
