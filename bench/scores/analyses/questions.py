"""How different the interrogator's questions are from run to run of the same scene.

The method's defence against contamination is that no two runs ask the same. That is measured here: two
players that meet the same scene are two runs of the interrogator.
"""

from __future__ import annotations

import pandas as pd

from bench.scores.analyses.pairs import drawn_pairs
from bench.scores.analyses.sure import Estimate, mean_estimate
from bench.scores.ledger import Scene
from bench.scores.measures import words
from bench.scores.paper import published

SCENE_ONLY = ["character", "situation"]


def question_variety(turns: pd.DataFrame, language: str = "") -> pd.DataFrame:
    """One row per turn: how alike questions of two runs of one scene are.

    ``pairs``: of runs of one scene; ``compared``: how many of them are looked at (see
    :mod:`bench.scores.analyses.pairs`).
    ``overlap``: words that both questions use, as a share of the words that either uses (Jaccard), mean over
    pairs of runs, then over scenes, with its interval. ``same``: the share of pairs whose questions are word
    for word the same. ``baseline``: the overlap of questions in the same turn of scenes that share neither
    character nor situation: what two questions have in common by language and interrogator alone. The nearer
    ``overlap`` is to it, the less a player could have known the question beforehand; ``same`` should be 0.
    """
    rows = []
    for turn in sorted(set(turns["turn"])):
        part = turns[turns["turn"] == turn]
        texts: dict[Scene, list[Text]] = {}
        for character, situation, question in zip(
            part["character"], part["situation"], part["question"], strict=True
        ):
            texts.setdefault((character, situation), []).append(tuple(words(question, language)))
        scenes = {key: [frozenset(text) for text in asked] for key, asked in texts.items()}
        pairs = sum(len(asked) * (len(asked) - 1) // 2 for asked in texts.values())
        chosen = {key: drawn_pairs(len(asked), "questions", *key) for key, asked in texts.items()}
        made = Estimate(None, reason="no scene was played twice")
        if pairs:
            overlaps = {key: _overlap(scenes[key], found) for key, found in chosen.items() if found}
            made = mean_estimate(pd.Series(overlaps).rename_axis(SCENE_ONLY))
        baseline = _baseline(scenes)
        cells = made.cells("overlap")
        if baseline is None and cells["reason"] is None:
            cells["reason"] = "baseline: no two scenes with this turn differ in character and situation"
        rows.append(
            {
                "turn": int(turn),
                "scenes": made.n,
                "pairs": pairs,
                "compared": sum(map(len, chosen.values())),
                **cells,
                "same": _same(texts, chosen) if pairs else None,
                "baseline": baseline,
            }
        )
    return pd.DataFrame(rows, columns=COLUMNS)


COLUMNS = ["turn", "scenes", "pairs", "compared", "overlap", "low", "high", "same", "baseline", "reason"]

Text = tuple[str, ...]
Words = frozenset[str]
Pairs = list[tuple[int, int]]


def jaccard(a: Words, b: Words) -> float:
    """Shared words as a share of all words of both; two empty texts are the same."""
    return len(a & b) / len(a | b) if a or b else 1.0


def _overlap(asked: list[Words], pairs: Pairs) -> float:
    return sum(jaccard(asked[a], asked[b]) for a, b in pairs) / len(pairs)


def _same(texts: dict[Scene, list[Text]], chosen: dict[Scene, Pairs]) -> float:
    """Mean over scenes of the share of pairs that are equal."""
    shares = [
        sum(texts[key][a] == texts[key][b] for a, b in pairs) / len(pairs)
        for key, pairs in chosen.items()
        if pairs
    ]
    return published(sum(shares) / len(shares))


def _baseline(scenes: dict[Scene, list[Words]]) -> float | None:
    """Overlap of the first runs of scenes that share neither character nor situation; None without such."""
    keys = list(scenes)
    pairs = [(keys[a], keys[b]) for a, b in drawn_pairs(len(keys), "baseline")]
    found = [jaccard(scenes[a][0], scenes[b][0]) for a, b in pairs if a[0] != b[0] and a[1] != b[1]]
    return published(sum(found) / len(found)) if found else None
