"""What was said, as a table: the analyses of text start from it."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from bench.records import Conversation
from bench.scores.frame import TALK

COLUMNS = [*TALK, "turn", "question", "answer"]


def turns_of(conversations: Iterable[Conversation]) -> pd.DataFrame:
    """One row per turn of complete conversations: what the interrogator said and what the player answered.

    A greeting before the first question belongs to no turn.
    """
    rows = []
    for record in conversations:
        if record.status != "complete":
            continue
        question, turn = None, 0
        for message in record.messages:
            if message.role == "user":
                question = message.content
                turn += 1
            elif message.role == "assistant" and question is not None:
                cell = (record.player, record.character, record.situation, record.repeat)
                rows.append((*cell, turn, question, message.content))
    return pd.DataFrame(rows, columns=COLUMNS).sort_values([*TALK, "turn"], ignore_index=True)


def no_turns() -> pd.DataFrame:
    """The table without a row, for analyses that need no texts."""
    return pd.DataFrame(columns=COLUMNS)
