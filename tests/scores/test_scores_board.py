"""The board as a whole: its invariants, its forms, its errors."""

from __future__ import annotations

import csv
import io
import json
import shutil
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from bench.boards.loading import load_board
from bench.cli.schemas import all_schemas
from bench.errors import RecordError, UserError
from bench.records import PlayerInfo
from bench.scores.board import Board, board_of
from bench.scores.forms import CSV_COLUMNS, gaps, to_csv, to_json, to_table
from bench.scores.frame import COLUMNS as FRAME_COLUMNS
from bench.scores.frame import Frames, load
from bench.scores.weights import parse_weights, standard_weightings
from tests.lengths import of_long
from tests.scores.evidence import CRITERIA, LANGUAGE, SUITE, Evidence
from tests.synthetic import SyntheticTree, make_tree

REQUIRED = [
    "player",
    "rank",
    "length_norm_score",
    "length_norm_ci",
    "score",
    "score_ci",
    "in_character",
    "entertaining",
    "fluency",
    "refusal_ratio",
    "avg_length",
    "conversations",
    "judgements_failed",
]


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> SyntheticTree:
    return make_tree(
        tmp_path_factory.mktemp("results"),
        players=6,
        characters=4,
        situations=4,
        failure_rate=0.05,
        refusal_rate=0.1,
    )


@pytest.fixture(scope="module")
def frames(synthetic: SyntheticTree) -> Frames:
    return load(synthetic.tree, synthetic.suite, "en")


@pytest.fixture(scope="module")
def made(frames: Frames) -> Board:
    return board_of(frames, resamples=200)


def shuffled(frames: Frames, seed: int) -> Frames:
    tables = {
        name: getattr(frames, name).sample(frac=1, random_state=seed).reset_index(drop=True)
        for name in ("scores", "judgements", "conversations")
    }
    return replace(frames, **tables, players=frames.players[::-1])


@settings(max_examples=of_long(3, 30))
@given(st.integers(0, 1000))
def test_order_of_rows_never_matters(frames: Frames, made: Board, seed: int) -> None:
    assert board_of(shuffled(frames, seed), resamples=200) == made


def test_stronger_players_stand_higher(synthetic: SyntheticTree, made: Board) -> None:
    truth = synthetic.strengths
    scores = {row.player: row.score or 0 for row in made.rows}
    for one in truth:
        for other in truth:
            if truth[one] > truth[other] + 0.3:
                assert scores[one] > scores[other]


def test_other_players_change_only_length_normalisation_and_rank(frames: Frames, made: Board) -> None:
    alone = board_of(frames.only_players(["player-02"]), resamples=200).rows[0]
    among = next(row for row in made.rows if row.player == "player-02")
    for name in ("score", "score_ci", "criteria", "refusal_ratio", "avg_length", "cost", "judgements_ok"):
        assert getattr(alone, name) == getattr(among, name)


def test_duplicate_of_the_only_judge_changes_nothing(tmp_path: Path) -> None:
    turns = {f"c/s{n}": [(1 + n % 5, 5 - n % 3, 1 + n % 4)] * 2 for n in range(9)}
    one, two = Evidence(tmp_path / "1"), Evidence(tmp_path / "2")
    one.played("ann", {scene: {"a": t} for scene, t in turns.items()})
    two.played("ann", {scene: {"a": t, "b": t} for scene, t in turns.items()})
    first, second = (
        load_board(e.tree, SUITE, LANGUAGE, prompts={}, resamples=100).board.rows[0] for e in (one, two)
    )
    for name in ("score", "score_ci", "length_norm_score", "criteria"):
        assert getattr(first, name) == getattr(second, name)


@settings(max_examples=of_long(3, 30))
@given(st.lists(st.integers(1, 9), min_size=3, max_size=3), st.sampled_from([2.0, 0.5, 0.1, 7.0]))
def test_only_proportions_of_weights_matter(frames: Frames, weights: list[int], factor: float) -> None:
    one = {name: float(w) for name, w in zip(CRITERIA, weights, strict=True)}
    other = {name: w * factor for name, w in one.items()}
    first = board_of(frames, weights=one, resamples=20).rows
    assert [row.score for row in first] == [
        row.score for row in board_of(frames, weights=other, resamples=20).rows
    ]


def test_same_evidence_gives_the_same_bytes(synthetic: SyntheticTree, made: Board) -> None:
    again = load_board(synthetic.tree, synthetic.suite, "en", prompts={}, resamples=200).board
    assert to_json(again) == to_json(made)


