"""What a board's pages show beyond the board itself, worked out of the same evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd
from pydantic import JsonValue
from scipy import stats

from bench.boards.loading import LoadedBoard
from bench.catalog import Catalog
from bench.protocol_facts import facts_of
from bench.scores import paper
from bench.scores.analyses.preference import judge_models
from bench.scores.analyses.report import Material, Report, report
from bench.scores.analyses.scenes import judge_finals
from bench.scores.analyses.sure import missing_to_none
from bench.scores.analyses.texts import no_turns
from bench.scores.analyses.turns import ALL
from bench.scores.board import NUMBERS, Board, BoardRow, WeightedScore
from bench.scores.bootstrap import CONFIDENCE
from bench.scores.frame import Frames
from bench.scores.robust import paired_differences, robust_grid, scenes_needed
from bench.scores.weights import EQUAL, standard_weightings

PAIRS_UP_TO = 100
"""Players up to which every pair is compared: the work grows with the square of their number."""

ANALYSES = (
    "by_turn",
    "difficulty",
    "scenes",
    "sides",
    "leniency",
    "orders",
    "agreement",
    "judge_pairs",
    "preference",
    "judges_apart",
    "disputes",
    "boards_alone",
)
"""The analyses that pages show. Those of what was said are left to `bench analyse`: they take longer."""

Row = Mapping[str, JsonValue]


@dataclass(frozen=True)
class Pair:
    """One player compared with another on the scenes that both have, under the robust scoring."""

    difference: float
    half: float | None
    """Half the width of its 95% interval, of this pair alone."""
    scenes: int
    separated: bool
    """Surely different, all pairs of the board considered."""
    needed: int | None
    """Scenes with which one comparison would find this difference four times in five; None: see
    :func:`bench.scores.robust.scenes_needed`."""


@dataclass(frozen=True)
class BoardEvidence:
    """A board and what else its evidence says."""

    board: Board
    analyses: Report
    """Those of ANALYSES: analyses.json, which holds every number below but the pairs."""
    spread: Mapping[str, float] = field(default_factory=dict)
    """Player to how far its judges' own means of it lie apart."""
    by_judge: Mapping[str, Mapping[str, Mapping[str, WeightedScore]]] = field(default_factory=dict)
    """Judge, weighting, player: the paper's numbers as if this judge alone had judged."""
    pairs: Mapping[str, Mapping[str, Pair]] = field(default_factory=dict)
    """Player, then other player; empty on boards of too many players."""
    turns: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)
    """Player (empty: the average of all) to its scores by turn."""
    difficulty: tuple[Row, ...] = ()
    leniency: tuple[Row, ...] = ()
    orders: tuple[Row, ...] = ()
    agreement: tuple[Row, ...] = ()
    judge_pairs: tuple[Row, ...] = ()
    preference: tuple[Row, ...] = ()

    @property
    def rows(self) -> dict[str, BoardRow]:
        """The board's rows by player."""
        return {row.player: row for row in self.board.rows}


def evidence_of(loaded: LoadedBoard, catalog: Catalog | None = None) -> BoardEvidence:
    """A board and what else its evidence says; ``catalog`` tells what its judges are."""
    frames, board = loaded.frames, loaded.board
    made = report(Material(frames, no_turns(), judge_models(frames, catalog)), ANALYSES)
    if judge_finals(frames).empty:  # nothing counts
        return BoardEvidence(board, made)
    turns: dict[str, list[Row]] = {}
    for row in made.rows_of("by_turn"):
        turns.setdefault(str(row["player"] or ALL), []).append(row)
    return BoardEvidence(
        board=board,
        analyses=made,
        spread={str(row["player"]): float(str(row["apart"])) for row in made.rows_of("judges_apart")},
        by_judge=_alone(made),
        pairs=_pairs(frames) if len(frames.players) <= PAIRS_UP_TO else {},
        turns={player: tuple(found) for player, found in turns.items()},
        difficulty=made.rows_of("difficulty"),
        leniency=made.rows_of("leniency"),
        orders=made.rows_of("orders"),
        agreement=made.rows_of("agreement"),
        judge_pairs=made.rows_of("judge_pairs"),
        preference=made.rows_of("preference"),
    )


def _rows(table: pd.DataFrame) -> tuple[Row, ...]:
    """A table as plain rows; missing cells are None."""
    return tuple(
        {str(key): value for key, value in row.items()} for row in missing_to_none(table).to_dict("records")
    )


def _alone(made: Report) -> dict[str, dict[str, dict[str, WeightedScore]]]:
    """Judge, weighting, player: the paper's numbers as if this judge alone had judged."""
    found: dict[str, dict[str, dict[str, WeightedScore]]] = {}
    for row in made.rows_of("boards_alone"):
        numbers = {name: row[name] for name in ("rank", *NUMBERS)}
        by_weighting = found.setdefault(str(row["judge"]), {}).setdefault(str(row["weighting"]), {})
        by_weighting[str(row["player"])] = WeightedScore.model_validate(numbers)
    return found


def _pairs(frames: Frames) -> dict[str, dict[str, Pair]]:
    if facts_of(frames.protocol).scale is None:
        return {}
    equal = standard_weightings(frames.criteria)[EQUAL]
    table = paired_differences(robust_grid(frames, equal))
    table["half"] = stats.t.ppf((1 + CONFIDENCE) / 2, table["df"]) * table["standard_error"]
    found: dict[str, dict[str, Pair]] = {}
    for row in _rows(table):
        if row["difference"] is None:
            continue
        difference = paper.published(float(str(row["difference"])))
        half = None if row["half"] is None else paper.published(float(str(row["half"])))
        told = half, int(str(row["scenes"])), bool(row["separated"]), _needed(row)
        found.setdefault(str(row["player"]), {})[str(row["other"])] = Pair(difference, *told)
        found.setdefault(str(row["other"]), {})[str(row["player"])] = Pair(-difference + 0.0, *told)
    return found


def _needed(row: Row) -> int | None:
    difference, error, scenes, df = (
        float(str(row[name])) for name in ("difference", "standard_error", "scenes", "df")
    )
    return scenes_needed(difference, error, int(scenes), df) if error > 1e-12 else None
