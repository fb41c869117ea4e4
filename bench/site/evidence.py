"""What the pages of a board show beyond the board itself: analyses and comparisons of pairs of players."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from pydantic import JsonValue

from bench.boards.loading import LoadedBoard
from bench.boards.rating import rating_beside
from bench.catalog import Catalog
from bench.protocol_facts import facts_of
from bench.records import Record
from bench.results.comparisons import has_comparisons
from bench.scores import paper
from bench.scores.analyses.alone import criteria_alone
from bench.scores.analyses.preference import judge_models
from bench.scores.analyses.report import Material, Report, report
from bench.scores.analyses.scenes import judge_finals
from bench.scores.analyses.texts import no_turns
from bench.scores.board import Board, BoardRow, WeightedScore
from bench.scores.bootstrap import CONFIDENCE, Array
from bench.scores.clusters import CERTAIN
from bench.scores.compare import REFUSALS, methods, scored_by
from bench.scores.distributions import t_quantile
from bench.scores.frame import Frames
from bench.scores.pairwise_records import Rating
from bench.scores.planning import ScenesNeeded
from bench.scores.robust import robust_board
from bench.scores.separate import needed_for
from bench.scores.shipped import shipped
from bench.scores.weights import EQUAL, standard_weightings

PAIRS_UP_TO = 100
"""No pairs are compared on boards with more players: their number grows with the square of the players'."""

ANALYSES = (
    "by_turn",
    "difficulty",
    "scenes",
    "sides",
    "leniency",
    "components",
    "orders",
    "agreement",
    "judge_pairs",
    "preference",
    "judges_apart",
    "disputes",
    "boards_alone",
)
"""The analyses that pages show. Analyses of the texts take longer; `bench analyse` has them."""

R = TypeVar("R", bound=Record)


class TurnScore(Record):
    """A row of the analysis ``by_turn``."""

    player: str
    """Empty for the average over all players."""
    turn: int
    conversations: int
    score: float
    low: float | None
    high: float | None
    change: float | None
    change_low: float | None
    change_high: float | None
    reason: str | None


class Difficulty(Record):
    """A row of ``difficulty``: how much easier a character or situation is than the average."""

    kind: str
    id: str
    conversations: int
    players: int
    score: float | None
    effect: float | None
    low: float | None
    high: float | None
    reason: str | None


class SceneItem(Record):
    """A row of ``scenes``: see :func:`bench.scores.analyses.items.scene_items`."""

    character: str
    situation: str
    players: int
    score: float
    spread: float | None
    item_rest: float | None
    low: float | None
    high: float | None
    flag: str | None
    reason: str | None


class SideMean(Record):
    """A row of ``sides``: a player's mean over the scenes of a character or situation."""

    player: str
    kind: str
    id: str
    conversations: int
    score: float


class JudgesApart(Record):
    """A row of ``judges_apart``."""

    player: str
    conversations: int
    apart: float


class AloneScore(WeightedScore):
    """A row of ``boards_alone``."""

    judge: str
    weighting: str
    player: str


@dataclass(frozen=True)
class Pair:
    """One player compared with another on the scenes that both have, under the robust scoring.

    Judges are a sample where that is known."""

    difference: float
    half: float | None
    """Half the width of the 95% interval of this difference alone."""
    scenes: int
    separated: bool
    """Whether they differ significantly, corrected for all pairs of the board."""
    needed: ScenesNeeded | None
    """Scenes needed to detect a difference that is not significant yet; None if it is, or if unknown."""
    wins: float
    """Share of the scenes that the player wins; an equal score is half a win."""


