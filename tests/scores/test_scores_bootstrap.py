"""The interval: against scipy, and the same digits always."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bench.scores.bootstrap import draw_counts, draw_indices, mean_half_widths, stable_stream

PINNED = [[3, 2, 1, 6, 1, 4, 6, 6, 5, 5], [2, 8, 8, 0, 7, 8, 9, 8, 1, 0]]
"""What the stream of (0, tiny, en, ann) draws; a change of it would move every committed interval."""


def test_half_width_agrees_with_scipy() -> None:
    data = np.random.default_rng(1).normal(4.2, 0.5, size=64).round(2)
    ours = mean_half_widths(data[:, np.newaxis], 20_000, ["a"])
    theirs = stats.bootstrap(
        (data,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(2)
    ).confidence_interval
    assert ours is not None
    # Monte Carlo error of a half-width at 20,000 resamples is about 1%
    assert ours[0] == pytest.approx((theirs.high - theirs.low) / 2, rel=0.03)


def test_half_width_is_near_the_normal_one() -> None:
    data = np.random.default_rng(3).normal(0, 1, size=252)
    ours = mean_half_widths(data[:, np.newaxis], 20_000, ["b"])
    assert ours is not None
    assert ours[0] == pytest.approx(1.96 * data.std() / np.sqrt(len(data)), rel=0.03)


def test_columns_are_resampled_together() -> None:
    data = np.random.default_rng(4).normal(0, 1, size=(30, 1))
    both = mean_half_widths(np.hstack([data, 2 * data]), 500, ["c"])
    assert both is not None
    assert both[1] == pytest.approx(2 * both[0], rel=1e-9)


def test_one_item_has_no_interval() -> None:
    assert mean_half_widths(np.ones((1, 2)), 100, ["d"]) is None


def test_equal_items_have_no_interval_rather_than_one_of_width_zero() -> None:
    found = mean_half_widths(np.full((5, 1), 4.1), 100, ["e"])
    assert found is not None
    assert np.isnan(found[0])


def test_stream_is_the_same_on_every_machine() -> None:
    assert draw_indices(stable_stream(0, "tiny", "en", "ann"), 10, 2).tolist() == PINNED


def test_counts_are_of_the_indices_drawn() -> None:
    counts = draw_counts(stable_stream("f"), 7, 11)
    drawn = draw_indices(stable_stream("f"), 7, 11)
    assert counts.tolist() == [np.bincount(line, minlength=7).tolist() for line in drawn]


def test_draws_are_uniform() -> None:
    drawn = draw_indices(stable_stream("g"), 64, 5000).ravel()
    assert stats.chisquare(np.bincount(drawn, minlength=64)).pvalue > 0.001
