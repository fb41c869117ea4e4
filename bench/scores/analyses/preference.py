"""Do judges favour themselves, or models of their own family?

A judge may be right to score its own kind higher, if they are better. So we compare it with the other judges
on the same conversations: its extra points for its own kind, minus its extra points for everyone else. With
one judge, or without neutral players, the question has no answer, and the row says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from bench.catalog import Catalog
from bench.records import PlayerInfo
from bench.scores.analyses.scenes import judge_table
from bench.scores.analyses.sure import Estimate, mean_estimate
from bench.scores.frame import Frames
from bench.scores.paper import published


@dataclass(frozen=True)
class JudgeModel:
    """What a judge is: its provider's model id, and its family."""

    model: str
    family: str


def judge_models(frames: Frames, catalog: Catalog | None) -> dict[str, JudgeModel]:
    """What is known of the board's judges."""
    return models_of(frames.judges, frames.players, catalog)


def models_of(
    judges: Iterable[str], players: Iterable[PlayerInfo], catalog: Catalog | None
) -> dict[str, JudgeModel]:
    """What is known of ``judges``, from models.toml or from a player of the same id."""
    known = {info.player: JudgeModel(info.model, info.family) for info in players}
    if catalog is not None:
        known |= {name: JudgeModel(entry.model, entry.family) for name, entry in catalog.models.items()}
    return {judge: known[judge] for judge in judges if judge in known}


def preference(frames: Frames, models: Mapping[str, JudgeModel]) -> pd.DataFrame:
    """Two rows per judge: ``kind`` self (players that are the judge's model) and family (its relatives).

    ``preference`` is in points of the final score. Per scene: the mean over the judge's own players of (this
    judge minus the other judges), minus the same mean over players of no judge's family. The other judges are
    those of other families, and only conversations that all of them judged count. Where judges rotate, the
    other judges are those of the same scene. The interval is over scenes, two-way clustered. It does not say
    how much unrelated players differ from each other here. ``chance`` does: the share of players that stand
    out from the others at least as much as the judge's own.
    """
    table = judge_table(frames)
    rows = []
    for judge in frames.judges:
        for kind in ("self", "family"):
            own, reason = _own(frames.players, models.get(judge), kind)
            rivals = [j for j in frames.judges if j != judge and _other_family(models, judge, j)]
            families = {known.family for known in models.values() if not unknown_family(known.family)}
            rest = [info.player for info in frames.players if info.family not in families]
            reason = reason or _lacking(frames, judge, rivals, rest)
            made, chance = Estimate(None, reason=reason), None
            if reason is None:
                made, chance = _measured(table, judge, rivals, own, rest, rotated=frames.asked is not None)
            rows.append(
                {
                    "judge": judge,
                    "kind": kind,
                    "own": ", ".join(own),
                    "others": len(rest),
                    "scenes": made.n,
                    **made.cells("preference"),
                    "chance": chance,
                }
            )
    return pd.DataFrame(rows, columns=COLUMNS)


COLUMNS = ["judge", "kind", "own", "others", "scenes", "preference", "low", "high", "chance", "reason"]


def _own(players: Sequence[PlayerInfo], judge: JudgeModel | None, kind: str) -> tuple[list[str], str | None]:
    """The judge's own players, and why there are none."""
    if judge is None:
        return [], "the judge is in no catalog and no player has its id: its model and family are not known"
    if kind == "self":
        own = [info.player for info in players if info.model == judge.model]
        return own, None if own else "the judge is not a player of this board"
    if unknown_family(judge.family):
        return [], "the judge's family is unknown"
    own = [info.player for info in players if info.family == judge.family and info.model != judge.model]
    return own, None if own else f"no other player of this board is of the family {judge.family}"


def _other_family(models: Mapping[str, JudgeModel], judge: str, other: str) -> bool:
    if judge not in models or other not in models:
        return False
    one, two = models[judge].family, models[other].family
    return one != two and not unknown_family(one) and not unknown_family(two)


def unknown_family(family: str) -> bool:
    """Whether a family is not known. Two models of unknown family are not of one family."""
    return family.strip().casefold() in ("", "unknown")


def _lacking(frames: Frames, judge: str, rivals: list[str], rest: list[str]) -> str | None:
    if len(frames.judges) < 2:
        return "one judge: favour cannot be separated from quality"
    if not rivals:
        return "no other judge is known to be of another family"
    if not rest:
        return "every player is of some judge's family, so nothing neutral is left to compare with"
    return None


def _measured(
    table: pd.DataFrame, judge: str, rivals: list[str], own: list[str], rest: list[str], *, rotated: bool
) -> tuple[Estimate, float | None]:
    """The preference and its ``chance``."""
    needed = table.reindex(columns=[judge, *rivals])
    if not rotated:
        needed = needed.dropna()
    extra = (needed[judge] - needed[rivals].mean(axis=1)).dropna().unstack("player")
    own, rest = [p for p in own if p in extra], [p for p in rest if p in extra]
    difference = (extra[own].mean(axis=1) - extra[rest].mean(axis=1)).dropna()
    made = mean_estimate(difference)
    if made.value is None:
        return Estimate(None, reason="no scene was judged by all of them on both sides"), None
    return made, _chance(extra[rest].mean(), float(extra[own].mean(axis=1).mean()))


def _chance(others: pd.Series, own: float) -> float | None:
    """How many of the others, and the own, lie at least as far from (the other) others' mean."""
    if len(others) < 2:
        return None
    centre = (others.sum() - others) / (len(others) - 1)
    apart = abs(own - float(others.mean()))
    return published((1 + int(((others - centre).abs() >= apart).sum())) / (1 + len(others)))
