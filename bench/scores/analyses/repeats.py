"""The same player twice: how much a score moves without any difference to measure."""

from __future__ import annotations

import math
from itertools import combinations

import pandas as pd

from bench.records import PlayerInfo, sha256_of
from bench.scores.analyses.scenes import scene_finals
from bench.scores.analyses.sure import mean_estimate
from bench.scores.correlation import rho
from bench.scores.frame import Frames
from bench.scores.paper import published

COLUMNS = [
    "player",
    "other",
    "scenes",
    "score",
    "other_score",
    "difference",
    "low",
    "high",
    "noise",
    "spearman",
    "reason",
]


def same_settings(info: PlayerInfo) -> str:
    """What two entries must share to be the same player: provider, model, sampling, added system text.

    ``seed`` is left out: two seeds are two runs of one player.
    """
    sampling = {name: value for name, value in info.sampling.items() if name != "seed"}
    return sha256_of([info.provider, info.model, sampling, info.system_extra])


def repeats_within(frames: Frames) -> pd.DataFrame:
    """Pairs of players of one board that are the same model in the same settings; columns as below."""
    finals = scene_finals(frames)
    groups: dict[str, list[str]] = {}
    for info in frames.players:
        groups.setdefault(same_settings(info), []).append(info.player)
    pairs = [pair for group in groups.values() for pair in combinations(sorted(group), 2)]
    rows = [_row(a, b, _of(finals, a), _of(finals, b)) for a, b in sorted(pairs)]
    return pd.DataFrame(rows, columns=COLUMNS)


def repeats_between(first: Frames, second: Frames) -> pd.DataFrame:
    """Players that two results trees both have in the same settings, one row each.

    ``difference``: the second run's mean minus the first's over the scenes that both scored, with its
    interval;
    ``noise``: the standard deviation that one run of one scene has by chance (of the differences, over root
    2);
    ``spearman``: whether the same scenes go well in both runs.
    """
    ours, theirs = scene_finals(first), scene_finals(second)
    settings = {info.player: same_settings(info) for info in second.players}
    rows = [
        _row(info.player, info.player, _of(ours, info.player), _of(theirs, info.player))
        for info in first.players
        if settings.get(info.player) == same_settings(info)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _of(finals: pd.Series, player: str) -> pd.Series:
    """A player's finals by (character, situation)."""
    return finals[finals.index.get_level_values("player") == player].droplevel("player")


def _row(player: str, other: str, first: pd.Series, second: pd.Series) -> dict[str, object]:
    both = pd.DataFrame({"first": first, "second": second}).dropna()
    difference = both["second"] - both["first"]
    made = mean_estimate(difference)
    noise = published(float(difference.std()) / math.sqrt(2)) if len(both) > 1 else None
    alike = rho(both["first"].tolist(), both["second"].tolist())
    return {
        "player": player,
        "other": other,
        "scenes": len(both),
        "score": published(float(both["first"].mean())) if len(both) else None,
        "other_score": published(float(both["second"].mean())) if len(both) else None,
        **made.cells("difference"),
        "noise": noise,
        "spearman": None if alike is None else published(alike),
    }
