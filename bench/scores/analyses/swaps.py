"""How similar the boards are if the interrogator or the judges are swapped."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import pandas as pd

from bench.scores import paper
from bench.scores.analyses.scenes import scene_finals
from bench.scores.correlation import tau
from bench.scores.digits import known, published
from bench.scores.frame import Frames

COLUMNS = ["board", "other", "players", "kendall", "largest_move", "moved_most", "reason"]


def board_scores(frames: Frames) -> pd.Series:
    """Length-normalised score by player: what a board is sorted by."""
    finals = scene_finals(frames)
    return paper.length_normalised(frames, paper.player_means(frames, finals)).map(published)


def judge_boards(frames: Frames) -> dict[str, pd.Series]:
    """The board that each judge alone would make."""
    return {judge: board_scores(frames.only_judges([judge])) for judge in frames.judges}


def swapped(boards: Mapping[str, pd.Series]) -> pd.DataFrame:
    """Every pair of boards over the players that both rank: Kendall's tau-b, and who moves most.

    The last row, both names empty, is the mean of all pairs' taus: 1 where the swap changes no order, 0 where
    it leaves nothing. It is missing where any pair has none.
    """
    rows = [_pair(a, b, boards[a], boards[b]) for a, b in combinations(boards, 2)]
    table = pd.DataFrame(rows, columns=COLUMNS)
    value, reason = mean_tau(table)
    players = set.intersection(*(set(scores.index) for scores in boards.values())) if boards else set()
    mean = {"board": "", "other": "", "players": len(players), "kendall": value, "reason": reason}
    return pd.DataFrame([*rows, mean], columns=COLUMNS)


def mean_tau(pairs: pd.DataFrame) -> tuple[float | None, str | None]:
    """The mean of the pairs' taus, or why it is unknown."""
    if pairs.empty:
        return None, "one board: there is nothing to compare it with"
    taus = pairs["kendall"].dropna()
    if len(taus) < len(pairs):
        return None, f"{len(pairs) - len(taus)} of {len(pairs)} pairs have no tau"
    return published(float(taus.sum()) / len(taus)), None


def _pair(a: str, b: str, first: pd.Series, second: pd.Series) -> dict[str, object]:
    both = pd.DataFrame({"first": first, "second": second}).dropna().sort_index()
    value = tau(both["first"].tolist(), both["second"].tolist())
    ranks = both.rank(ascending=False)
    moves = ranks["first"] - ranks["second"]
    most = float(moves.abs().max()) if len(both) else None
    who = "" if not most else str(moves.abs().idxmax())
    reason = None
    if value is None:
        reason = "fewer than two players on both" if len(both) < 2 else "one board ranks all players the same"
    return {
        "board": a,
        "other": b,
        "players": len(both),
        "kendall": known(value),
        "largest_move": most,
        "moved_most": who,
        "reason": reason,
    }
