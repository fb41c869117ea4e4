"""The board's table: its columns, its filters, and the scores under other methods, for the page's script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bench.scores.board import Board, BoardRow, WeightedScore
from bench.scores.forms import judges_taken, separates
from bench.scores.robust import JudgesAs
from bench.scores.weights import EQUAL
from bench.site.charts import Axis
from bench.site.evidence import BoardEvidence
from bench.site.labels import label
from bench.site.render import monograms
from bench.site.scoring import BoardRules
from bench.slugs import slug

SIZES = (
    ("small", "under 10 billion", 0.0, 10.0),
    ("medium", "10 to 40 billion", 10.0, 40.0),
    ("large", "40 to 150 billion", 40.0, 150.0),
    ("huge", "150 billion or more", 150.0, float("inf")),
)
"""Key, title and bounds of each class of model sizes (parameters in billions)."""
UNKNOWN = ("unknown", "not published")

_Numbers = tuple[float | None, ...]
"""One value for each of _NAMES."""
_NAMES = ("rank", "norm", "low", "high", "ci", "score", "half")
"""Rank; score, ends and half of its interval; score before length normalisation, half of its interval."""
_NOTHING: _Numbers = (None,) * len(_NAMES)


def size_of(billions: float | None) -> str:
    """Key of the size class of a model with this many billion parameters; None: not published."""
    if billions is None:
        return UNKNOWN[0]
    return next(key for key, _, low, high in SIZES if low <= billions < high)


@dataclass(frozen=True)
class Column:
    """A column of the board's table. ``sort``: the kind of its values, if the table can be sorted by it."""

    key: str
    title: str
    help: str
    sort: Literal["number", "text", ""] = "number"

    @property
    def numeric(self) -> bool:
        """Whether its cells are aligned as numbers."""
        return self.sort == "number"


_OF_ANSWERS = (
    Column("refusals", "Refusals", "Share of conversations in which a judge saw a refusal"),
    Column("length", "Length", "Mean length of an answer in characters"),
)
_OF_CALLS = (Column("cost", "Cost", "US dollars for all calls of the player's conversations and judgements"),)
"""Columns that published scores do not have."""


_FIRST = Column("first", "First place", "Chance of the first place, by the robust scoring")


def columns(criteria: Sequence[str], rules: BoardRules, robust: bool = True) -> list[Column]:
    """The board's columns, in order. ``robust``: whether any player has robust numbers."""
    unit = "turns" if rules.pools_turns else "conversations"
    before = Column("score", "Score", "Mean of the criteria, before length normalisation")
    sorted_by = "The board is sorted by this; after ±, half of the 95% interval"
    shared = f"Players within {rules.gap:g} of the leader of a group share its rank"
    return [
        Column("rank", "Rank", f"{shared}; small: the ranks this player could plausibly hold"),
        Column("name", "Model", "", "text"),
        Column("interval", "Interval", f"{rules.number.capitalize()} with its 95% interval", ""),
        Column("norm", "Score" if rules.length == "none" else "Score, length-normalised", sorted_by),
        *([] if rules.length == "none" else [before]),
        *((_FIRST,) if robust else ()),
        *(Column(column_key(name), label(name), f"Mean over {unit}, by all judges") for name in criteria),
        *(() if rules.published else _OF_ANSWERS),
        Column("conversations", "Conversations", "Complete conversations, and the number expected if more"),
        Column("failed", "Failed", "Conversations and judgements that failed"),
        Column("spread", "Judge disagreement", "Largest minus smallest of the judges' own means"),
        *(() if rules.published else _OF_CALLS),
    ]


def column_key(criterion: str) -> str:
    """Key of a criterion's column."""
    return f"c-{slug(criterion)}"


def table_values(evidence: BoardEvidence, judge_name: Callable[[str], str]) -> dict[str, Any]:
    """Values for the table's template. ``judge_name``: gives a judge's name by its id."""
    board = evidence.board
    robust = any(row.robust is not None for row in board.rows)
    axis = Axis.around(_spans(_of_row(row, EQUAL) for row in board.rows))
    return {
        "columns": columns(board.criteria, BoardRules.of(board.protocol), robust),
        "axis": axis,
        "rows": board.rows,
        "spread": evidence.spread,
        "providers": monograms(row.provider for row in board.rows),
        "families": _families(board.rows),
        "sizes": _sizes(board.rows),
        "weightings": [(name, weighting_label(name)) for name in board.weightings if name != EQUAL],
        "judges": [(slug(judge), judge_name(judge)) for judge in evidence.by_judge],
        "has_robust": robust,
        "robust_views": list(robust_views(board)),
        "data": board_data(evidence),
    }


def weighting_label(name: str) -> str:
    """A weighting in words."""
    heavy = name.removesuffix("_heavy")
    return "equal" if name == EQUAL else f"{label(heavy)} counts twice"


