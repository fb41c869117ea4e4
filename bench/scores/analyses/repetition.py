"""How much a player repeats itself, by runs of four words.

Runs are counted within one answer only, never across the border of two.
"""

from __future__ import annotations

import pandas as pd

from bench.scores.frame import TALK
from bench.scores.measures import RUN, repeated_answers, repeated_runs, runs_of, words
from bench.scores.player_measures import across, mean


def repetition(turns: pd.DataFrame, language: str = "") -> pd.DataFrame:
    """One row per player.

    ``within``: the share of four-word runs of a conversation that occurred in it before (1 - distinct-4),
    mean over its conversations. ``verbatim``: the share of answers that are, word for word, an earlier answer
    of the conversation.
    ``across``: of two of its conversations with different characters and situations, the share of distinct
    runs of the smaller that the other has too, mean over such pairs; ``pairs`` says how many (see
    :mod:`bench.scores.analyses.pairs`). Longer texts repeat more: ``words`` is the mean number a conversation
    has; compare like with like.
    """
    rows = []
    for player, mine in turns.groupby("player"):
        talks = {
            (str(character), str(situation), str(repeat)): list(group["answer"])
            for (_, character, situation, repeat), group in mine.groupby(TALK)
        }
        tokens = {key: [words(answer, language) for answer in answers] for key, answers in talks.items()}
        runs = {key: [runs_of(answer, language) for answer in answers] for key, answers in tokens.items()}
        sets = {key: {run for answer in found for run in answer} for key, found in runs.items()}
        within = mean(share for found in runs.values() if (share := repeated_runs(found)) is not None)
        overlap, pairs = across({key: found for key, found in sets.items() if found})
        rows.append(
            {
                "player": str(player),
                "conversations": len(talks),
                "words": mean(sum(map(len, answers)) for answers in tokens.values()),
                "within": within,
                "verbatim": mean(repeated_answers(answers) or 0.0 for answers in tokens.values()),
                "across": overlap,
                "pairs": pairs,
                "reason": _lacking(within is not None, pairs),
            }
        )
    return pd.DataFrame(rows, columns=COLUMNS)


COLUMNS = ["player", "conversations", "words", "within", "verbatim", "across", "pairs", "reason"]


def _lacking(within: bool, pairs: int) -> str | None:
    """Why there is no figure."""
    if not within:
        return f"no answer is {RUN} words long"
    return None if pairs else "across: no two conversations differ in character and situation"
