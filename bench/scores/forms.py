"""A board as text: canonical JSON, CSV, an aligned table for the terminal."""

from __future__ import annotations

from bench.records import canonical
from bench.scores.board import OWN_KEYS, PROBE_KEYS, Board, BoardRow
from bench.scores.robust import JudgesAs
from bench.scores.standing import RobustSummary
from bench.tables import UNKNOWN, Cell, TableWriter, counted, csv_table, shown, text_table

CSV_COLUMNS = (
    "rank",
    "player",
    "name",
    "length_norm_score",
    "length_norm_ci",
    "score",
    "score_ci",
    *OWN_KEYS,
    "refusal_ratio",
    "avg_length",
    "conversations",
    "conversations_scored",
    "conversations_failed",
    "conversations_missing",
    "judgements_ok",
    "judgements_repaired",
    "judgements_refused",
    "judgements_failed",
    "judgements_stale",
    "judgements_missing",
    "judges",
    "family",
    "provider",
    "model",
    "weights",
    "parameters_billion",
    "cost",
)
"""Columns of the CSV. Criteria without a column of their own follow, by name."""

_TABLE_COLUMNS = {
    "#": "rank",
    "Player": "name",
    "Length norm.": "length_norm_score",
    "±": "length_norm_ci",
    "Score": "score",
    "± ": "score_ci",
    "Refusals": "refusal_ratio",
    "Length": "avg_length",
    "Talks": "conversations",
    "Failed judgements": "judgements_failed",
}
"""Heading and field of each column of the terminal table; the criteria come before the refusals."""

_GAPS = {
    "conversations": ("missing", "failed"),
    "judgements": ("missing", "failed", "stale"),
}
"""What a player can lack, and in which states."""


def to_json(board: Board) -> str:
    """board.json: canonical JSON, the same bytes on every machine. Unknown numbers are null."""
    data = board.model_dump(mode="json")
    for name in ("stale", "other_judges", "absent_judges", "repeats", "judges_per_scene", "people"):
        if not data[name]:
            del data[name]
    for row, board_row in zip(data["rows"], board.rows, strict=True):
        row |= {name: row["criteria"].get(name) for name in OWN_KEYS}
        row["calls"] = [facts.model_dump(exclude_defaults=True) for facts in board_row.calls]
        for name in ("calls", "long_talk", "flaws"):
            if not row[name]:
                del row[name]
        probes = board_row.probes
        if probes is None:
            del row["probes"]
        else:
            row |= {name: getattr(probes, name) for name in PROBE_KEYS}
    return canonical(data)


def to_csv(board: Board) -> str:
    """The board as CSV, one row per player."""
    columns = [*CSV_COLUMNS, *(name for name in board.criteria if name not in OWN_KEYS)]
    return csv_table(columns, [[_cell(row, name) for name in columns] for row in board.rows])


def to_table(board: Board, judges_as: JudgesAs | None = None, writer: TableWriter = text_table) -> str:
    """The board as a table, by default as aligned text; unknown numbers are shown as an en dash.

    ``judges_as``: how judges count in the robust numbers; None for the board's default.
    """
    if any(row.probes for row in board.rows):
        return _probe_table(board, writer)
    fields = list(_TABLE_COLUMNS.values())
    at = fields.index("refusal_ratio")
    fields[at:at] = board.criteria
    heads = [head.strip() for head in _TABLE_COLUMNS]
    heads[at:at] = [f"{name[:1].upper()}{name[1:]}".replace("_", " ") for name in board.criteria]
    rows = [[shown(_cell(row, name)) for name in fields] for row in board.rows]
    if board.robust is not None:
        heads += ROBUST_HEADS
        rows = [[*cells, *_robust_cells(row, judges_as)] for cells, row in zip(rows, board.rows, strict=True)]
    return writer(heads, rows, {1})


ROBUST_HEADS = ("Robust", "95% interval", "Rank (range)", "First")


def _robust_cells(row: BoardRow, judges_as: JudgesAs | None) -> list[str]:
    if row.robust is None:
        return [UNKNOWN] * len(ROBUST_HEADS)
    place = row.robust.standing(judges_as)
    ends = UNKNOWN if place.low is None else f"{place.low:.2f} to {place.high:.2f}"
    first = UNKNOWN if place.first is None else f"{place.first:.0%}"
    return [shown(row.robust.score), ends, place.ranks, first]


def robust_line(board: Board, judges_as: JudgesAs | None = None) -> str:
    """What the robust numbers of the table hold for, and what they separate; empty without any."""
    robust = board.robust
    if robust is None or any(row.probes for row in board.rows):
        return ""
    return f"{judges_taken(robust, judges_as)} {separates(robust, judges_as)}".strip() + "\n"


