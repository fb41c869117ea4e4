"""Import, scoring and board of 63 players x 64 conversations x 2 judges, against a builder in plain loops.

The reference does what the public project's table builder does: it reads the files, averages conversation by
conversation, and bootstraps each of 11 columns of each player by 1,000 resamples in a Python loop. It is
kinder than that builder, whose last public version takes the percentiles of an interval anew after every
resample: that took 37 s of CPU where this reference took 6.9 s. Ours does more (a results tree of 12,000
records, five weightings with 10,000 resamples, the robust scoring, board.json) and must take at most half of
the time. What of it the system takes, mostly to create 12,000 files, changes with the load of the disk, so it
is printed. Also shown: how time grows with the number of players, and the audit.

    python tests/benchmarks/import_speed.py [--players 63] [--folder DIR] [--growth] [--audit]

CPU seconds are printed beside elapsed ones: on a busy machine only they can be compared.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import mean, median
from typing import Any, TypeVar

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.audit import audit_tree
from bench.boards.loading import load_board, write_board
from bench.interop.pingpong_import import DEFAULT_SUITE, import_pingpong
from bench.results import ResultsTree
from bench.scores.board import Board, board_of
from bench.scores.frame import load
from tests.interop.public_files import make_public

NAMES = ("in_character", "entertaining", "fluency")
WEIGHTS = ((1, 1, 1), (1, 2, 1), (2, 1, 1), (1, 1, 2))
T = TypeVar("T")


def timed(label: str, work: Callable[[], T]) -> tuple[T, float]:
    """The result and its CPU seconds, printed."""
    wall, before = time.perf_counter(), os.times()
    result = work()
    after = os.times()
    system = after.system - before.system
    spent = after.user - before.user + system
    elapsed = time.perf_counter() - wall
    print(f"{label:<44}{elapsed:8.2f} s elapsed {spent:8.2f} s CPU, {system:.2f} s of the system", flush=True)
    return result, spent


def reference(folder: Path) -> dict[str, float]:
    """Length-normalised score by player, the slow way."""
    judged: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    answers: dict[str, dict[str, list[int]]] = defaultdict(dict)
    for path in sorted(folder.glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        player = path.stem.split("_player_", 1)[1]
        for output in data["outputs"]:
            key = str(output["messages"])
            answers[player][str(output["messages"])] = [
                len(m["content"]) for m in output["messages"] if m["role"] == "assistant"
            ]
            if max(output["scores"]["is_refusal"]) == 0:
                judged[player][key].append({name: mean(output["scores"][name]) for name in NAMES})
    length = {
        player: int(mean(n for talk in talks.values() for n in talk)) for player, talks in answers.items()
    }
    middle = median(length.values())
    table = {}
    for player, talks in judged.items():
        factor = min(1.0, max(0.93, 1 + 0.07 * (middle / length[player] - 1)))
        columns: dict[str, list[float]] = defaultdict(list)
        for verdicts in talks.values():
            for name in NAMES:
                columns[name].append(mean(v[name] for v in verdicts))
            for weights in WEIGHTS:
                finals = [
                    sum(w * v[n] for w, n in zip(weights, NAMES, strict=True)) / sum(weights)
                    for v in verdicts
                ]
                columns[f"final {weights}"].append(mean(finals))
                columns[f"norm {weights}"].append(mean(finals) * factor)
        means = {name: _bootstrapped(values) for name, values in columns.items()}
        table[player] = means[f"norm {WEIGHTS[0]}"]
    return table


def _bootstrapped(values: list[float]) -> float:
    means = []
    for _ in range(1000):
        sample = np.random.choice(values, size=len(values), replace=True)
        means.append(np.mean(sample))
    np.percentile(means, [2.5, 97.5])
    return float(np.mean(means))


def ours(folder: Path, tree: ResultsTree) -> tuple[Board, float]:
    """Import, load, score, write board.json; returns the board and the CPU seconds of it all."""
    _, first = timed("  import", lambda: import_pingpong(tree, folder, language="en"))
    frames, second = timed("  load records", lambda: load(tree, DEFAULT_SUITE, "en"))
    made, third = timed("  score, 10,000 resamples", lambda: board_of(frames, resamples=10_000))
    _, fourth = timed("  board.json", lambda: write_board(tree, made))
    return made, first + second + third + fourth


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--players", type=int, default=63)
    parser.add_argument("--folder", type=Path, help="where to work; by default a temporary folder")
    parser.add_argument("--growth", action="store_true", help="also 16 and 252 players, without reference")
    parser.add_argument("--audit", action="store_true", help="also audit the imported tree")
    options = parser.parse_args()
    root = options.folder or Path(tempfile.mkdtemp(prefix="import-speed-"))
    folder = root / "public"
    make_public(folder, players=options.players, characters=8, situations=8, refusal_rate=0.03)
    size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
    print(f"{options.players} players, {size:.0f} MB of files")
    table, slow = timed("reference, 1,000 resamples in loops", lambda: reference(folder))
    tree = ResultsTree(root / "results")
    board, fast = ours(folder, tree)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"ours {fast:.2f} s CPU, reference {slow:.2f} s: {fast / slow:.2f} of it; peak {peak:.0f} MB")
    worst = max(abs((row.length_norm_score or 0) - table[row.player]) for row in board.rows)
    print(f"largest difference of a length-normalised score: {worst:.4f} (bootstrap noise: 0.02)")
    if options.audit:
        write_board(tree, load_board(tree, DEFAULT_SUITE, "en", prompts={}).board)
        report, _ = timed("audit", lambda: audit_tree(tree, {}, None))
        print(f"  {report.files} files, {report.counts}")
    if options.growth:
        for players in (16, 252):
            many = root / f"public-{players}"
            make_public(many, players=players, characters=8, situations=8, refusal_rate=0.03)
            _, spent = ours(many, ResultsTree(root / f"results-{players}"))
            print(f"{players} players: {spent:.2f} s CPU, {1000 * spent / players:.0f} ms a player")
    if options.folder is None:
        shutil.rmtree(root)
    checks = (
        ("at most half the reference's CPU time", fast <= slow / 2),
        ("scores within 0.02", worst <= 0.02),
    )
    for what, holds in checks:
        print(f"{'PASS' if holds else 'FAIL'}  {what}")
    if not all(holds for _, holds in checks):
        sys.exit("too slow or too far off")


if __name__ == "__main__":
    main()
