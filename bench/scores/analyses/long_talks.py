"""Long conversations and listed flaws as tables: recall by distance, slopes, breaks, repetition by turn."""

from __future__ import annotations

from statistics import fmean

import pandas as pd

from bench.scores.digits import published
from bench.scores.flaws import flaw_rates
from bench.scores.frame import TALK, Frames
from bench.scores.long_talks import Recall, long_talks, recall_of
from bench.scores.measures import runs_of, words
from bench.scores.scripts import repeated_by_turn


def recall(frames: Frames) -> pd.DataFrame:
    """One row per player, and one per player and distance between fact and question."""
    rows = []
    for player in long_talks(frames):
        events = frames.events[frames.events["player"] == player]
        plants = events.dropna(subset="value")
        plants = plants[plants["event"] != "repeated"]
        rows.append({"player": player, "distance": None, **_cells(recall_of(plants), "all distances")})
        for distance, group in plants.groupby(plants["value"].astype("int64")):
            rows.append({"player": player, "distance": int(str(distance)), **_cells(recall_of(group))})
    columns = ["player", "distance", *Recall.model_fields, "reason"]
    return pd.DataFrame(rows, columns=columns, dtype="object")


def _cells(found: Recall, reason: str | None = None) -> dict[str, object]:
    reason = "share: no fact that counts was asked for" if found.share is None else reason
    return {**found.model_dump(), "not_counted": sum(found.not_counted.values()), "reason": reason}


def slopes(frames: Frames) -> pd.DataFrame:
    """One row per player and criterion."""
    rows = [
        (player, name, *slope.per_ten_turns)
        for player, talk in long_talks(frames).items()
        for name, slope in talk.slopes.items()
    ]
    return pd.DataFrame(rows, columns=["player", "criterion", "per_ten_turns", "low", "high"], dtype="object")


def breaks(frames: Frames) -> pd.DataFrame:
    """One row per player: the fields of Breaks and Recovery."""
    rows = []
    for player, talk in long_talks(frames).items():
        row = {"player": player, **talk.breaks.model_dump(), **talk.recovery.model_dump()}
        reasons = [f"{name}: {reason}" for name, reason in _LACKING.items() if row[name] is None]
        rows.append({**row, "reason": "; ".join(reasons) or None})
    return pd.DataFrame(rows, dtype="object")


_LACKING = {
    "first": "no turn was broken",
    "turns_held": "nothing was judged",
    "turns_to_recover": "no attack was recovered from",
    "change_after": "no attack has judged turns before and after it",
}


def flaws(frames: Frames) -> pd.DataFrame:
    """One row per player and kind."""
    rows = [
        {"player": player, "flaw": name, "turns": rates.turns, "per_turn": rate}
        for player, rates in flaw_rates(frames).items()
        for name, rate in rates.kinds.items()
    ]
    return pd.DataFrame(rows, columns=["player", "flaw", "turns", "per_turn"], dtype="object")


def repetition_by_turn(turns: pd.DataFrame, language: str = "") -> pd.DataFrame:
    """One row per player and turn from the second. ``turns``: see bench.scores.analyses.texts."""
    shares: dict[tuple[str, int], list[float]] = {}
    for (player, *_), group in turns.groupby(TALK):
        runs = tuple(runs_of(words(answer, language), language) for answer in group["answer"])
        for turn, share in zip(group["turn"].tolist(), repeated_by_turn(runs), strict=True):
            if share is not None:
                shares.setdefault((str(player), turn), []).append(share)
    rows = [
        {
            "player": player,
            "turn": turn,
            "conversations": len(found),
            "share": published(fmean(found)),
        }
        for (player, turn), found in sorted(shares.items())
    ]
    return pd.DataFrame(rows, columns=["player", "turn", "conversations", "share"], dtype="object")