def judges_taken(robust: RobustSummary, judges_as: JudgesAs | None = None) -> str:
    """What robust intervals and rank ranges hold for, in a sentence."""
    if robust.view(judges_as) is robust.sample:
        return "Robust intervals and ranks hold for judges like these: the choice of judges counts as chance."
    if robust.sample is None:
        return (
            "Robust intervals and ranks hold for these judges. Whether they hold for judges like these is"
            f" unknown: {robust.sample_unknown}."
        )
    return "Robust intervals and ranks hold for these judges, not for others like them."


def separates(robust: RobustSummary, judges_as: JudgesAs | None = None) -> str:
    """Which pairs the robust scoring separates, in sentences; empty if unknown."""
    view = robust.view(judges_as)
    if view.separability is None:
        return ""
    pairs = counted(robust.pairs, "pair")
    text = f"The data separate {round(view.separability * robust.pairs)} of {pairs} of players."
    if view.detectable_difference is not None:
        text += (
            " Two typical players have to differ by"
            f" {view.detectable_difference:.2f} points to be separated 80% of the time."
        )
    return text


def _probe_table(board: Board, writer: TableWriter) -> str:
    """A board of probes: pass rates with their intervals, and a rate per kind."""
    kinds = sorted({kind for row in board.rows if row.probes for kind in row.probes.kinds})
    lines = []
    for row in board.rows:
        if (probes := row.probes) is not None:
            ci, rates = probes.pass_rate_ci, map(probes.rates.get, kinds)
            interval = UNKNOWN if ci is None else f"{ci[0]:.2f}-{ci[1]:.2f}"
            cells = shown(row.name), shown(probes.pass_rate), interval, *map(shown, rates)
            lines.append([*cells, str(probes.unclear)])
    heads = ["Player", "Passed", "95% interval", *(kind.capitalize() for kind in kinds), "Unclear"]
    return writer(heads, lines, {0})


def gaps(board: Board) -> str:
    """A line for each player with missing, failed or stale evidence; empty if nothing is missing."""
    lines = []
    for row in board.rows:
        parts = []
        for what, states in _GAPS.items():
            counts = {state: getattr(row, f"{what}_{state}") for state in states}
            if row.probes:  # an unclear probe is not a judgement that failed, and has a column of its own
                counts.pop("failed")
            if short := [f"{count} {state}" for state, count in counts.items() if count]:
                parts.append(f"of {getattr(row, f'{what}_expected')} {what} {', '.join(short)}")
        if parts:
            lines.append(f"{shown(row.name)}: {'; '.join(parts)}\n")
    return "".join(lines)


def people_table(board: Board) -> str:
    """The human-calibrated scores of each study, beside the judges' scores; empty without a study."""
    names = {row.player: row.name for row in board.rows}
    text = ""
    for study in board.people:
        if study.reason:
            text += f"Study {study.study}: no human-calibrated scores: {study.reason}.\n"
            continue
        rows = [
            [
                *map(shown, (names[row.player], row.judges, row.score)),
                UNKNOWN if row.low is None or row.high is None else f"{row.low:.2f} to {row.high:.2f}",
                f"{row.rated} of {row.conversations}",
                row.reason or "",
            ]
            for row in study.players
        ]
        heads = ["Player", "Judges", "Human-calibrated", "95% interval", "Rated", ""]
        text += f"Study {study.study}:\n{text_table(heads, rows, left={0, 5})}"
    return text


def sampling_line(board: Board) -> str:
    """How often scenes were played, and by how many judges each is scored; empty if once, and by all."""
    text = ""
    if board.repeats:
        text = f"Each scene is played {board.repeats} times, and its score is the mean. "
    if (each := board.judges_per_scene) is not None:
        who = "one" if each == 1 else str(each)
        text += (
            f"Judges take turns: {who} of the {len(board.judges)} for each scene, the same for all players."
        )
    return f"{text.strip()}\n" if text else ""


def judge_gaps(board: Board) -> str:
    """A line each on judges whose judgements do not count, and on judges without judgements; or empty."""
    text = ""
    if board.other_judges:
        names = shown(", ".join(board.other_judges))
        options = shown(" ".join(f"--judge {name}" for name in (*board.judges, *board.other_judges)))
        text = (
            f"Does not count judgements by {names}, which the suite does not name as a judge."
            f" Show them: `bench board {board.suite} {options}`.\n"
        )
    if board.absent_judges:
        names = shown(", ".join(board.absent_judges))
        text += f"No judgements yet by {names}, a judge of the suite: `bench judge {board.suite}`.\n"
    return text


def remarks(board: Board) -> str:
    """A line for each player and model whose calls deserve a remark; empty without any."""
    return "".join(f"{facts.line(row.name)}\n" for row in board.rows for facts in row.calls)


def _cell(row: BoardRow, name: str) -> Cell:
    if name in BoardRow.model_fields:
        value: Cell = getattr(row, name)
        return value
    return row.criteria.get(name)
