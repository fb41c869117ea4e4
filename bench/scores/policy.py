"""What counts: refusals, failures and unequal scenes, each by a named and switchable policy.

The paper leaves out what a judge saw refused. That can lift a player that refuses what is hard; so the robust
scoring counts a refusal as the lowest score, and fills in what a judge failed to say from the other judges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from bench.errors import UserError
from bench.protocol_facts import facts_of, known_protocols
from bench.scores import paper
from bench.scores.frame import SCENE, Frames
from bench.scores.weights import Weights

OWN_FAILURES = frozenset({"empty", "length", "content_filter", "refused", "bad_audio"})
"""How a player's call can end by the model's own doing; transport and rate limits are not."""


@dataclass(frozen=True)
class Policy:
    """What becomes of what is not a plain verdict."""

    refusals: Literal["left_out", "lowest"]
    """A judgement that saw a refusal: out of the means, or the lowest score on every criterion."""
    failed_conversations: Literal["left_out", "lowest"]
    """A conversation that the player itself ended (empty, cut off, filtered, declined), likewise."""
    absent_judgements: Literal["left_out", "filled"]
    """A failed, stale or missing judgement of a complete conversation: out of the means, or what the other
    judges gave, moved by how much more lenient this judge is than they."""
    scenes: Literal["all", "shared"] = "all"
    """Of which scenes: all, or those that every scored player finished."""


PAPER = Policy("left_out", "left_out", "left_out")
ROBUST = Policy("lowest", "lowest", "filled")
POLICIES: dict[str, Policy] = {
    "left_out": PAPER,
    "lowest": Policy("lowest", "lowest", "left_out"),
    "shared": Policy("left_out", "left_out", "left_out", "shared"),
    "robust": ROBUST,
}
"""Policies by the names that the command line and the comparison of methods use."""


def scale_of(frames: Frames) -> tuple[float, float]:
    """The lowest and highest score of the board's protocol. Raises UserError for an unknown protocol."""
    scale = facts_of(frames.protocol).scale
    if scale is None:
        raise UserError(
            f"the scale of protocol {frames.protocol!r} is not known",
            hint=f"Its records need a protocol that is here: {', '.join(known_protocols())}.",
        )
    return scale


def scene_scores(frames: Frames, weights: Weights, policy: Policy) -> pd.DataFrame:
    """Per (player, character, situation): each criterion and ``final``, under ``policy``."""
    by_judge = _judgements_under(frames, policy)
    by_judge["final"] = paper.with_finals(by_judge, {"f": weights})[paper.final_column("f")]
    scenes = by_judge.groupby(level=SCENE).mean().sort_index()
    if policy.failed_conversations == "lowest":
        scenes = _with_failed_conversations(frames, scenes)
    if policy.scenes == "shared":
        scenes = only_shared(scenes)
    return scenes


def only_shared(scenes: pd.DataFrame) -> pd.DataFrame:
    """Rows of those scenes that every player of the table has."""
    players = scenes.index.get_level_values("player").nunique()
    having = scenes.groupby(level=SCENE[1:])["final"].transform("count")
    return scenes[having == players]


def leniency(by_judge: pd.DataFrame) -> pd.DataFrame:
    """Per judge (index) and criterion: mean over the conversations that all judges judged, minus the
    mean of all judges there. Empty where no conversation was judged by all."""
    judges = sorted(set(by_judge.index.get_level_values("judge")))
    found = {}
    for criterion in by_judge.columns:
        table = _by_scene(by_judge[criterion], judges).dropna()
        if not table.empty:
            means = table.mean(axis=0)
            found[criterion] = means - means.mean()
    return pd.DataFrame(found, index=pd.Index(judges, name="judge"), columns=by_judge.columns).dropna()


def _by_scene(scores: pd.Series, judges: list[str]) -> pd.DataFrame:
    """One row per conversation, one column per judge."""
    table = pd.DataFrame({judge: scores.xs(judge, level="judge") for judge in judges})
    table.columns.name = "judge"
    return table.sort_index()


def _judgements_under(frames: Frames, policy: Policy) -> pd.DataFrame:
    """Per (player, character, situation, judge): each criterion's score under ``policy``; plain index."""
    judged = paper.usable_judgements(frames)
    seen = paper.turn_means(frames, judged if policy.refusals == "lowest" else judged[~judged["refusal"]])
    seen.index = pd.MultiIndex.from_tuples(list(seen.index), names=[*SCENE, "judge"])
    filled = _filled(frames, seen) if policy.absent_judgements == "filled" else seen.copy()
    if policy.refusals == "lowest":
        refused = judged.loc[judged["refusal"], [*SCENE, "judge"]]
        filled.loc[filled.index.isin(list(refused.itertuples(index=False, name=None))), :] = scale_of(frames)[
            0
        ]
    return filled


def _filled(frames: Frames, seen: pd.DataFrame) -> pd.DataFrame:
    """``seen`` with absent judgements of conversations that another judge judged, within the scale."""
    if len(frames.judges) < 2 or seen.empty:
        return seen.copy()
    offsets = leniency(seen)
    if offsets.empty:
        return seen.copy()
    low, high = scale_of(frames)
    columns = {}
    for criterion in seen.columns:
        table = _by_scene(seen[criterion], list(offsets.index))
        shift = offsets[criterion].to_numpy(dtype=np.float64)
        values = table.to_numpy(dtype=np.float64)
        guess = np.clip(np.add.outer(np.nanmean(values - shift, axis=1), shift), low, high)
        columns[criterion] = pd.DataFrame(
            np.where(np.isnan(values), guess, values), index=table.index, columns=table.columns
        ).stack()
    return pd.DataFrame(columns)


def _with_failed_conversations(frames: Frames, scenes: pd.DataFrame) -> pd.DataFrame:
    table = frames.conversations
    own = (table["failure_role"] == "player") & table["failure_outcome"].isin(OWN_FAILURES)
    failed = table.loc[(table["status"] == "failed") & own, SCENE]
    if failed.empty:
        return scenes
    index = pd.MultiIndex.from_tuples(list(failed.itertuples(index=False, name=None)), names=SCENE)
    rows = pd.DataFrame(scale_of(frames)[0], index=index, columns=scenes.columns)
    return pd.concat([scenes, rows]).sort_index()
