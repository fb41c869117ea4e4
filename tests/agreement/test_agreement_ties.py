"""Means of means that are equal tie: every correlation anew in fractions, which have no last decimal."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from statistics import median

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bench.agreement.panel import FINAL
from bench.agreement.report import Agreement, agreement_of
from tests.agreement.simulated import panel_of

CRITERIA = ("one", "two", "three")
ANNOTATORS = ("ann", "ben", "cas")
JUDGES = ("j1", "j2", "j3", "j4")
TURNS = 3
ITEMS = 60

Exact = dict[str, dict[str, list[Fraction | None]]]
"""Criterion and final, rater, a score an item."""


def known(values: Sequence[Fraction | None]) -> list[Fraction]:
    return [value for value in values if value is not None]


def mean_of_known(values: Sequence[Fraction | None]) -> Fraction | None:
    there = known(values)
    return sum(there, Fraction()) / len(there) if there else None


def mean_of_all(values: Sequence[Fraction | None]) -> Fraction | None:
    return mean_of_known(values) if len(known(values)) == len(values) else None


def median_of_all(values: Sequence[Fraction | None]) -> Fraction | None:
    there = known(values)
    return median(there) if len(there) == len(values) else None


def given(raters: Sequence[str], rng: np.random.Generator, parts: int, missing: float) -> Exact:
    """Scores that are means of ``parts`` ratings, and finals, exactly."""
    scores: Exact = {criterion: {} for criterion in CRITERIA}
    quality = rng.normal(3, 1, ITEMS)
    for criterion in CRITERIA:
        for rater in raters:
            ratings = np.clip((quality[:, None] + rng.normal(0, 1, (ITEMS, parts))).round(), 1, 5)
            out = rng.random(ITEMS) < missing
            scores[criterion][rater] = [
                None if gone else Fraction(int(total), parts)
                for gone, total in zip(out, ratings.sum(axis=1), strict=True)
            ]
    scores[FINAL] = {
        rater: [mean_of_all(all_of) for all_of in zip(*(scores[c][rater] for c in CRITERIA), strict=True)]
        for rater in raters
    }
    return scores


def floats(scores: Exact) -> dict[str, pd.DataFrame]:
    index = pd.Index([f"i{n:03d}" for n in range(ITEMS)], name="item")
    return {
        criterion: pd.DataFrame(
            {r: [np.nan if v is None else float(v) for v in vs] for r, vs in scores[criterion].items()},
            index=index,
        )
        for criterion in CRITERIA
    }


def exact_rho(first: Sequence[Fraction | None], second: Sequence[Fraction | None]) -> float:
    pairs = [(x, y) for x, y in zip(first, second, strict=True) if x is not None and y is not None]
    return float(stats.spearmanr(places([x for x, _ in pairs]), places([y for _, y in pairs])).statistic)


def places(values: Sequence[Fraction]) -> list[int]:
    order = sorted(set(values))
    return [order.index(value) for value in values]


@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_every_correlation_is_that_of_the_fractions(missing: float) -> None:
    rng = np.random.default_rng(4)
    people, judges = given(ANNOTATORS, rng, 1, missing), given(JUDGES, rng, TURNS, missing)
    made: Agreement = agreement_of(panel_of(floats(people), floats(judges)), resamples=20)

    for each in made.people.each:
        table = people[each.criterion]
        mine, others = table[each.annotator], [table[a] for a in ANNOTATORS if a != each.annotator]
        rest = [mean_of_known(row) for row in zip(*others, strict=True)]
        everybody = [mean_of_known(row) for row in zip(*table.values(), strict=True)]
        shared = [score if other is not None else None for score, other in zip(mine, rest, strict=True)]
        assert each.with_mean_of_others.value == pytest.approx(exact_rho(mine, rest), abs=1e-11)
        assert each.with_mean_of_all.value == pytest.approx(exact_rho(shared, everybody), abs=1e-11)

    consensus = {c: [mean_of_known(row) for row in zip(*people[c].values(), strict=True)] for c in CRITERIA}
    consensus[FINAL] = [mean_of_all(row) for row in zip(*(consensus[c] for c in CRITERIA), strict=True)]
    one = made.judged[0]
    for judge in one.figures:
        rows = zip(*(judges[judge.criterion][name] for name in judge.members or (judge.name,)), strict=True)
        mean = [mean_of_all(row) for row in rows]
        assert judge.value == pytest.approx(exact_rho(mean, consensus[judge.criterion]), abs=1e-11)
    for way in one.ensembles:
        if way.method in ("mean", "median"):
            average = {"mean": mean_of_all, "median": median_of_all}[way.method]
            scores = [average(row) for row in zip(*judges[way.criterion].values(), strict=True)]
            assert way.value == pytest.approx(exact_rho(scores, consensus[way.criterion]), abs=1e-11)
