"""--max-cost on whole runs and where it cannot be kept, and the limit of calls at once."""

from __future__ import annotations

import re
import shutil
from decimal import Decimal

import pytest

from tests.cli.conftest import ALL, TALKS, Bench, models_asked
from tests.scripted_server import ScriptedServer, completion, plausible_text
from tests.tiny import Tiny, bytes_below, edit

CALL = Decimal("0.01")
AT_ONCE = 16


def test_sixteen_calls_at_once_pass_the_limit_by_no_more_than_themselves(
    bench: Bench, tiny: Tiny, server: ScriptedServer
) -> None:
    usage = {"prompt_tokens": 6_000, "completion_tokens": 2_000}  # at 1 and 2 dollars a million: one cent
    server.answer = lambda seen: completion(plausible_text(seen), seen, usage=usage)
    server.delay = 0.01
    edit(tiny.models, "max_concurrent = 4", f"max_concurrent = {AT_ONCE}")
    words = ["run", "tiny", "-j", "strict", "-j", "lenient", "--max-cost", "0.20", *tiny.options()]
    assert bench(*words).status == 3
    assert Decimal("0.20") <= server.count * CALL < Decimal("0.20") + AT_ONCE * CALL


def test_a_model_without_a_price_is_refused_where_money_is_limited(
    bench: Bench, tiny: Tiny, server: ScriptedServer
) -> None:
    fault = bench("run", "tiny", "-p", "actor", "--max-cost", "1", *tiny.options()).fault
    assert "the price of actor is unknown" in fault
    assert "--allow-unknown-price" in fault
    assert server.count == 0


def test_a_model_without_a_price_can_be_allowed(bench: Bench, tiny: Tiny) -> None:
    words = ("run", "tiny", "-p", "actor", "--max-cost", "1", "--allow-unknown-price", *tiny.options())
    ended = bench(*words)
    assert ended.status == 0
    assert "--max-cost does not count the calls of actor" in ended.err
    assert "10 calls of unknown price" in ended.out


def test_without_a_limit_no_price_is_needed(bench: Bench, tiny: Tiny) -> None:
    assert bench("run", "tiny", "-p", "actor", *tiny.options()).status == 0


def test_a_budget_stops_a_run_cleanly_and_the_next_goes_on(
    bench: Bench, tiny: Tiny, server: ScriptedServer
) -> None:
    whole = bench("plan", "tiny", *tiny.options())
    assert whole.status == 0
    ended = bench("run", "tiny", "--max-cost", "0.003", *tiny.options())
    assert ended.status == 3
    told = re.fullmatch(
        r"bench: stopped by --max-cost: \$(0\.00\d\d) spent; .*",
        ended.err.splitlines()[-1],
    )
    assert told is not None, ended.err
    assert float(told[1]) >= 0.003
    assert f"{server.count} requests sent" in ended.out
    assert 0 < server.count < ALL
    assert bench("run", "tiny", *tiny.options()).status == 0
    assert server.count == ALL
    assert len(list(tiny.tree.judgements("tiny", "en", "bard"))) == TALKS


def test_a_budget_of_nothing_sends_nothing_that_costs(
    bench: Bench, tiny: Tiny, server: ScriptedServer
) -> None:
    ended = bench("run", "tiny", "--max-cost", "0", *tiny.options())
    assert ended.status == 3
    assert "the next call is not free" in ended.err
    assert "spent" not in ended.err
    assert server.count == 0


def test_a_budget_of_nothing_lets_free_models_work(bench: Bench, tiny: Tiny, server: ScriptedServer) -> None:
    text = tiny.models.read_text(encoding="utf-8")
    tiny.models.write_text(text.replace('input = "1", output = "2"', 'input = "0", output = "0"'))
    ended = bench("run", "tiny", "--max-cost", "0", *tiny.options())
    assert (ended.status, server.count) == (0, ALL)


def test_a_budget_of_nothing_is_enough_for_what_the_cache_holds(
    bench: Bench, ran: Tiny, server: ScriptedServer
) -> None:
    before = bytes_below(ran.tree.root)
    shutil.rmtree(ran.tree.root)
    assert bench("run", "tiny", "--max-cost", "0", *ran.options()).status == 0
    assert (server.count, bytes_below(ran.tree.root)) == (ALL, before)


def test_a_free_player_gets_no_call_further_than_a_judge_that_costs(
    bench: Bench, tiny: Tiny, server: ScriptedServer
) -> None:
    text = tiny.models.read_text(encoding="utf-8")
    free, judges = text.split("[models.strict]")
    free = free.replace('input = "1", output = "2"', 'input = "0", output = "0"')
    tiny.models.write_text(f"{free}[models.strict]{judges}", encoding="utf-8")
    ended = bench("run", "tiny", "--max-cost", "0", *tiny.options())
    assert ended.status == 3
    assert models_asked(server)["strict-1"] == 0
    assert list(tiny.tree.conversations("tiny", "en", "bard"))


@pytest.mark.parametrize("more", [(), ("--allow-unknown-price",)])
def test_a_budget_of_nothing_refuses_unknown_prices(
    bench: Bench, tiny: Tiny, server: ScriptedServer, more: tuple[str, ...]
) -> None:
    fault = bench("run", "tiny", "-p", "actor", "--max-cost", "0", *more, *tiny.options()).fault
    assert "--max-cost 0" in fault
    assert "the price of actor is unknown" in fault
    assert server.count == 0


def test_no_more_calls_are_made_at_once_than_the_provider_allows(
    bench: Bench, tiny: Tiny, server: ScriptedServer
) -> None:
    edit(tiny.models, "max_concurrent = 4", "max_concurrent = 2")
    server.delay = 0.01
    assert bench("run", "tiny", *tiny.options()).status == 0
    assert server.most_at_once == 2
