"""The measures of a player: means over its conversations, overlap between them, and length by turn.

See :mod:`bench.scores.measures` for the measures of one conversation. This module needs no pandas.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, count
from statistics import fmean

from bench.records import Conversation, Record
from bench.scores.analyses.pairs import drawn_pairs
from bench.scores.digits import published
from bench.scores.measures import MEASURES, Gram, measures_of, texts_of

MOST_PHRASES = 5
"""Stock phrases that are listed for each player."""


class TurnLength(Record):
    """Mean answer length in one turn, in Unicode characters."""

    turn: int
    conversations: int
    characters: float
    change: float | None
    """Minus the first turn's length in the same conversations; null for the first turn."""


class PlayerMeasures(Record):
    """What the texts of a player show without a judge."""

    player: str
    conversations: int
    """Complete conversations."""
    means: dict[str, float | None]
    """By name in MEASURES: mean over the conversations that have the figure; null if none has."""
    across: float | None
    """Of two conversations with different characters and situations, the share of distinct four-word runs of
    the smaller that the other has too: mean over such pairs."""
    pairs: int
    """Pairs compared for ``across``."""
    lengths: tuple[TurnLength, ...]
    phrases: dict[str, int]
    """The most frequent stock phrases, and how often they occur."""


def player_measures(player: str, conversations: Iterable[Conversation]) -> PlayerMeasures:
    """The measures of a player's complete conversations."""
    talks = [talk for talk in conversations if talk.status == "complete"]
    texts = [texts_of(talk) for talk in talks]
    rows = [measures_of(talk, text) for talk, text in zip(talks, texts, strict=True)]
    columns = zip(*rows, strict=True) if rows else [()] * len(MEASURES)
    means = {
        name: mean(value for value in column if value is not None)
        for name, column in zip(MEASURES, columns, strict=True)
    }
    written = [text for text in texts if text is not None]
    runs = {
        (talk.character, talk.situation, str(talk.repeat)): set(chain.from_iterable(text.runs))
        for talk, text in zip(talks, texts, strict=True)
        if text is not None
    }
    overlap, pairs = across({key: found for key, found in runs.items() if found})
    phrases = Counter(phrase for text in written for found in text.stock or () for phrase in found)
    return PlayerMeasures(
        player=player,
        conversations=len(talks),
        means=means,
        across=overlap,
        pairs=pairs,
        lengths=turn_lengths([[len(answer) for answer in text.answers] for text in written]),
        phrases=dict(sorted(phrases.items(), key=lambda entry: (-entry[1], entry[0]))[:MOST_PHRASES]),
    )


def mean(values: Iterable[float]) -> float | None:
    """The mean as it is published; None without values."""
    known = list(values)
    return published(fmean(known)) if known else None


def turn_lengths(conversations: Sequence[Sequence[int]]) -> tuple[TurnLength, ...]:
    """Mean length by turn. ``conversations``: the lengths of each conversation's answers."""
    turns = []
    for turn in range(max(map(len, conversations), default=0)):
        have = [lengths for lengths in conversations if len(lengths) > turn]
        turns.append(
            TurnLength(
                turn=turn + 1,
                conversations=len(have),
                characters=published(fmean(lengths[turn] for lengths in have)),
                change=published(fmean(lengths[turn] - lengths[0] for lengths in have)) if turn else None,
            )
        )
    return tuple(turns)


def across(runs: Mapping[tuple[str, ...], set[Gram]]) -> tuple[float | None, int]:
    """Mean overlap of pairs of conversations that share neither character nor situation, and their number.

    ``runs``: the distinct runs of each conversation, by character and situation. Of too many pairs some are
    drawn, see :mod:`bench.scores.analyses.pairs`.
    """
    keys = sorted(runs)
    pairs = [
        (a, b)
        for a, b in drawn_pairs(len(keys), "repetition")
        if keys[a][0] != keys[b][0] and keys[a][1] != keys[b][1]
    ]
    numbers: defaultdict[Gram, int] = defaultdict(count().__next__)  # sets of integers are compared faster
    sets = [set(map(numbers.__getitem__, runs[key])) for key in keys]
    sizes = [len(found) for found in sets]
    overlaps = (len(sets[a] & sets[b]) / min(sizes[a], sizes[b]) for a, b in pairs)
    return mean(overlaps), len(pairs)
