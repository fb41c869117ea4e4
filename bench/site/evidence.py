"""What a board's pages show beyond the board itself, worked out of the same evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd
from pydantic import JsonValue
from scipy import stats

from bench.catalog import Catalog
from bench.scores import paper
from bench.scores.analyses.difficulty import difficulty
from bench.scores.analyses.judges import agreement, leniency, pairwise
from bench.scores.analyses.preference import judge_models, preference
from bench.scores.analyses.scenes import judge_finals
from bench.scores.analyses.sure import missing_to_none
from bench.scores.analyses.turns import ALL, by_turn
from bench.scores.board import Board, BoardRow, WeightedScore, board_of, paper_numbers
from bench.scores.bootstrap import CONFIDENCE
from bench.scores.frame import SCALES, Frames
from bench.scores.ledger import Scene
from bench.scores.robust import paired_differences, robust_grid
from bench.scores.weights import EQUAL, standard_weightings

PAIRS_UP_TO = 100
"""Players up to which every pair is compared: the work grows with the square of their number."""

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


@dataclass(frozen=True)
class BoardEvidence:
    """A board and what else its evidence says."""

    board: Board
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
    agreement: tuple[Row, ...] = ()
    judge_pairs: tuple[Row, ...] = ()
    preference: tuple[Row, ...] = ()

    @property
    def rows(self) -> dict[str, BoardRow]:
        """The board's rows by player."""
        return {row.player: row for row in self.board.rows}


def evidence_of(
    frames: Frames, scenes: Sequence[Scene] | None = None, catalog: Catalog | None = None
) -> BoardEvidence:
    """The board of ``frames`` and what else they say; ``catalog`` tells what its judges are."""
    board = board_of(frames, scenes=scenes)
    if judge_finals(frames).empty:  # nothing counts
        return BoardEvidence(board)
    turns: dict[str, list[Row]] = {}
    for row in _rows(by_turn(frames)):
        turns.setdefault(str(row["player"] or ALL), []).append(row)
    return BoardEvidence(
        board=board,
        spread=_spread(frames),
        by_judge={judge: _alone(frames, judge, board) for judge in _several(frames)},
        pairs=_pairs(frames) if len(frames.players) <= PAIRS_UP_TO else {},
        turns={player: tuple(found) for player, found in turns.items()},
        difficulty=_rows(difficulty(frames)),
        leniency=_rows(leniency(frames)),
        agreement=_rows(agreement(frames)),
        judge_pairs=_rows(pairwise(frames)),
        preference=_rows(preference(frames, judge_models(frames, catalog))),
    )


def _several(frames: Frames) -> tuple[str, ...]:
    """The judges where there are at least two."""
    return frames.judges if len(frames.judges) > 1 else ()


def _rows(table: pd.DataFrame) -> tuple[Row, ...]:
    """A table as plain rows; missing cells are None."""
    return tuple(
        {str(key): value for key, value in row.items()} for row in missing_to_none(table).to_dict("records")
    )


def _spread(frames: Frames) -> dict[str, float]:
    """Over conversations that all judges judged: the largest minus the smallest of the judges' means."""
    if len(frames.judges) < 2:
        return {}
    table = judge_finals(frames).unstack("judge")
    table = table.reindex(columns=list(frames.judges)).dropna()
    means = table.groupby(level="player").mean()
    apart = means.max(axis=1) - means.min(axis=1)
    return {str(player): paper.published(float(value)) for player, value in apart.items()}


def _alone(frames: Frames, judge: str, board: Board) -> dict[str, dict[str, WeightedScore]]:
    """The paper's numbers of every weighting by one judge's verdicts."""
    only = frames.only_judges([judge])
    if judge_finals(only).empty:
        return {}
    weightings = standard_weightings(frames.criteria)
    scored, _ = paper_numbers(only, weightings, resamples=board.resamples, seed=board.seed)
    return {name: _ranked(scored, name) for name in weightings}


def _ranked(scored: pd.DataFrame, weighting: str) -> dict[str, WeightedScore]:
    final = paper.final_column(weighting)
    norm = final.replace("final:", "norm:", 1)
    columns = {
        "length_norm_score": norm,
        "length_norm_ci": f"{norm}_ci",
        "score": final,
        "score_ci": f"{final}_ci",
    }
    table = pd.DataFrame(
        {name: [paper.published(float(x)) for x in scored[column]] for name, column in columns.items()},
        index=scored.index,
    )
    return {
        str(row["player"]): WeightedScore.model_validate({name: row[name] for name in ("rank", *columns)})
        for row in _rows(paper.ranked(table).reset_index(names="player"))
    }


def _pairs(frames: Frames) -> dict[str, dict[str, Pair]]:
    if frames.protocol not in SCALES:
        return {}
    equal = standard_weightings(frames.criteria)[EQUAL]
    table = paired_differences(robust_grid(frames, equal))
    found: dict[str, dict[str, Pair]] = {}
    for row in _rows(table):
        if row["difference"] is None:
            continue
        difference = paper.published(float(str(row["difference"])))
        half = _half(row)
        scenes, separated = int(str(row["scenes"])), bool(row["separated"])
        found.setdefault(str(row["player"]), {})[str(row["other"])] = Pair(
            difference, half, scenes, separated
        )
        found.setdefault(str(row["other"]), {})[str(row["player"])] = Pair(
            -difference + 0.0, half, scenes, separated
        )
    return found


def _half(row: Row) -> float | None:
    if row["standard_error"] is None or row["df"] is None:
        return None
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, float(str(row["df"]))))
    return paper.published(reach * float(str(row["standard_error"])))
