"""The judges of a board at a glance: ranks under each, agreement, and whether they favour their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

from markupsafe import Markup, escape

from bench.scores.weights import EQUAL
from bench.site.context import BoardContext
from bench.site.figures import described_svg
from bench.site.numbers import number
from bench.site.text import plain
from bench.tables import fitting

RELIABLE, TENTATIVE = 0.8, 0.667
"""Krippendorff's limits: from the first, conclusions are reliable; from the second, they are tentative."""
SIDE, COLUMN, LINE, TOP = 190, 130, 16, 26
"""Sizes of the slope figure: margin for names, distance of judges and of ranks, height of the heads."""


@dataclass(frozen=True)
class JudgeSummary:
    """What the top of the judges' page says. Sentences are empty where there is nothing to say."""

    slope: Markup
    slope_words: str
    matrix: Mapping[tuple[str, str], float | None]
    """Krippendorff's alpha of two judges: the mean over the criteria."""
    agreement_words: str
    preference_words: str


def judge_summary(context: BoardContext) -> JudgeSummary:
    """The summary of a board's judges."""
    ranks = _ranks(context)
    matrix = _matrix(context)
    return JudgeSummary(
        slope=_slope(context, ranks),
        slope_words=_slope_words(context, ranks),
        matrix=matrix,
        agreement_words=_agreement_words(context, matrix),
        preference_words=_preference_words(context),
    )


def _ranks(context: BoardContext) -> dict[str, dict[str, int]]:
    """Judge to player to rank; empty with one judge."""
    evidence = context.evidence
    if len(context.board.judges) < 2:
        return {}
    return {
        judge: {player: row.rank for player, row in weightings.get(EQUAL, {}).items() if row.rank is not None}
        for judge, weightings in evidence.by_judge.items()
    }


def _slope(context: BoardContext, ranks: Mapping[str, Mapping[str, int]]) -> Markup:
    """A line for each player from judge to judge; in the first column, the board."""
    board = {row.player: row.rank for row in context.board.rows if row.rank is not None}
    columns: list[tuple[str, dict[str, int]]] = [("all judges", board)]
    columns += [
        (fitting(context.pages.judge(judge), 18), dict(places)) for judge, places in ranks.items() if places
    ]
    if len(columns) < 3 or len(board) < 2:
        return Markup("")
    orders = [_order(places, board) for _, places in columns]
    width, height = 2 * SIDE + COLUMN * (len(columns) - 1), TOP + LINE * (len(board) + 1)
    names = context.names
    links = context.links(context.links().part("judges"))
    parts = [
        f'<text class="rc-axis-x" x="{SIDE + COLUMN * n}" y="14">{escape(title)}</text>'
        for n, (title, _) in enumerate(columns)
    ]
    for player in board:
        at = [(SIDE + COLUMN * n, order[player]) for n, order in enumerate(orders) if player in order]
        points = [(x, TOP + LINE * place) for x, place in at]
        path = "".join(f"{'L' if n else 'M'}{x} {y}" for n, (x, y) in enumerate(points))
        said = ", ".join(f"{title} {places[player]}" for title, places in columns if player in places)
        label = escape(f"{plain(names[player], 60)}: {said}")
        dots = "".join(f'<circle class="rc-dot rc-dot--other" cx="{x}" cy="{y}" r="3"/>' for x, y in points)
        name = escape(fitting(names[player], 26))
        ends = f'<text class="rc-axis-y" x="{SIDE - 10}" y="{points[0][1] + 4}">{name}</text>'
        if at[-1][0] == SIDE + COLUMN * (len(columns) - 1):
            ends += f'<text class="rc-axis-z" x="{points[-1][0] + 10}" y="{points[-1][1] + 4}">{name}</text>'
        href = escape(links.player(player))
        line = f'<path class="rc-slope" d="{path}"/>'
        parts.append(f'<a href="{href}"><title>{label}</title>{line}{dots}{ends}</a>')
    about = "A line for each player, from its rank on the board to those by each judge."
    title = "Rank under each judge"
    return described_svg("slope", "rc-figure--wide", (width, height), title, about, parts)


def _order(places: Mapping[str, int], board: Mapping[str, int]) -> dict[str, int]:
    """Place of each player from the top; players of one rank stand in the board's order."""
    at = {player: n for n, player in enumerate(board)}
    ordered = sorted((p for p in places if p in at), key=lambda player: (places[player], at[player]))
    return {player: n for n, player in enumerate(ordered)}


def _slope_words(context: BoardContext, ranks: Mapping[str, Mapping[str, int]]) -> str:
    """The largest move between two judges, in a sentence."""
    name = context.pages.judge
    moves = [
        (abs(ranks[a][player] - ranks[b][player]), a, b, player)
        for a in ranks
        for b in ranks
        for player in ranks[a]
        if player in ranks[b] and ranks[a][player] < ranks[b][player]
    ]
    if len(ranks) < 2:
        return "There is only one judge, so nothing shows how ranks depend on the judge."
    if not moves:
        return "Every player has the same rank under each judge."
    _, a, b, player = max(moves, key=lambda move: move[0])
    best, worst = (f"rank {ranks[judge][player]} under {plain(name(judge), 60)} alone" for judge in (a, b))
    return f"The choice of judge matters most for {plain(context.names[player], 60)}: {best}, {worst}."


def _matrix(context: BoardContext) -> dict[tuple[str, str], float | None]:
    judges = context.board.judges
    matrix: dict[tuple[str, str], float | None] = {}
    alphas: dict[object, list[float]] = {}
    for row in context.evidence.rows_of("agreement"):
        if isinstance(row["alpha"], (int, float)):
            alphas.setdefault(row["judges"], []).append(float(row["alpha"]))
    for first, second in combinations(judges, 2):
        found = alphas.get(f"{first} / {second}")
        matrix[first, second] = matrix[second, first] = fmean(found) if found else None
    return matrix


def _agreement_words(context: BoardContext, matrix: Mapping[tuple[str, str], float | None]) -> str:
    known = {pair: value for pair, value in matrix.items() if value is not None}
    if not known:
        return ""
    mean, name = fmean(known.values()), context.pages.judge
    strength = (
        "enough for firm conclusions"
        if mean >= RELIABLE
        else "enough for tentative conclusions"
        if mean >= TENTATIVE
        else "too little to trust a single judge on a single turn"
        if mean > 0
        else "no better than chance"
    )
    words = f"On single turns, two judges agree with a mean alpha of {number(mean)}: {strength}."
    least = min(known, key=lambda pair: known[pair])
    if len(known) > 2:
        one, other = (plain(name(judge), 60) for judge in least)
        words += f" Least alike: {one} and {other}, {number(known[least])}."
    return words


def _preference_words(context: BoardContext) -> str:
    """Whether judges clearly favour themselves or their family, in a sentence."""
    rows = context.evidence.rows_of("preference")
    name = context.pages.judge
    known = [row for row in rows if isinstance(row["preference"], (int, float))]
    if not rows:
        return ""
    if not known:
        reason = next((plain(str(row["reason"]), 200) for row in rows if row["reason"]), "too few judges")
        return f"Whether judges favour their own is unknown: {reason}."
    clear = [row for row in known if isinstance(row["low"], (int, float)) and row["low"] > 0]
    if not clear:
        return "No judge clearly favours itself or its family."
    each = [
        f"{plain(name(str(row['judge'])), 60)} favours {'itself' if row['kind'] == 'self' else 'its family'}"
        f" by {row['preference']:.2f} points"
        for row in clear
    ]
    return "; ".join(each) + "."
