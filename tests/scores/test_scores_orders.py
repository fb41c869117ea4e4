"""How far the order of the real answers moves a score, on cases worked by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.protocol_facts import answer_orders
from bench.scores.analyses.orders import order_effects
from bench.scores.analyses.turns import by_turn
from bench.scores.frame import load
from tests.scores.evidence import LANGUAGE, SUITE, Evidence


@pytest.fixture
def evidence(tmp_path: Path) -> Evidence:
    return Evidence(tmp_path, ["human_likeness"], "human_likeness")


def effects(evidence: Evidence) -> dict[str, dict[Any, Any]]:
    table = order_effects(load(evidence.tree, SUITE, LANGUAGE))
    return {str(row["what"]): dict(row.items()) for _, row in table.iterrows()}


def test_every_order_of_an_item_is_there_once_and_places_are_shared_out_evenly() -> None:
    starts = set()
    for n in range(60):
        orders = answer_orders("ann", f"item-{n}", 3)
        assert len(set(orders)) == 6
        for square in (orders[:3], orders[3:]):
            for place in range(3):
                assert {order[place] for order in square} == {1, 2, 3}
        starts.add(orders[0])
    assert len(starts) == 6


def test_orders_are_the_same_on_every_machine() -> None:
    assert answer_orders("mae", "birthday", 3)[:2] == ((3, 2, 1), (2, 1, 3))


def test_spread_bands_and_places(evidence: Evidence) -> None:
    # two items of two characters; 30 and 50 lie in two bands, 70 and 74 in one
    evidence.played("bob", {"ann/one": {"j": [(30,), (50,)]}, "cid/two": {"j": [(70,), (74,)]}})
    found = effects(evidence)
    assert (found["spread"]["value"], found["spread"]["items"]) == (12, 2)
    assert found["other_band"]["value"] == 0.5
    moved: dict[int, list[int]] = {1: [], 2: [], 3: []}
    for (character, situation), half in ((("ann", "one"), 10), (("cid", "two"), 2)):
        first, second = (order[0] for order in answer_orders(character, situation, 3)[:2])
        moved[first].append(-half)
        moved[second].append(half)
    for answer, values in moved.items():
        row = found[f"answer_{answer}_first"]
        assert row["items"] == len(values)
        if values:
            assert row["value"] == pytest.approx(sum(values) / len(values))
        else:
            assert row["reason"] == "nothing was scored"


def test_an_interval_counts_characters_not_responses(evidence: Evidence) -> None:
    # spreads 0, 10 and 20 of three characters: mean 10, s = 10, t(0.975, 2) = 4.302653
    cells = {
        f"{c}/{c}-{n}": {"j": [(50,), (50 + s,)]}
        for c, s in zip("abc", (0, 10, 20), strict=True)
        for n in (1, 2)
    }
    evidence.played("bob", cells)
    row = effects(evidence)["spread"]
    assert row["value"] == 10
    half = 4.302652729749462 * 10 / 3**0.5
    assert (row["low"], row["high"]) == (
        pytest.approx(10 - half, abs=1e-6),
        pytest.approx(10 + half, abs=1e-6),
    )


def test_one_order_or_another_protocol_says_nothing(evidence: Evidence, tmp_path: Path) -> None:
    evidence.played("bob", {"ann/one": {"j": [(30,)]}})
    assert effects(evidence) == {}
    other = Evidence(tmp_path / "other")
    other.played("bob", {"ann/one": {"j": [(3, 3, 3), (4, 4, 4)]}})
    assert effects(other) == {}


def test_orders_are_no_turns_over_which_a_character_could_hold(evidence: Evidence) -> None:
    evidence.played("bob", {"ann/one": {"j": [(30,), (50,)]}})
    assert by_turn(load(evidence.tree, SUITE, LANGUAGE)).empty
