"""Comparing players in pairs, from the judge's prompt to the board by rating."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import bench
from bench.audit import audit_tree
from bench.boards.life import remove_player, rename_player
from bench.boards.loading import all_suites
from bench.boards.rating import load_rating
from bench.cli import cli
from bench.cli.rating_text import rating_text
from bench.protocol_facts import facts_of
from bench.protocols.comparing import Comparer, comparable, templates_of
from bench.records import Message, canonical, sealed
from bench.results import ResultsTree
from bench.results.comparison_records import Comparison
from bench.results.comparisons import comparison_path, comparisons, comparisons_folder, write_comparison
from bench.scores.pairwise_data import balance_of, connected
from bench.scores.pairwise_records import Rating, Tally
from tests.scripted_batches import BatchServer
from tests.scripted_server import Answer, Seen, completion, plausible
from tests.tiny import ROOT, Tiny, edit, make_tiny

pytestmark = pytest.mark.block_network(allowed_hosts=["127\\.0\\.0\\.1"])

WORDS = {"bard-1": "lamps", "actor-1": "boats", "lenient-1": "kites"}
"""What each player always talks about, by its model."""
STRENGTH = {"lamps": 3, "boats": 2, "kites": 1}
PLAYERS = ("bard", "actor", "lenient")
PAIRS, SCENES = 3, 4
CRITERIA = ("in_character", "entertaining", "fluency")

Margin = Callable[[str, str], int | None]
"""A judge: the words of the conversations shown first and second to its margin; None: nothing usable."""


def fair(first: str, second: str) -> int:
    return STRENGTH[first] - STRENGTH[second]


class Judge:
    """Answers players by their word, and comparisons by ``margin``; ``refusing`` is the word of a refusal."""

    def __init__(self) -> None:
        self.margin: Margin = fair
        self.refusing = ""
        self.prompts: list[str] = []

    def __call__(self, seen: Seen) -> Answer:
        last = str(seen.body["messages"][-1]["content"])
        if "_margin" not in last:
            model = str(seen.body["model"])
            if model in WORDS and "response_format" not in seen.body:
                return completion(f"I like {WORDS[model]}. ({seen.digest % 997})", seen)
            return plausible(seen)
        self.prompts.append(last)
        first, second = (part for part in last.split("\nConversation ")[1:3])
        shown = [next(word for word in STRENGTH if f"I like {word}" in part) for part in (first, second)]
        margin = self.margin(*shown)
        if margin is None:
            return completion("I would rather not say.", seen)
        refused = [word == self.refusing for word in shown]
        reply: dict[str, Any] = {"refusal_explanation": "", "first_refuses": refused[0]}
        reply["second_refuses"] = refused[1]
        for name in CRITERIA:
            reply |= {f"{name}_explanation": f"'{shown[0]}' against '{shown[1]}'", f"{name}_margin": margin}
        return completion(json.dumps(reply), seen)


@pytest.fixture(scope="module")
def judge() -> Judge:
    return Judge()


@pytest.fixture(scope="module")
def server(judge: Judge) -> Iterator[BatchServer]:
    with BatchServer(judge).in_thread() as running:
        assert isinstance(running, BatchServer)
        yield running


@pytest.fixture(scope="module")
def played(server: BatchServer, tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    """Three players who have played all scenes and been judged, but not compared."""
    tiny = make_tiny(tmp_path_factory.mktemp("compare") / "tiny", server.url)
    shutil.copytree(ROOT / "prompts" / "comparison", tiny.prompts / "comparison")
    edit(tiny.models, "schema_limits = true\n", "schema_limits = true\nbatch = true\n")
    bench.run_suite("tiny", players=PLAYERS, **places(tiny))
    return tiny


@pytest.fixture
def tiny(played: Tiny, judge: Judge, server: BatchServer, tmp_path: Path) -> Tiny:
    judge.margin, judge.refusing = fair, ""
    judge.prompts.clear()
    server.batch_lines.clear()
    server.count = 0
    shutil.copytree(played.root, tmp_path / "tiny")
    return Tiny(tmp_path / "tiny")


def places(tiny: Tiny) -> dict[str, Any]:
    folders = {"results": tiny.tree.root, "cache": tiny.root / "cache"}
    return folders | {"models": tiny.models, "prompts": tiny.prompts}


def compare(tiny: Tiny, **options: Any) -> list[Comparison]:
    bench.compare_suite("tiny", **places(tiny), **options)
    return list(comparisons(tiny.tree, "tiny", "en"))


def rating(tiny: Tiny, **options: Any) -> Rating:
    prompts = all_suites(tiny.prompts)
    return load_rating(tiny.tree, "tiny", "en", prompts=prompts, catalog=tiny.catalog(), **options)


def found(tiny: Tiny, *severities: str) -> set[str]:
    report = audit_tree(tiny.tree, all_suites(tiny.prompts), tiny.catalog())
    return {f.code for f in report.findings if f.severity in severities and "_comparisons" in f.path}


def invoke(tiny: Tiny, *words: str) -> str:
    ended = CliRunner().invoke(cli, [*words, *tiny.options()], catch_exceptions=False)
    assert ended.exit_code == 0, ended.output
    return ended.output


# --- asking ----------------------------------------------------------------------------------------------


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


def test_what_a_batch_leaves_unanswered_waits_for_the_next_one(tiny: Tiny, server: BatchServer) -> None:
    server.ends = [("expired", 11)]
    report = bench.compare_suite("tiny", **places(tiny), batch=True, poll_seconds=0.01)
    assert (report.comparisons, len(report.unanswered)) == (5, 13)
    ended = CliRunner().invoke(cli, ["compare", "tiny", "--batch", "--poll", "0.01", *tiny.options()])
    assert ended.exit_code == 0, ended.output
    assert "7 comparisons (0 failed in an order); 0 requests sent" in ended.output
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


def test_changed_conversations_make_comparisons_stale(tiny: Tiny) -> None:
    record = compare(tiny)[0]
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


# --- what counts -----------------------------------------------------------------------------------------


def test_the_rating_follows_the_judge(tiny: Tiny) -> None:
    compare(tiny)
    made = rating(tiny)
    assert [row.player for row in made.rows] == list(PLAYERS)
    top = made.rows[0]
    assert (top.tally.wins, top.tally.ties, top.tally.losses) == (2 * SCENES, 0, 0)
    assert made.judges[0].flipped == 0
    assert made.judges[0].cycles == 0
    assert made.standings == {"counts": PAIRS * SCENES}
    pair = next(pair for pair in made.pairs if (pair.player, pair.other) == ("actor", "bard"))
    assert pair.tally.losses == SCENES
    assert {name: tally.losses for name, tally in pair.by_character.items()} == {"anna": 2, "bruno": 2}


@pytest.mark.parametrize(
    ("margin", "why"),
    [
        (lambda first, second: 0, "calls every pair a tie"),
        (lambda first, second: 2, "always prefers the same place"),
        (lambda first, second: fair(first, second) if first < second else None, "answered in one order only"),
        (lambda first, second: None, "gave no usable verdict"),
    ],
)
def test_a_judge_that_says_nothing_about_players_moves_no_rating(
    tiny: Tiny, judge: Judge, margin: Margin, why: str
) -> None:
    judge.margin = margin
    compare(tiny)
    made = rating(tiny)
    assert why in str(made.judges[0].left_out)
    assert all(row.rating is None and row.reason for row in made.rows)
    assert "strict moves no rating" in rating_text(made)
    assert (made.reason == "no comparison counts") == ("counts" not in made.standings)
    failed = "" if "counts" in made.standings else "12 failed comparisons move no rating; --retry-failed"
    assert failed in invoke(tiny, "plan", "tiny", "--compare")


def test_a_refusal_is_reported_and_is_no_win(tiny: Tiny, judge: Judge) -> None:
    judge.refusing = "boats"
    compare(tiny)
    made = rating(tiny)
    refused = next(row for row in made.rows if row.player == "actor")
    assert (refused.refusals, refused.tally.total, refused.rating) == (2 * SCENES, 0, None)
    assert "it refused in 8 comparisons" in str(refused.reason)
    assert made.standings == {"counts": SCENES, "refusal": 2 * SCENES}
    assert made.rows[0].tally.wins == SCENES


def test_a_player_that_never_finished_is_reported(tiny: Tiny) -> None:
    for cell in tiny.protocol().cells("actor"):
        talk = tiny.tree.conversation(cell)
        assert talk is not None
        failed = sealed(talk.model_copy(update={"status": "failed", "messages": talk.messages[:1]}))
        tiny.tree.write_conversation(failed, replace=True)
    output = invoke(tiny, "plan", "tiny", "--compare")
    assert "actor: 4 conversations" in output
    assert len(compare(tiny)) == SCENES
    row = next(row for row in rating(tiny).rows if row.player == "actor")
    assert (row.unfinished, row.rating) == (SCENES, None)
    assert "4 of its conversations" in str(row.reason)


def test_orders_that_prefer_different_players_are_a_tie_whatever_their_margins(tiny: Tiny) -> None:
    record = compare(tiny, most=1)[0]

    def balance(*margins: int) -> float:
        given = [dict.fromkeys(CRITERIA, margin) for margin in margins]
        orders = zip(record.orders, given, strict=True)
        made = tuple(order.model_copy(update={"margins": margin}) for order, margin in orders)
        return balance_of(record.model_copy(update={"orders": made}))

    assert [balance(3, 1), balance(3, -1), balance(3, 0), balance(-1, 2)] == [0.0, 2.0, 1.5, -1.5]


def test_only_a_chain_of_comparisons_connects_players() -> None:
    pairs = [("a", "b"), ("d", "e"), ("b", "c"), ("f", "g"), ("e", "f")]
    assert connected(pairs) == [{"d", "e", "f", "g"}, {"a", "b", "c"}]


# --- records ---------------------------------------------------------------------------------------------


def test_an_edited_margin_is_found_and_reparsing_restores_it(tiny: Tiny) -> None:
    record = compare(tiny, most=1)[0]
    verdict = record.orders[0].model_copy(update={"margins": dict.fromkeys(CRITERIA, 3)})
    edited = sealed(record.model_copy(update={"orders": (verdict, record.orders[1])}))
    path = comparison_path(tiny.tree, record)
    path.write_text(canonical(edited.plain()), encoding="utf-8")
    assert found(tiny, "error") == {"reread"}
    assert "1 comparisons re-parsed, 1 changed" in invoke(tiny, "compare", "tiny", "--reparse")
    assert next(comparisons(tiny.tree, "tiny", "en")) == record


def test_the_audit_finds_what_does_not_belong(tiny: Tiny) -> None:
    record = compare(tiny, most=1)[0]
    path = comparison_path(tiny.tree, record)
    shutil.copy(path, path.with_name("a~b.json"))
    path.with_suffix(".txt").write_text("x")
    (path.parents[1] / "player.json").write_text("{}")
    assert found(tiny, "error") == {"misplaced", "unknown-file"}
    assert [info.player for info in tiny.tree.players("tiny", "en")] == sorted(PLAYERS)
    assert list(ResultsTree(tiny.tree.root).boards()) == [("tiny", "en")]


def test_a_renamed_player_keeps_its_comparisons(tiny: Tiny) -> None:
    before = compare(tiny)
    rename_player(tiny.tree, "tiny", "bard", "zeta", "Another name.")
    after = list(comparisons(tiny.tree, "tiny", "en"))
    assert {record.players for record in after} == {
        ("actor", "lenient"),
        ("actor", "zeta"),
        ("lenient", "zeta"),
    }
    assert found(tiny, "error", "warning") == set()
    assert [row.tally for row in rating(tiny).rows] == [
        Tally(wins=8),
        Tally(wins=4, losses=4),
        Tally(losses=8),
    ]
    assert bench.compare_suite("tiny", **places(tiny)).planned_comparisons == 0
    rename_player(tiny.tree, "tiny", "zeta", "bard", "Back again.")
    assert list(comparisons(tiny.tree, "tiny", "en")) == before


def test_a_removed_player_takes_its_comparisons_with_it(tiny: Tiny) -> None:
    compare(tiny)
    (done,) = remove_player(tiny.tree, "tiny", "actor", "Retired.")
    assert done.records == 4 + 4 + 8
    assert {record.players for record in comparisons(tiny.tree, "tiny", "en")} == {("bard", "lenient")}
    assert found(tiny, "error", "warning") == set()
    remove_player(tiny.tree, "tiny", "lenient", "Retired too.")
    assert not comparisons_folder(tiny.tree, "tiny", "en").exists()


def test_commands_show_the_rating_and_its_cost(tiny: Tiny) -> None:
    output = invoke(tiny, "plan", "tiny", "--compare")
    assert "comparisons: none yet; 12 to make" in output
    assert "judge strict: 24 calls" in output
    (plan,) = json.loads(invoke(tiny, "plan", "tiny", "--compare", "--format", "json"))
    assert (plan["to_make"], plan["calls"][0]["calls"]) == (12, 24)
    invoke(tiny, "compare", "tiny")
    text = invoke(tiny, "rating", "tiny")
    assert "Comparisons: 12 count" in text
    made = Rating.model_validate_json(invoke(tiny, "rating", "tiny", "-l", "en", "--format", "json"))
    assert made == rating(tiny)
    assert "(pairs)" in invoke(tiny, "cost", "tiny")


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("rating", "tiny"), "no comparisons"),
        (("compare", "tiny", "-p", "nobody"), "nobody"),
        (("compare", "tiny", "-p", "bard"), "fewer than two players"),
        (("rating", "tiny", "-l", "xx"), "xx"),
    ],
)
def test_mistakes_are_named(tiny: Tiny, words: tuple[str, ...], fault: str) -> None:
    ended = CliRunner().invoke(cli, [*words, *tiny.options()])
    assert ended.exit_code != 0
    assert fault in str(ended.exception or ended.output)
