"""Which judges score which scene when a suite lets its judges take turns.

The rota depends on the suite alone: its scenes and judges in their order, and the number of judges per scene.
So the same judges score every player and every repeat of a scene.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from functools import lru_cache
from itertools import combinations, cycle
from random import Random

Scene = tuple[str, str]
"""(character, situation)"""
Rota = Mapping[Scene, tuple[str, ...]]
"""The judges of each scene, in the suite's order."""
Node = tuple[str, Hashable]
TRIES, MOST_TRIES = 60, 10_000
"""Exchanges tried for each scene, and in all."""


@lru_cache(maxsize=64)
def rota_of(turns: tuple[tuple[Scene, int], ...], judges: tuple[str, ...], per_scene: int) -> Rota:
    """The judges of each scene.

    Any two judges get equally many scenes, or one more or less: in all, with each character, in each
    situation, and among the scenes of equal length.

    The rota starts with all sets of ``per_scene`` judges in turn. Then two judges at a time share out the
    scenes that only one of them has: an Euler trail through characters and situations gives them every other
    scene. No such step makes any count less equal, and they are repeated until no two judges differ by more
    than one anywhere. (De Werra 1971 proves for one judge a scene that such a division exists.) Finally,
    judges exchange scenes, without a change to these counts, so that any two judges share some scenes.

    Args:
        turns: The scenes, each once, with their numbers of turns.
        judges: At least ``per_scene``.
    """
    sets = cycle(combinations(range(len(judges)), per_scene))
    chosen = {scene: set(next(sets)) for scene, _ in turns}
    lengths = {scene[1]: length for scene, length in turns}
    changed = True
    while changed:
        changed = False
        for first, second in combinations(range(len(judges)), 2):
            shared = [s for s in chosen if (first in chosen[s]) != (second in chosen[s])]
            if _unequal(shared, {s for s in shared if first in chosen[s]}, lengths):
                changed = True
                given = _every_other(shared, lengths)
                for scene in shared:
                    chosen[scene] -= {first, second}
                    chosen[scene].add(first if scene in given else second)
    if 1 < per_scene < len(judges):
        _mix(chosen, lengths, len(judges))
    return {scene: tuple(judges[n] for n in sorted(who)) for scene, who in chosen.items()}


def _groups(scene: Scene, lengths: Mapping[str, int]) -> Iterator[Node]:
    """What the scene counts towards."""
    yield from (("all", 0), ("character", scene[0]), ("situation", scene[1]), ("turns", lengths[scene[1]]))


def _unequal(scenes: list[Scene], given: set[Scene], lengths: Mapping[str, int]) -> bool:
    """Whether those ``given`` to one judge and the rest differ by more than one anywhere."""
    more: Counter[Node] = Counter()
    for scene in scenes:
        for group in _groups(scene, lengths):
            more[group] += 1 if scene in given else -1
    return any(abs(count) > 1 for count in more.values())


def _every_other(scenes: list[Scene], lengths: Mapping[str, int]) -> set[Scene]:
    """Half of ``scenes``: of every group half, rounded up or down.

    Scenes are the edges of a graph between characters and situations. Nodes of odd degree get an edge more,
    to a node of their group, so that Euler trails use all edges. Each trail is closed and of even length, so
    taking every other edge halves each node's edges exactly.
    """
    edges: list[tuple[Node, Node]] = [(("character", c), ("situation", s)) for c, s in scenes]
    above: list[dict[Node, Node]] = [
        {("situation", s): ("turns", lengths[s]) for _, s in scenes},
        {("turns", lengths[s]): ("situations", 0) for _, s in scenes}
        | {("character", c): ("characters", 0) for c, _ in scenes},
        {("characters", 0): ("all", 0), ("situations", 0): ("all", 0)},
    ]
    for level in above:
        degree = Counter(node for edge in edges for node in edge)
        edges += [(node, group) for node, group in level.items() if degree[node] % 2]
    at: dict[Node, list[int]] = {}
    for n, edge in enumerate(edges):
        for node in edge:
            at.setdefault(node, []).append(n)
    taken: set[int] = set()
    half: set[Scene] = set()
    for start in at:
        for place, n in enumerate(_trail(start, edges, at, taken)):
            if n < len(scenes) and place % 2 == 0:
                half.add(scenes[n])
    return half


def _mix(chosen: dict[Scene, set[int]], lengths: Mapping[str, int], judges: int) -> None:
    """Exchange judges between scenes so that any two judges meet in about equally many scenes.

    Two scenes exchange judges if all counts stay equal, or four scenes, of two characters in two situations,
    exchange crosswise, which changes no count. The random numbers are always the same.
    """
    draw, scenes = Random(0).random, list(chosen)
    counts: dict[Node, list[int]] = {}
    for scene, who in chosen.items():
        for group in _groups(scene, lengths):
            have = counts.setdefault(group, [0] * judges)
            for judge in who:
                have[judge] += 1
    meet = [[sum({a, b} <= who for who in chosen.values()) for b in range(judges)] for a in range(judges)]
    for _ in range(min(TRIES * len(scenes), MOST_TRIES)):
        one, other = (scenes[int(draw() * len(scenes))] for _ in range(2))
        a, b = (int(draw() * judges) for _ in range(2))
        crossed = {(one[0], other[1]), (other[0], one[1])} - {one, other}
        if len(crossed) < 2 or not all(_has(chosen.get(scene), b, a) for scene in crossed):
            moves = {one: (a, b), other: (b, a)}
        else:
            moves = {one: (a, b), other: (a, b)} | dict.fromkeys(crossed, (b, a))
        if not all(_has(chosen[scene], *move) for scene, move in moves.items()):
            continue
        gain = sum(
            meet[old][third] - meet[new][third]
            for scene, (old, new) in moves.items()
            for third in chosen[scene] - {old}
        )
        if gain > len(moves) and _balanced_after(moves, counts, lengths):
            for scene, (old, new) in moves.items():
                for third in chosen[scene] - {old}:
                    for change, judge in ((-1, old), (1, new)):
                        meet[judge][third] += change
                        meet[third][judge] += change
                chosen[scene] ^= {old, new}


def _has(who: set[int] | None, old: int, new: int) -> bool:
    """Whether ``old`` is among the judges of a scene and ``new`` is not."""
    return who is not None and old in who and new not in who


def _balanced_after(
    moves: Mapping[Scene, tuple[int, int]], counts: dict[Node, list[int]], lengths: Mapping[str, int]
) -> bool:
    """Whether no count differs by more than one after ``moves``; then ``counts`` are updated."""
    changed: dict[Node, list[int]] = {}
    for scene, (old, new) in moves.items():
        for group in _groups(scene, lengths):
            have = changed.setdefault(group, list(counts[group]))
            have[old] -= 1
            have[new] += 1
    if any(max(have) - min(have) > 1 for have in changed.values()):
        return False
    counts.update(changed)
    return True


def _trail(
    start: Node, edges: list[tuple[Node, Node]], at: dict[Node, list[int]], taken: set[int]
) -> list[int]:
    """The edges of an Euler trail from ``start`` over all edges that it reaches (Hierholzer)."""
    stack: list[tuple[Node, int]] = [(start, -1)]
    trail: list[int] = []
    while stack:
        node, came = stack[-1]
        while at[node] and at[node][-1] in taken:
            at[node].pop()
        if at[node]:
            n = at[node].pop()
            taken.add(n)
            one, other = edges[n]
            stack.append((other if node == one else one, n))
        else:
            stack.pop()
            if came >= 0:
                trail.append(came)
    return trail
