"""Policies: how refusals, failures and missing judgements count.

The paper leaves out judgements that saw a refusal, which can lift a player that refuses hard scenes. The
robust scoring counts a refusal as the lowest score, and estimates a missing judgement from the other judges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from bench.errors import UserError
from bench.protocol_facts import facts_of, known_protocols
from bench.scores import paper
from bench.scores.frame import SCENE, TALK, VERDICT, Frames
from bench.scores.weights import Weights


@dataclass(frozen=True)
class Policy:
    """How evidence that is not a plain verdict counts."""

    refusals: Literal["left_out", "lowest"]
    """A judgement that saw a refusal: left out of the means, or the lowest score on every criterion."""
    failed_conversations: Literal["left_out", "lowest"]
    """A conversation that the player itself ended (bench.scores.rules.ended_by_player): the same choice."""
    absent_judgements: Literal["left_out", "filled"]
    """A failed, stale or missing judgement of a complete conversation, by a judge that should score it: left
    out of the means, or estimated as the other judges' mean, corrected for how much more lenient this judge
    is than they are."""
    scenes: Literal["all", "shared"] = "all"
    """Use all scenes, or only those that every scored player finished."""


PAPER = Policy("left_out", "left_out", "left_out")
ROBUST = Policy("lowest", "lowest", "filled")
POLICIES: dict[str, Policy] = {
    "left_out": PAPER,
    "lowest": Policy("lowest", "lowest", "left_out"),
    "shared": Policy("left_out", "left_out", "left_out", "shared"),
    "robust": ROBUST,
}
"""Policies by name, as :mod:`bench.scores.compare` uses them."""


def scale_of(frames: Frames) -> tuple[float, float]:
    """Lowest and highest score of the board's protocol. Raises UserError for an unknown protocol."""
    scale = facts_of(frames.protocol).scale
    if scale is None:
        raise UserError(
            f"the scale of protocol {frames.protocol!r} is not known",
            hint=f"The records need one of these protocols: {', '.join(known_protocols())}.",
        )
    return scale


def scene_scores(frames: Frames, weights: Weights, policy: Policy) -> pd.DataFrame:
    """Scores under ``policy``, one row per player and scene (indexed by SCENE): each criterion and ``final``.

    A scene's score is the mean over its repeats.
    """
    talks = paper.conversation_scores(judgement_scores(frames, weights, policy))
    if policy.failed_conversations == "lowest":
        talks = _with_failed_conversations(frames, talks)
    scenes = paper.over_repeats(talks)
    return only_shared(scenes) if policy.scenes == "shared" else scenes


def judgement_scores(frames: Frames, weights: Weights, policy: Policy) -> pd.DataFrame:
    """Scores under ``policy``, one row per judgement (indexed by VERDICT): each criterion and ``final``."""
    by_judge = _judgements_under(frames, policy)
    by_judge["final"] = paper.with_finals(by_judge, {"f": weights})[paper.final_column("f")]
    return by_judge


def only_shared(scenes: pd.DataFrame) -> pd.DataFrame:
    """Rows of those scenes that every player of the table has."""
    players = scenes.index.get_level_values("player").nunique()
    having = scenes.groupby(level=SCENE[1:])["final"].transform("count")
    return scenes[having == players]


def leniency(by_judge: pd.DataFrame) -> pd.DataFrame:
    """How far each judge (index) is above the mean of all judges on each criterion (columns), in points.

    Over the conversations that all judges judged. Without any, by least squares over those that two or more
    judged; empty if these do not link all judges. ``by_judge``: criteria means by VERDICT.
    """
    offsets = {}
    for criterion in by_judge.columns:
        table = by_judge[criterion].unstack("judge")
        means = table.dropna().mean()
        offsets[criterion] = _linked(table) if means.isna().any() else means - means.mean()
    return pd.DataFrame(offsets).dropna()


def _linked(table: pd.DataFrame) -> pd.Series:
    """Offset of each judge (column) by least squares, beside an effect of each conversation (row)."""
    values = table.to_numpy(dtype=np.float64)
    have = ~np.isnan(values)
    n = np.maximum(have.sum(axis=1), 1)
    centred = np.where(have, values - (np.where(have, values, 0).sum(axis=1) / n)[:, None], 0.0)
    normal = np.diag(have.sum(axis=0).astype(np.float64)) - (have / n[:, None]).T @ have
    found, _, rank, _ = np.linalg.lstsq(normal, centred.sum(axis=0), rcond=1e-9)
    linked = rank == len(normal) - 1
    return pd.Series(found - found.mean() if linked else np.nan, index=table.columns)


def _judgements_under(frames: Frames, policy: Policy) -> pd.DataFrame:
    """Each criterion's score under ``policy``, one row per judgement (indexed by VERDICT)."""
    if policy not in frames.under:
        frames.under[policy] = _counted(frames, policy)
    return frames.under[policy].copy()


def _counted(frames: Frames, policy: Policy) -> pd.DataFrame:
    judged = frames.counting_means if policy.refusals == "left_out" else frames.usable_means
    scores = _filled(frames, judged) if policy.absent_judgements == "filled" else judged.copy()
    if policy.refusals == "lowest":
        refused = frames.usable.loc[frames.usable["refusal"], VERDICT]
        scores.loc[scores.index.isin(pd.MultiIndex.from_frame(refused)), :] = scale_of(frames)[0]
    return scores


def _filled(frames: Frames, judged: pd.DataFrame) -> pd.DataFrame:
    """``judged``, and an estimate for each absent judgement of a conversation that another judge judged."""
    offsets = leniency(judged) if len(frames.judges) > 1 else pd.DataFrame()
    if offsets.empty:
        return judged.copy()
    low, high = scale_of(frames)
    columns = {}
    for criterion in judged.columns:
        table = judged[criterion].unstack("judge")
        shift = offsets[criterion].to_numpy(dtype=np.float64)
        values = table.to_numpy(dtype=np.float64)
        guess = np.clip(np.add.outer(np.nanmean(values - shift, axis=1), shift), low, high)
        filled = np.where(np.isnan(values) & _was_asked(frames, table), guess, values)
        columns[criterion] = pd.DataFrame(filled, index=table.index, columns=table.columns).stack()
    return pd.DataFrame(columns).dropna()


def _was_asked(frames: Frames, table: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Whether each judge (column) should score each conversation (row)."""
    if frames.asked is None:
        return np.broadcast_to(np.isin(table.columns, frames.judges), table.shape)
    scenes = zip(*(table.index.get_level_values(name) for name in SCENE[1:]), strict=True)
    return np.array([[judge in frames.judges_of(scene) for judge in table.columns] for scene in scenes])


def _with_failed_conversations(frames: Frames, talks: pd.DataFrame) -> pd.DataFrame:
    """``talks``, and the lowest score for each conversation that its player ended."""
    table = frames.conversations
    failed = table.loc[(table["status"] == "failed") & table["ended_by_player"], TALK]
    if failed.empty:
        return talks
    rows = pd.DataFrame(scale_of(frames)[0], index=pd.MultiIndex.from_frame(failed), columns=talks.columns)
    return pd.concat([talks, rows]).sort_index()
