"""How much a player repeats itself, by runs of four words.

Runs are counted within one answer only, never across the border of two.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy import sparse

from bench.scores.analyses.pairs import drawn_pairs
from bench.scores.analyses.texts import grams, words
from bench.scores.frame import SCENE
from bench.scores.paper import published

SIZE = 4
"""Words in a run: shorter ones repeat by grammar alone."""

Gram = tuple[str, ...]


def repetition(turns: pd.DataFrame) -> pd.DataFrame:
    """One row per player.

    ``within``: the share of four-word runs of a conversation that occurred in it before (1 - distinct-4),
    mean over its conversations. ``verbatim``: the share of answers that are, word for word, an earlier answer
    of the conversation.
    ``across``: of two of its conversations with different characters and situations, the share of distinct
    runs of the smaller that the larger has too, mean over such pairs; ``pairs`` says how many (see
    :mod:`bench.scores.analyses.pairs`). Longer texts repeat more: ``words`` is the mean number a conversation
    has; compare like with like.
    """
    rows = []
    for player, mine in turns.groupby("player"):
        talks = {(str(key[1]), str(key[2])): list(group["answer"]) for key, group in mine.groupby(SCENE)}
        tokens = {key: [words(answer) for answer in answers] for key, answers in talks.items()}
        runs = {
            key: [run for answer in answers for run in grams(answer, SIZE)] for key, answers in tokens.items()
        }
        within = [1 - len(set(found)) / len(found) for found in runs.values() if found]
        across, pairs = _across({key: set(found) for key, found in runs.items() if found})
        rows.append(
            {
                "player": str(player),
                "conversations": len(talks),
                "words": _mean(sum(map(len, answers)) for answers in tokens.values()),
                "within": _mean(within),
                "verbatim": _mean(_verbatim(answers) for answers in tokens.values()),
                "across": across,
                "pairs": pairs,
                "reason": _lacking(bool(within), pairs),
            }
        )
    return pd.DataFrame(rows, columns=COLUMNS)


COLUMNS = ["player", "conversations", "words", "within", "verbatim", "across", "pairs", "reason"]


def _lacking(within: bool, pairs: int) -> str | None:
    """Why there is no figure."""
    if not within:
        return f"no answer is {SIZE} words long"
    return None if pairs else "across: no two conversations differ in character and situation"


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return published(sum(known) / len(known)) if known else None


def _verbatim(answers: list[list[str]]) -> float:
    """Share of answers that were given before in the conversation."""
    return 1 - len({tuple(answer) for answer in answers}) / len(answers)


def _across(runs: dict[tuple[str, str], set[Gram]]) -> tuple[float | None, int]:
    """Mean overlap of pairs of conversations that share neither character nor situation, and their number."""
    keys = sorted(runs)
    number: dict[Gram, int] = {}
    columns = [number.setdefault(run, len(number)) for key in keys for run in sorted(runs[key])]
    starts = np.cumsum([0, *(len(runs[key]) for key in keys)])
    shape = (len(keys), len(number))
    has = sparse.csr_array((np.ones(len(columns), dtype=np.int64), columns, starts), shape=shape)
    pairs = [
        (a, b)
        for a, b in drawn_pairs(len(keys), "repetition")
        if keys[a][0] != keys[b][0] and keys[a][1] != keys[b][1]
    ]
    if not pairs:
        return None, 0
    first, second = map(list, zip(*pairs, strict=True))
    shared = np.asarray(has[first].multiply(has[second]).sum(axis=1)).ravel()
    sizes = np.diff(starts)
    smaller = np.minimum(sizes[first], sizes[second])
    return _mean((shared / smaller).tolist()), len(pairs)
