"""Whole commands against a scripted server: run, judge, reparse, board; limits, signals, the cache."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from bench import files
from bench.records import Failure, digest_of, sealed
from tests.cli.conftest import Bench, Start, wait_for
from tests.scripted_server import Answer, ScriptedServer, Seen, completion, plausible
from tests.tiny import CALLS, Tiny, bytes_below, edit, play_all

TALKS = 4
ALL = sum(CALLS.values())
STOP_SECONDS = 3.0
"""Within which a signal ends a run."""


def models_asked(server: ScriptedServer) -> Counter[str]:
    return Counter(seen.body["model"] for seen in server.seen)


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
    assert f"0 requests sent, 0 of them retries, {ALL} replies from cache; $0.0000" in ended.out
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
    assert "0 conversations (0 failed), 1 judgements" in ended.out
    assert server.count == ALL + 1
    assert set(bytes_below(ran.tree.root)) == set(before)


def test_leftovers_of_a_killed_run_are_cleared_away(bench: Bench, done: Tiny) -> None:
    child = subprocess.Popen([sys.executable, "-S", "-c", ""])
    child.wait()
    path = done.tree.root / f".tmp-{files._HOST}-{child.pid}-0"
    path.write_bytes(b"half")
    assert bench("run", "tiny", *done.options()).status == 0
    assert not path.exists()


def test_a_recorded_failure_is_a_result_and_stays(bench: Bench, tiny: Tiny, server: ScriptedServer) -> None:
    def answer(seen: Seen) -> Answer:
        return completion("no JSON here", seen) if seen.body["model"] == "strict-1" else plausible(seen)

    server.answer = answer
    ended = bench("run", "tiny", *tiny.options())
    assert ended.status == 0
    assert f"{TALKS} judgements ({TALKS} failed)" in ended.out
    count = server.count
    assert "judgements: 4 failed" in bench("run", "tiny", *tiny.options()).err
    assert server.count == count


def test_recorded_failures_are_tried_again_on_request(
    bench: Bench, tiny: Tiny, server: ScriptedServer
) -> None:
    server.answer = lambda seen: (
        completion("no JSON here", seen) if seen.body["model"] == "strict-1" else plausible(seen)
    )
    assert bench("run", "tiny", *tiny.options()).status == 0
    server.answer = plausible
    ended = bench("run", "tiny", "--retry-failed", "--no-cache", *tiny.options())
    assert f"0 conversations (0 failed), {TALKS} judgements (0 failed)" in ended.out


UNUSABLE: dict[str, tuple[str, str]] = {
    "blank": ("", "stop"),
    "filtered": ("I must", "content_filter"),
    "not_json": ("no JSON here", "stop"),
}
"""What a model says, and its finish reason, so that the record fails."""


def unusable(model: str, way: str) -> Callable[[Seen], Answer]:
    """Answers as usual, except that ``model`` says something that cannot be used."""
    text, finish = UNUSABLE[way]
    return lambda seen: (
        completion(text, seen, finish_reason=finish) if seen.body["model"] == model else plausible(seen)
    )


FAILING = [
    (model, way)
    for model in ("asker-1", "bard-1", "strict-1")
    for way in UNUSABLE
    if (model, way) != ("bard-1", "not_json")
]


@pytest.mark.parametrize(("model", "way"), FAILING)
def test_retrying_failures_asks_again_and_replays_only_what_was_good(
    bench: Bench, tiny: Tiny, server: ScriptedServer, model: str, way: str
) -> None:
    server.answer = unusable(model, way)
    assert bench("run", "tiny", *tiny.options()).status == 0
    usable = sum(count for name, count in models_asked(server).items() if name != model)
    server.answer, server.seen = plausible, []
    ended = bench("run", "tiny", "--retry-failed", *tiny.options())
    assert f"{TALKS} judgements (0 failed)" in ended.out
    assert sum(models_asked(server).values()) == ALL - usable, "what had been answered well is not paid twice"


def test_a_retry_that_fails_again_ends(bench: Bench, tiny: Tiny, server: ScriptedServer) -> None:
    server.answer = unusable("strict-1", "blank")
    assert bench("run", "tiny", *tiny.options()).status == 0
    count = server.count
    assert (
        f"{TALKS} judgements ({TALKS} failed)"
        in bench("judge", "tiny", "--retry-failed", *tiny.options()).out
    )
    assert server.count == count + 3 * TALKS


def test_refreshing_stale_results_does_not_replay_what_had_failed(
    bench: Bench, tiny: Tiny, server: ScriptedServer
) -> None:
    template = tiny.prompts / "pingpong_v2" / "judge.jinja"
    server.answer = unusable("strict-1", "blank")
    assert bench("run", "tiny", *tiny.options()).status == 0
    server.answer = plausible
    for old, new in (("strictly", "mildly"), ("mildly", "strictly")):
        edit(template, old, new)
        ended = bench("run", "tiny", "--refresh-stale", *tiny.options())
        assert f"{TALKS} judgements (0 failed)" in ended.out


def test_stale_results_are_kept_until_they_are_to_be_refreshed(
    bench: Bench, done: Tiny, server: ScriptedServer
) -> None:
    before = bytes_below(done.tree.root)
    edit(done.card_file, "slow of speech", "quick of speech")
    ended = bench("run", "tiny", *done.options())
    assert "2 stale" in ended.err
    assert "2 conversations and 2 judgements are out of date" in ended.out
    assert "--refresh-stale" in ended.out
    assert bytes_below(done.tree.root) == before
    refreshed = bench("run", "tiny", "--refresh-stale", *done.options()).out
    assert "2 conversations" in refreshed
    assert "out of date" not in refreshed
    assert "stale" not in bench("run", "tiny", *done.options()).err


CHANGES: dict[str, tuple[str, str, str, int, int]] = {
    "card": ("prompts/characters/en/anna.toml", "slow of speech", "quick of speech", 2, 2),
    "situation": ("prompts/situations/en/hello.toml", "ask about", "ask after", 2, 0),
    "judge's template": ("prompts/pingpong_v2/judge.jinja", "strictly", "mildly", 0, 4),
    "player's parameters": ("prompts/pingpong_v2/tiny.toml", "temperature = 0.6", "temperature = 0.7", 4, 0),
    "player's model": ("models.toml", 'model = "bard-1"', 'model = "bard-2"', 4, 0),
    "judge's model": ("models.toml", 'model = "strict-1"', 'model = "strict-2"', 0, 4),
}
"""What is edited, and how many conversations and judgements become stale."""


@pytest.mark.parametrize("name", CHANGES)
def test_the_board_says_what_is_out_of_date_and_a_run_says_it_first(
    bench: Bench, done: Tiny, name: str
) -> None:
    file, old, new, conversations, judgements = CHANGES[name]
    edit(done.root / file, old, new)
    stale = json.loads(bench("board", "tiny", "--format", "json", *done.options()).out)["stale"]
    assert (stale["conversations"], stale["judgements"]) == (conversations, judgements)
    assert stale["players"] == ({"bard": conversations} if conversations else {})
    assert float(stale["cost"]) > 0
    assert f"about ${stale['cost']}" in bench("board", "tiny", *done.options()).out
    ended = bench("run", "tiny", "--player", "bard", "--player", "actor", *done.options())
    assert "out of date" in ended.out.splitlines()[0]
    assert f"about ${stale['cost']}" in ended.out.splitlines()[0]


def test_the_written_board_does_not_depend_on_the_current_prompts(bench: Bench, done: Tiny) -> None:
    bench("board", "tiny", "--write", *done.options())
    before = bytes_below(done.tree.root)
    edit(done.card_file, "slow of speech", "quick of speech")
    bench("board", "tiny", "--write", *done.options())
    assert bytes_below(done.tree.root) == before


def test_a_judge_added_later_is_mentioned_with_the_way_to_show_it(bench: Bench, done: Tiny) -> None:
    assert bench("judge", "tiny", "--judge", "lenient", *done.options()).status == 0
    board = json.loads(bench("board", "tiny", "--write", "--format", "json", *done.options()).out)
    assert (board["judges"], board["other_judges"]) == (["strict"], ["lenient"])
    shown = bench("board", "tiny", *done.options()).out
    options = "--judge strict --judge lenient"
    assert options in shown
    words = ["board", "tiny", "--format", "json", *options.split(), *done.options()]
    every = json.loads(bench(*words).out)
    assert sorted(every["judges"]) == ["lenient", "strict"]
    assert "other_judges" not in every
    assert "--judge lenient" in bench("plan", "tiny", *done.options()).out
    assert "not name" not in bench("plan", "tiny", "-j", "strict", "-j", "lenient", *done.options()).out


def test_a_judge_added_to_the_suite_is_missed_until_it_has_judged(bench: Bench, done: Tiny) -> None:
    edit(done.suite_file, 'models = ["strict"]', 'models = ["strict", "lenient"]')
    board = json.loads(bench("board", "tiny", "--format", "json", *done.options()).out)
    assert board["absent_judges"] == ["lenient"]
    assert "No judgements yet by lenient" in bench("board", "tiny", *done.options()).out
    assert f"{TALKS} missing" in bench("plan", "tiny", *done.options()).out
    assert bench("judge", "tiny", *done.options()).status == 0
    assert "absent_judges" not in json.loads(bench("board", "tiny", "--format", "json", *done.options()).out)


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


def test_a_plan_of_a_finished_suite_has_nothing_to_do(bench: Bench, done: Tiny) -> None:
    assert "Nothing to do." in bench("plan", "tiny", *done.options()).out


# --- judge -----------------------------------------------------------------------------------------------


def test_a_further_judge_talks_to_no_player(bench: Bench, done: Tiny, server: ScriptedServer) -> None:
    before = bytes_below(done.tree.root)
    server.seen.clear()
    ended = bench("judge", "tiny", "--judge", "lenient", *done.options())
    assert f"0 conversations (0 failed), {TALKS} judgements (0 failed)" in ended.out
    assert models_asked(server) == {"lenient-1": TALKS}
    after = bytes_below(done.tree.root)
    assert {name: after[name] for name in before} == before
    assert len([name for name in after if "/judgements/lenient/" in name]) == TALKS


def test_judging_covers_the_languages_that_have_results(bench: Bench, tiny: Tiny) -> None:
    for kind in ("characters", "situations"):
        shutil.copytree(tiny.prompts / kind / "en", tiny.prompts / kind / "ru")
    play_all(tiny, "en", "ru")
    assert bench("run", "tiny", "-l", "ru", *tiny.options()).status == 0
    ended = bench("judge", "tiny", "-j", "lenient", *tiny.options())
    assert (ended.status, f"{TALKS} judgements (0 failed)" in ended.out) == (0, True)


def test_judging_a_language_without_results_says_so(bench: Bench, done: Tiny) -> None:
    shutil.copytree(done.prompts / "characters" / "en", done.prompts / "characters" / "ru")
    shutil.copytree(done.prompts / "situations" / "en", done.prompts / "situations" / "ru")
    play_all(done, "en", "ru")
    assert "language ru" in bench("judge", "tiny", "-l", "ru", "-j", "lenient", *done.options()).fault


def spoil(tiny: Tiny, raw: str) -> Path:
    """A judgement as an older parser left it: failed, with a raw reply that today's parser reads."""
    record = tiny.tree.judgement(tiny.cell(), "strict")
    assert record is not None
    failure = Failure(role="judge", turn=1, outcome="parse_error", reason="fences")
    changes = {"status": "failed", "turns": (), "failure": failure, "raw": (raw,)}
    tiny.tree.write_judgement(sealed(record.model_copy(update=changes)), replace=True)
    return tiny.tree.judgement_path(tiny.cell(), "strict")


