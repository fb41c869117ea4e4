"""Simulations of pairwise ratings with known truth: coverage, biases, margins as wins, calls, and speed.

python tests/benchmarks/pairwise_coverage.py --runs 500
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.scores.bootstrap import Array
from bench.scores.distributions import t_quantile
from bench.scores.pair_choice import Choice, choose, pairs_within
from bench.scores.pairwise import Comparisons, fit
from bench.scores.pairwise_ratings import pairwise_numbers
from bench.scores.robust import Grid, paired_differences
from tests.scores.pairwise_judge import Script, made

TRUTH = np.linspace(-1.0, 1.0, 8)
SCRIPTS = {
    "all biases, independent scenes": (Script(TRUTH), 32, 1),
    "few scenes": (Script(TRUTH), 12, 1),
    "no bias, one judge": (Script(TRUTH, position=(0.0,), length=0.0, own_family=0.0), 32, 1),
    "strengths vary by scene": (Script(TRUTH, by_scene=0.5), 32, 1),
    "characters x situations": (Script(TRUTH, by_side=0.3), 6, 6),
    "strong position bias": (Script(TRUTH, position=(1.6, 1.2)), 32, 1),
    "many ties": (Script(TRUTH, cuts=(1.0, 2.0, 3.0)), 32, 1),
}
"""Script, characters and situations (1: independent scenes)."""


def truth_of(script: Script, characters: int, situations: int) -> Array:
    """The strengths that the model estimates. Where strengths vary by scene these are a little nearer to each
    other than the script's, as the mean of many large samples shows."""
    if not (script.by_scene or script.by_side):
        return script.strengths
    rng = np.random.default_rng(99)
    scale = 20 if situations == 1 else 5
    found = [
        fit(made(script, rng, characters * scale, situations * (scale if situations > 1 else 1))).theta
        for _ in range(4)
    ]
    average: Array = np.mean(found, axis=0)
    return average


def coverage(runs: int) -> None:
    """Share of 95% intervals of differences and effects that hold the truth."""
    print(f"{'scenario':32} {'differences':>11} {'position':>9} {'length':>7} {'self':>6}")
    first, second = np.triu_indices(len(TRUTH), 1)
    for name, (script, characters, situations) in SCRIPTS.items():
        rng = np.random.default_rng(1)
        theta = truth_of(script, characters, situations)
        due = {"position:judge-0": script.position[0], "length": script.length, "self": script.own_family}
        exact = not (script.by_scene or script.by_side)
        inside: list[float] = []
        held: dict[str, list[bool]] = {effect: [] for effect in due}
        for _ in range(runs):
            found = fit(made(script, rng, characters, situations))
            error = found.differences(first, second)
            reach = t_quantile(0.975, error.df) * error.error
            inside.append(float((np.abs(error.mean - (theta[first] - theta[second])) <= reach).mean()))
            for effect, value in due.items():
                estimate = found.effect(effect)
                if estimate is not None and exact:
                    width = float(t_quantile(0.975, estimate[2])) * estimate[1]
                    held[effect].append(abs(estimate[0] - value) <= width)
        effects = [f"{np.mean(values):.3f}" if values else "-" for values in held.values()]
        print(f"{name:32} {np.mean(inside):11.3f} {effects[0]:>9} {effects[1]:>7} {effects[2]:>6}")


def margins_as_wins(runs: int) -> None:
    """The same for the rule that makes a margin of 3 three wins, each taken as independent."""
    script = Script(TRUTH, position=(0.0,), length=0.0, own_family=0.0, cuts=(0.0, 0.4, 0.8), by_scene=0.6)
    first, second = np.triu_indices(len(TRUTH), 1)
    contrast = np.eye(len(TRUTH))[first] - np.eye(len(TRUTH))[second]
    rng = np.random.default_rng(2)
    theta = np.mean([fit(repeated(made(script, rng, 400, 1))).theta for _ in range(4)], axis=0)
    inside = []
    for _ in range(runs):
        verdicts = repeated(made(script, rng, 32, 1))
        found = fit(verdicts)
        inverse = np.linalg.inv(found.scenes.information.sum(axis=0) + np.diag(found.penalty))
        independent = np.cov((found.scores @ inverse)[:, : len(TRUTH)].T) * len(verdicts.margin)
        error = np.sqrt(np.einsum("ij,jk,ik->i", contrast, independent, contrast))
        inside.append(np.abs(contrast @ (found.theta - theta)) <= 1.96 * error)
    print(f"margins counted as several independent wins: {np.mean(inside):.3f}")


def repeated(verdicts: Comparisons) -> Comparisons:
    """Every margin as that many wins."""
    times = np.abs(verdicts.margin).astype(int)
    parts = ("first", "second", "scene", "judge", "longer", "same")
    return Comparisons(
        verdicts.players,
        verdicts.scenes,
        verdicts.judges,
        **{name: np.repeat(getattr(verdicts, name), times) for name in parts},
        margin=np.repeat(np.sign(verdicts.margin), times),
    )