def test_another_seed_moves_only_the_intervals(frames: Frames, made: Board) -> None:
    other = board_of(frames, resamples=200, seed=1)
    assert [row.score for row in other.rows] == [row.score for row in made.rows]
    assert [row.score_ci for row in other.rows] != [row.score_ci for row in made.rows]


def test_judges_can_be_chosen(synthetic: SyntheticTree, made: Board) -> None:
    one = load_board(
        synthetic.tree, synthetic.suite, "en", prompts={}, judges=["judge-01"], resamples=20
    ).board
    assert one.judges == ("judge-01",)
    assert {row.judges for row in one.rows} == {("judge-01",)}
    assert one.rows[0].judgements_expected * 2 == made.rows[0].judgements_expected
    with pytest.raises(UserError, match="judge-09"):
        load_board(synthetic.tree, synthetic.suite, "en", prompts={}, judges=["judge-09"])


def test_json_has_the_required_keys_and_fits_its_schema(made: Board) -> None:
    data = json.loads(to_json(made))
    jsonschema.Draft202012Validator.check_schema(all_schemas()["board"])
    jsonschema.validate(data, all_schemas()["board"])
    for row in data["rows"]:
        assert set(REQUIRED) <= row.keys()
    assert Board.model_validate(data) == made


def test_csv_has_the_rows_of_the_board(made: Board) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(made))))
    assert tuple(rows[0]) == CSV_COLUMNS
    assert [row["player"] for row in rows] == [row.player for row in made.rows]
    assert float(rows[0]["score"]) == made.rows[0].score


def test_table_is_aligned_with_wide_and_cyrillic_names(made: Board) -> None:
    names = ["Модель", "模型模型", "e\u0301", "x\x1b[31mred\nline", "plain", "y"]
    rows = tuple(row.model_copy(update={"name": n}) for row, n in zip(made.rows, names, strict=True))
    lines = to_table(made.model_copy(update={"rows": rows})).splitlines()
    assert len(lines) == len(names) + 1
    assert len({cell_len(line) for line in lines}) == 1
    assert "\x1b" not in "".join(lines)


def test_what_a_board_lacks_is_said_with_its_denominator(tmp_path: Path) -> None:
    evidence = Evidence(tmp_path)
    whole = {f"c/s{n}": {"a": [(4, 4, 4)], "b": [(3, 3, 3)]} for n in range(4)}
    evidence.played("ann", whole)
    assert gaps(load_board(evidence.tree, SUITE, LANGUAGE, prompts={}, resamples=20).board) == ""
    evidence.played("bob", {"c/s0": whole["c/s0"], "c/s1": {"a": [(4, 4, 4)]}})
    evidence.player("eve")
    assert gaps(load_board(evidence.tree, SUITE, LANGUAGE, prompts={}, resamples=20).board).splitlines() == [
        "Bob: of 4 conversations 2 missing; of 8 judgements 5 missing",
        "Eve: of 4 conversations 4 missing; of 8 judgements 8 missing",
    ]


def test_unknown_numbers_are_null_in_json_and_a_dash_in_the_table(tmp_path: Path) -> None:
    evidence = Evidence(tmp_path)
    evidence.player("ann")
    empty = load_board(evidence.tree, SUITE, LANGUAGE, prompts={}).board
    data = json.loads(to_json(empty))["rows"][0]
    assert all(data[name] is None for name in REQUIRED[1:11])
    assert "–" in to_table(empty)
    assert ",0.0," not in to_csv(empty)


def test_cost_is_exact_and_null_where_a_price_is_unknown(tmp_path: Path) -> None:
    evidence = Evidence(tmp_path)
    for player, costs in (("ann", ["0.1", "0.2"]), ("bob", ["0.1", None])):
        evidence.player(player)
        talk = evidence.conversation(player, "c/s", costs=costs)
        evidence.judgement(talk, "a", [(4, 4, 4)], costs=["0.0000001"])
    rows = {row.player: row for row in load_board(evidence.tree, SUITE, LANGUAGE, prompts={}).board.rows}
    assert (rows["ann"].cost, rows["bob"].cost) == ("0.3000001", None)


def test_no_board_is_a_user_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no results of suite 'nothing'"):
        load_board(tmp_path, "nothing", "en", prompts={})


def one_cell(root: Path) -> Evidence:
    evidence = Evidence(root)
    evidence.played("ann", {"c/s": {"a": [(4, 4, 4)]}})
    return evidence