def board_data(evidence: BoardEvidence) -> dict[str, Any]:
    """What the page's script needs to filter the table and to show scores under other methods."""
    board, rules = evidence.board, BoardRules.of(evidence.board.protocol)
    views: dict[str, Any] = {}
    for weighting in (EQUAL, *board.weightings):
        views[f"paper.{weighting}."] = _view(_of_row(row, weighting) for row in board.rows)
    for judge, weightings in evidence.by_judge.items():
        for weighting, players in weightings.items():
            alone = (_numbers(players.get(row.player)) for row in board.rows)
            views[f"paper.{weighting}.{slug(judge)}"] = _view(alone)
    if any(row.robust is not None for row in board.rows):
        for key, way in robust_views(board).items():
            views[f"robust.{EQUAL}.{key}"] = _view(_robust(row, way) for row in board.rows)
    places = {
        key: [row.robust and row.robust.standing(way) for row in board.rows]
        for key, way in robust_views(board).items()
    }
    return {
        "ranges": {key: [place and place.ranks for place in own] for key, own in places.items()},
        "first": {key: [place and place.first for place in own] for key, own in places.items()},
        "scale": [rules.low, rules.high],
        "names": [column_key(name) for name in board.criteria],
        "criteria": _criteria(evidence),
        "rows": [
            {
                "key": slug(row.player),
                "text": " ".join([row.name, row.player, row.model, row.provider, row.family]).lower()[:400],
                "weights": row.weights,
                "family": slug(row.family),
                "size": size_of(row.parameters_billion),
            }
            for row in board.rows
        ],
        "views": views,
    }


def _criteria(evidence: BoardEvidence) -> dict[str, list[list[float | None]]]:
    """The criteria by one judge, by all (no judge): a list of the players' means for each criterion."""
    board = evidence.board
    means: dict[str, Mapping[str, Mapping[str, float]]] = {
        "": {row.player: row.criteria for row in board.rows}
    }
    means |= {slug(judge): players for judge, players in evidence.judge_criteria.items()}
    return {
        judge: [[players.get(row.player, {}).get(name) for row in board.rows] for name in board.criteria]
        for judge, players in means.items()
    }


def _view(numbers: Iterable[_Numbers]) -> dict[str, list[Any]]:
    rows = list(numbers)
    axis = Axis.around(_spans(rows))
    return {
        **dict(zip(_NAMES, map(list, zip(*rows, strict=True)), strict=False)),
        "axis": [axis.low, axis.high],
        "ticks": axis.ticks,
    }


def _of_row(row: BoardRow, weighting: str) -> _Numbers:
    if weighting == EQUAL and EQUAL not in row.weightings:
        return _numbers(row)
    return _numbers(row.weightings[weighting])


def _numbers(scores: WeightedScore | BoardRow | None) -> _Numbers:
    if scores is None or scores.length_norm_score is None:
        return _NOTHING
    half = scores.length_norm_ci
    norm = scores.length_norm_score
    low, high = (None, None) if half is None else (round(norm - half, 6), round(norm + half, 6))
    return scores.rank, norm, low, high, half, scores.score, scores.score_ci


def robust_views(board: Board) -> dict[str, JudgesAs]:
    """The ways in which judges can count, by their value in the page's address; the first one is shown."""
    if board.robust is None:
        return {}
    return {"": "sample", "fixed": "fixed"} if board.robust.sample else {"": "fixed"}


def robust_notes(board: Board) -> dict[str, str]:
    """What the robust scoring says about the whole board, for each of :func:`robust_views`."""
    robust = board.robust
    if robust is None:
        return {}
    notes = {
        key: (judges_taken(robust, way), separates(robust, way)) for key, way in robust_views(board).items()
    }
    return {key: " ".join(filter(None, note)) for key, note in notes.items()}


def _robust(row: BoardRow, way: JudgesAs) -> _Numbers:
    if row.robust is None:
        return _NOTHING
    place = row.robust.standing(way)
    return place.rank, row.robust.score, place.low, place.high, None, None, None


def _spans(rows: Iterable[_Numbers]) -> Iterator[tuple[float, float]]:
    """(low, high) of every interval, or of the score without one."""
    for _, norm, low, high, *_ in rows:
        if norm is not None:
            yield (norm if low is None else low), (norm if high is None else high)


def _families(rows: Sequence[BoardRow]) -> list[tuple[str, str]]:
    families: Mapping[str, str] = {slug(row.family): row.family for row in rows}
    return sorted(families.items(), key=lambda item: (item[1].lower(), item[0]))


def _sizes(rows: Sequence[BoardRow]) -> list[tuple[str, str]]:
    """Key and title of the size classes on the board."""
    present = {size_of(row.parameters_billion) for row in rows}
    return [(key, title) for key, title, *_ in (*SIZES, UNKNOWN) if key in present]
