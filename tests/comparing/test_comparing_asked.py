"""Comparing players in pairs: what judges are asked, by calls or in batches, and when it ends."""

from __future__ import annotations

import shutil
from decimal import Decimal
from typing import Any

import pytest
from click.testing import CliRunner

import bench
from bench.boards.comparing import CompareJob
from bench.boards.loading import all_suites
from bench.cli import cli
from bench.protocol_facts import facts_of
from bench.protocols.comparing import Comparer, comparable, templates_of
from bench.records import Message, canonical
from bench.results.comparison_records import Comparison
from bench.results.comparisons import comparison_path, comparisons, write_comparison
from bench.run.comparing import CompareWork
from tests.comparing.conftest import (
    PAIRS,
    PLAYERS,
    SCENES,
    WORDS,
    Judge,
    compare,
    fair,
    found,
    invoke,
    places,
    rating,
)
from tests.scripted_batches import BatchServer
from tests.tiny import ROOT, Tiny, edit

pytestmark = pytest.mark.block_network(allowed_hosts=["127\\.0\\.0\\.1"])


def test_every_pair_is_asked_in_both_orders_without_names(tiny: Tiny, judge: Judge) -> None:
    records = compare(tiny)
    assert len(records) == PAIRS * SCENES
    assert len(judge.prompts) == 2 * len(records)
    for prompt in judge.prompts:
        assert "SECRET CARD" in prompt
        assert not any(name.lower() in prompt.lower() for name in (*PLAYERS, *WORDS))
    for record in records:
        first, second = record.orders
        assert first.margins == {name: -margin for name, margin in second.margins.items()}
        assert all(len(verdict.raw) == len(verdict.calls) == 1 for verdict in record.orders)
        path = comparison_path(tiny.tree, record)
        assert path.read_text(encoding="utf-8") == canonical(record.plain())
        scene = f"{record.character}.{record.situation}"
        assert path.relative_to(tiny.tree.root).parts == (
            *("tiny", "en", "_comparisons", "strict", scene),
            "~".join(record.players) + ".json",
        )
    assert found(tiny, "error", "warning", "note") == set()
    asked = len(judge.prompts)
    assert bench.compare_suite("tiny", **places(tiny)).planned_comparisons == 0
    assert len(judge.prompts) == asked


def test_every_criterion_that_can_be_compared_has_a_statement() -> None:
    seen = set()
    for suite in all_suites(ROOT / "prompts").values():
        facts = facts_of(suite.protocol)
        if comparable(facts) and suite.protocol not in seen:
            seen.add(suite.protocol)
            text = (templates_of(suite) / "judge.jinja").read_text(encoding="utf-8")
            assert [n for n in facts.criterion_names if f'"{n}"' not in text and f"- {n}:" not in text] == []
    assert len(seen) >= 4


def test_the_prompt_says_how_different_user_messages_are_handled(tiny: Tiny, judge: Judge) -> None:
    compare(tiny, most=1)
    assert "Compare the bots, not the users" in judge.prompts[0]


def test_a_cost_limit_stops_and_the_same_command_goes_on(tiny: Tiny, judge: Judge) -> None:
    report = bench.compare_suite("tiny", **places(tiny), max_cost=Decimal("0.01"))
    made = len(list(comparisons(tiny.tree, "tiny", "en")))
    assert report.budget_reached
    assert 0 < made < PAIRS * SCENES
    asked = len(judge.prompts)
    assert len(compare(tiny)) == PAIRS * SCENES
    assert len(judge.prompts) - asked <= 2 * (PAIRS * SCENES - made)


def test_shards_share_the_work(tiny: Tiny) -> None:
    from bench.run.shards import Shard

    counts = [len(compare(tiny, shard=Shard(number, 2), most=100)) for number in (1, 2)]
    assert 0 < counts[0] < counts[1] == PAIRS * SCENES


def test_rotating_judges_take_turns(tiny: Tiny) -> None:
    records = compare(tiny, judges=["strict", "lenient"], rotate=True)
    by = [record.judge for record in records]
    assert len(by) == PAIRS * SCENES
    assert by.count("strict") == by.count("lenient")


def test_batches_make_the_comparisons_that_ordinary_calls_make(tiny: Tiny, server: BatchServer) -> None:
    def plain(records: list[Comparison]) -> list[dict[str, Any]]:
        made = [record.plain() | {"digest": ""} for record in records]
        for call in (call for record in made for verdict in record["orders"] for call in verdict["calls"]):
            call |= {"batch": None, "cost": None}
        return made

    rotating: dict[str, Any] = {"judges": ["strict", "lenient"], "rotate": True}
    batched = compare(tiny, **rotating, batch=True, poll_seconds=0.01)
    assert (server.count, len(server.batch_lines)) == (0, 2 * PAIRS * SCENES)
    assert all(call.batch for record in batched for call in record.calls)
    assert found(tiny, "error", "warning") == set()
    for folder in (tiny.tree.root / "tiny" / "en" / "_comparisons", tiny.root / "cache"):
        shutil.rmtree(folder)
    assert plain(compare(tiny, **rotating)) == plain(batched)
    assert server.count == 2 * PAIRS * SCENES


def test_what_a_batch_compares_is_chosen_once(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int | None] = []
    choose = CompareJob.next_round

    def noted(job: CompareJob, size: int | None = None) -> list[CompareWork]:
        sizes.append(size)
        return choose(job, size)

    monkeypatch.setattr(CompareJob, "next_round", noted)
    assert len(compare(tiny, batch=True, poll_seconds=0.01)) == PAIRS * SCENES
    assert sizes == [None]