def test_malformed_file_is_a_record_error_that_names_it(tmp_path: Path) -> None:
    evidence = one_cell(tmp_path)
    path = next(tmp_path.rglob("judgements/*/*.json"))
    path.write_text(path.read_text().replace('"in_character": 4', '"in_character": "four"'))
    with pytest.raises(RecordError, match=r"c\.s\.json"):
        load_board(evidence.tree, SUITE, LANGUAGE, prompts={})


def test_score_off_the_scale_is_an_error_that_names_it(tmp_path: Path) -> None:
    evidence = Evidence(tmp_path)
    evidence.played("ann", {"c/s": {"a": [(4, 4, 6)]}})
    with pytest.raises(RecordError, match=r"ann/a/c\.s: fluency 6 in turn 1"):
        load_board(evidence.tree, SUITE, LANGUAGE, prompts={})


def test_record_in_another_players_folder_is_an_error(tmp_path: Path) -> None:
    evidence = one_cell(tmp_path)
    evidence.player("bob")
    shutil.copytree(tmp_path / "tiny/en/ann/judgements", tmp_path / "tiny/en/bob/judgements")
    with pytest.raises(RecordError, match="bob"):
        load_board(evidence.tree, SUITE, LANGUAGE, prompts={})


def test_copied_player_folder_is_an_error(tmp_path: Path) -> None:
    evidence = one_cell(tmp_path)
    shutil.copytree(tmp_path / "tiny/en/ann", tmp_path / "tiny/en/copy")
    with pytest.raises(RecordError, match="another player's folder"):
        load_board(evidence.tree, SUITE, LANGUAGE, prompts={})


def test_copied_record_is_an_error(tmp_path: Path) -> None:
    evidence = one_cell(tmp_path)
    path = next(tmp_path.rglob("judgements/*/*.json"))
    shutil.copy(path, path.with_name("c.t.json"))
    with pytest.raises(RecordError, match="same cell"):
        load_board(evidence.tree, SUITE, LANGUAGE, prompts={})


def test_versions_of_a_suite_are_never_mixed(tmp_path: Path) -> None:
    evidence = one_cell(tmp_path)
    newer = evidence.conversation("ann", "c/t", version="2")
    evidence.judgement(newer, "a", [(1, 1, 1)])
    with pytest.raises(RecordError, match="several versions: 1, 2"):
        load_board(evidence.tree, SUITE, LANGUAGE, prompts={})
    assert load_board(evidence.tree, SUITE, LANGUAGE, prompts={}, version="1").board.rows[0].score == 4


def test_tables_have_the_documented_columns(frames: Frames) -> None:
    for name, columns in FRAME_COLUMNS.items():
        table = frames.call_counts if name == "calls" else getattr(frames, name)
        assert list(table.columns) == list(columns)


def test_tidy_table_has_a_row_for_every_score(frames: Frames) -> None:
    ok = frames.judgements[frames.judgements["status"] == "ok"]
    assert len(frames.scores) == ok["turns"].sum() * 3
    keys = ["player", "character", "situation", "turn", "judge", "criterion"]
    assert not frames.scores.duplicated(keys).any()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2,1,1", {"in_character": 2, "entertaining": 1, "fluency": 1}),
        ("fluency=3", {"in_character": 0, "entertaining": 0, "fluency": 3}),
        ("entertaining_heavy", standard_weightings(CRITERIA)["entertaining_heavy"]),
        ("equal", dict.fromkeys(CRITERIA, 1)),
    ],
)
def test_weights_that_users_type(text: str, expected: dict[str, float]) -> None:
    assert parse_weights(text, CRITERIA)[1] == expected


@pytest.mark.parametrize(
    "text",
    [
        *["", "1,2", "1,2,x", "wit=1", "0,0,0", "-1,1,1", "nan,1,1", "inf,1,1", "1,1,1,1"],
        *["1e308,1e308,1e308", "1e308,0,0", "5e-324,0,0", "fluency=2,fluency=3", "fluency=2,1,1"],
    ],
)
def test_weights_that_make_no_sense(text: str) -> None:
    with pytest.raises(UserError):
        parse_weights(text, CRITERIA)


def test_player_ids_outside_slugs_work(tmp_path: Path) -> None:
    evidence = Evidence(tmp_path)
    evidence.played("Org/Модель:Free", {"c/s": {"a": [(4, 4, 4)]}})
    info = evidence.tree.players(SUITE, LANGUAGE)[0]
    assert isinstance(info, PlayerInfo)
    assert load_board(evidence.tree, SUITE, LANGUAGE, prompts={}).board.rows[0].player == "Org/Модель:Free"
