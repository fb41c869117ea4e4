"""The other protocols by the command line: estimated, run, stopped, audited, judged anew, shown."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from bench.records import Failure, sealed
from tests.cli.conftest import Bench
from tests.other_benches import ITEMS, Other, make_likeness, make_v1, write_items
from tests.scripted_server import ScriptedServer
from tests.tiny import bytes_below, edit

MAKERS = {"pingpong_v1": make_v1, "human_likeness": make_likeness}
CALLS = {"pingpong_v1": 10 + 14, "human_likeness": 4 + 8}
"""Of one player, all going well."""


@pytest.fixture(params=sorted(MAKERS))
def other(request: pytest.FixtureRequest, tmp_path: Path, server: ScriptedServer) -> Other:
    return MAKERS[request.param](tmp_path / "other", server.url)


def elsewhere(other: Other, results: Path) -> list[str]:
    words = other.options()
    words[words.index("--results") + 1] = str(results)
    return [*words, "--no-cache"]


def test_estimate_run_audit_board_cost_and_commit(bench: Bench, other: Other, server: ScriptedServer) -> None:
    words = other.options()
    estimated = bench("plan", other.suite, *words)
    assert (estimated.status, server.count) == (0, 0)
    assert f"Total: {CALLS[other.name]} calls" in estimated.out
    assert bench("run", other.suite, *words).status == 0
    assert server.count == CALLS[other.name]
    assert "nothing new to run" in bench("run", other.suite, *words).out
    assert bench("board", other.suite, "--write", *words).status == 0
    audit = bench("audit", other.suite, "--strict", *words)
    assert (audit.status, audit.err) == (0, "")
    costs = json.loads(bench("cost", *words, "--format", "json").out)
    assert "null" not in json.dumps(costs)
    assert str(CALLS[other.name]) in json.dumps(costs)


def test_shards_merge_to_the_tree_of_one_run(bench: Bench, other: Other, tmp_path: Path) -> None:
    assert bench("run", other.suite, *elsewhere(other, tmp_path / "whole")).status == 0
    for part in ("1/2", "2/2"):
        made = tmp_path / part.replace("/", "-")
        assert bench("run", other.suite, "--shard", part, *elsewhere(other, made)).status == 0
        shutil.copytree(made, tmp_path / "all", dirs_exist_ok=True)
    assert bytes_below(tmp_path / "all") == bytes_below(tmp_path / "whole")


def test_a_judgement_that_was_lost_is_made_again(bench: Bench, other: Other, server: ScriptedServer) -> None:
    words = [*other.options(), "--no-cache"]
    assert bench("run", other.suite, *words).status == 0
    before, calls = bytes_below(other.tree.root), server.count
    for path in other.tree.root.glob("*/*/*/judgements/*/*.json"):
        path.unlink()
    assert bench("judge", other.suite, *words).status == 0
    assert bytes_below(other.tree.root) == before
    assert server.count - calls == (0 if other.name == "pingpong_v1" else 8)


def test_judgements_are_read_anew_without_a_call(bench: Bench, other: Other, server: ScriptedServer) -> None:
    assert bench("run", other.suite, *other.options()).status == 0
    before, calls = bytes_below(other.tree.root), server.count
    ended = bench("judge", other.suite, "--reparse", *other.options())
    assert ended.status == 0
    assert (bytes_below(other.tree.root), server.count) == (before, calls)


def test_another_judge_cannot_be_named_in_version_1(
    bench: Bench, tmp_path: Path, server: ScriptedServer
) -> None:
    other = make_v1(tmp_path / "other", server.url)
    ended = bench("run", other.suite, "--judge", "strict", *other.options())
    assert "'strict' cannot judge" in ended.fault
    assert server.count == 0


def test_a_faulty_data_set_is_one_line_before_anyone_is_paid(
    bench: Bench, tmp_path: Path, server: ScriptedServer
) -> None:
    other = make_likeness(tmp_path / "other", server.url)
    write_items(other, [ITEMS[0], {**ITEMS[1], "real_answers": ["only one"]}])
    fault = bench("run", other.suite, *other.options()).fault
    assert "items.jsonl:2" in fault
    assert "real_answers" in fault
    assert server.count == 0


def test_orders_of_the_real_answers_are_analysed(
    bench: Bench, tmp_path: Path, server: ScriptedServer
) -> None:
    other = make_likeness(tmp_path / "other", server.url)
    edit(other.suite_file, "orders = 2", "orders = 3")
    assert bench("run", other.suite, *other.options()).status == 0
    ended = bench(
        "analyse", other.suite, "-l", "en", "--only", "orders", "--format", "json", *other.options()
    )
    (table,) = json.loads(ended.out)["analyses"]
    assert [row["what"] for row in table["rows"]] == [
        "spread",
        "other_band",
        "answer_1_first",
        "answer_2_first",
        "answer_3_first",
    ]
    assert all(row["items"] == 4 for row in table["rows"])


def test_a_judge_that_stopped_early_stays_failed_when_its_reply_can_be_parsed_again(
    bench: Bench, tmp_path: Path, server: ScriptedServer
) -> None:
    """It was asked about one order of two; a verdict of one order would pass for a whole one."""
    other = make_likeness(tmp_path / "other", server.url)
    assert bench("run", other.suite, *other.options()).status == 0
    cell = other.first()
    record = other.tree.judgement(cell, "strict")
    assert record is not None
    failure = Failure(role="judge", turn=1, outcome="parse_error", reason="order 1: fences")
    stopped = {
        "status": "failed",
        "failure": failure,
        "turns": (),
        "raw": record.raw[:1],
        "calls": record.calls[:1],
    }
    other.tree.write_judgement(sealed(record.model_copy(update=stopped)), replace=True)
    before = bytes_below(other.tree.root)
    assert bench("judge", other.suite, "--reparse", *other.options()).status == 0
    assert bytes_below(other.tree.root) == before
