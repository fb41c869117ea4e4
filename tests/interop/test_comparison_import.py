"""Pairwise judgements of other projects: what is read, what is refused, and the ratings that follow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bench.audit import audit_tree
from bench.boards.rating import load_table_rating
from bench.cli import cli
from bench.errors import UserError
from bench.interop.comparison_import import ComparedColumns, import_comparisons
from bench.results import ResultsTree
from bench.results.compared import ComparedTable, compared_folder, read_compared
from bench.scores.pairwise_records import Rating, Tally
from bench.scores.pairwise_table import table_rating

ABOUT = {"title": "Other", "language": "en", "url": "https://example.org", "commit": "1", "licence": "MIT"}
HEAD = "question_id,judge,model_a,model_b,winner\n"


@pytest.fixture
def tree(tmp_path: Path) -> ResultsTree:
    (tmp_path / "results").mkdir()
    return ResultsTree(tmp_path / "results")


def imported(tree: ResultsTree, text: str, ending: str = "csv", **columns: Any) -> ComparedTable:
    path = tree.root.parent / f"table.{ending}"
    path.write_text(text, encoding="utf-8")
    return import_comparisons(tree, path, "other", ComparedColumns(**columns), ABOUT, replace=True)


def test_winners_by_place_and_by_name_become_margins(tree: ResultsTree) -> None:
    words = ("model_a", "B", "tie (bothbad)", "Xena", "yann", "Tie")
    rows = [f"q{n},j,xena,yann,{word}\n".replace("Xena", "xena") for n, word in enumerate(words)]
    made = imported(tree, HEAD + "".join(rows))
    assert [line.margin for line in made.lines] == [1, -1, 0, 1, -1, 0]
    assert read_compared(tree, "other") == made
    assert not audit_tree(tree, {}, None).findings


def test_a_table_of_margins_with_one_judge(tree: ResultsTree) -> None:
    lines = [{"item": 1, "a": "x", "b": "y", "m": 2.0}, {"item": 2, "a": "y", "b": "x", "m": -3}]
    names = {"scene": "item", "first": "a", "second": "b", "margin": "m", "one_judge": "only"}
    made = imported(tree, "".join(json.dumps(line) + "\n" for line in lines), "jsonl", **names)
    assert [tuple(line) for line in made.lines] == [("1", "only", "x", "y", 2), ("2", "only", "y", "x", -3)]


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("q,j,x,y,perhaps", "unknown winner 'perhaps'"),
        ("q,j,x,x,a", "compares 'x' with itself"),
        ("q,,x,y,a", "is not a name"),
        ("q,j,x,y", "has 4 fields"),
    ],
)
def test_an_unusable_line_is_named_and_nothing_is_written(tree: ResultsTree, row: str, fault: str) -> None:
    with pytest.raises(UserError, match=fault) as raised:
        imported(tree, f"{HEAD}q,j,x,y,a\n{row}\n")
    assert "table.csv:3" in raised.value.line()
    assert not compared_folder(tree, "other").exists()


def test_a_missing_column_names_its_option(tree: ResultsTree) -> None:
    with pytest.raises(UserError, match="--winner"):
        imported(tree, "question_id,judge,model_a,model_b,outcome\nq,j,x,y,a\n")


def test_a_damaged_table_is_found(tree: ResultsTree) -> None:
    imported(tree, f"{HEAD}q,j,x,y,a\n")
    source = compared_folder(tree, "other") / "source.toml"
    source.write_text(source.read_text(encoding="utf-8").replace('digest = "', 'digest = "0'))
    assert [finding.code for finding in audit_tree(tree, {}, None).findings] == ["compared-table"]


def test_the_rating_of_a_table_is_davidsons(tree: ResultsTree) -> None:
    """9 wins, 1 loss and 6 ties in each order: by Davidson (1970) the players differ by log(9)."""
    rows = []
    for n in range(16):
        winner = "x" if n < 9 else "y" if n == 9 else "tie"
        rows += [f"q{n},j,x,y,{winner}\n", f"q{n},j,y,x,{winner}\n"]
    made = table_rating(imported(tree, HEAD + "".join(rows)))
    top, other = made.rows
    assert (top.player, top.tally, other.tally.losses) == ("x", Tally(wins=18, ties=12, losses=2), 18)
    assert top.rating is not None
    assert other.rating is not None
    assert top.rating - other.rating == pytest.approx(2.197, abs=0.02)  # log(9), a little less by the ridge
    judge = made.judges[0]
    assert (judge.ties, judge.first, judge.flipped) == (0.375, 0.5, 0.0)


def test_the_rating_of_a_table_by_one_judge_is_that_of_its_lines_alone(tree: ResultsTree) -> None:
    def lines(judge: str, better: str, worse: str) -> str:
        winners = [better] * 9 + [worse] + ["tie"] * 6
        both = enumerate(winners)
        return "".join(f"q{n},{judge},{order},{winner}\n" for n, winner in both for order in ("x,y", "y,x"))

    imported(tree, HEAD + lines("j", "x", "y") + lines("k", "y", "x"))
    top, other = load_table_rating(tree, "other", judges=["k"]).rows
    assert (top.player, top.tally, other.tally) == (
        "y",
        Tally(wins=18, ties=12, losses=2),
        Tally(wins=2, ties=12, losses=18),
    )
    assert (top.rating or 0) - (other.rating or 0) == pytest.approx(2.197, abs=0.02)  # log(9), as above
    assert [row.rating for row in load_table_rating(tree, "other").rows] == pytest.approx([0, 0], abs=1e-6)
    with pytest.raises(UserError, match=r"other: no comparisons by l\. Judges of this board: j, k\."):
        load_table_rating(tree, "other", judges=["l"])


def test_players_apart_from_the_others_have_no_rating(tree: ResultsTree) -> None:
    rows = "".join(f"q{n},j,{pair},a\n" for n in range(4) for pair in ("w,x", "x,y", "p,q"))
    made = table_rating(imported(tree, HEAD + rows))
    assert [row.player for row in made.rows if row.rating is None] == ["p", "q"]


def test_the_commands(tree: ResultsTree, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(HEAD + "q,j,x,y,a\nq,j,y,x,b\nr,j,x,y,tie\n", encoding="utf-8")
    options = [word for key, value in ABOUT.items() for word in (f"--{key}", value)]
    place = ["--results", str(tree.root)]
    run = CliRunner().invoke
    ended = run(cli, ["import", "comparisons", str(path), "--name", "other", *options, *place])
    assert "3 comparisons in" in ended.output
    ended = run(cli, ["rating", "other", "--format", "json", *place])
    assert Rating.model_validate_json(ended.output).rows[0].player == "x"
    assert "x " in run(cli, ["rating", "other", *place]).output
    for option, fault in (("-l de", "unknown language 'de'"), ("--criterion wit", "unknown criterion 'wit'")):
        assert fault in str(run(cli, ["rating", "other", *option.split(), *place]).exception)
    again = run(cli, ["import", "comparisons", str(path), "--name", "other", *options, *place])
    assert "exists already" in str(again.exception)
