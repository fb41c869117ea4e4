"""The committed card probes: what the method page says of three models of different sizes holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bench.boards.loading import load_board
from bench.results import ResultsTree
from bench.scores.probes import KindRate, ProbeRates

ROOT = Path(__file__).parents[2]
SIZES = [0.135, 0.494, 1.54]


@pytest.fixture(scope="module", params=["en", "ru"])
def by_size(request: pytest.FixtureRequest) -> list[ProbeRates]:
    """The probes of every player of one language, smallest model first."""
    board = load_board(ResultsTree(ROOT / "results"), "card-probes", request.param).board
    rows = sorted(board.rows, key=lambda row: row.parameters_billion or 0)
    assert [row.parameters_billion for row in rows] == SIZES
    assert all(row.conversations == row.conversations_expected == 96 for row in rows)
    return [row.probes for row in rows if row.probes is not None]


def rising(numbers: list[float]) -> bool:
    return numbers == sorted(set(numbers))


def passed(kind: KindRate) -> int:
    return kind.passed


def failed(kind: KindRate) -> int:
    return kind.failed


def of_kind(rates: list[ProbeRates], kind: str, count: Callable[[KindRate], int]) -> list[float]:
    return [count(player.kinds[kind]) for player in rates]


def test_pass_rates_and_passed_probes_rise_with_the_size_of_the_model(by_size: list[ProbeRates]) -> None:
    assert rising([player.pass_rate or 0.0 for player in by_size])
    assert rising([sum(map(passed, player.kinds.values())) for player in by_size])
    assert rising([-player.unclear for player in by_size])


def test_the_intervals_of_the_pass_rates_overlap(by_size: list[ProbeRates]) -> None:
    intervals = [player.pass_rate_ci for player in by_size if player.pass_rate_ci is not None]
    assert max(low for low, _ in intervals) < min(high for _, high in intervals)


def test_the_larger_the_model_the_more_facts_and_the_largest_states_none_wrongly(
    by_size: list[ProbeRates],
) -> None:
    assert rising(of_kind(by_size, "fact", passed))
    assert of_kind(by_size, "fact", failed)[-1] == 0


def test_the_larger_qwen_leaves_its_role_more_often(by_size: list[ProbeRates]) -> None:
    smaller, larger = of_kind(by_size, "identity", failed)[1:]
    assert larger > smaller
    for player in by_size[1:]:
        assert player.kinds["language"].failed > player.kinds["language"].passed
