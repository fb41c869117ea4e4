"""A scripted pairwise judge with known strengths, biases, ties and noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.scores.bootstrap import Array
from bench.scores.pairwise import Comparisons, standardised_lengths


@dataclass(frozen=True)
class Script:
    """What the judge does. Log odds, as in the model."""

    strengths: Array
    position: tuple[float, ...] = (0.5, -0.3)
    """One judge each."""
    length: float = 0.3
    own_family: float = 0.4
    cuts: tuple[float, ...] = (0.3, 1.2, 2.4)
    """A margin of k where the latent preference exceeds k of these."""
    by_scene: float = 0.0
    """Standard deviation of a player's strength from scene to scene."""
    by_side: float = 0.0
    """The same from character to character, and from situation to situation."""
    by_judge: float = 0.0
    """Standard deviation of a player's strength from judge to judge."""
    neighbours: int = 3
    """Each player meets this many of the next ones."""


def made(script: Script, rng: np.random.Generator, characters: int = 4, situations: int = 4) -> Comparisons:
    """Verdicts on every pair of neighbours in every scene, by every judge, in both orders."""
    count, judges = len(script.strengths), len(script.position)
    scenes = characters * situations
    rows = [
        (*pair, scene, judge)
        for scene in range(scenes)
        for i in range(count)
        for j in range(i + 1, min(count, i + 1 + script.neighbours))
        for judge in range(judges)
        for pair in ((i, j), (j, i))
    ]
    first, second, scene, judge = np.array(rows).T
    family = np.arange(count) % (judges + 1)  # the last family is no judge's
    same = ((family[first] == judge) & (family[second] != judge)).astype(np.float64)
    same -= (family[second] == judge) & (family[first] != judge)
    lengths = rng.lognormal(5, 0.3, (count, scenes))
    longer = standardised_lengths(lengths[first, scene], lengths[second, scene])
    strength = script.strengths[:, None] + script.by_scene * rng.normal(size=(count, scenes))
    strength += script.by_side * np.repeat(rng.normal(size=(count, characters)), situations, axis=1)
    strength += script.by_side * np.tile(rng.normal(size=(count, situations)), (1, characters))
    taste = script.by_judge * rng.normal(size=(count, judges))
    eta = strength[first, scene] - strength[second, scene] + taste[first, judge] - taste[second, judge]
    eta += np.array(script.position)[judge] + script.length * longer + script.own_family * same
    latent = eta + rng.logistic(size=len(eta))
    margin = np.sign(latent) * sum((np.abs(latent) > cut).astype(np.float64) for cut in script.cuts)
    return Comparisons(
        players=tuple(f"player-{n:02}" for n in range(count)),
        scenes=tuple((f"character-{n // situations}", f"situation-{n % situations}") for n in range(scenes)),
        judges=tuple(f"judge-{n}" for n in range(judges)),
        first=first,
        second=second,
        scene=scene,
        judge=judge,
        margin=margin,
        longer=longer,
        same=same,
    )
