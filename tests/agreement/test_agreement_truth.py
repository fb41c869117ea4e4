"""On simulated people and judges of known reliability, intervals hold the truth.

The truth is the model's: each figure over 400,000 items, by scipy and the krippendorff library, so it owes
nothing to the code under test and is itself sure to about 0.002, where intervals are 0.1 and wider.
`make benchmarks` simulates a hundred studies, `make test` fewer, with a truth sure to about 0.005.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

import krippendorff
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bench.agreement.coefficients import Coefficient, Difference
from bench.agreement.report import Agreement, agreement_of
from tests.agreement.simulated import ANNOTATORS, JUDGES, panel_of, sample
from tests.lengths import of_long

pytestmark = pytest.mark.long

STUDIES = of_long(6, 100)
LEAST = int(stats.binom.ppf(0.02, STUDIES, 0.95))
"""How many intervals of 95% hold the truth at least: 90 of 100."""
MOST = int(stats.binom.ppf(0.99, STUDIES, 0.05))
"""How often p is below 0.05 at most where there is no difference: 10 of 100."""
ITEMS = 250
"""As many as the paper's English sample."""
RESAMPLES = 300
TRUTH_ITEMS = of_long(50_000, 400_000)
Key = tuple[str, ...]


def spearman(a: pd.Series, b: pd.Series) -> float:
    both = a.notna() & b.notna()
    return float(stats.spearmanr(a[both], b[both]).statistic)


@pytest.fixture(scope="module")
def truth() -> dict[Key, float]:
    people, judges = sample(10**6, TRUTH_ITEMS)
    mean = people.mean(axis=1)
    found: dict[Key, float] = {("judge", name): spearman(judges[name], mean) for name in JUDGES}
    found["judge", "Avg(sharp, fair, twin, dull)"] = spearman(judges.mean(axis=1), mean)
    for a, b in itertools.permutations(JUDGES, 2):
        found["difference", a, b] = found["judge", a] - found["judge", b]
    for name in ANNOTATORS:
        rest = people.drop(columns=name)
        found["all", name] = spearman(people[name].where(rest.notna().any(axis=1)), mean)
        found["others", name] = spearman(people[name], rest.mean(axis=1))
    for name, other in itertools.combinations(ANNOTATORS, 2):
        found["pair", name, other] = spearman(people[name], people[other])
    counts = np.stack([(people.to_numpy() == step).sum(axis=1) for step in range(1, 6)], axis=1)
    found["alpha",] = float(krippendorff.alpha(value_counts=counts, level_of_measurement="ordinal"))
    return found


def figures(made: Agreement) -> Iterator[tuple[Key, Coefficient | Difference]]:
    for judge in made.judged[0].figures:
        yield ("judge", judge.name), judge
    for pair in made.judged[0].differences:
        if not pair.second.startswith("Avg"):
            yield ("difference", pair.first, pair.second), pair
    for people in made.people.pairs:
        yield ("pair", people.annotator, people.other), people
    for each in made.people.each:
        yield ("all", each.annotator), each.with_mean_of_all
        yield ("others", each.annotator), each.with_mean_of_others
    yield ("alpha",), made.people.alpha[0]


@pytest.fixture(scope="module")
def studies() -> list[Agreement]:
    return [agreement_of(panel_of(*sample(seed, ITEMS)), resamples=RESAMPLES) for seed in range(STUDIES)]


def test_every_interval_holds_the_truth_as_often_as_it_promises(
    truth: dict[Key, float], studies: list[Agreement]
) -> None:
    """Judges, their mean, their differences, annotator pairs, both means, alpha: 32 figures, each alone."""
    held: Counter[Key] = Counter()
    for made in studies:
        for key, figure in figures(made):
            assert figure.low is not None
            assert figure.high is not None
            held[key] += figure.low <= truth[key] <= figure.high
    assert len(held) == 32
    missed = {key: count for key, count in held.items() if count < LEAST}
    assert not missed


def test_intervals_are_not_simply_wide(truth: dict[Key, float], studies: list[Agreement]) -> None:
    """An interval from -1 to 1 holds every truth: so a good judge's must exclude a dull one's each time."""
    for made in studies:
        found = dict(figures(made))
        low = found["judge", "sharp"].low
        assert low is not None
        assert low > truth["judge", "dull"]


def test_judges_of_equal_worth_are_seldom_called_different(studies: list[Agreement]) -> None:
    """``fair`` and ``twin`` are equal: p is below 0.05 in about 5 of 100, corrected p in fewer."""
    pairs = [
        pair
        for made in studies
        for pair in made.judged[0].differences
        if (pair.first, pair.second) == ("fair", "twin")
    ]
    assert len(pairs) == STUDIES
    assert sum(pair.p is not None and pair.p < 0.05 for pair in pairs) <= MOST
    assert sum(bool(pair.real) for pair in pairs) <= MOST // 2


def test_judges_of_unequal_worth_are_told_apart(studies: list[Agreement]) -> None:
    pairs = [
        pair
        for made in studies
        for pair in made.judged[0].differences
        if (pair.first, pair.second) == ("sharp", "dull")
    ]
    assert sum(bool(pair.real) for pair in pairs) >= LEAST
