"""Do intervals, tests and rank ranges of a board hold what they promise? A simulation with known truth.

Characters, situations, scenes and judges are drawn anew each time; scores are integers of a Likert scale,
some scenarios near its ceiling, some with refusals. The truth of each player is exact: the expectation of a
rounded and clipped normal variable. ``python tests/benchmarks/coverage.py [REPLICATIONS]`` prints the table.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.scores.bootstrap import Array
from bench.scores.clusters import Positions, judge_spread
from bench.scores.planning import PairComponents, size_needed, typical_difference
from bench.scores.robust import Grid, paired_differences


@dataclass(frozen=True)
class Scenario:
    """Standard deviations on the latent scale, and the shape of a board."""

    name: str
    players: int = 20
    side: int = 8
    judges: int = 4
    mean: float = 3.4
    player: float = 0.3
    scene: float = 0.25
    """Of a character, and of a situation."""
    player_scene: float = 0.2
    """Of player x character, and of player x situation."""
    cell: float = 0.35
    """Of player x character x situation."""
    judge: float = 0.4
    player_judge: float = 0.15
    noise: float = 0.7
    """Of a single turn's criterion."""
    items: int = 12
    """Scores behind each cell: criteria x turns."""
    refusals: float = 0.0
    """Share of conversations that are refused: the lowest score."""


SCENARIOS = (
    Scenario("20 players"),
    Scenario("20 players, 2 judges", judges=2),
    Scenario("20 players, 3 judges", judges=3),
    Scenario("near the ceiling", mean=4.6, player=0.15),
    Scenario("refusals", refusals=0.05),
    Scenario("judges disagree", player_judge=0.3),
    Scenario("many players", players=63),
)


@dataclass
class Result:
    """Counts over replications."""

    intervals: int = 0
    these: int = 0
    like: int = 0
    rank_these: int = 0
    rank_like: int = 0
    ranks: int = 0
    boards: int = 0
    false_these: int = 0
    false_like: int = 0


def expected(mean: Array, deviation: float) -> Array:
    """The expectation of a normal variable rounded and clipped to 1..5."""
    steps = np.arange(1.5, 5.0)
    result: Array = 1 + np.asarray(stats.norm.sf((steps - mean[..., None]) / deviation)).sum(axis=-1)
    return result


