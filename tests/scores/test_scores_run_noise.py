"""Run-to-run noise: a hand-worked case, and players whose noise is known."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest
from scipy import stats

from bench.scores.analyses.repeats import run_noise
from bench.scores.board import board_of
from bench.scores.frame import Frames, load
from tests.scores.evidence import LANGUAGE, SUITE, Evidence


def frames_of(root: Path, players: dict[str, dict[str, list[int]]]) -> Frames:
    """A judge's score of every repeat, by player and scene."""
    evidence = Evidence(root)
    for player, scenes in players.items():
        evidence.player(player)
        for scene, scores in scenes.items():
            for repeat, score in enumerate(scores, 1):
                talk = evidence.conversation(player, scene, (f"{'x' * 99}{repeat}",), repeat=repeat)
                evidence.judgement(talk, "judge", [(score, score, score)])
    return load(evidence.tree, SUITE, LANGUAGE)


def test_hand_worked(tmp_path: Path) -> None:
    """a: squares of the deviations (1 + 1) + (0 + 0) with 2 degrees of freedom, so the variance is 1."""
    scenes = {"anna/one": [4, 2], "ben/two": [3, 3]}
    frames = frames_of(tmp_path, {"a": scenes, "b": {"anna/one": [5], "ben/two": [1]}})
    table = run_noise(frames).set_index("player")
    a = table.loc["a"]
    assert (a["scenes"], a["conversations"], a["variance"], a["noise"], a["of_mean"]) == (2, 4, 1.0, 1.0, 0.5)
    # quantiles of the chi-squared distribution with 2 degrees of freedom, from a printed table
    assert a["low"] == pytest.approx(math.sqrt(2 / 7.378), abs=1e-3)
    assert a["high"] == pytest.approx(math.sqrt(2 / 0.0506), abs=5e-3)
    assert table.loc["b", "reason"] == "no scene has two scored repeats"
    assert table.loc["", "variance"] == 1.0


def test_repeats_are_averaged_within_their_scene(tmp_path: Path) -> None:
    """A scene that was repeated counts no more than another: the mean of (4 + 2 + 3) / 3 and 5, not 3.5."""
    frames = frames_of(tmp_path, {"a": {"anna/one": [4, 2, 3], "ben/two": [5]}, "b": {"anna/one": [3]}})
    row = next(row for row in board_of(frames).rows if row.player == "a")
    assert row.score == 4.0


def test_one_repeat_says_nothing(tmp_path: Path) -> None:
    assert run_noise(frames_of(tmp_path, {"a": {"anna/one": [4], "ben/two": [2]}})).empty


def test_the_scripted_noise_is_found(tmp_path: Path) -> None:
    """A score is its scene's level plus or minus 1, each as likely: the noise is 1 point."""
    rng = random.Random(4)
    levels = {f"c{c}/s{s}": 3 for c in range(8) for s in range(8)}
    played = {
        "noisy": {scene: [level + rng.choice((-1, 1)) for _ in range(3)] for scene, level in levels.items()},
        "steady": {scene: [level] * 3 for scene, level in levels.items()},
    }
    table = run_noise(frames_of(tmp_path, played)).set_index("player")
    noisy = table.loc["noisy"]
    assert noisy["low"] <= 1 <= noisy["high"]
    assert noisy["noise"] == pytest.approx(1, abs=3 / math.sqrt(2 * 128))  # three standard errors, df 128
    assert noisy["high"] / noisy["low"] == pytest.approx(
        math.sqrt(stats.chi2.ppf(0.975, 128) / stats.chi2.ppf(0.025, 128)), abs=1e-3
    )
    assert (table.loc["steady", "noise"], str(table.loc["steady", "reason"])[:14]) == (0, "the same score")
