"""cost: what it prints of a small tree."""

from __future__ import annotations

import csv
import io
import json
from decimal import Decimal

import pytest

from bench.boards.costs import CostRow, Part, Took
from bench.cli.cost import cost_csv
from tests.cli.conftest import Bench
from tests.scripted_server import ScriptedServer, completion, plausible_text
from tests.tiny import CALLS, Tiny, edit


@pytest.fixture
def paid(bench: Bench, tiny: Tiny) -> Tiny:
    assert bench("run", "tiny", "-p", "bard", "-p", "actor", *tiny.options()).status == 0
    return tiny


def test_cost_says_what_each_player_role_and_judge_took(bench: Bench, paid: Tiny) -> None:
    ended = bench("cost", "tiny", "--format", "json", *paid.options())
    assert ended.status == 0, ended.err
    found = json.loads(ended.out)
    spent: dict[str, Decimal] = {"player": Decimal(0), "interrogator": Decimal(0), "judge": Decimal(0)}
    for talk in paid.tree.conversations("tiny", "en", "bard"):
        for call in talk.calls:
            spent[call.role] += Decimal(call.cost or 0)
    for verdict in paid.tree.judgements("tiny", "en", "bard"):
        spent["judge"] += sum((Decimal(call.cost or 0) for call in verdict.calls), Decimal(0))
    rows = {(row["player"], row["role"]): row for row in found["rows"]}
    assert {role: Decimal(rows["bard", role]["cost"]) for role in spent} == spent
    assert {role: rows["bard", role]["calls"] for role in spent} == CALLS
    assert rows["actor", "player"]["cost"] is None
    assert rows["actor", "player"]["unpriced"] == CALLS["player"]
    assert found["by_player"]["bard"]["unpriced"] == 0
    assert Decimal(found["by_player"]["bard"]["cost"]) == sum(spent.values())


def test_an_unknown_price_is_said_and_never_nothing(bench: Bench, paid: Tiny) -> None:
    out = bench("cost", "tiny", *paid.options()).out
    (line,) = [line for line in out.splitlines() if line.startswith("actor") and " player " in line]
    assert line.endswith("unknown")
    assert "+ unknown" in next(line for line in out.splitlines() if line.startswith("Total: "))
    assert f"{CALLS['player']} calls had no known price" in out


def test_estimated_tokens_are_marked(bench: Bench, tiny: Tiny, server: ScriptedServer) -> None:
    server.answer = lambda seen: completion(plausible_text(seen), seen, usage=None)
    assert bench("run", "tiny", *tiny.options()).status == 0
    out = bench("cost", "tiny", *tiny.options()).out
    assert "~$0.0" in out
    assert f"{sum(CALLS.values())} calls came without token counts" in out


def test_the_csv_has_a_line_a_part(bench: Bench, paid: Tiny) -> None:
    rows = list(csv.DictReader(io.StringIO(bench("cost", "--format", "csv", *paid.options()).out)))
    assert len(rows) == 6
    assert {row["role"] for row in rows} == {"player", "interrogator", "judge"}
    assert [row["cost"] for row in rows if row["player"] == "actor" and row["role"] == "player"] == [""]


def test_one_player_can_be_asked_for(bench: Bench, paid: Tiny) -> None:
    found = json.loads(bench("cost", "-p", "bard", "-l", "en", "--format", "json", *paid.options()).out)
    assert set(found["by_player"]) == {"bard"}


def test_no_results_are_a_mistake_in_one_line(bench: Bench, tiny: Tiny) -> None:
    tiny.tree.root.mkdir()
    assert "results of suite 'tiny'" in bench("cost", "tiny", *tiny.options()).fault


def test_the_csv_cannot_hold_a_formula() -> None:
    part = Part("tiny", "en", "=HYPERLINK(1)", "player", "\u200b=A1", "embedded")
    table = cost_csv([CostRow(part, Took(calls=2))])
    assert table.splitlines()[1].startswith("tiny,en,'=HYPERLINK(1),player,'\u200b=A1,embedded,2,")


def test_a_cost_that_is_not_zero_never_looks_like_zero(bench: Bench, tiny: Tiny) -> None:
    prices = '{ input = "0.00000003", output = "0" }'
    edit(tiny.models, 'prices = { input = "1", output = "2" }', f"prices = {prices}")
    planned = bench("plan", "tiny", "-p", "bard", *tiny.options()).out
    assert bench("run", "tiny", "-p", "bard", *tiny.options()).status == 0
    spent = bench("cost", "tiny", *tiny.options()).out
    costs = [word for word in (planned + spent).split() if "$" in word]
    assert len(costs) >= 7
    assert [cost for cost in costs if not Decimal(cost.strip("~$.,"))] == []