def test_reading_again_heals_a_judgement_without_a_call(
    bench: Bench, ran: Tiny, server: ScriptedServer
) -> None:
    record = ran.tree.judgement(ran.cell(), "strict")
    assert record is not None
    path = spoil(ran, f"```json\n{record.raw[0]}\n```")
    ended = bench("judge", "tiny", "--reparse", *ran.options())
    assert "tiny en: 4 judgements re-parsed, 1 changed" in ended.out
    healed = json.loads(path.read_bytes())
    assert healed["status"] == "ok"
    assert healed["repairs"] == ["fence_removed"]
    assert server.count == ALL


def test_reading_again_where_nothing_changes_leaves_every_byte(bench: Bench, done: Tiny) -> None:
    before = bytes_below(done.tree.root)
    assert "4 judgements re-parsed, 0 changed" in bench("judge", "tiny", "--reparse", *done.options()).out
    assert bytes_below(done.tree.root) == before


def test_reading_again_is_for_the_judges_that_are_named(bench: Bench, done: Tiny) -> None:
    ended = bench("judge", "tiny", "--reparse", "-j", "lenient", *done.options())
    assert ended.status == 0
    zero, nothing = ended.out.splitlines()
    assert zero == "tiny en: 0 judgements re-parsed, 0 changed"
    assert "no judgement by lenient" in nothing