def test_what_a_batch_leaves_unanswered_waits_for_the_next_one(tiny: Tiny, server: BatchServer) -> None:
    server.ends = [("expired", 11)]
    report = bench.compare_suite("tiny", **places(tiny), batch=True, poll_seconds=0.01)
    assert (report.comparisons, len(report.unanswered)) == (5, 13)
    ended = CliRunner().invoke(cli, ["compare", "tiny", "--batch", "--poll", "0.01", *tiny.options()])
    assert ended.exit_code == 0, ended.output
    assert "7 comparisons (0 failed in at least one order); 0 requests sent" in ended.output
    keys = [line["custom_id"] for line in server.batch_lines]
    assert (len(keys), len(set(keys))) == (24 + 13, 24)


@pytest.mark.parametrize("batch", [True, False])
def test_answers_of_a_killed_command_are_used_by_the_next(
    tiny: Tiny, server: BatchServer, judge: Judge, monkeypatch: pytest.MonkeyPatch, batch: bool
) -> None:
    """Killed at the second record: what was stored until then changes which pairs are most telling."""
    limits: dict[str, Any] = {"most": 6, "batch": batch, "poll_seconds": 0.01}
    stored: list[bool] = []

    def dying(*words: Any, **options: Any) -> bool:
        if stored:
            raise KeyboardInterrupt
        stored.append(write_comparison(*words, **options))
        return True

    judge.margin = lambda first, second: -fair(first, second)
    with monkeypatch.context() as patch:
        patch.setattr("bench.run.comparing.write_comparison", dying)
        with pytest.raises(KeyboardInterrupt):
            compare(tiny, **limits)
    paid = set(judge.prompts)
    assert len(compare(tiny, **limits | {"seed": 7})) == 6
    assert paid <= set(judge.prompts)
    assert 0 <= len(set(judge.prompts)) - 2 * 6 <= (0 if batch else 4)  # a call in flight may be lost
    assert len(judge.prompts) == 2 * 6 or not batch
    assert len(compare(tiny, **limits | {"most": 7})) == 7
    notes = len(list((tiny.root / "cache" / "rounds").rglob("*.json")))
    assert notes == 1 or (notes == 2 and not batch)  # the last command's, and one of what was never asked


@pytest.mark.parametrize("words", [("--width", "2"), ("--no-cache",), ("--reparse",)])
def test_what_batches_exclude_is_named(tiny: Tiny, words: tuple[str, ...]) -> None:
    ended = CliRunner().invoke(cli, ["compare", "tiny", "--batch", *words, *tiny.options()])
    assert ended.exit_code == 2
    assert "leave" in ended.output


def test_comparing_stops_once_the_intervals_are_narrow_enough(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.boards.comparing.SMALLEST_ROUND", 3)
    some = len(compare(tiny, width=40.0))
    assert 3 <= some < PAIRS * SCENES
    assert len(compare(tiny, width=40.0)) == some
    assert len(compare(tiny, width=0.001)) == PAIRS * SCENES


def test_prompts_may_lie_on_top_of_each_other(tiny: Tiny) -> None:
    """The suite and its cards in one folder, all templates in another."""
    shipped = tiny.root / "shipped"
    for name in ("comparison", "pingpong_v2"):
        shutil.copytree(tiny.prompts / name, shipped / name, ignore=shutil.ignore_patterns("*.toml"))
    shutil.rmtree(tiny.prompts / "comparison")
    words = [*tiny.options(), "--prompts", str(shipped)]
    for command in ("plan", "compare", "rating"):
        more = ["--compare"] if command == "plan" else []
        ended = CliRunner().invoke(cli, [command, "tiny", *more, *words], catch_exceptions=False)
        assert ended.exit_code == 0, ended.output
    assert len(list(comparisons(tiny.tree, "tiny", "en"))) == PAIRS * SCENES


def test_a_greeting_in_the_chat_is_no_answer_to_compare(tiny: Tiny) -> None:
    talks = [tiny.tree.conversation(tiny.cell(player=name)) for name in ("actor", "bard")]
    first, second = (talk for talk in talks if talk is not None)
    greeting = Message(role="assistant", content="The lamp is lit.")
    greeted = first.model_copy(update={"messages": (greeting, *first.messages)})
    comparer = Comparer(tiny.protocol())
    assert comparer.prompt(greeted, second) == comparer.prompt(first, second)


def test_changed_conversations_make_comparisons_stale(compared: Tiny) -> None:
    tiny = compared
    record = next(comparisons(tiny.tree, "tiny", "en"))
    path = tiny.tree.conversation_path(tiny.cell(record.character, record.situation, record.players[0]))
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("I like", "I really like"), encoding="utf-8")
    assert rating(tiny).standings == {"counts": PAIRS * SCENES - 2, "stale": 2}
    assert "conversation-changed" in found(tiny, "error")
    assert bench.compare_suite("tiny", **places(tiny)).comparisons == 0


def test_a_changed_template_makes_them_stale_too(tiny: Tiny) -> None:
    compare(tiny, most=2)
    edit(tiny.prompts / "comparison" / "judge.jinja", "You compare role play.", "Compare role play.")
    assert found(tiny, "error", "warning") == {"stale-comparison"}
    output = invoke(tiny, "plan", "tiny", "--compare", "--most", "2")
    assert "2 stale" in output
    report = bench.compare_suite("tiny", **places(tiny), refresh_stale=True, most=2)
    assert report.comparisons == 2
    assert found(tiny, "error", "warning") == set()