def drawn(scenario: Scenario, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """(values players x side x side x judges, truth for these judges, truth for judges like these)."""
    s, n = scenario, scenario.side
    mean = s.mean + rng.normal(0, s.player, s.players)
    judged = rng.normal(0, s.judge, s.judges) + rng.normal(0, s.player_judge, (s.players, s.judges))
    scenes = (
        rng.normal(0, s.scene, (1, n, 1))
        + rng.normal(0, s.scene, (1, 1, n))
        + rng.normal(0, s.player_scene, (s.players, n, 1))
        + rng.normal(0, s.player_scene, (s.players, 1, n))
        + rng.normal(0, s.cell, (s.players, n, n))
    )
    latent = mean[:, None, None, None] + scenes[..., None] + judged[:, None, None, :]
    noise = rng.normal(0, s.noise, (*latent.shape, s.items))
    values = np.clip(np.rint(latent[..., None] + noise), 1, 5).mean(axis=-1)
    refused = rng.random((s.players, n, n)) < s.refusals
    values[refused] = 1.0
    inner = 2 * s.scene**2 + 2 * s.player_scene**2 + s.cell**2 + s.noise**2
    outer = inner + s.judge**2 + s.player_judge**2
    these = expected(mean[:, None] + judged, float(np.sqrt(inner))).mean(axis=1)
    like = expected(mean, float(np.sqrt(outer)))
    return values, (1 - s.refusals) * these + s.refusals, (1 - s.refusals) * like + s.refusals


def grid_of(values: Array) -> Grid:
    """Scores (players x characters x situations) with names for its axes."""
    names = [
        tuple(f"{axis}{n:03}" for n in range(size)) for axis, size in zip("pcs", values.shape, strict=True)
    ]
    return Grid(names[0], names[1], names[2], values)


def covered(pairs: pd.DataFrame, truth: Array) -> int:
    """How many intervals of differences hold the truth."""
    reach = stats.t.ppf(0.975, pairs["df"]) * pairs["standard_error"]
    return int(((pairs["difference"] - truth).abs() <= reach).sum())


def rank_hits(first: Positions, second: Positions, pairs: pd.DataFrame, truth: Array) -> int:
    """How many players have their true rank inside their rank range."""
    sure, up = pairs["separated"].to_numpy(), pairs["difference"].to_numpy() > 0
    better = np.where(up, first, second)[sure]
    worse = np.where(up, second, first)[sure]
    low = 1 + np.bincount(worse, minlength=len(truth))
    high = len(truth) - np.bincount(better, minlength=len(truth))
    rank = stats.rankdata(-truth, method="ordinal")
    return int(((low <= rank) & (rank <= high)).sum())


def simulate(scenario: Scenario, replications: int, seed: int = 0) -> Result:
    """Play a scenario so many times."""
    rng, result = np.random.default_rng(seed), Result()
    first, second = np.triu_indices(scenario.players, 1)
    for _ in range(replications):
        values, these_truth, like_truth = drawn(scenario, rng)
        spread = judge_spread(values.reshape(scenario.players, -1, scenario.judges))
        assert spread is not None
        grid = grid_of(values.mean(axis=-1))
        these, like = paired_differences(grid), paired_differences(grid, spread=spread)
        result.intervals += len(first)
        result.these += covered(these, these_truth[first] - these_truth[second])
        result.like += covered(like, like_truth[first] - like_truth[second])
        result.ranks += scenario.players
        result.rank_these += rank_hits(first, second, these, these_truth)
        result.rank_like += rank_hits(first, second, like, like_truth)
        result.boards += 1
        result.false_these += bool(these["separated"].any())
        result.false_like += bool(like["separated"].any())
    return result


def equal_boards(players: int, replications: int, judges: int = 4, seed: int = 0) -> Result:
    """Boards of players that do not differ: for these judges (no player x judge) and judges like these."""
    fixed = Scenario("equal", players=players, player=0.0, player_judge=0.0, judges=judges)
    sampled = Scenario("equal", players=players, player=0.0, judges=judges)
    these, like = simulate(fixed, replications, seed), simulate(sampled, replications, seed + 1)
    return Result(boards=replications, false_these=these.false_these, false_like=like.false_like)


PAIR = PairComponents(0.25**2, 0.25**2, 0.5**2)
"""True variances of a difference between two players: with character, with situation, with scene."""


def crossed(side: int, count: int, rng: np.random.Generator, pair: PairComponents = PAIR) -> Array:
    """``count`` grids of differences with the variances of ``pair``, mean 0."""
    made: Array = rng.normal(0, pair.character**0.5, (count, side, 1))
    made = made + rng.normal(0, pair.situation**0.5, (count, 1, side))
    return made + rng.normal(0, pair.rest**0.5, (count, side, side))


def power_at_the_scenes_needed(difference: float, replications: int, seed: int = 0) -> tuple[int, float]:
    """(scenes that ``--separate`` asks for, share of comparisons over so many that find the difference)."""
    side = size_needed(difference, PAIR)
    assert side is not None
    rng, found = np.random.default_rng(seed), 0
    for _ in range(replications):
        two = np.concatenate([crossed(side, 1, rng) + difference, np.zeros((1, side, side))])
        found += bool(paired_differences(grid_of(two), "none")["separated"].iloc[0])
    return side**2, found / replications


def detection(players: int, replications: int, seed: int = 0) -> tuple[float, float]:
    """(smallest detectable difference of a board, share of boards that separate two players so far apart)."""
    rng, half = np.random.default_rng(seed), PairComponents(0.25**2 / 2, 0.25**2 / 2, 0.5**2 / 2)

    def board(apart: float) -> pd.DataFrame:
        means = rng.normal(0, 0.3, players)
        means[1] = means[0] + apart
        return paired_differences(grid_of(means[:, None, None] + crossed(8, players, rng, half)))

    stated = [typical_difference(board(float(rng.normal(0, 0.4))), width=4)[1] for _ in range(50)]
    least = float(np.mean([one for one in stated if one is not None]))
    return least, sum(bool(board(least)["separated"].iloc[0]) for _ in range(replications)) / replications


def main() -> None:
    """Print the table."""
    replications = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    print(f"{replications} replications; nominal 95%")
    print(f"{'scenario':<24}{'these':>8}{'like':>8}{'ranks':>8}{'ranks, like':>12}")
    for scenario in SCENARIOS:
        r = simulate(scenario, replications)
        shares = (r.these / r.intervals, r.like / r.intervals, r.rank_these / r.ranks, r.rank_like / r.ranks)
        print(f"{scenario.name:<24}" + "".join(f"{x:8.3f}" for x in shares[:3]) + f"{shares[3]:12.3f}")
    print(f"{'equal boards, any pair separated':<34}{'these':>8}{'like':>8}")
    for players in (10, 20, 63, 200):
        some = replications if players < 200 else max(20, replications // 10)
        r = equal_boards(players, some)
        found = f"{r.false_these / some:8.3f}{r.false_like / some:8.3f}"
        print(f"{players:>3} players, {some} boards{'':<10}{found}")
    print("power at the number of scenes that --separate asks for (nominal .8)")
    for difference in (0.3, 0.2, 0.12):
        scenes, power = power_at_the_scenes_needed(difference, replications)
        print(f"true difference {difference:<6g}{scenes:>7} scenes{power:8.3f}")
    print("share of boards that find the smallest detectable difference, after correction (nominal .8)")
    for players in (10, 20, 63):
        least, share = detection(players, replications)
        print(f"{players:>3} players, {least:.2f} points{share:8.3f}")


if __name__ == "__main__":
    main()
