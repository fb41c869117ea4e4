"""Linking two versions of a suite: a case worked by hand, and simulations with a known shift."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from bench.scores.bootstrap import Array
from bench.scores.linking import LEAST_PLAYERS, LEAST_SCENES, VersionLink, linked
from bench.scores.robust import Grid
from tests.lengths import of_long

NAMES = ("s version 1", "s version 2")


def grid_of(values: Array, players: list[str] | None = None) -> Grid:
    """A grid from an array players x characters x situations."""
    count, characters, situations = values.shape
    return Grid(
        tuple(players or [f"p{n}" for n in range(count)]),
        tuple(f"c{n}" for n in range(characters)),
        tuple(f"s{n}" for n in range(situations)),
        values,
    )


def link_of(old: Grid, new: Grid) -> VersionLink:
    scenes = [(c, s) for c in old.characters for s in old.situations]
    return linked(old, new, scenes, old.players, names=NAMES)


def test_link_is_worked_by_hand() -> None:
    """Shifts of player p in scene s of 0.5 + p/10 + s/100: two-way variance from the formula of the page."""
    old = np.full((6, 4, 4), 3.0)
    shifts = 0.5 + np.arange(6)[:, None] / 10 + np.arange(16)[None, :] / 100
    made = link_of(grid_of(old), grid_of(old + shifts.reshape(6, 4, 4)))
    assert made.link == pytest.approx(0.5 + 0.25 + 0.075)
    rest = shifts - shifts.mean()
    a = float((rest.sum(axis=1) ** 2).sum()) / 96**2 * 6 / 5
    b = float((rest.sum(axis=0) ** 2).sum()) / 96**2 * 16 / 15
    c = float((rest**2).sum()) / 95 / 96
    assert made.error == pytest.approx(math.sqrt(max(a + b - c, a, b)), abs=1e-6)
    assert made.df is not None
    assert made.link is not None
    assert made.error is not None
    reach = float(stats.t.ppf(0.975, made.df)) * made.error
    assert (made.low, made.high) == pytest.approx((made.link - reach, made.link + reach), abs=1e-4)
    first = made.without[0]
    assert (first.character, first.situation) in {("c0", "s0"), ("c3", "s3")}
    expected = [float(np.delete(shifts, n, axis=1).mean()) for n in range(16)]
    assert sorted(row.link for row in made.without) == pytest.approx(sorted(expected), abs=1e-6)


@pytest.mark.parametrize(
    ("players", "characters", "situations"), [(5, 4, 4), (6, 3, 5), (1, 1, 1), (0, 0, 0)]
)
def test_too_few_anchors_or_players_are_not_comparable(
    players: int, characters: int, situations: int
) -> None:
    values = np.random.default_rng(0).normal(3, 1, (players, characters, situations))
    made = link_of(grid_of(values), grid_of(values + 0.5))
    assert made.link is None
    assert made.scores == ()
    assert made.reason is not None
    assert str(LEAST_SCENES) in made.reason
    assert str(LEAST_PLAYERS) in made.reason


def test_scenes_and_players_that_differ_do_not_count() -> None:
    rng = np.random.default_rng(0)
    old, new = (grid_of(rng.normal(3, 1, (8, 5, 5))) for _ in range(2))
    anchors = [(c, s) for c in old.characters[:4] for s in old.situations[:4]]
    made = linked(old, new, anchors, old.players[:7], names=NAMES)
    assert (made.scenes, made.players) == (16, 7)
    expected = (new.values - old.values)[:7, :4, :4].mean()
    assert made.link == pytest.approx(expected, abs=1e-6)
    copied = linked(old, new, anchors, old.players[:7], names=NAMES, left_out=[("p0", "c0", "s0")])
    assert (copied.scenes, copied.players) == (16, 6)  # p0 has only 15 anchors left
    assert linked(old, new, anchors[1:], old.players, names=NAMES).reason is not None


def test_shift_without_any_spread_has_no_known_error() -> None:
    values = np.random.default_rng(0).normal(3, 1, (6, 4, 4))
    made = link_of(grid_of(values), grid_of(values + 0.5))
    assert made.link is None
    assert made.reason is not None


def test_every_comparison_across_versions_includes_the_links_error() -> None:
    rng = np.random.default_rng(0)
    old = grid_of(rng.normal(3, 0.5, (7, 4, 4)))
    names = [*old.players[:6], "newcomer"]
    new = grid_of(rng.normal(3.5, 0.5, (7, 4, 4)), names)
    made = link_of(old, new)
    rows = {row.player: row for row in made.scores}
    assert made.error is not None
    gone, came = rows["p6"], rows["newcomer"]
    assert gone.newer is None
    assert gone.change is None
    assert came.older is None
    assert came.linked is None
    assert gone.low is not None
    assert gone.high is not None
    own = old.values[6].std(ddof=1) / 4
    assert (gone.high - gone.low) / 2 > 1.96 * math.hypot(own * 0.7, made.error)
    for row in made.scores[:-1]:
        if row.change is not None:
            assert row.change_low is not None
            assert row.change_low < row.change


BOARDS = of_long(100, 400)


@pytest.mark.long
@pytest.mark.parametrize("shift", [0.0, 0.4])
def test_simulated_links_contain_the_true_shift(shift: float) -> None:
    """Players, scenes and single conversations shift differently around a known mean."""
    rng = np.random.default_rng(7)
    inside = 0
    for _ in range(BOARDS):
        old = (
            3 + rng.normal(0, 0.4, (8, 1, 1)) + rng.normal(0, 0.3, (1, 5, 5)) + rng.normal(0, 0.4, (8, 5, 5))
        )
        new = old + shift + rng.normal(0, 0.15, (8, 1, 1)) + rng.normal(0, 0.2, (1, 5, 5))
        made = link_of(grid_of(old), grid_of(new + rng.normal(0, 0.5, (8, 5, 5))))
        assert made.low is not None
        assert made.high is not None
        inside += made.low <= shift <= made.high
    assert stats.binom.ppf(0.005, BOARDS, 0.95) <= inside <= stats.binom.ppf(0.995, BOARDS, 0.95)
