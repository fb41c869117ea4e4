"""Pairs of things to compare: all of them or, if there are too many, a sample that is always the same."""

from __future__ import annotations

from itertools import combinations

from bench.scores.bootstrap import stable_stream

MOST_PAIRS = 2500
"""At most this many pairs of one kind are compared: the number of pairs grows with the square of what there
is. 64 scenes, or 64 runs of one scene, have fewer."""


def drawn_pairs(count: int, *key: str | int) -> list[tuple[int, int]]:
    """Pairs (a, b), a < b, of ``count`` things: all, or MOST_PAIRS that are drawn by ``key``, sorted."""
    if count * (count - 1) // 2 <= MOST_PAIRS:
        return list(combinations(range(count), 2))
    stream = stable_stream(*key)
    found: set[tuple[int, int]] = set()
    while len(found) < MOST_PAIRS:
        a, b = (int(number) % count for number in stream.random_raw(2))
        if a != b:
            found.add((min(a, b), max(a, b)))
    return sorted(found)
