"""A board under a reader's own choices: weights, judges, what refusals count for, scenes, the length rule.

``site/assets/rescore.js`` computes the same numbers in the browser from :mod:`bench.scores.shipped`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import pandas as pd

from bench.errors import UserError
from bench.records import SCHEMA_VERSION, Record
from bench.scores.digits import known
from bench.scores.digits import published as rounded
from bench.scores.frame import SCENE, Frames, rows_with
from bench.scores.ledger import scenes_of
from bench.scores.policy import POLICIES, scale_of
from bench.scores.robust import JudgesAs, RobustBoard, robust_board
from bench.scores.weights import EQUAL, Weights, standard_weightings
from bench.toml_entries import nearest_or_all

Refusals = Literal["robust", "lowest", "left_out", "shared"]
"""Names of :data:`bench.scores.policy.POLICIES`."""


@dataclass(frozen=True)
class Choices:
    """What a reader may choose besides the judges. Empty collections: all."""

    weights: Weights | None = None
    refusals: Refusals = "robust"
    characters: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    """Kinds of situation, such as ``attack``."""
    length_rule: bool = True


class Span(Record):
    """A player's 95% interval and its ranks; the ends are null if unknown."""

    low: float | None
    high: float | None
    rank_low: int
    rank_high: int


class RescoredRow(Record):
    """A player of a re-scored board."""

    player: str
    rank: int
    score: float
    fixed: Span
    """For these judges and no others."""
    sample: Span | None
    """For judges like these; null if unknown."""
    published_rank: int | None
    """Rank by the published robust scoring; null if it has none."""
    published_score: float | None


class Rescored(Record):
    """A board under a reader's choices, by the robust scoring, best first."""

    schema_version: int = SCHEMA_VERSION
    suite: str
    version: str
    language: str
    weights: dict[str, float]
    judges: tuple[str, ...]
    refusals: Refusals
    characters: tuple[str, ...]
    """Empty: all."""
    kinds: tuple[str, ...]
    """Kinds of situation; empty: all."""
    length_rule: bool
    scenes: int
    """Scenes with a score."""
    sample_unknown: str | None
    """Why nothing is known about judges like these; null if something is."""
    rows: tuple[RescoredRow, ...]


def chosen_scenes(
    frames: Frames, characters: Collection[str], kinds: Collection[str], kind_of: Mapping[str, str]
) -> list[tuple[str, str]]:
    """(character, situation) of the scenes that fit. ``kind_of``: kind by situation.

    Raises UserError for a character or a kind that the board does not have.
    """
    scenes = scenes_of(frames)
    for what, given, there in (
        ("character", characters, {scene[0] for scene in scenes}),
        ("kind of situation", kinds, {kind_of[scene[1]] for scene in scenes if scene[1] in kind_of}),
    ):
        if unknown := sorted(set(given) - there):
            raise UserError(
                f"no {what} {unknown[0]!r} on this board",
                where=f"{frames.suite} {frames.language}",
                hint=nearest_or_all(unknown[0], sorted(there), "There are"),
            )
    return [
        (character, situation)
        for character, situation in scenes
        if (not characters or character in characters) and (not kinds or kind_of.get(situation) in kinds)
    ]


def only_scenes(frames: Frames, scenes: Sequence[tuple[str, str]]) -> Frames:
    """The same evidence as if only these scenes (character, situation) had been played."""
    wanted = pd.DataFrame(scenes, columns=SCENE[1:])

    def kept(table: pd.DataFrame) -> pd.DataFrame:
        return rows_with(table, wanted, SCENE[1:]).reset_index(drop=True)

    return replace(
        frames,
        scores=kept(frames.scores),
        judgements=kept(frames.judgements),
        conversations=kept(frames.conversations),
    )


def rescored_board(frames: Frames, choices: Choices, kind_of: Mapping[str, str]) -> RobustBoard:
    """The robust scoring of ``frames`` (by the chosen judges) under ``choices``.

    Answer lengths are those of all scenes. Raises UserError if nothing is left to score.
    """
    scenes = chosen_scenes(frames, choices.characters, choices.kinds, kind_of)
    chosen = frames if len(scenes) == len(scenes_of(frames)) else only_scenes(frames, scenes)
    policy = POLICIES[choices.refusals]
    scale_of(frames)
    counting = chosen.usable if policy.refusals == "lowest" else chosen.counting
    scored = None
    if len(counting):
        weights = choices.weights or standard_weightings(frames.criteria)[EQUAL]
        scored = robust_board(chosen, weights, policy=policy, lengths=frames, length_rule=choices.length_rule)
    if scored is None or not scored.grid.players:
        raise UserError(
            "nothing is scored under these choices",
            where=f"{frames.suite} {frames.language}",
            hint="Choose more scenes or judges, or let refusals count.",
        )
    return scored


def standings(scored: RobustBoard, judges_as: JudgesAs) -> pd.DataFrame:
    """Unrounded score, interval, rank and range of each player, best first."""
    return scored.players(scored.pairs(judges_as), judges_as)


def rescored(
    frames: Frames, choices: Choices, kind_of: Mapping[str, str], published: RobustBoard | None = None
) -> Rescored:
    """The board of ``frames`` under ``choices``. ``published``: the robust scoring that readers know."""
    scored = rescored_board(frames, choices, kind_of)
    fixed = standings(scored, "fixed")
    sample = None if scored.spread is None else standings(scored, "sample")
    before = None if published is None else standings(published, "fixed")
    rows = []
    for player in fixed.index:
        own = fixed.loc[player]
        old = before.loc[player] if before is not None and player in before.index else None
        rows.append(
            RescoredRow(
                player=str(player),
                rank=int(own["rank"]),
                score=rounded(float(own["score"])),
                fixed=_span(own),
                sample=None if sample is None else _span(sample.loc[player]),
                published_rank=None if old is None else int(old["rank"]),
                published_score=None if old is None else known(old["score"]),
            )
        )
    return Rescored(
        suite=frames.suite,
        version=frames.version,
        language=frames.language,
        weights=dict(choices.weights or standard_weightings(frames.criteria)[EQUAL]),
        judges=frames.judges,
        refusals=choices.refusals,
        characters=choices.characters,
        kinds=choices.kinds,
        length_rule=choices.length_rule,
        scenes=len(set(scored.cube.scenes)),
        sample_unknown=scored.unknown,
        rows=tuple(rows),
    )


def _span(row: pd.Series) -> Span:
    return Span(
        low=known(row["low"]),
        high=known(row["high"]),
        rank_low=int(row["rank_low"]),
        rank_high=int(row["rank_high"]),
    )
