"""What the texts of players show without a judge, as tables: measures, lengths by turn, stock phrases."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bench.scores.measures import MEASURES
from bench.scores.player_measures import PlayerMeasures


def measures(players: Sequence[PlayerMeasures]) -> pd.DataFrame:
    """One row per player: means over its conversations; ``across`` compares them with each other."""
    rows = [
        {
            "player": found.player,
            "conversations": found.conversations,
            **found.means,
            "across": found.across,
            "pairs": found.pairs,
            "reason": _lacking(found),
        }
        for found in players
        if found.conversations
    ]
    return pd.DataFrame(
        rows, columns=["player", "conversations", *MEASURES, "across", "pairs", "reason"], dtype="object"
    )


def _lacking(found: PlayerMeasures) -> str | None:
    """Why figures are missing."""
    missing = [name for name, value in found.means.items() if value is None]
    return f"do not apply: {', '.join(missing)}" if missing else None


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
