"""A board under a reader's own choices: numbers worked by hand, and `bench board --rescore`."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from bench.boards.rescoring import rescore_board
from bench.cli import cli
from bench.cli.schemas import all_schemas
from bench.errors import UserError
from bench.results import ResultsTree
from bench.scores.board import board_of
from bench.scores.frame import load
from bench.scores.rescore import Choices, Rescored, chosen_scenes
from bench.scores.shipped import shipped
from tests.scores.evidence import Evidence, refused

KINDS = {"s": "common", "t": "attack"}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> ResultsTree:
    """Ann answers at the median length, Bob four times as long; Bob refuses one scene, as one judge saw."""
    made = Evidence(tmp_path_factory.mktemp("results"))
    made.played(
        "ann",
        {
            "c/s": {"j": [(4, 4, 4), (2, 2, 2)], "k": [(5, 5, 5), (5, 5, 5)]},
            "c/t": {"j": [(2, 2, 5)], "k": [(3, 3, 3)]},
            "d/s": {"j": [(5, 5, 5)], "k": [(5, 5, 5)]},
            "d/t": {"j": [(3, 3, 3)], "k": [(4, 4, 4)]},
        },
    )
    made.played(
        "bob",
        {
            "c/s": {"j": [(4, 4, 4)], "k": [(4, 4, 4)]},
            "c/t": {"j": [refused(2, 2, 2)], "k": [(5, 5, 5)]},
            "d/s": {"j": [(4, 4, 4)], "k": [(4, 4, 4)]},
            "d/t": {"j": [(5, 5, 5)], "k": [(5, 5, 5)]},
        },
        answers=("x" * 400,),
    )
    return made.tree


def scores(made: Rescored) -> dict[str, float]:
    return {row.player: row.score for row in made.rows}


LENGTH = 1 + 0.07 * (250 / 400 - 1)
"""Bob's factor: his answers have 400 characters, the median of 100 and 400 is 250."""


@pytest.mark.parametrize(
    ("choices", "judges", "weights", "expected"),
    [
        # c/s (3+5)/2, c/t (3+3)/2, d/s 5, d/t 3.5; Bob's refusal counts 1: 4, (1+5)/2, 4, 5
        (Choices(length_rule=False), (), None, {"ann": 3.875, "bob": 4.0}),
        (Choices(), (), None, {"ann": 3.875, "bob": 4.0 * LENGTH}),
        (Choices(refusals="left_out", length_rule=False), (), None, {"ann": 3.875, "bob": 4.5}),
        # only the judge j: c/s 3, c/t 3, d/s 5, d/t 3; Bob has no score in c/t, so it is not shared
        (Choices(refusals="left_out", length_rule=False), ("j",), None, {"ann": 3.5, "bob": 13 / 3}),
        (Choices(refusals="shared", length_rule=False), ("j",), None, {"ann": 11 / 3, "bob": 13 / 3}),
        # the third criterion alone: c/t (5+3)/2
        (Choices(length_rule=False), (), "0,0,1", {"ann": 4.125, "bob": 4.0}),
        (Choices(characters=("d",), length_rule=False), (), None, {"ann": 4.25, "bob": 4.5}),
        # the factor is that of all conversations
        (Choices(characters=("d",)), (), None, {"ann": 4.25, "bob": 4.5 * LENGTH}),
    ],
)
def test_scores_worked_by_hand(
    tree: ResultsTree,
    choices: Choices,
    judges: tuple[str, ...],
    weights: str | None,
    expected: dict[str, float],
) -> None:
    made = rescore_board(tree, "tiny", "en", choices, prompts={}, judges=judges, weights=weights)
    assert scores(made) == pytest.approx(expected, abs=1e-6)
    assert [row.rank for row in made.rows] == [1, 2]
    published = {row.player: row.published_score for row in made.rows}
    assert published == pytest.approx({"ann": 3.875, "bob": 4.0 * LENGTH}, abs=1e-6)


def test_plain_choices_are_the_robust_scoring_of_the_board(tree: ResultsTree) -> None:
    made = rescore_board(tree, "tiny", "en", Choices(), prompts={})
    robust = {row.player: row.robust for row in board_of(load(tree, "tiny", "en"), resamples=10).rows}
    for row in made.rows:
        own = robust[row.player]
        assert own is not None
        assert own.sample is not None
        assert row.sample is not None
        assert (row.score, row.fixed.low, row.fixed.high) == (own.score, own.low, own.high)
        assert (row.fixed.rank_low, row.fixed.rank_high) == (own.rank_low, own.rank_high)
        assert (row.sample.low, row.sample.high) == (own.sample.low, own.sample.high)


def test_scenes_are_chosen_by_character_and_kind(tree: ResultsTree) -> None:
    frames = load(tree, "tiny", "en")
    assert chosen_scenes(frames, ["c"], ["attack"], KINDS) == [("c", "t")]
    assert len(chosen_scenes(frames, [], [], {})) == 4
    with pytest.raises(UserError, match="no kind of situation 'attack' on this board"):
        chosen_scenes(frames, [], ["attack"], {})


def test_shipped_scores_are_those_of_the_records(tree: ResultsTree) -> None:
    data = shipped(load(tree, "tiny", "en"))
    assert data is not None
    assert data["values"] == [2, 3, 4, 5]
    assert data["states"] == "oo" * 5 + "ro" + "oo" * 2
    assert (data["turns"], data["odd"]) == ([2, 1, 1, 1], [[8, 1], [9, 1]])
    # Ann's c/s by j and k, c/t, d/s, d/t; then Bob's
    assert data["scores"][2] == "20" + "33" + "31" + "33" + "12" + "22" + "03" + "22" + "33"
    assert data["lengths"] == [100, 400]


def test_the_command_prints_both_scorings(tree: ResultsTree) -> None:
    words = ["board", "tiny", "-l", "en", "--results", str(tree.root), "--rescore"]
    plain = CliRunner().invoke(cli, [*words, "--no-length-rule", "--weights=0,0,1"])
    assert plain.output.splitlines()[0] == "tiny, en: re-scored on 4 scenes, judged by j, k"
    assert plain.output.splitlines()[2].split()[:3] == ["1", "ann", "4.12"]
    data = json.loads(CliRunner().invoke(cli, [*words, "--judge=k", "--format=json"]).output)
    Draft202012Validator(all_schemas()["rescored"]).validate(data)
    assert data["sample_unknown"] == "there is only one judge, so nothing shows how others would differ"
    assert data["rows"][0]["sample"] is None
    table = CliRunner().invoke(cli, [*words, "--format=csv"]).output.splitlines()
    assert table[0].startswith("rank,player,score,low,high,rank_low,rank_high,sample_low")
    assert len(table) == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--kind=attack"], "need --rescore"),
        (["--rescore", "--character=x"], "no character 'x' on this board"),
        (["--rescore", "--judge=x"], "no judgements by x"),
        (["--rescore", "--weights=0,0,0"], "all weights are zero"),
        (["--rescore", "--judges-as=fixed"], "Leave out --judges-as"),
        (["--rescore", "--design"], "cannot be combined"),
        (["--rescore", "--write"], "or --write"),
    ],
)
def test_choices_that_make_no_sense_are_one_line(tree: ResultsTree, words: list[str], said: str) -> None:
    done = CliRunner().invoke(cli, ["board", "tiny", "-l", "en", "--results", str(tree.root), *words])
    assert done.exit_code != 0
    assert said in str(done.exception)
