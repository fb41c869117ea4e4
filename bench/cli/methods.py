"""What `board` prints on request: ranks that hang on the method, boards with other weights or judges."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

from bench.cli.tables import aligned
from bench.errors import UserError
from bench.evidence import board_evidence
from bench.records import canonical
from bench.results import ResultsTree
from bench.scores.analyses.sure import missing_to_none
from bench.scores.board import Board, board_of
from bench.scores.compare import rank_moves
from bench.scores.forms import csv_cell
from bench.scores.frame import Frames
from bench.scores.weights import parse_weights
from bench.suites import Suite

COLUMNS = ("method", "player", "score", "rank", "paper_rank", "moved")


def chosen_board(
    tree: ResultsTree,
    suite: str,
    language: str,
    suites: Mapping[str, Suite],
    *,
    weights: str | None,
    judges: Sequence[str],
) -> Board:
    """The board with the weights and judges that a user asks for. Raises UserError."""
    frames, scenes = board_evidence(tree, suite, language, suites, judges)
    parsed = None if weights is None else parse_weights(weights, frames.criteria)[1]
    return board_of(frames, weights=parsed, scenes=scenes)


def check_choices(*, write: bool, compare: bool, weights: str | None, judges: Sequence[str]) -> None:
    """Raise UserError for options of ``board`` that do not go together."""
    if write and (compare or weights or judges):
        raise UserError(
            "--write keeps the board that the suite publishes",
            mend="Leave out --compare-methods, --weights and --judge, or --write.",
        )
    if compare and weights:
        raise UserError("--compare-methods tries the weightings itself", mend="Leave out --weights.")


def moves(frames: Frames, form: str) -> str:
    """Every rank that another method of scoring moves, as table, csv or json."""
    rows = missing_to_none(rank_moves(frames)).to_dict("records")
    if form == "json":
        plain = [{name: _number(row[name]) for name in COLUMNS} for row in rows]
        return canonical({"suite": frames.suite, "language": frames.language, "moves": plain})
    if form == "csv":
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([csv_cell(_number(row[name])) for name in COLUMNS] for row in rows)
        return out.getvalue()
    if not rows:
        return "No rank moves, whatever the method.\n"
    shown = [[_shown(name, _number(row[name])) for name in COLUMNS] for row in rows]
    return aligned([name.replace("_", " ") for name in COLUMNS], shown, left={0, 1})


def _number(value: object) -> object:
    """A cell as plain data: numpy's integers become Python's."""
    return value if value is None or isinstance(value, (str, float)) else int(str(value))


def _shown(name: str, value: object) -> str:
    if value is None:
        return "–"
    if name == "moved":
        return f"{value:+d}"
    return f"{value:.2f}" if isinstance(value, float) else str(value)