@dataclass(frozen=True)
class BoardEvidence:
    """A board, its analyses and its pairs. The properties hold rows of the analyses by their keys."""

    board: Board
    analyses: Report
    """The ANALYSES; published as analyses.json."""
    counted: bool
    """Whether any judgement counts."""
    pairs: Mapping[str, Mapping[str, Pair]] = field(default_factory=dict)
    """Player to other player; empty on boards with too many players."""
    judge_criteria: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    """Judge, player, criterion: the mean from this judge alone."""
    scores: Mapping[str, Any] | None = None
    """All scores, for :mod:`bench.site.rescore_pages`; None where nothing can be re-scored."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """Situation to its kind, where the suite says it."""
    rating: Rating | None = None
    """The board by rating; None if no players were compared in pairs."""
    policies: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Other policies for refusals (names of bench.scores.policy.POLICIES), player: the rank under it."""

    def rows_of(self, name: str) -> tuple[dict[str, JsonValue], ...]:
        """The rows of an analysis."""
        return self.analyses.rows_of(name) if self.counted else ()

    def _records(self, name: str, kind: type[R]) -> list[R]:
        return [kind.model_validate(row) for row in self.rows_of(name)]

    @cached_property
    def rows(self) -> dict[str, BoardRow]:
        """The board's rows by player."""
        return {row.player: row for row in self.board.rows}

    @cached_property
    def ranked(self) -> list[BoardRow]:
        """The board's rows by their robust rank; without those that have none."""
        rows = [(row.robust.rank, row.player, row) for row in self.board.rows if row.robust is not None]
        return [row for *_, row in sorted(rows, key=lambda ranked: ranked[:2])]

    @cached_property
    def spread(self) -> dict[str, float]:
        """Player to largest minus smallest of the judges' means."""
        return {row.player: row.apart for row in self._records("judges_apart", JudgesApart)}

    @cached_property
    def by_judge(self) -> dict[str, dict[str, dict[str, WeightedScore]]]:
        """Judge, weighting, player: the paper's numbers if this judge alone had judged."""
        scores: dict[str, dict[str, dict[str, WeightedScore]]] = {}
        for row in self._records("boards_alone", AloneScore):
            scores.setdefault(row.judge, {}).setdefault(row.weighting, {})[row.player] = row
        return scores

    @cached_property
    def turns(self) -> dict[str, list[TurnScore]]:
        """Player to scores by turn; bench.scores.analyses.turns.ALL stands for the average of all."""
        turns: dict[str, list[TurnScore]] = {}
        for row in self._records("by_turn", TurnScore):
            turns.setdefault(row.player, []).append(row)
        return turns

    @cached_property
    def difficulty(self) -> list[Difficulty]:
        """Characters and situations, the hardest of each kind first."""
        return self._records("difficulty", Difficulty)

    @cached_property
    def scene_items(self) -> dict[tuple[str, str], SceneItem]:
        """(character, situation) to how the scene spreads the players."""
        return {(row.character, row.situation): row for row in self._records("scenes", SceneItem)}

    @property
    def scene_means(self) -> dict[tuple[str, str], float]:
        """(character, situation) to the mean score of all players."""
        return {scene: row.score for scene, row in self.scene_items.items()}

    @cached_property
    def sides(self) -> dict[tuple[str, str], dict[str, SideMean]]:
        """(kind, id) of a character or situation, then player."""
        sides: dict[tuple[str, str], dict[str, SideMean]] = {}
        for row in self._records("sides", SideMean):
            sides.setdefault((row.kind, row.id), {})[row.player] = row
        return sides


def evidence_of(loaded: LoadedBoard, catalog: Catalog | None = None) -> BoardEvidence:
    """The board, its analyses and its pairs. ``catalog`` knows the judges' models and families."""
    frames = loaded.frames
    analyses = report(Material(frames, no_turns(), judge_models(frames, catalog)), ANALYSES)
    counted = not judge_finals(frames).empty
    pairs = _pairs(frames) if counted and len(frames.players) <= PAIRS_UP_TO else {}
    rating = None
    if loaded.tree is not None and has_comparisons(loaded.tree, frames.suite, frames.language):
        rating = rating_beside(loaded.tree, loaded, catalog)
    alone = criteria_alone(frames) if counted else {}
    return BoardEvidence(
        board=loaded.board,
        analyses=analyses,
        counted=counted,
        pairs=pairs,
        judge_criteria=alone,
        scores=shipped(frames),
        kinds=loaded.kinds,
        rating=rating,
        policies=_policies(frames) if counted else {},
    )


def _policies(frames: Frames) -> dict[str, dict[str, int]]:
    """The ranks that :func:`bench.scores.compare.methods` gives by other policies for refusals."""
    if facts_of(frames.protocol).scale is None:
        return {}
    asked = [method for method in methods(frames) if method.name.startswith(REFUSALS)]
    return {
        method.name.removeprefix(REFUSALS): {
            str(player): int(rank) for player, rank in scored_by(frames, method)["rank"].dropna().items()
        }
        for method in asked
    }


def _pairs(frames: Frames) -> dict[str, dict[str, Pair]]:
    if facts_of(frames.protocol).scale is None:
        return {}
    scored = robust_board(frames, standard_weightings(frames.criteria)[EQUAL])
    table = scored.pairs()
    table["half"] = t_quantile((1 + CONFIDENCE) / 2, table["df"].to_numpy()) * table["standard_error"]
    table["wins"] = _wins(scored.grid.values)
    names = ("player", "other", "difference", "half", "scenes", "separated", "wins")
    columns = [table[name].tolist() for name in names]
    pairs: dict[str, dict[str, Pair]] = {}
    for player, other, difference, half, scenes, separated, wins in zip(*columns, strict=True):
        if math.isnan(difference):
            continue
        shown = paper.published(difference)
        needed = None
        if not separated and not math.isnan(half):
            needed = needed_for(scored, shown, player, other, scored.default)
        rest = (None if math.isnan(half) else paper.published(half), scenes, separated, needed)
        pairs.setdefault(player, {})[other] = Pair(shown, *rest, wins)
        pairs.setdefault(other, {})[player] = Pair(-shown + 0.0, *rest, 1 - wins)
    return pairs


def _wins(values: Array) -> list[float]:
    """For each pair of players, in order, the share of their common scenes that the first one wins."""
    shares: list[float] = []
    for place, own in enumerate(values):
        gaps = own - values[place + 1 :]
        won = (gaps > CERTAIN) + (np.abs(gaps) <= CERTAIN) / 2
        there = (~np.isnan(gaps)).sum(axis=(1, 2))
        shares += np.divide(won.sum(axis=(1, 2)), there, out=np.zeros(len(gaps)), where=there > 0).tolist()
    return shares