PLAYERS, SPACING, NOISE, BY_SCENE = 8, 0.2, 0.6, 0.3
"""Points of the scale 1 to 5: distance of neighbours, noise of a verdict, spread of a player over scenes."""


def calls(runs: int) -> None:
    """Calls until 90% of the neighbours are separated, for a judge equally noisy in both instruments."""
    for name, centre in (("middle of the scale", 3.0), ("near the top of the scale", 4.7)):
        for instrument, separated, each in (
            ("scores", likert, PLAYERS),
            ("pairs of neighbours", pairs, 2 * pairs_within(PLAYERS, 1, 1)),
            ("pairs within 3 ranks", pairs_3, 2 * pairs_within(PLAYERS, 3, 1)),
        ):
            scenes = needed(separated, centre, runs)
            over = "more than " if scenes is None else ""
            count = scenes or MOST
            print(f"{name}, {instrument}: {over}{count * each} calls, {over}{count} scenes")


MOST = 1024


def needed(
    separated: Callable[[Array, int, np.random.Generator], float], centre: float, runs: int
) -> int | None:
    """Scenes until 90% of the neighbours are separated in the mean of ``runs``; None: more than MOST."""
    levels: Array = centre + SPACING * (np.arange(PLAYERS, dtype=np.float64) - (PLAYERS - 1) / 2)
    low, high = 4, MOST

    def enough(scenes: int) -> bool:
        rng = np.random.default_rng(scenes)
        return float(np.mean([separated(levels, scenes, rng) for _ in range(runs)])) >= 0.9

    if not enough(high):
        return None
    while high - low > max(1, low // 16):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def likert(levels: Array, scenes: int, rng: np.random.Generator) -> float:
    """Share of neighbours separated by one score of each player in each scene."""
    quality = levels[:, None] + BY_SCENE * rng.normal(size=(PLAYERS, scenes))
    scores = np.clip(np.round(quality + NOISE * rng.normal(size=quality.shape)), 1, 5)
    names = tuple(f"{n}" for n in range(PLAYERS))
    grid = Grid(names, tuple(f"s{n}" for n in range(scenes)), ("",), scores[:, :, None])
    return adjacent(paired_differences(grid))


def pairs(levels: Array, scenes: int, rng: np.random.Generator, reach: int = 1) -> float:
    """Share of neighbours separated by margins of pairs within ``reach`` ranks, in both orders."""
    quality = levels[:, None] + BY_SCENE * rng.normal(size=(PLAYERS, scenes))
    rows = [
        (*pair, scene)
        for scene in range(scenes)
        for i in range(PLAYERS)
        for j in range(i + 1, min(PLAYERS, i + 1 + reach))
        for pair in ((i, j), (j, i))
    ]
    first, second, scene = np.array(rows).T
    latent = quality[first, scene] - quality[second, scene] + NOISE * rng.normal(size=len(first))
    margin = np.clip(np.round(2 * latent), -3, 3)
    data = Comparisons(
        tuple(f"{n}" for n in range(PLAYERS)),
        tuple((f"s{n}", "") for n in range(scenes)),
        ("judge",),
        first,
        second,
        scene,
        np.zeros(len(first), dtype=np.int64),
        margin,
        np.zeros(len(first)),
        np.zeros(len(first)),
    )
    return adjacent(pairwise_numbers(fit(data))[1])


def pairs_3(levels: Array, scenes: int, rng: np.random.Generator) -> float:
    """:func:`pairs` within 3 ranks."""
    return pairs(levels, scenes, rng, 3)


def adjacent(tested: pd.DataFrame) -> float:
    """Share of the neighbours among ``tested`` that are separated."""
    near = (tested["player"].astype(int) - tested["other"].astype(int)).abs() == 1
    return float(tested[near]["separated"].mean())


def speed() -> None:
    """CPU time of planning and rating 63 players, neighbours within 3 ranks, 16 scenes, both orders."""
    names = tuple(f"player-{n:02}" for n in range(63))
    slots = {name: [(f"c{n // 4}", f"s{n % 4}", 1) for n in range(16)] for name in names}
    start = time.process_time()
    picked = choose(Choice(names, slots, {}, ()), pairs_within(63, 3, 16))
    print(f"choosing {len(picked)} comparisons: {time.process_time() - start:.2f} s of CPU")
    data = made(Script(np.linspace(-2, 2, 63), position=(0.4,)), np.random.default_rng(3), 4, 4)
    start = time.process_time()
    pairwise_numbers(fit(data))
    print(f"rating {len(data.margin)} verdicts: {time.process_time() - start:.2f} s of CPU")


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--only", choices=["coverage", "wins", "calls", "speed"])
    options = parser.parse_args()
    parts = {
        "coverage": lambda: coverage(options.runs),
        "wins": lambda: margins_as_wins(options.runs),
        "calls": lambda: calls(max(1, options.runs // 25)),
        "speed": speed,
    }
    for name, part in parts.items():
        if options.only in (None, name):
            part()


if __name__ == "__main__":
    main()
