"""Sums of tokens and money over records, worked out by hand."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from bench.boards.costs import Took, cost_rows, total, totals
from bench.records import Call, Cell, Conversation, Judgement, Message, Scene, Usage

CELL = Cell(suite="s", version="1", protocol="p", language="en", player="bard", character="c", situation="t")


def call(role: Any, model: str, tokens: tuple[int, int] | None, cost: str | None, **more: Any) -> Call:
    estimated = more.pop("estimated", False)
    usage = None
    if tokens is not None:
        usage = Usage(prompt_tokens=tokens[0], completion_tokens=tokens[1], estimated=estimated)
    fields: dict[str, Any] = {"turn": 1, "provider": "x", "parameters": {}, "outcome": "ok", **more}
    return Call(role=role, model=model, usage=usage, cost=cost, **fields)


def talk(*calls: Call, player: str = "bard") -> Conversation:
    scene = Scene(character_name="C", summary="s", card="k", situation_title="t", situation="x")
    fields = {**CELL.plain(), "player": player}
    return Conversation(
        **fields,
        scene=scene,
        fingerprint="f",
        status="complete",
        messages=(Message(role="user", content="hi"), Message(role="assistant", content="ho")),
        calls=calls,
    )


def judged(judge: str, *calls: Call, player: str = "bard") -> Judgement:
    fields = {**CELL.plain(), "player": player}
    return Judgement(
        **fields,
        judge=judge,
        fingerprint="f",
        conversation_sha256="x",
        status="ok",
        turns=(),
        raw=(),
        calls=calls,
    )


TALKS = [
    talk(
        call("interrogator", "asker-1", (100, 10), "0.00012"),
        call("player", "bard-1", (200, 20), "0.1"),
        call("interrogator", "asker-1", (110, 11), "0.000132"),
        call("player", "bard-1", (210, 21), "0.2"),
    ),
    talk(call("interrogator", "asker-1", (100, 10), None), player="actor"),
    talk(call("player", "bard-1", None, None, outcome="transport")),
]
JUDGED = [
    judged(
        "strict", call("judge", "j-1", (1000, 100), "0.05", batch=True), call("judge", "j-1", (5, 5), "0.01")
    ),
    judged("lenient", call("judge", "j-2", (7, 3), "0.3", estimated=True)),
]


def test_tokens_and_dollars_are_summed_by_player_role_and_model() -> None:
    rows = {(r.part.player, r.part.role, r.part.model): r.took for r in cost_rows(TALKS, JUDGED)}
    assert rows == {
        ("actor", "interrogator", "asker-1"): Took(
            calls=1, prompt_tokens=100, completion_tokens=10, unpriced=1
        ),
        ("bard", "player", "bard"): Took(
            calls=3, unanswered=1, prompt_tokens=410, completion_tokens=41, cost=Decimal("0.3")
        ),
        ("bard", "interrogator", "asker-1"): Took(
            calls=2, prompt_tokens=210, completion_tokens=21, cost=Decimal("0.000252")
        ),
        ("bard", "judge", "lenient"): Took(
            calls=1, prompt_tokens=7, completion_tokens=3, cost=Decimal("0.3"), estimated=1
        ),
        ("bard", "judge", "strict"): Took(
            calls=2, prompt_tokens=1005, completion_tokens=105, cost=Decimal("0.06"), batch=1
        ),
    }


def test_tenths_add_up_exactly() -> None:
    whole = total(cost_rows([TALKS[0]], []))
    assert str(whole.cost) == "0.300252"  # in binary, 0.1 + 0.2 is not 0.3


def test_totals_are_by_any_name_of_a_part() -> None:
    sums = totals(cost_rows(TALKS, JUDGED), lambda part: part.role)
    assert {role: took.cost for role, took in sums.items()} == {
        "interrogator": Decimal("0.000252"),
        "player": Decimal("0.3"),
        "judge": Decimal("0.36"),
    }
    assert sums["interrogator"].unpriced == 1


def test_a_price_of_nothing_is_known_and_no_price_is_not() -> None:
    (free,) = cost_rows([talk(call("player", "b", (1, 1), "0"))], [])
    (unknown,) = cost_rows([talk(call("player", "b", (1, 1), None))], [])
    assert (free.took.known, unknown.took.known) == (True, False)


def test_imported_records_without_calls_cost_the_unknown() -> None:
    imported = talk().model_copy(update={"origin": "elsewhere"})
    verdict = judged("strict").model_copy(update={"origin": "elsewhere"})
    rows = cost_rows([imported], [verdict])
    assert [row.took for row in rows] == [Took(silent=1), Took(silent=1)]
    assert not total(rows).known


def test_a_player_that_nobody_calls_costs_nothing() -> None:
    assert cost_rows([talk()], []) == []


def test_a_batch_costs_what_its_discount_leaves() -> None:
    from bench.catalog import Model

    fields = {"provider": "p", "model": "m", "name": "M", "family": "F", "weights": "open", "licence": "L"}
    prices = {"input": "2", "output": "8", "cached_input": "1", "batch_discount": "0.5"}
    model = Model.model_validate({**fields, "prices": prices})
    usage = Usage(prompt_tokens=1_000_000, completion_tokens=500_000, cached_tokens=250_000)
    assert model.cost_of(usage) == Decimal("5.75")  # 0.75 * 2 + 0.25 * 1 + 0.5 * 8
    assert model.cost_of(usage, batch=True) == Decimal("2.875")
    no_discount = Model.model_validate({**fields, "prices": {"input": "2", "output": "8"}})
    assert no_discount.cost_of(usage, batch=True) is None
