"""--max-cost on whole runs, and where it cannot be kept."""

from __future__ import annotations

from decimal import Decimal

from tests.cli.conftest import Bench
from tests.scripted_server import ScriptedServer, completion, plausible_text
from tests.tiny import Tiny, edit

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
