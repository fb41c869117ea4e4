"""A suite as a dataset folder, as logs of inspect-ai and as a store for SQL."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import sys
import threading
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result

from bench.boards.loading import load_board
from bench.cli import cli
from bench.cli.export import FOLDER_FORMS
from bench.errors import UserError
from bench.interop.dataset import MEANINGS, dataset_files, schema_of
from bench.interop.sql import query
from bench.results import ResultsTree
from bench.tables import printable
from tests.synthetic import make_tree
from tests.tiny import ROOT, bytes_below


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> ResultsTree:
    """2 players x 4 scenes (turns 4, 8, 4, 8) x 2 judges x 3 criteria."""
    root = tmp_path_factory.mktemp("dataset") / "results"
    return make_tree(root, players=2, characters=2, situations=2).tree


def run(tree: ResultsTree, *words: str) -> Result:
    return CliRunner().invoke(cli, [*words, "--results", str(tree.root)])


def test_the_dataset_holds_every_conversation_and_score(tree: ResultsTree, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    folder = tmp_path / "set"
    words = ["export", "synthetic", "--format", "hf-dataset", "-o", str(folder), "--licence", "CC0-1.0"]
    assert run(tree, *words).exit_code == 0
    talks, scores = (parquet.read_table(folder / "data" / f"{name}.parquet") for name in MEANINGS)
    assert (talks.num_rows, scores.num_rows) == (2 * 4, 2 * (4 + 8 + 4 + 8) * 2 * 3)
    for row in talks.to_pylist():
        assert len(row["roles"]) == len(row["contents"]) > 0
    digests = {
        talk.digest
        for info in tree.players("synthetic", "en")
        for talk in tree.conversations("synthetic", "en", info.player)
    }
    assert set(talks["digest"].to_pylist()) == digests
    front = (folder / "README.md").read_text(encoding="utf-8").split("---")[1]
    assert 'license: "cc0-1.0"' in front
    croissant = json.loads((folder / "croissant.json").read_text(encoding="utf-8"))
    fields = {field["@id"] for records in croissant["recordSet"] for field in records["field"]}
    assert fields == {f"{table}/{column}" for table, columns in MEANINGS.items() for column in columns}


def test_equal_results_give_equal_files(tree: ResultsTree) -> None:
    pytest.importorskip("pyarrow")
    first, second = (dataset_files(tree, "synthetic", [], title="T", licence="") for _ in range(2))
    assert first == second


def test_a_suffix_decides_the_format_or_is_rejected(tree: ResultsTree, tmp_path: Path) -> None:
    for words, fault in (
        (["-o", str(tmp_path / "x.xlsx")], "unsupported file type '.xlsx'"),
        (["-o", str(tmp_path / "x")], "no suffix"),
        (["-o", str(tmp_path / "x.csv"), "--format", "parquet"], "Name a .parquet file"),
    ):
        ended = run(tree, "export", "synthetic", *words)
        assert isinstance(ended.exception, UserError)
        assert fault in ended.exception.line()
    assert not list(tmp_path.iterdir())
    assert run(tree, "board", "synthetic", "-l", "en", "-o", str(tmp_path / "b.tex")).exit_code == 0
    assert r"\begin{tabular}" in (tmp_path / "b.tex").read_text(encoding="utf-8")
    assert run(tree, "board", "synthetic", "-l", "en", "-o", str(tmp_path / "b.md")).exit_code == 0
    assert (tmp_path / "b.md").read_text(encoding="utf-8").startswith("| # | Player |")


def test_inspect_opens_the_logs(tree: ResultsTree, tmp_path: Path) -> None:
    log = pytest.importorskip("inspect_ai.log")
    assert run(tree, "export", "synthetic", "--format", "inspect", "-o", str(tmp_path)).exit_code == 0
    files = sorted(tmp_path.glob("*.eval"))
    assert len(files) == 2
    read = log.read_eval_log(str(files[0]))
    assert read.eval.viewer.trust_content is False
    assert len(read.samples[0].scores) == 2 * 3
    rows = {row.player: row for row in load_board(tree, "synthetic", "en").board.rows}
    means = [score.metrics["mean"].value for score in read.results.scores]
    assert sum(means) / len(means) == pytest.approx(rows[read.eval.metadata["player"]].score)


def test_boards_fit_the_schema_of_every_eval_ever(
    tree: ResultsTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1790000000")
    schema = json.loads((Path(__file__).parent / "every_eval_ever" / "eval.schema.json").read_text("utf-8"))
    validator = jsonschema.Draft7Validator(schema)
    for folder in ("first", "second"):
        words = ["export", "synthetic", "--format", "every-eval-ever", "-o", str(tmp_path / folder)]
        assert run(tree, *words).exit_code == 0
    files = bytes_below(tmp_path / "first")
    assert files == bytes_below(tmp_path / "second")
    rows = {row.name: row for row in load_board(tree, "synthetic", "en").board.rows}
    assert len(files) == len(rows)
    for name, data in files.items():
        assert re.fullmatch(r"data/synthetic/[\w.-]+/[\w.-]+/[0-9a-f-]{14}4[0-9a-f-]{21}\.json", name)
        log = json.loads(data)
        assert [error.message for error in validator.iter_errors(log)] == []
        row = rows[log["model_info"]["name"]]
        said = {
            r["evaluation_result_id"].split("/")[-1]: r["score_details"]["score"]
            for r in log["evaluation_results"]
        }
        assert said == {"score": row.score, "length_norm_score": row.length_norm_score, **row.criteria}


@pytest.mark.parametrize("form", ["hf-dataset", "store", "every-eval-ever"])
def test_scores_that_others_published_are_exported_only_as_a_table(form: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    tree = ResultsTree(ROOT / "results")
    ended = run(tree, "export", "japanese-rp-bench", "--format", form, "-o", str(tmp_path / "x"))
    assert isinstance(ended.exception, UserError)
    assert "Export a table" in ended.exception.line()
    assert not (tmp_path / "x").exists()


@pytest.fixture
def empty_store(tmp_path: Path) -> Path:
    pytest.importorskip("duckdb")
    parquet = pytest.importorskip("pyarrow.parquet")
    for name in MEANINGS:
        parquet.write_table(schema_of(name).empty_table(), tmp_path / f"{name}.parquet")
    return tmp_path


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")
@pytest.mark.parametrize(
    "sql", ["SELECT repeat('x', 2000000000)", "SELECT list(repeat('x', n + 50000)) FROM range(9999) AS r(n)"]
)
def test_a_query_that_needs_much_memory_is_refused(empty_store: Path, sql: str) -> None:
    """Two gigabytes in one cell took eight in all, and minutes to be made fit for the screen."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bench.interop.sql.MEMORY", 300_000_000)
        with pytest.raises(UserError, match="needs more than 0"):
            query(empty_store, sql)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    assert query(empty_store, "SELECT 1")[1] == [(1,)]


