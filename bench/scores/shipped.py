"""All scores of a board in few bytes, from which the site re-scores it in the browser."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import pandas as pd

from bench.protocol_facts import facts_of
from bench.scores.frame import TALK, VERDICT, Frames, rows_with
from bench.scores.ledger import scenes_of

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

Key = tuple[Hashable, ...]


def shipped(frames: Frames) -> dict[str, Any] | None:
    """The scores of ``frames``, by the judges that count, as plain data; None if nothing can be re-scored.

    ``scores``: one text for each criterion: for each player, scene, repeat and judge the scores of the turns,
    each score as its place in ``values``, in ``width`` digits of base 62. ``states``: a letter for each
    player, scene, repeat and judge: o for a verdict, r for one that saw a refusal, - for none. ``turns``: the
    usual number of scores of a verdict in each scene; ``odd``: verdicts with others, as [place in ``states``,
    number]. ``ended``: places of the conversations (player, scene, repeat) that their player ended.
    ``lengths``: mean answer lengths. ``asked``: where judges rotate, the places of those of each scene.
    """
    facts = facts_of(frames.protocol)
    if facts.scale is None or frames.usable.empty:
        return None
    given, values, width = _given(frames)
    players, scenes = sorted(frames.names), scenes_of(frames)
    talks: list[Key] = [(p, *scene, n) for p in players for scene in scenes for n in frames.samples]
    verdicts: list[Key] = [(*talk, judge) for talk in talks for judge in frames.judges]
    refused = set(_keys(frames.usable[frames.usable["refusal"]], VERDICT))
    table = frames.conversations
    ended = set(_keys(table[(table["status"] == "failed") & table["ended_by_player"]], TALK))
    lengths = frames.answer_lengths
    counts = {verdict: len(scores[frames.criteria[0]]) for verdict, scores in given.items()}
    usual, asked = _usual(counts), None
    if frames.asked is not None:
        asked = [[frames.judges.index(judge) for judge in frames.judges_of(scene)] for scene in scenes]
    return {
        "scale": list(facts.scale),
        "rule": facts.length_rule,
        "criteria": list(frames.criteria),
        "players": players,
        "judges": list(frames.judges),
        "scenes": [list(scene) for scene in scenes],
        "repeats": len(frames.samples),
        "asked": asked,
        "lengths": [lengths.get(player) for player in players],
        "values": values,
        "width": width,
        "states": "".join("-" if v not in given else "r" if v in refused else "o" for v in verdicts),
        "turns": [usual.get(scene, 0) for scene in scenes],
        "odd": [[n, counts[v]] for n, v in enumerate(verdicts) if v in counts and counts[v] != usual[v[1:3]]],
        "ended": [n for n, talk in enumerate(talks) if talk in ended],
        "scores": [
            "".join("".join(given[v][name]) for v in verdicts if v in given) for name in frames.criteria
        ],
    }


def _given(frames: Frames) -> tuple[dict[Key, dict[str, list[str]]], list[int | float], int]:
    """Verdict to criterion to the coded scores of its turns; all different scores; digits of a code."""
    rows = rows_with(frames.scores, frames.usable, VERDICT)
    values = sorted(set(rows["score"].tolist()))
    width = 1
    while len(DIGITS) ** width < len(values):
        width += 1
    codes = dict(zip(values, map("".join, product(DIGITS, repeat=width)), strict=False))
    given: dict[Key, dict[str, list[str]]] = {}
    for verdict, criterion, score in zip(
        _keys(rows, VERDICT), rows["criterion"].tolist(), rows["score"].tolist(), strict=True
    ):
        given.setdefault(verdict, {}).setdefault(criterion, []).append(codes[score])
    return given, values, width


def _keys(table: pd.DataFrame, names: Sequence[str]) -> Iterable[Key]:
    return zip(*(table[name].tolist() for name in names), strict=True)


def _usual(counts: Mapping[Key, int]) -> dict[Key, int]:
    """Scene to the most frequent number of scores of its verdicts."""
    by_scene: dict[Key, Counter[int]] = {}
    for verdict, count in counts.items():
        by_scene.setdefault(verdict[1:3], Counter())[count] += 1
    return {scene: counter.most_common(1)[0][0] for scene, counter in by_scene.items()}
