"""Scoring, audit and analyses of our own records by the number of players, against their limits.

    python tests/benchmarks/score_speed.py [--players 16 63 252] [--keep DIR]

Makes results of so many players x 64 conversations x 2 judges (``--keep`` uses them again). Limits hold for
63 players: scoring (reading the records, all weightings and 10,000 resamples, board.json) 4 s, audit 20 s,
all analyses 60 s; and the time a player must not grow from the smallest tree to the largest by more than
half, but for what compares every pair of players, which grows with their square and is shown by itself.

CPU seconds are held against the limits: on a busy machine only they can be compared.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.audit import audit_tree
from bench.boards.loading import load_board, write_board
from bench.results import ResultsTree
from bench.scores.analyses.preference import judge_models
from bench.scores.analyses.report import Material, report
from bench.scores.analyses.texts import turns_of
from bench.scores.board import board_of, paper_numbers
from bench.scores.forms import to_json
from bench.scores.frame import Frames, load
from bench.scores.robust import intervals, paired_differences, robust_board
from bench.scores.weights import EQUAL, standard_weightings
from tests.synthetic import SUITE, make_tree

LIMITS = {"scoring": 4.0, "audit": 20.0, "analyses": 60.0}
"""CPU seconds for AT players."""
AT = 63
GROWTH = 1.5
"""How much more a player may take on the largest tree than on the smallest."""
LINEAR = ("scoring, less pairs", "audit", "analyses")
RESAMPLES = 10_000
T = TypeVar("T")


class Spent:
    """CPU seconds of one tree, by what was done."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def timed(self, what: str, work: Callable[[], T]) -> T:
        """The result of ``work``, its CPU seconds added to ``what``."""
        started = time.process_time()
        result = work()
        self.seconds[what] = self.seconds.get(what, 0.0) + time.process_time() - started
        return result


def results_of(players: int, folder: Path) -> ResultsTree:
    """The results tree of so many players, made if it is not there."""
    root = folder / f"results-{players}"
    if not root.exists():
        make_tree(root, players=players, failure_rate=0.01, refusal_rate=0.05)
    return ResultsTree(root)


def measured(tree: ResultsTree) -> Spent:
    """Everything once."""
    spent = Spent()
    frames = spent.timed("scoring", lambda: load(tree, SUITE, "en"))
    spent.timed("scoring", lambda: to_json(board_of(frames, resamples=RESAMPLES)))
    _parts(frames, spent)
    write_board(tree, load_board(tree, SUITE, "en", prompts={}).board)
    found = spent.timed("audit", lambda: audit_tree(tree, {}, None))
    if not found.ok:
        sys.exit(f"the audit found errors: {found.counts}")

    def analysed() -> int:
        talks = (t for info in frames.players for t in tree.conversations(SUITE, "en", info.player))
        material = Material(frames, turns_of(talks), judge_models(frames, None))
        return len(report(material).analyses)

    spent.timed("analyses", analysed)
    return spent


def _parts(frames: Frames, spent: Spent) -> None:
    """Of the scoring: the paper's numbers, intervals, and the comparison of all pairs."""
    weightings = standard_weightings(frames.criteria)
    spent.timed("  paper", lambda: paper_numbers(frames, weightings, resamples=RESAMPLES, seed=0))
    grid = spent.timed("  robust grid", lambda: robust_board(frames, weightings[EQUAL]).grid)
    spent.timed("  robust intervals", lambda: intervals(grid))
    pairs = spent.timed("  pairs of players", lambda: paired_differences(grid))
    spent.seconds["scoring, less pairs"] = spent.seconds["scoring"] - spent.seconds["  pairs of players"]
    assert len(pairs) == len(frames.players) * (len(frames.players) - 1) // 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--players", type=int, nargs="+", default=[16, AT, 252])
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where results are made and kept")
    options = parser.parse_args()
    folder = options.keep or Path(tempfile.mkdtemp(prefix="score-speed-"))
    counts = sorted(set(options.players))
    try:
        found = {players: measured(results_of(players, folder)).seconds for players in counts}
    finally:
        if options.keep is None:
            shutil.rmtree(folder)
    print(f"{'CPU seconds':<24}" + "".join(f"{players:>8} players" for players in counts))
    for what in found[counts[0]]:
        print(f"{what:<24}" + "".join(f"{found[players][what]:>16.2f}" for players in counts))
    missed = 0
    for what, limit in LIMITS.items() if AT in found else ():
        missed += _verdict(f"{what} of {AT} players", found[AT][what], limit, "s CPU")
    first, last = counts[0], counts[-1]
    for what in LINEAR if first < last else ():
        ratio = (found[last][what] / last) / (found[first][what] / first)
        missed += _verdict(f"{what}: a player of {last} against one of {first}", ratio, GROWTH, "times")
    if missed:
        sys.exit(f"{missed} limits missed")


def _verdict(what: str, value: float, limit: float, unit: str) -> bool:
    """Print whether a limit holds; returns whether it does not."""
    print(f"{'PASS' if value <= limit else 'FAIL'}  {what}: {value:.2f} {unit} (limit {limit:g})")
    return value > limit


if __name__ == "__main__":
    main()
