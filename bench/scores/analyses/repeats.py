"""The same player again: how much a score moves without any difference to measure.

Only independent samples count. A conversation whose first exchange, repeat number and seed are those of the
other run may come from the response cache, so it is left out and counted as a copy.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import pandas as pd

from bench.records import PlayerInfo, sha256_of
from bench.scores.analyses.scenes import talk_finals
from bench.scores.analyses.sure import mean_estimate
from bench.scores.bootstrap import NOISE_DECIMALS
from bench.scores.correlation import rho
from bench.scores.digits import known, published
from bench.scores.distributions import chi2_quantile
from bench.scores.frame import SCENE, Frames

COPIES = "every scene is a copy of the other run's; `bench run --repeat 2` makes a new sample"
COLUMNS = [
    "player",
    "other",
    "scenes",
    "copies",
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
    samples = _samples(frames)
    groups: dict[str, list[str]] = {}
    for info in frames.players:
        groups.setdefault(same_settings(info), []).append(info.player)
    pairs = [pair for group in groups.values() for pair in combinations(sorted(group), 2)]
    rows = [_row(a, b, samples[a], samples[b]) for a, b in sorted(pairs)]
    return pd.DataFrame(rows, columns=COLUMNS)


def repeats_between(first: Frames, second: Frames) -> pd.DataFrame:
    """Players that two results trees both have in the same settings, one row each; of each its first sample.

    ``scenes``: scenes that both scored, without the ``copies``;
    ``difference``: the second run's mean minus the first's over these, with its interval;
    ``noise``: the standard deviation that one run of one scene has by chance (of the differences, over root
    2);
    ``spearman``: whether the same scenes go well in both runs.
    """
    ours, theirs = (_samples(frames.only_samples(frames.samples[:1])) for frames in (first, second))
    settings = {info.player: same_settings(info) for info in second.players}
    rows = [
        _row(info.player, info.player, *(run[info.player].droplevel("repeat") for run in (ours, theirs)))
        for info in first.players
        if settings.get(info.player) == same_settings(info)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


NOISE_COLUMNS = ["player", "scenes", "conversations", "variance", "noise", "low", "high", "of_mean", "reason"]


def run_noise(frames: Frames) -> pd.DataFrame:
    """How far the score of a scene moves from one repeat to the next, one row per player and one for all.

    ``variance``: of the scores of one player in one scene, pooled over the ``scenes`` that have two or more
    scored conversations, in squared points; ``noise``: its root, in points, with a 95% interval from the
    chi-squared distribution; ``of_mean``: what this noise adds to the standard error of the player's mean.
    The row for all has the empty ``player``. Empty without repeats.
    """
    finals = talk_finals(frames)
    if len(frames.samples) < 2 or finals.empty:
        return pd.DataFrame(columns=NOISE_COLUMNS)
    rest = finals - finals.groupby(level=SCENE).transform("mean")
    counts = finals.groupby(level=SCENE).transform("count")
    rest = rest[counts > 1].round(NOISE_DECIMALS)
    players = rest.index.get_level_values("player")
    groups = [("", rest), *((name, rest[players == name]) for name in frames.names)]
    return pd.DataFrame([_noise_row(name, group) for name, group in groups], columns=NOISE_COLUMNS)


def _noise_row(player: str, rest: pd.Series) -> dict[str, object]:
    """``rest``: scores minus the mean of their scene, of scenes with several."""
    scenes = len(rest.groupby(level=SCENE).size())
    row: dict[str, object] = {"player": player, "scenes": scenes, "conversations": len(rest)}
    df, squares = len(rest) - scenes, math.fsum(rest**2)
    if not df:
        return row | {"reason": "no scene has two scored repeats"}
    noise = math.sqrt(squares / df)
    row |= {"variance": published(squares / df), "noise": published(noise)}
    if player:
        row["of_mean"] = published(noise / math.sqrt(len(rest)))
    if not squares:
        return row | {"reason": "the same score in all repeats of every scene: no interval"}
    chi2 = chi2_quantile((0.975, 0.025), df).tolist()
    low, high = (math.sqrt(squares / quantile) for quantile in chi2)
    return row | {"low": published(low), "high": published(high)}


def _samples(frames: Frames) -> dict[str, pd.DataFrame]:
    """By player, finals and openings of its scored conversations by (character, situation, repeat)."""
    table = talk_finals(frames).to_frame("final")
    table["opening"] = [frames.openings.get(talk, "") for talk in table.index]
    players = table.index.get_level_values("player")
    return {name: table[players == name].droplevel("player") for name in frames.names}


def _row(player: str, other: str, one: pd.DataFrame, two: pd.DataFrame) -> dict[str, object]:
    both = one.add_prefix("one_").join(two.add_prefix("two_"), how="inner")
    copied = (both["one_opening"] == both["two_opening"]) & (both["one_opening"] != "")
    copies = int(copied.sum())
    both = both.loc[~copied, ["one_final", "two_final"]].set_axis(["first", "second"], axis=1).dropna()
    difference = both["second"] - both["first"]
    made = mean_estimate(difference)
    if copies and both.empty:
        made = replace(made, reason=COPIES)
    return {
        "player": player,
        "other": other,
        "scenes": len(both),
        "copies": copies,
        "score": known(both["first"].mean()),
        "other_score": known(both["second"].mean()),
        **made.cells("difference"),
        "noise": known(difference.std() / math.sqrt(2)),
        "spearman": known(rho(both["first"].tolist(), both["second"].tolist())),
    }
