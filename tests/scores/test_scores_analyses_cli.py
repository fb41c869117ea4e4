"""`bench analyse`, and the options of `bench board` that change the method."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bench.cli import cli
from bench.errors import UserError
from tests.scores.evidence import Evidence
from tests.synthetic import make_tree


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)  # where there are neither prompts nor models.toml
    evidence = Evidence(tmp_path / "results")
    cells = {"a": [(5, 1, 3)], "b": [(4, 4, 4)]}
    evidence.played("ann", {"c/s": cells, "d/t": cells})
    evidence.played("ben", {"c/s": {"a": [(2, 5, 4)], "b": [(3, 3, 5)]}})
    return tmp_path / "results"


def bench(results: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, [*words, "--results", str(results)])


def test_analyses_as_text_name_every_table_and_explain_gaps(results: Path) -> None:
    result = bench(results, "analyse", "tiny", "--language", "en")
    assert result.exit_code == 0, result.exception
    assert "Score by turn (by_turn)" in result.output
    assert "Krippendorff" in result.output
    assert "[1] " in result.output
    assert "nan" not in result.output.lower().split()


def test_analyses_as_json_are_the_same_each_time(results: Path) -> None:
    first = bench(results, "analyse", "tiny", "--language", "en", "--format", "json").output
    assert bench(results, "analyse", "tiny", "--language", "en", "--format", "json").output == first
    names = [analysis["name"] for analysis in json.loads(first)["analyses"]]
    assert names[0] == "by_turn"
    assert names[-1] == "ledger"


def test_one_analysis_alone_and_an_unknown_one(results: Path) -> None:
    words = ("analyse", "tiny", "--language", "en", "--format", "json", "--only")
    assert len(json.loads(bench(results, *words, "questions").output)["analyses"]) == 1
    assert isinstance(bench(results, *words, "nothing").exception, UserError)


def test_second_tree_and_second_suite_are_compared(tmp_path: Path) -> None:
    for folder, suite in (("one", "first"), ("one", "second"), ("two", "first")):
        make_tree(tmp_path / folder, players=3, characters=2, situations=2, suite=suite, seed=len(suite))
    words = ["analyse", "first", "--language", "en", "--format", "json", "--swap-with", "second"]
    result = bench(tmp_path / "one", *words, "--again", str(tmp_path / "two"))
    tables = {analysis["name"]: analysis["rows"] for analysis in json.loads(result.output)["analyses"]}
    runs = [(row["scenes"], row["copies"], row["difference"]) for row in tables["second_run"]]
    assert runs == [(0, 4, None)] * 3, "the very same conversations are no second run"
    assert [row["board"] for row in tables["board_swap"]] == ["first", ""]


def test_board_with_other_weights_or_judges(results: Path) -> None:
    plain, weighted, one_judge = (
        {row["player"]: row["score"] for row in json.loads(result.output)["rows"]}
        for result in (
            bench(results, "board", "tiny", "--format", "json"),
            bench(results, "board", "tiny", "--format", "json", "--weights", "1,0,0"),
            bench(results, "board", "tiny", "--format", "json", "--judge", "b"),
        )
    )
    assert plain == {"ann": 3.5, "ben": pytest.approx(11 / 3, abs=1e-6)}
    assert weighted == {"ann": 4.5, "ben": 2.5}
    assert one_judge == {"ann": 4, "ben": pytest.approx(11 / 3, abs=1e-6)}


def test_moves_of_ranks_in_every_form(results: Path) -> None:
    words = ("board", "tiny", "--compare-methods", "--format")
    table = bench(results, *words, "table").output
    assert "weights:in_character_heavy" in table
    data = json.loads(bench(results, *words, "json").output)["moves"]
    assert {"method": "without:a", "player": "ann", "rank": 1, "paper_rank": 2, "moved": 1} in [
        {name: move[name] for name in ("method", "player", "rank", "paper_rank", "moved")} for move in data
    ]
    lines = bench(results, *words, "csv").output.splitlines()
    assert lines[0] == "method,player,score,rank,paper_rank,moved"
    assert len(lines) == 1 + len(data)


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("--write", "--weights", "1,1,1"), "or --write"),
        (("--compare-methods", "--weights", "1,1,1"), "itself"),
        (("--judge", "nobody"), "no judgements by nobody"),
        (("--weights", "much"), "invalid weights"),
    ],
)
def test_choices_that_do_not_go_together_are_refused(
    results: Path, words: tuple[str, ...], fault: str
) -> None:
    result = bench(results, "board", "tiny", *words)
    assert isinstance(result.exception, UserError)
    assert fault in result.exception.line()
