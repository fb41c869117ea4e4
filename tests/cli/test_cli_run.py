"""Whole commands against a scripted server: run, judge, reparse, board; limits, signals, the cache."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time

import pytest

from bench import files
from bench.records import digest_of
from tests.cli.conftest import ALL, TALKS, Bench, models_asked
from tests.scripted_server import ScriptedServer
from tests.tiny import Tiny, bytes_below, edit

# --- run -------------------------------------------------------------------------------------------------


def test_a_run_leaves_the_whole_evidence(bench: Bench, tiny: Tiny, server: ScriptedServer) -> None:
    ended = bench("run", "tiny", *tiny.options())
    assert ended.status == 0
    assert f"{TALKS} conversations (0 failed), {TALKS} judgements (0 failed)" in ended.out
    assert server.count == ALL
    folder = tiny.tree.player_folder("tiny", "en", "bard")
    scenes = {f"{c}.{s}.json" for c in ("anna", "bruno") for s in ("hello", "storm")}
    assert {path.name for path in (folder / "conversations").iterdir()} == scenes
    assert {path.name for path in (folder / "judgements" / "strict").iterdir()} == scenes


def test_a_run_reports_money_and_calls(bench: Bench, tiny: Tiny) -> None:
    ended = bench("run", "tiny", *tiny.options())
    assert f"{ALL} requests sent, 0 of them retries, 0 replies from cache" in ended.out
    assert "$0.0" in ended.out
    assert f"conversations {TALKS}/{TALKS}" in ended.err
    assert "tokens" in ended.err


def test_records_hold_every_call_with_its_cost(done: Tiny) -> None:
    for conversation in done.tree.conversations("tiny", "en", "bard"):
        assert conversation.digest == digest_of(conversation)
        assert len(conversation.calls) == len(conversation.messages)
        for call in conversation.calls:
            assert call.usage is not None
            assert call.cost is not None
            assert (call.finish_reason, call.system_fingerprint) == ("stop", "fp_scripted")
            assert call.seed is not None


def test_records_hold_no_path_address_or_time_of_this_machine(done: Tiny, server: ScriptedServer) -> None:
    for data in bytes_below(done.tree.root).values():
        text = data.decode()
        for word in (str(done.root), f":{server.port}", "127.0.0.1", time.strftime("%Y-"), "created"):
            assert word not in text


def test_a_second_run_makes_no_request_and_leaves_every_byte(
    bench: Bench, ran: Tiny, server: ScriptedServer
) -> None:
    before = bytes_below(ran.tree.root)
    ended = bench("run", "tiny", *ran.options())
    assert ended.status == 0
    assert ended.out == "tiny en: nothing new to run.\n"
    assert server.count == ALL
    assert bytes_below(ran.tree.root) == before


def test_a_replay_from_the_cache_makes_no_request_and_equal_bytes(
    bench: Bench, ran: Tiny, server: ScriptedServer
) -> None:
    before = bytes_below(ran.tree.root)
    shutil.rmtree(ran.tree.root)
    connections = server.connections
    ended = bench("run", "tiny", *ran.options())
    assert f"0 requests sent, 0 of them retries, {ALL} replies from cache; $0" in ended.out
    assert (server.count, server.connections) == (ALL, connections)
    assert bytes_below(ran.tree.root) == before


def test_without_the_cache_everything_is_asked_again(bench: Bench, ran: Tiny, server: ScriptedServer) -> None:
    before = bytes_below(ran.tree.root)
    shutil.rmtree(ran.tree.root)
    assert bench("run", "tiny", "--no-cache", *ran.options()).status == 0
    assert server.count == 2 * ALL
    assert set(bytes_below(ran.tree.root)) == set(before)


def test_a_player_of_ones_own_choice_is_run(bench: Bench, tiny: Tiny, server: ScriptedServer) -> None:
    assert bench("run", "tiny", "-p", "actor", *tiny.options()).status == 0
    assert models_asked(server) == {"actor-1": 10, "asker-1": 10, "strict-1": 4}


def test_what_is_named_twice_is_done_once(bench: Bench, tiny: Tiny, server: ScriptedServer) -> None:
    words = ["-p", "bard", "-p", "bard", "-j", "strict", "-j", "strict", "-l", "en", "-l", "en"]
    ended = bench("run", "tiny", "--no-cache", *words, *tiny.options())
    assert f"{TALKS} conversations (0 failed), {TALKS} judgements" in ended.out
    assert server.count == ALL


def test_a_new_player_leaves_the_others_untouched(bench: Bench, done: Tiny) -> None:
    before = bytes_below(done.tree.root)
    assert bench("run", "tiny", "-p", "bard", "-p", "actor", *done.options()).status == 0
    after = bytes_below(done.tree.root)
    assert {name: after[name] for name in before} == before
    assert len(after) == 2 * len(before)


def test_a_missing_file_alone_is_made_again(bench: Bench, ran: Tiny, server: ScriptedServer) -> None:
    before = bytes_below(ran.tree.root)
    ran.tree.judgement_path(ran.cell(), "strict").unlink()
    ended = bench("run", "tiny", "--no-cache", *ran.options())
    assert "0 conversations (0 failed), 1 judgement" in ended.out
    assert server.count == ALL + 1
    assert set(bytes_below(ran.tree.root)) == set(before)


def test_leftovers_of_a_killed_run_are_cleared_away(bench: Bench, done: Tiny) -> None:
    child = subprocess.Popen([sys.executable, "-S", "-c", ""])
    child.wait()
    path = done.tree.root / f".tmp-{files._HOST}-{child.pid}-0"
    path.write_bytes(b"half")
    assert bench("run", "tiny", *done.options()).status == 0
    assert not path.exists()


# --- plan ------------------------------------------------------------------------------------------------


def test_a_plan_shows_calls_and_cost_and_calls_nobody(
    bench: Bench, tiny: Tiny, server: ScriptedServer
) -> None:
    before = bytes_below(tiny.root)
    ended = bench("plan", "tiny", *tiny.options())
    assert (ended.status, ended.err) == (0, "")
    assert "conversations: 4 missing" in ended.out
    assert f"Total: {ALL} calls, about $0.0" in ended.out
    assert server.count == 0
    assert bytes_below(tiny.root) == before


def test_a_plan_says_which_prices_are_unknown(bench: Bench, tiny: Tiny) -> None:
    ended = bench("plan", "tiny", "-p", "actor", *tiny.options())
    assert "unknown" in ended.out
    assert "without a price (actor)" in ended.out


def test_a_plan_says_how_much_reasoning_it_counts_or_that_it_counts_none(bench: Bench, tiny: Tiny) -> None:
    edit(tiny.models, 'name = "Bard"', 'name = "Bard"\nextra_body = { thinking = true }')
    assert "Not counted: the reasoning of bard" in bench("plan", "tiny", *tiny.options()).out
    edit(tiny.models, 'name = "Bard"', 'name = "Bard"\nreasoning_tokens = 150')
    said = bench("plan", "tiny", *tiny.options()).out
    assert "reasoning: ~1.5k (bard)" in said  # ten answers
    assert "Not counted" not in said


def test_a_plan_breaks_no_line(bench: Bench, tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    said = bench("plan", "tiny", "-p", "actor", *tiny.options()).out
    assert "  Total: 24 calls, about $0.0085 plus calls to models without a price (actor).\n" in said


def test_a_plan_of_a_finished_suite_has_nothing_to_do(bench: Bench, done: Tiny) -> None:
    assert "Nothing to do." in bench("plan", "tiny", *done.options()).out
