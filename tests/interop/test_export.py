"""`bench export`: one tidy table in three forms."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bench.cli import cli
from bench.errors import UserError
from bench.interop.export import EXPORTED, TABLES, exported, tidy_table
from bench.records import Conversation, Judgement
from bench.results import ResultsTree
from tests.scores.evidence import Evidence, refused
from tests.synthetic import make_tree

KEYS = ["suite", "language", "player", "character", "situation", "turn", "judge", "criterion"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> ResultsTree:
    """Two languages; in each 2 players x 4 scenes (turns 4, 8, 4, 8) x 2 judges x 3 criteria."""
    root = tmp_path_factory.mktemp("export") / "results"
    return make_tree(root, players=2, languages=("en", "ru"), characters=2, situations=2).tree


def _bench(tree: ResultsTree, *words: str) -> Result:
    return CliRunner().invoke(cli, ["export", *words, "--results", str(tree.root)])


def test_there_is_one_row_per_turn_judge_and_criterion(tree: ResultsTree) -> None:
    table = tidy_table(tree, "synthetic", ["en"])
    assert len(table) == 2 * (4 + 8 + 4 + 8) * 2 * 3
    assert not table.duplicated(KEYS).any()
    assert list(table.columns) == list(EXPORTED)


def test_all_languages_are_in_it_unless_some_are_chosen(tree: ResultsTree) -> None:
    assert set(tidy_table(tree, "synthetic")["language"]) == {"en", "ru"}
    assert set(tidy_table(tree, "synthetic", ["ru"])["language"]) == {"ru"}


def test_the_forms_hold_the_same_rows(tree: ResultsTree) -> None:
    table = tidy_table(tree, "synthetic", ["en"])
    from_csv = list(csv.DictReader(io.StringIO(exported(table, "csv").decode())))
    from_jsonl = [json.loads(line) for line in exported(table, "jsonl").decode().splitlines()]
    assert from_jsonl == table.to_dict("records")
    assert from_csv == [
        {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in row.items()}
        for row in from_jsonl
    ]


def test_parquet_holds_the_same_rows_and_says_what_columns_mean(tree: ResultsTree) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = tidy_table(tree, "synthetic")
    read = parquet.read_table(io.BytesIO(exported(table, "parquet")))
    assert read.to_pylist() == table.to_dict("records")
    described = {f.name: f.metadata[b"description"].decode() for f in read.schema}
    assert described == EXPORTED


def test_calls_are_counted_as_the_records_say(tree: ResultsTree) -> None:
    table = tidy_table(tree, "synthetic", ["en"], "calls")
    assert list(table.columns) == list(TABLES["calls"])
    assert not table.duplicated(["player", "role", "model"]).any()
    for row in table.to_dict("records"):
        player, role, model = row["player"], row["role"], row["model"]
        board = ("synthetic", "en", player)
        records: list[Conversation | Judgement] = [*tree.conversations(*board), *tree.judgements(*board)]
        calls = [
            call
            for record in records
            for call in record.calls
            if call.role == role and model in (player, getattr(record, "judge", call.model))
        ]
        assert row["answers"] == sum(call.usage is not None for call in calls) > 0
        assert row["cut"] == sum(call.outcome == "length" for call in calls)
        assert row["empty"] == sum(call.outcome == "empty" for call in calls)
    assert set(table["role"]) == {"player", "interrogator", "judge"}


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_written_in_every_form(tree: ResultsTree, name: str) -> None:
    table = tidy_table(tree, "synthetic", ["en"], name)
    lines = exported(table, "jsonl").decode().splitlines()
    assert len(lines) == len(table) == len(exported(table, "csv").decode().splitlines()) - 1
    parquet = pytest.importorskip("pyarrow.parquet")
    read = parquet.read_table(io.BytesIO(exported(table, "parquet")))
    assert {f.name: f.metadata[b"description"].decode() for f in read.schema} == TABLES[name]


def test_scores_and_refusals_are_those_of_the_records(tmp_path: Path) -> None:
    made = Evidence(tmp_path)
    made.played("p", {"a/x": {"j": [(5, 4, 3), refused(1, 1, 2)]}}, answers=("one", "two"))
    table = tidy_table(made.tree, "tiny")
    rows = table[["turn", "criterion", "score", "is_refusal"]].to_dict("split")["data"]
    assert rows == [
        [1, "entertaining", 4, False],
        [1, "fluency", 3, False],
        [1, "in_character", 5, False],
        [2, "entertaining", 1, True],
        [2, "fluency", 2, True],
        [2, "in_character", 1, True],
    ]


@pytest.mark.parametrize("name", ['=HYPERLINK("http://x")', "+1", "-1", "@SUM(A1)", "\t=1"])
def test_csv_runs_nothing_in_a_spreadsheet(tmp_path: Path, name: str) -> None:
    made = Evidence(tmp_path)
    made.played(name, {"a/x": {"j": [(5, 4, 3)]}})
    rows = list(csv.DictReader(io.StringIO(exported(tidy_table(made.tree, "tiny"), "csv").decode())))
    assert {row["player"] for row in rows} == {f"'{name}"}


def test_a_missing_pyarrow_is_named_with_a_hint(tree: ResultsTree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UserError, match="make parquet"):
        exported(tidy_table(tree, "synthetic", ["en"]), "parquet")


def test_unknown_suites_and_languages_are_the_users_mistake(tree: ResultsTree) -> None:
    with pytest.raises(UserError, match="no results of suite 'other'"):
        tidy_table(tree, "other")
    with pytest.raises(UserError, match="en, ru"):
        tidy_table(tree, "synthetic", ["de"])


def test_the_command_writes_to_stdout_or_a_file(tree: ResultsTree, tmp_path: Path) -> None:
    output = tmp_path / "scores.jsonl"
    done = _bench(tree, "synthetic", "--format", "jsonl", "--language", "en")
    saved = _bench(tree, "synthetic", "--format", "jsonl", "--language", "en", "--output", str(output))
    assert saved.output == f"288 rows in {output}\n"
    assert output.read_bytes() == done.stdout_bytes


def test_parquet_is_not_written_to_a_terminal(tree: ResultsTree) -> None:
    done = _bench(tree, "synthetic", "--format", "parquet")
    assert done.exit_code == 2
    assert "--output" in done.output


def test_the_command_describes_its_columns(tree: ResultsTree) -> None:
    lines = _bench(tree, "--columns").output.splitlines()
    assert [line.split()[0] for line in lines] == list(EXPORTED)
