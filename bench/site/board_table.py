"""The board's table: columns, rows, and the numbers of other ways to score it, for the page's script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from bench.scores.board import BoardRow, WeightedScore
from bench.scores.weights import EQUAL
from bench.site.charts import Axis
from bench.site.evidence import BoardEvidence
from bench.site.render import monograms
from bench.site.scoring import BoardRules
from bench.site.talk import label
from bench.slugs import slug

SIZES = (
    ("small", "under 10 billion", 0.0, 10.0),
    ("medium", "10 to 40 billion", 10.0, 40.0),
    ("large", "40 to 150 billion", 40.0, 150.0),
    ("huge", "150 billion or more", 150.0, float("inf")),
)
"""Key, words, and bounds of each class of parameters; a model that tells none is ``unknown``."""
UNKNOWN = ("unknown", "not published")

_Numbers = tuple[float | None, ...]
"""As :data:`_NAMES` says."""
_NAMES = ("rank", "norm", "low", "high", "ci", "score", "half")
"""Rank; score, ends and half of its interval; score before length normalisation, half of its interval."""
_NOTHING: _Numbers = (None,) * len(_NAMES)


def size_of(billions: float | None) -> str:
    """Key of the class that a model of so many parameters is in."""
    if billions is None:
        return UNKNOWN[0]
    return next(key for key, _, low, high in SIZES if low <= billions < high)


def columns(criteria: Sequence[str], rules: BoardRules) -> list[dict[str, Any]]:
    """The board's columns, in order; ``sort`` is the kind of value that a column holds."""
    plain = rules.length == "none"
    made: list[tuple[str, str, bool, str, str]] = [
        (
            "rank",
            "Rank",
            True,
            "number",
            f"Shared within {rules.gap:g} of the leader of a group; "
            "small: all the ranks that the data leave open",
        ),
        ("name", "Model", False, "text", ""),
        ("interval", "Interval", False, "", f"{rules.number.capitalize()} with its 95% interval"),
        (
            "norm",
            "Score" if plain else "Score, length-normalised",
            True,
            "number",
            "The board is sorted by it; after ± half of a 95% interval",
        ),
        *(
            [("score", "Score", True, "number", "Mean of the criteria, before length normalisation")]
            if not plain
            else []
        ),
        *(
            (
                f"c-{slug(name)}",
                label(name),
                True,
                "number",
                f"Mean over {'turns' if rules.pools_turns else 'conversations'}, by all judges",
            )
            for name in criteria
        ),
        ("refusals", "Refusals", True, "number", "Share of conversations in which a judge saw a refusal"),
        ("length", "Length", True, "number", "Mean length of an answer in characters"),
        (
            "conversations",
            "Conversations",
            True,
            "number",
            "Complete conversations, and of how many where some failed or are missing",
        ),
        ("failed", "Failed", True, "number", "Conversations and judgements that failed"),
        ("spread", "Judges apart", True, "number", "How far the judges' own means lie apart"),
        ("cost", "Cost", True, "number", "US dollars for all calls of its conversations and judgements"),
    ]
    names = ("key", "title", "numeric", "sort", "help")
    return [dict(zip(names, column, strict=True)) for column in made]


def table_values(
    evidence: BoardEvidence,
    criteria: Sequence[str],
    href: Callable[[str], str],
    judge_name: Callable[[str], str],
) -> dict[str, Any]:
    """What the table's template needs; ``href``: a player's page; ``judge_name``: what a judge is called."""
    board = evidence.board
    axis = Axis.around(_spans(evidence))
    rules = BoardRules.of(board.protocol)
    return {
        "columns": columns(criteria, rules),
        "axis": axis,
        "rows": [row_values(row, evidence, criteria, href(row.player)) for row in board.rows],
        "providers": monograms(row.provider for row in board.rows),
        "families": _families(board.rows),
        "sizes": _sizes(board.rows),
        "weightings": [(name, weighting_label(name)) for name in board.weightings],
        "judges": [(slug(judge), judge_name(judge)) for judge in evidence.by_judge],
        "has_robust": any(row.robust is not None for row in board.rows),
        "data": board_data(evidence, axis),
    }


