"""CharacterBench's human ratings and judge scores through the same functions: every figure is scipy's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from scipy import stats

from bench.agreement.report import Agreement, agreement_of
from bench.agreement.sheet import SheetColumns, sheet_panel

TABLE = Path(__file__).resolve().parents[3] / "shared" / "external" / "characterbench_scores.csv"
pytestmark = [
    pytest.mark.filterwarnings("error"),
    pytest.mark.skipif(not TABLE.exists(), reason=f"CharacterBench's scores are not at {TABLE}"),
]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return pd.read_csv(TABLE)


@pytest.fixture(scope="module")
def made(table: pd.DataFrame) -> Agreement:
    judges = [name for name in table.columns if name.startswith("pred_")]
    # the one interval whose ends are compared is measured with all resamples below
    return agreement_of(
        sheet_panel(TABLE, SheetColumns(["gold"], judges, criterion="dimension")), resamples=200
    )


def test_judges_of_every_dimension_are_those_of_scipy(made: Agreement, table: pd.DataFrame) -> None:
    figures = [figure for figure in made.judged[0].figures if not figure.members]
    assert len(figures) == 7 * 16
    for figure in figures:
        mine = table[table["dimension"] == figure.criterion]
        expected = stats.spearmanr(mine[figure.name], mine["gold"])
        assert figure.n == len(mine) == 250
        assert figure.value == pytest.approx(expected.statistic, abs=1e-12)
        assert figure.p == pytest.approx(expected.pvalue, abs=1e-12)
        assert figure.low is not None
        assert figure.high is not None
        assert figure.low < expected.statistic < figure.high


def test_intervals_are_near_those_of_scipys_bootstrap(table: pd.DataFrame, tmp_path: Path) -> None:
    mine = table[table["dimension"] == "engagement"]
    mine.to_csv(tmp_path / "engagement.csv", index=False)
    columns = SheetColumns(["gold"], ["pred_zh"], criterion="dimension")
    (figure,) = agreement_of(sheet_panel(tmp_path / "engagement.csv", columns)).judged[0].figures
    bootstrap: Any = stats.bootstrap

    def correlations(x: Any, y: Any, axis: int) -> Any:
        """Spearman's, of many resamples at once."""
        ranks = [stats.rankdata(values, axis=axis) for values in (x, y)]
        return stats.pearsonr(*ranks, axis=axis).statistic

    other = bootstrap(
        (mine["pred_zh"].to_numpy(), mine["gold"].to_numpy()),
        correlations,
        paired=True,
        vectorized=True,
        n_resamples=2000,
        method="percentile",
        rng=1,
    ).confidence_interval
    assert figure.low == pytest.approx(other.low, abs=0.015)
    assert figure.high == pytest.approx(other.high, abs=0.015)


def test_plain_mean_and_median_are_those_of_pandas(made: Agreement, table: pd.DataFrame) -> None:
    judges = list(made.judged[0].judges)
    for way in made.judged[0].ensembles:
        if way.method in ("mean", "median"):
            mine = table[table["dimension"] == way.criterion]
            combined = mine[judges].agg(way.method, axis=1).round(12)
            expected = stats.spearmanr(combined, mine["gold"]).statistic
            assert way.value == pytest.approx(expected, abs=1e-12)


def test_the_example_of_the_page_is_true(made: Agreement) -> None:
    """site/pages/people.md says what the plain mean costs here."""
    ways = {(way.criterion, way.method): way for way in made.judged[0].ensembles}
    weighted = [ways[name, "weighted"] for name in made.criteria]
    real = [way.over_mean.value for way in weighted if way.real and way.over_mean is not None]
    others = [way.over_mean.value for way in weighted if not way.real and way.over_mean is not None]
    assert len(real) == 3
    assert len(others) == 4
    assert all(value is not None and 0.015 <= value < 0.055 for value in real)
    assert all(value is not None and abs(value) < 0.003 for value in others)
    medians = [ways[name, "median"] for name in made.criteria]
    assert not any(way.real and way.over_mean and (way.over_mean.value or 0) > 0 for way in medians)


def test_one_human_column_leaves_no_agreement_of_people(made: Agreement) -> None:
    assert made.people.reason == "only one annotator, so there is nothing to compare"
    assert all(alpha.value is None for alpha in made.people.alpha)
    assert made.people.pairs == ()
