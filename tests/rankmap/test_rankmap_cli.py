"""`bench rank-map` from evidence to files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bench.cli import cli
from bench.errors import UserError
from tests.scores.evidence import Evidence

LIST = "benchmark,version,model,score,source,date\n" + "".join(
    f"Other,1,{name},{score},s,2024\n" for name, score in (("A", 1), ("B", 2), ("C", 3), ("Z", 0))
)


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)  # where there are no prompts
    root = tmp_path / "results"
    evidence = Evidence(root)
    for player, score in (("ann", 5), ("ben", 4), ("cat", 2), ("dan", 1)):
        evidence.played(player, {scene: {"j": [(score,) * 3]} for scene in ("c/s", "d/t")})
    (root / "external").mkdir()
    (root / "external" / "other.csv").write_text(LIST, encoding="utf-8")
    aliases = '[A]\nids = ["ann"]\nother = "A"\n[B]\nids = ["ben"]\nother = "B"\n'
    (root / "external" / "aliases.toml").write_text(aliases, encoding="utf-8")
    return root


def rank_map(results: Path, *words: str) -> Result:
    options = ["--results", str(results)]
    return CliRunner().invoke(cli, ["rank-map", "tiny", "-l", "en", "--against", "other", *words, *options])


def add_third(results: Path) -> None:
    with (results / "external" / "aliases.toml").open("a", encoding="utf-8") as file:
        file.write('[C]\nids = ["cat"]\nother = "C"\n')


def test_two_shared_models_are_refused_and_the_rest_named(results: Path, tmp_path: Path) -> None:
    result = rank_map(results, "--output", str(tmp_path / "out"))
    assert isinstance(result.exception, UserError)
    assert "found 2" in result.exception.line()
    assert "cat, dan" in result.exception.line()
    assert not (tmp_path / "out").exists()


def test_text_has_numbers_warnings_and_who_is_left_out(results: Path) -> None:
    add_third(results)
    output = rank_map(results).output
    assert "Spearman −1.00 (p = 0.333)" in output
    assert "no correlation can have" in output
    assert "Ours, not compared (1): dan" in output
    assert "Theirs, not compared (1): Z" in output


def test_files_are_written_and_equal_from_run_to_run(results: Path, tmp_path: Path) -> None:
    add_third(results)
    for folder in ("one", "two"):
        assert rank_map(results, "--output", str(tmp_path / folder)).exit_code == 0
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == [f"tiny.en.other.{kind}" for kind in ("json", "pdf", "png", "svg")]
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert json.loads((tmp_path / "one" / names[0]).read_text())["n"] == 3


@pytest.fixture
def versions(results: Path) -> Path:
    """The same players, and one more, on a board of the method's first version, in the opposite order."""
    first = Evidence(results, protocol="pingpong_v1", suite="tiny-v1")
    for player, score in (("ann", 2), ("ben", 5), ("cat", 7), ("eve", 10)):
        first.played(player, {scene: {"j": [(score,) * 3]} for scene in ("c/s", "d/t")})
    return results


def against_suite(results: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["rank-map", "tiny", "-l", "en", *words, "--results", str(results)])


def test_a_board_of_another_version_is_compared_over_the_same_players(versions: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    made = against_suite(versions, "--against-suite", "tiny-v1", "--format", "json", "--output", str(out))
    assert made.exception is None
    data = json.loads(made.stdout)
    assert [(m["player"], m["our_score"], m["their_score"]) for m in data["models"]] == [
        ("ann", 5, 2),
        ("ben", 4, 5),
        ("cat", 2, 7),
    ]
    assert data["spearman"]["value"] == -1
    assert [(u["side"], u["name"]) for u in data["unmatched"]] == [("ours", "dan"), ("theirs", "Eve")]
    assert data["source"] == "suite tiny-v1, en"
    assert {path.suffix for path in out.iterdir()} == {".json", ".svg", ".png", ".pdf"}


def test_one_other_side_has_to_be_named(versions: Path) -> None:
    for words in ((), ("--against", "other", "--against-suite", "tiny-v1")):
        result = against_suite(versions, *words)
        assert isinstance(result.exception, UserError)
        assert "two lists" in result.exception.line()


def test_a_board_is_not_compared_with_itself(versions: Path) -> None:
    result = against_suite(versions, "--against-suite", "tiny")
    assert isinstance(result.exception, UserError)
    assert "compares two boards, and both are" in result.exception.line()


def test_boards_that_share_two_players_make_no_map(versions: Path) -> None:
    few = Evidence(versions, suite="few")
    for player in ("ann", "ben"):
        few.played(player, {"c/s": {"j": [(3, 3, 3)]}})
    result = against_suite(versions, "--against-suite", "few")
    assert isinstance(result.exception, UserError)
    assert "need 3 players with a score on both boards; found 2" in result.exception.line()