def row_values(row: BoardRow, evidence: BoardEvidence, criteria: Sequence[str], href: str) -> dict[str, Any]:
    """One row for a template."""
    return {
        **row.model_dump(exclude={"criteria", "weightings", "robust"}),
        "key": slug(row.player),
        "criteria": [row.criteria.get(name) for name in criteria],
        "robust": row.robust,
        "spread": evidence.spread.get(row.player),
        "cost": row.cost,
        "href": href,
    }


def weighting_label(name: str) -> str:
    """A weighting in words."""
    heavy = name.removesuffix("_heavy")
    return "all alike" if name == EQUAL else f"{label(heavy).lower()} counts twice"


def board_data(evidence: BoardEvidence, axis: Axis) -> dict[str, Any]:
    """What the page's script needs to filter the table and to show it scored in another way."""
    board = evidence.board
    robust = [row for row in board.rows if row.robust is not None]
    views: dict[str, Any] = {}
    for weighting in (EQUAL, *board.weightings):
        views[f"paper.{weighting}."] = _view(_of_row(row, weighting) for row in board.rows)
    for judge, weightings in evidence.by_judge.items():
        for weighting, players in weightings.items():
            found = (_numbers(players.get(row.player)) for row in board.rows)
            views[f"paper.{weighting}.{slug(judge)}"] = _view(found)
    if robust:
        views[f"robust.{EQUAL}."] = _view(map(_robust, board.rows))
    return {
        "axis": [axis.low, axis.high],
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


def _view(numbers: Iterable[_Numbers]) -> dict[str, list[Any]]:
    return dict(zip(_NAMES, map(list, zip(*numbers, strict=True)), strict=False))


def _of_row(row: BoardRow, weighting: str) -> _Numbers:
    if weighting == EQUAL and EQUAL not in row.weightings:
        return _numbers(row)
    return _numbers(row.weightings[weighting])


def _numbers(found: WeightedScore | BoardRow | None) -> _Numbers:
    if found is None or found.length_norm_score is None:
        return _NOTHING
    half = found.length_norm_ci
    score = found.length_norm_score
    low, high = (None, None) if half is None else (round(score - half, 6), round(score + half, 6))
    return found.rank, score, low, high, half, found.score, found.score_ci


def _robust(row: BoardRow) -> _Numbers:
    if row.robust is None:
        return _NOTHING
    return row.robust.group, row.robust.score, row.robust.low, row.robust.high, None, None, None


def _spans(evidence: BoardEvidence) -> Iterator[tuple[float, float]]:
    """(centre, half width) of every interval that the table can show."""
    board = evidence.board
    alone = (w for weightings in evidence.by_judge.values() for w in weightings.values())
    shown: list[WeightedScore | BoardRow] = [*board.rows]
    shown += [found for row in board.rows for found in row.weightings.values()]
    shown += [found for players in alone for found in players.values()]
    for found in shown:
        if found.length_norm_score is not None:
            yield found.length_norm_score, found.length_norm_ci or 0.0
    for row in board.rows:
        if row.robust is not None:
            low, high = row.robust.low, row.robust.high
            yield row.robust.score, 0.0
            if low is not None and high is not None:
                yield (low + high) / 2, (high - low) / 2


def _families(rows: Sequence[BoardRow]) -> list[tuple[str, str]]:
    found: Mapping[str, str] = {slug(row.family): row.family for row in rows}
    return sorted(found.items(), key=lambda item: (item[1].lower(), item[0]))


def _sizes(rows: Sequence[BoardRow]) -> list[tuple[str, str]]:
    """The classes of size that the board has, in words."""
    have = {size_of(row.parameters_billion) for row in rows}
    return [(key, words) for key, words, *_ in (*SIZES, UNKNOWN) if key in have]