def test_judging_says_what_naming_a_player_means_there(bench: Bench) -> None:
    told = " ".join(bench("judge", "--help").out.split())
    assert "Default: every player with results." in told
    assert "Default: the suite's players." not in told
    assert "Default: the suite's players." in " ".join(bench("run", "--help").out.split())


# --- board -----------------------------------------------------------------------------------------------


def test_a_board_as_json_has_the_promised_keys(bench: Bench, done: Tiny) -> None:
    ended = bench("board", "tiny", "--language", "en", "--format", "json", *done.options())
    assert "stale" not in json.loads(ended.out)
    (row,) = json.loads(ended.out)["rows"]
    promised = {
        "player",
        "rank",
        "length_norm_score",
        "length_norm_ci",
        "score",
        "score_ci",
        "in_character",
        "entertaining",
        "fluency",
        "refusal_ratio",
        "avg_length",
        "conversations",
        "judgements_failed",
    }
    assert promised <= set(row)
    assert (row["player"], row["rank"], row["conversations"], row["judgements_failed"]) == ("bard", 1, 4, 0)


def test_a_board_as_csv_has_a_row_a_player(bench: Bench, done: Tiny) -> None:
    assert bench("run", "tiny", "-p", "actor", *done.options()).status == 0
    lines = bench("board", "tiny", "-l", "en", "--format", "csv", *done.options()).out.splitlines()
    assert len(lines) == 3
    assert {"actor", "bard"} <= set(",".join(lines[1:]).split(","))