def test_only_the_beginning_of_a_long_cell_is_made_fit_for_the_screen(
    empty_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths: list[int] = []

    def noted(text: str) -> str:
        lengths.append(len(text))
        return printable(text)

    monkeypatch.setattr("bench.tables.printable", noted)
    sql = "SELECT repeat('x', 100000) AS a, repeat(' ', 100000) AS b, 1.5 AS c"
    ended = CliRunner().invoke(cli, ["query", sql, "--store", str(empty_store)])
    assert max(lengths) < 2_000
    assert ended.stdout.splitlines()[1].count("…") == 2
    assert "cells are cut" in ended.stderr


def test_an_endless_query_is_stopped_by_ctrl_c(empty_store: Path) -> None:
    endless = "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r"
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        query(empty_store, endless)


def test_sql_counts_what_the_records_hold(tree: ResultsTree, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    store = str(tmp_path / "store")
    assert run(tree, "export", "--format", "store", "-o", store).exit_code == 0
    sql = "SELECT count(*) AS n, count(DISTINCT judge) AS judges FROM scores"
    ended = CliRunner().invoke(cli, ["query", sql, "--store", store, "--format", "json"])
    assert json.loads(ended.output) == [{"n": 2 * 24 * 2 * 3, "judges": 2}]
    sql = "SELECT player, score, criteria FROM board WHERE suite = 'synthetic' AND language = 'en'"
    ended = CliRunner().invoke(cli, ["query", sql, "--store", store, "--format", "json"])
    board = load_board(tree, "synthetic", "en").board
    for row in json.loads(ended.output):
        (own,) = (r for r in board.rows if r.player == row["player"])
        assert row["score"] == pytest.approx(own.score, abs=1e-6)
        assert row["criteria"] == pytest.approx(own.criteria, abs=1e-6)
    sql = "SELECT 'nan'::DOUBLE AS a, [1.5] AS a FROM range(3)"
    ended = CliRunner().invoke(cli, ["query", sql, "--store", store, "--format", "json", "--most", "2"])
    assert json.loads(ended.stdout) == [{"a": None, "a_2": [1.5]}] * 2
    assert "only the first 2 rows" in ended.stderr
    ended = CliRunner().invoke(cli, ["query", "SELECT card FROM conversations LIMIT 1", "--store", store])
    assert len(ended.stdout.splitlines()) == 2
    assert len(ended.stdout.splitlines()[1]) == 60
    assert "cells are cut" in ended.stderr
    before = bytes_below(tmp_path)
    secret = tmp_path / "secret.txt"
    for sql in (
        "SELECT nothing FROM nowhere",
        "",
        f"SELECT 1; COPY scores TO '{tmp_path}/x.csv'",
        f"COPY (SELECT 1) TO '{store}/scores.parquet'",
        f"EXPLAIN ANALYZE COPY (SELECT 1) TO '{store}/scores.parquet'",
        f"ATTACH '{tmp_path}/x.db'",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        f"SELECT * FROM read_text('{secret}')",
        f"SELECT * FROM read_text('{store}/../secret.txt')",
        f"SELECT * FROM '{secret}'",
        f"SELECT * FROM glob('{tmp_path}/*')",
        "SELECT * FROM read_parquet('https://127.0.0.1:1/x')",
        "SELECT * FROM files",  # a variable of the program
    ):
        secret.write_text("secret", encoding="utf-8")
        with pytest.raises(UserError) as error:
            query(Path(store), sql)
        secret.unlink()
        assert "secret\n" not in error.value.line()
    assert bytes_below(tmp_path) == before


@pytest.mark.parametrize("form", FOLDER_FORMS)
def test_a_suite_without_results_is_an_error_in_every_form(
    tree: ResultsTree, tmp_path: Path, form: str
) -> None:
    folder = tmp_path / "set"
    ended = run(tree, "export", "pingpong-2", "--format", form, "-o", str(folder))
    assert ended.exit_code == 1
    assert "no results of suite 'pingpong-2'" in str(ended.exception)
    assert not folder.exists()
