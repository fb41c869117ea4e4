"""What the texts of players show without a judge, as tables: measures, lengths by turn, stock phrases."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bench.scores.measures import MEASURES
from bench.scores.player_measures import PlayerMeasures


def measures(players: Sequence[PlayerMeasures]) -> pd.DataFrame:
    """One row per player: means over its conversations; ``across`` compares them with each other."""
    rows = []
    for found in players:
        if found.conversations:
            missing = ", ".join(name for name, value in found.means.items() if value is None)
            reason = f"do not apply: {missing}" if missing else None
            rows.append({**found.model_dump(), **found.means, "reason": reason})
    columns = ["player", "conversations", *MEASURES, "across", "pairs", "reason"]
    return pd.DataFrame(rows, columns=columns, dtype="object")


def lengths(players: Sequence[PlayerMeasures]) -> pd.DataFrame:
    """One row per player and turn: mean answer length, and its change since the first turn."""
    rows = [{"player": found.player, **turn.model_dump()} for found in players for turn in found.lengths]
    return pd.DataFrame(
        rows, columns=["player", "turn", "conversations", "characters", "change"], dtype="object"
    )


def frequent_phrases(players: Sequence[PlayerMeasures]) -> pd.DataFrame:
    """One row per player and stock phrase: how often it occurs, most frequent first."""
    rows = [
        {"player": found.player, "phrase": phrase, "times": times}
        for found in players
        for phrase, times in found.phrases.items()
    ]
    return pd.DataFrame(rows, columns=["player", "phrase", "times"], dtype="object")
