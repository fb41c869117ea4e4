"""What comparisons count, the board by rating that they make, and their records."""

from __future__ import annotations

import json
import shutil

import pytest
from click.testing import CliRunner

import bench
from bench.boards.life import remove_player, rename_player
from bench.cli import cli
from bench.cli.rating_text import rating_text
from bench.records import canonical, sealed
from bench.results import ResultsTree
from bench.results.comparisons import comparison_path, comparisons, comparisons_folder
from bench.scores.pairwise_data import balance_of, connected
from bench.scores.pairwise_records import Rating, Tally
from tests.comparing.conftest import (
    CRITERIA,
    PAIRS,
    PLAYERS,
    SCENES,
    Judge,
    Margin,
    compare,
    fair,
    found,
    invoke,
    places,
    rating,
)
from tests.tiny import Tiny

pytestmark = pytest.mark.block_network(allowed_hosts=["127\\.0\\.0\\.1"])


def test_the_rating_follows_the_judge(compared: Tiny) -> None:
    made = rating(compared)
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
    failed = "" if "counts" in made.standings else "12 failed comparisons without effect; --retry-failed"
    assert failed in invoke(tiny, "plan", "tiny", "--compare")


def test_a_judge_that_the_suite_does_not_name_moves_no_rating(compared: Tiny, judge: Judge) -> None:
    """As on the board by score: the suite's judges count, whoever else compared. Without any, all do."""
    judge.margin = lambda first, second: -fair(first, second)
    assert len(compare(compared, judges=["lenient"])) == 2 * PAIRS * SCENES
    made = rating(compared)
    assert [row.player for row in made.rows] == list(PLAYERS)
    assert made.rows[0].tally.wins == 2 * SCENES
    assert made.standings == {"counts": PAIRS * SCENES, "other_judge": PAIRS * SCENES}
    text = rating_text(made)
    assert f"{PAIRS * SCENES} by a judge that the suite does not name" in text
    assert "lenient moves no rating: the suite does not name it as a judge." in text
    shutil.rmtree(comparisons_folder(compared.tree, "tiny", "en") / "strict")
    assert [row.player for row in rating(compared).rows] == list(reversed(PLAYERS))


def test_chosen_judges_alone_move_ratings_whether_or_not_the_suite_names_them(
    compared: Tiny, judge: Judge
) -> None:
    """The suite names strict, who is fair; lenient, the other way round, gives each player its opposite."""
    judge.margin = lambda first, second: -fair(first, second)
    compare(compared, judges=["lenient"])
    usual = rating(compared)
    assert rating(compared, judges=["strict"]).rows == usual.rows
    words = ("rating", "tiny", "--judge", "lenient")
    made = Rating.model_validate_json(invoke(compared, *words, "--format", "json"))
    assert [(row.player, row.tally) for row in made.rows] == [
        ("lenient", Tally(wins=8)),
        ("actor", Tally(wins=4, losses=4)),
        ("bard", Tally(losses=8)),
    ]
    ratings = {row.player: row.rating or 0.0 for row in usual.rows}
    for row in made.rows:
        assert row.rating == pytest.approx(-ratings[row.player], abs=1e-6)
    assert made.standings == {"counts": PAIRS * SCENES}
    assert [row.judge for row in made.judges] == ["lenient"]
    assert [(row.score, row.score_rank) for row in reversed(made.rows)] == [
        (row.score, row.score_rank) for row in usual.rows
    ]
    assert "strict" not in invoke(compared, *words)
    both = rating(compared, judges=["lenient", "strict"])
    assert both.standings == {"counts": 2 * PAIRS * SCENES}
    assert {row.tally for row in both.rows} == {Tally(wins=8, losses=8)}


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


def test_orders_that_prefer_different_players_are_a_tie_whatever_their_margins(compared: Tiny) -> None:
    record = next(comparisons(compared.tree, "tiny", "en"))

    def balance(*margins: int) -> float:
        given = [dict.fromkeys(CRITERIA, margin) for margin in margins]
        orders = zip(record.orders, given, strict=True)
        made = tuple(order.model_copy(update={"margins": margin}) for order, margin in orders)
        return balance_of(record.model_copy(update={"orders": made}))

    assert [balance(3, 1), balance(3, -1), balance(3, 0), balance(-1, 2)] == [0.0, 2.0, 1.5, -1.5]


def test_only_a_chain_of_comparisons_connects_players() -> None:
    pairs = [("a", "b"), ("d", "e"), ("b", "c"), ("f", "g"), ("e", "f")]
    assert connected(pairs) == [{"d", "e", "f", "g"}, {"a", "b", "c"}]


def test_an_edited_margin_is_found_and_reparsing_restores_it(tiny: Tiny) -> None:
    record = compare(tiny, most=1)[0]
    verdict = record.orders[0].model_copy(update={"margins": dict.fromkeys(CRITERIA, 3)})
    edited = sealed(record.model_copy(update={"orders": (verdict, record.orders[1])}))
    path = comparison_path(tiny.tree, record)
    path.write_text(canonical(edited.plain()), encoding="utf-8")
    assert found(tiny, "error") == {"reread"}
    assert "1 comparison re-parsed, 1 changed" in invoke(tiny, "compare", "tiny", "--reparse")
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


def test_a_renamed_player_keeps_its_comparisons(compared: Tiny) -> None:
    tiny = compared
    before = list(comparisons(tiny.tree, "tiny", "en"))
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


def test_a_removed_player_takes_its_comparisons_with_it(compared: Tiny) -> None:
    tiny = compared
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


def test_an_unknown_judge_is_named_as_on_the_board(compared: Tiny) -> None:
    ended = CliRunner().invoke(cli, ["rating", "tiny", "-j", "strikt", *compared.options()])
    assert str(ended.exception) == "tiny en: no comparisons by strikt. Did you mean 'strict'?"