def test_a_board_as_a_table_says_what_it_is_of(bench: Bench, done: Tiny) -> None:
    out = bench("board", "tiny", *done.options()).out
    assert "Tiny, en, version 1, judged by strict" in out
    assert "Bard" in out or "bard" in out


def test_a_board_is_the_same_every_time(bench: Bench, done: Tiny) -> None:
    words = ["board", "tiny", "-l", "en", "--format", "json", *done.options()]
    assert bench(*words).out == bench(*words).out


def test_a_board_is_written_where_it_is_wanted(bench: Bench, done: Tiny) -> None:
    assert bench("board", "tiny", "--write", *done.options()).status == 0
    printed = bench("board", "tiny", "--format", "json", *done.options()).out
    assert json.loads((done.tree.root / "tiny" / "en" / "board.json").read_bytes()) == json.loads(printed)


def test_a_judge_that_was_added_does_not_change_the_board(bench: Bench, done: Tiny) -> None:
    words = ["board", "tiny", "-l", "en", "--write", *done.options()]
    bench(*words)
    before = (done.tree.board_folder("tiny", "en") / "board.json").read_bytes()
    assert bench("judge", "tiny", "-j", "lenient", *done.options()).status == 0
    bench(*words)
    assert (done.tree.board_folder("tiny", "en") / "board.json").read_bytes() == before


# --- limits ----------------------------------------------------------------------------------------------


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


# --- signals ---------------------------------------------------------------------------------------------


def slowdown() -> float:
    """How many times slower than alone a process is on this machine, where others want its processors too."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_run_soon_with_what_is_finished_and_the_next_goes_on(
    bench: Bench, start: Start, tiny: Tiny, server: ScriptedServer, number: signal.Signals
) -> None:
    server.delay = 0.25
    edit(tiny.models, "max_concurrent = 4", "max_concurrent = 1")
    process = start("run", "tiny", *tiny.options())
    wait_for(process, lambda: list(tiny.tree.conversations("tiny", "en", "bard")))
    process.send_signal(number)
    sent = time.monotonic()
    _, err = process.communicate(timeout=60)
    assert time.monotonic() - sent < STOP_SECONDS * slowdown()
    assert process.returncode == 128 + number
    assert "Traceback" not in err
    assert err.splitlines()[-1].startswith("bench: stopped; finished work is kept.")
    assert not list(tiny.root.rglob(".tmp-*"))
    before = bytes_below(tiny.tree.root)
    kept = [name for name in before if "/conversations/" in name]
    assert 1 <= len(kept) < TALKS
    edit(tiny.models, "max_concurrent = 1", "max_concurrent = 4")
    ended = bench("run", "tiny", *tiny.options())
    assert f"{TALKS - len(kept)} conversations (0 failed)" in ended.out
    after = bytes_below(tiny.tree.root)
    assert {name: after[name] for name in before} == before
    assert len([name for name in after if "/judgements/" in name]) == TALKS


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_run_against_a_server_that_never_answers_ends_on_ctrl_c(
    tiny: Tiny, server: ScriptedServer, start: Start
) -> None:
    server.answer = lambda seen: Answer(way="stall")
    process = start("run", "tiny", *tiny.options())
    wait_for(process, lambda: server.count)
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    _, err = process.communicate(timeout=60)
    assert time.monotonic() - sent < STOP_SECONDS * slowdown()
    assert "Traceback" not in err
    assert bytes_below(tiny.tree.root) == {}


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_run_that_nohup_started_outlives_its_terminal(
    tiny: Tiny, server: ScriptedServer, start: Start
) -> None:
    server.delay = 0.05
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = start("run", "tiny", *tiny.options())
    finally:
        signal.signal(signal.SIGHUP, before)
    wait_for(process, lambda: server.count)
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=60)
    assert (process.returncode, server.count) == (0, ALL)
