"""Rank maps: who is matched, what is said of them, and the paper's own table as a case."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from bench.errors import CatalogError, RecordError, UserError
from bench.scores.board import board_of
from bench.scores.external import (
    Alias,
    Published,
    load_aliases,
    load_published,
    published_lists,
    read_published,
)
from bench.scores.frame import load
from bench.scores.rankmap import Ours, RankMap, board_list, board_rank_map, matched, rank_map
from bench.scores.robust import told_apart
from bench.scores.weights import standard_weightings
from tests.synthetic import make_tree

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "results" / "external"
SHARED = ROOT.parent / "shared"
HEAD = "benchmark,version,model,score,source,date\n"


def listed(**scores: float) -> Published:
    return Published(name="other", benchmark="Other", version="2", source="s", date="2024", scores=scores)


def alias(model: str, *ids: str, other: str) -> Alias:
    return Alias(model=model, ids=ids, names={"other": other})


def ours(**scores: float) -> list[Ours]:
    return [Ours(name, name.title(), "F", f"model-{name}", score, 0.05) for name, score in scores.items()]


def same(*names: str) -> list[Alias]:
    return [alias(name, name, other=name.upper()) for name in names]


def test_ranks_and_moves_worked_by_hand() -> None:
    made = rank_map(ours(a=4, b=3, c=3, d=1), listed(A=10, B=40, C=20, D=30), same(*"abcd"), "t")
    assert [(m.player, m.our_rank, m.their_rank, m.moved) for m in made.models] == [
        ("a", 1, 4, -3),
        ("b", 2.5, 1, 1.5),
        ("c", 2.5, 3, -0.5),
        ("d", 4, 2, 2),
    ]
    assert made.movers == ("a", "d")


def test_ranks_left_open_are_those_of_intervals_that_do_not_clear() -> None:
    """b and c overlap; a lies above both, d below all."""
    made = rank_map(ours(a=4, b=3, c=2.95, d=1), listed(A=4, B=3, C=2, D=1), same(*"abcd"), "t")
    assert [(m.our_rank_low, m.our_rank_high) for m in made.models] == [(1, 1), (2, 3), (2, 3), (4, 4)]


def test_ranks_left_open_by_pairs_are_worked_by_hand() -> None:
    """a is surely better than c and d, b than d; what is known of z, whom the list lacks, does not matter."""
    sure = {("a", "c"), ("a", "d"), ("b", "d"), ("z", "a"), ("d", "z")}
    made = rank_map(ours(a=4, b=3.99, c=2, d=1, z=5), listed(A=4, B=3, C=2, D=1), same(*"abcd"), "t", sure)
    assert made.left_open_by == "pairs"
    assert [(m.our_rank_low, m.our_rank_high) for m in made.models] == [(1, 2), (1, 3), (2, 4), (3, 4)]
    assert not any("significantly" in warning for warning in made.warnings)  # 3 of 6 pairs
    fewer = rank_map(ours(a=4, b=3.99, c=2, d=1), listed(A=4, B=3, C=2, D=1), same(*"abcd"), "t", set())
    assert any("6 of 6 pairs" in warning for warning in fewer.warnings)


def test_ranks_left_open_are_the_boards_where_the_list_has_all_its_players(tmp_path: Path) -> None:
    made = make_tree(tmp_path, players=6, characters=8, situations=8, seed=5)
    frames = load(made.tree, "synthetic", "en")
    scores = {name.upper(): float(n) for n, name in enumerate(made.players)}
    board = board_of(frames)
    sure = told_apart(frames, standard_weightings(frames.criteria)["equal"])
    shown = board_rank_map(board, listed(**scores), same(*made.players), sure)
    due = {row.player: (row.robust.rank_low, row.robust.rank_high) for row in board.rows if row.robust}
    assert {m.player: (m.our_rank_low, m.our_rank_high) for m in shown.models} == due
    assert len(set(due.values())) > 2


def test_nothing_is_matched_by_its_name_alone() -> None:
    made = rank_map(ours(a=1, b=2), listed(a=1, b=2), [], "t")
    assert made.n == 0
    assert {(left.side, left.name) for left in made.unmatched} == {
        ("ours", "a"),
        ("ours", "b"),
        ("theirs", "a"),
        ("theirs", "b"),
    }


def test_model_id_of_the_provider_matches_too_and_a_player_id_goes_before_it() -> None:
    players = [Ours("cold", "Cold", "F", "m-1", 3), Ours("warm", "Warm", "F", "m-1", 4)]
    pairs, _ = matched(players, listed(M=1), [alias("M", "m-1", "warm", other="M")])
    assert [one.player for _, one in pairs] == ["warm"]


def test_several_players_of_one_model_are_named_not_chosen_between() -> None:
    players = [Ours("cold", "Cold", "F", "m-1", 3), Ours("warm", "Warm", "F", "m-1", 4)]
    pairs, left = matched(players, listed(M=1), [alias("M", "m-1", other="M")])
    assert pairs == []
    reasons = {one.name: one.reason for one in left if one.side == "ours"}
    assert reasons == dict.fromkeys(("cold", "warm"), "several players are M: cold, warm")


def test_player_that_two_models_claim_is_an_error() -> None:
    players = [Ours("p", "P", "F", "m", 3)]
    with pytest.raises(UserError, match="both"):
        matched(players, listed(A=1, B=2), [alias("A", "p", other="A"), alias("B", "m", other="B")])


def test_alias_of_a_model_that_the_list_does_not_hold_is_an_error() -> None:
    with pytest.raises(UserError, match="has no 'X'"):
        matched(ours(a=1), listed(A=1), [alias("a", "a", other="X")])


def test_too_few_shared_models_have_no_correlation() -> None:
    made = rank_map(ours(a=1, b=2, c=3), listed(A=1, B=2), same("a", "b"), "t")
    assert (made.n, made.drawable) == (2, False)
    assert (made.spearman.value, made.kendall.value) == (None, None)
    assert "too few" in made.warnings[0]


def test_narrow_span_is_warned_about_and_a_wide_one_is_not() -> None:
    wide = {name.upper(): float(n) for n, name in enumerate("abcdefgh")}
    mine = ours(**{name: float(n) for n, name in enumerate("abcdefgh")})
    assert not any("span" in w for w in rank_map(mine, listed(**wide), same(*"abcdefgh"), "t").warnings)
    made = rank_map(mine, listed(**wide, Z=-100), same(*"abcdefgh"), "t")
    assert made.their_span == pytest.approx(7 / 107, abs=1e-6)
    assert any("span only 7% of the range of Other v2" in warning for warning in made.warnings)


def table_4() -> tuple[list[Ours], tuple[Alias, ...]]:
    """The paper's ten models as our side, by the alias table's names for them."""
    aliases = load_aliases(COMMITTED)
    ids = {a.names["pingpong_paper_en"]: a.ids[0] for a in aliases if "pingpong_paper_en" in a.names}
    with (SHARED / "paper" / "table4_en_leaderboard_top10.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    players = [
        Ours(
            r["model"],
            r["model"],
            "F",
            ids[r["model"]],
            float(r["length_norm_score"]),
            float(r["ci_half_width"]),
        )
        for r in rows
    ]
    return players, aliases


def paper_map(name: str) -> RankMap:
    players, aliases = table_4()
    return rank_map(players, load_published(COMMITTED, name), aliases, "Table 4")


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared")
def test_table_4_against_creative_writing() -> None:
    made = paper_map("eqbench_creative_writing_v2")
    assert made.n == 9
    assert made.spearman.value == pytest.approx(0.03, abs=0.005)
    assert made.spearman.p is not None
    assert made.spearman.p > 0.9
    assert [left.name for left in made.unmatched if left.side == "ours"] == ["Llama 3.1 70B"]
    assert any("span only 18%" in warning for warning in made.warnings)


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared")
def test_table_4_against_rpbench_shares_five_models() -> None:
    made = paper_map("rpbench_auto_scene")
    assert {m.player for m in made.models} == {
        "Claude 3.5 Sonnet",
        "Claude 3 Opus",
        "Llama 3.1 405B",
        "Llama 3.1 70B",
        "GPT-4o",
    }


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared")
@pytest.mark.parametrize(
    ("name", "source", "column"),
    [
        ("eqbench_creative_writing_v2", "external/eqbench_creative_writing_v2.csv", "score"),
        ("rpbench_auto", "external/rpbench_auto.csv", "win_rate_avg"),
        ("rpbench_auto_scene", "external/rpbench_auto.csv", "win_rate_scene"),
        ("rpbench_auto_character", "external/rpbench_auto.csv", "win_rate_character"),
        ("pingpong_paper_en", "paper/table4_en_leaderboard_top10.csv", "length_norm_score"),
        ("pingpong_paper_ru", "paper/table3_ru_leaderboard_top10.csv", "length_norm_score"),
    ],
)
def test_committed_lists_are_what_was_published(name: str, source: str, column: str) -> None:
    with (SHARED / source).open(encoding="utf-8") as file:
        printed = {row["model"]: float(row[column]) for row in csv.DictReader(file)}
    assert load_published(COMMITTED, name).scores == printed


def test_a_hidden_file_is_no_list(tmp_path: Path) -> None:
    for name in ("one.csv", "._one.csv"):
        (tmp_path / name).touch()
    assert published_lists(tmp_path) == ["one"]


def test_committed_aliases_name_models_that_the_lists_hold() -> None:
    known = {name: load_published(COMMITTED, name).scores for name in published_lists(COMMITTED)}
    for one in load_aliases(COMMITTED):
        for name, model in one.names.items():
            assert model in known[name], (one.model, name)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("model,score\na,1\n", "unexpected columns"),
        (HEAD + "B,1,a,x,s,2024\n", "not a number"),
        (HEAD + "B,1,a,nan,s,2024\n", "not a number"),
        (HEAD + "B,1,a,1,s,2024\nB,1,a,2,s,2024\n", "repeated"),
        (HEAD + "B,1,a,1,s,2024\nC,1,b,2,s,2024\n", "several benchmarks"),
        (HEAD, "several benchmarks"),
    ],
)
def test_malformed_list_is_refused_with_the_reason(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RecordError, match=fault):
        read_published(path)


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (HEAD.encode() + b"x" * 200_000, "field larger"),
        (b"x" * 200_000, "field larger"),
        (HEAD.encode() + b"B,1,a,1,s,2024\n" * 300_000, "larger than 4,194 kB"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_a_file_that_is_no_list_is_refused(tmp_path: Path, data: bytes, fault: str) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(data)
    with pytest.raises(RecordError, match=fault):
        read_published(path)


def test_unknown_list_is_refused_with_the_nearest() -> None:
    with pytest.raises(CatalogError, match="rpbench_auto"):
        load_published(COMMITTED, "rpbench")


def test_name_that_stands_for_two_models_is_refused(tmp_path: Path) -> None:
    (tmp_path / "aliases.toml").write_text('[A]\nids = ["x"]\n[B]\nids = ["x"]\n', encoding="utf-8")
    with pytest.raises(CatalogError, match="'A' and for 'B'"):
        load_aliases(tmp_path)


def test_two_players_cannot_be_one_listed_model() -> None:
    players = [Ours("cold", "Cold", "F", "m-1", 3), Ours("warm", "Warm", "F", "m-2", 4)]
    with pytest.raises(UserError, match="'M'") as caught:
        matched(players, listed(M=1), [alias("A", "cold", other="M"), alias("B", "warm", other="M")])
    assert "cold" in caught.value.line()
    assert "warm" in caught.value.line()


def test_a_name_that_is_another_players_id_does_not_join_the_two(tmp_path: Path) -> None:
    made = make_tree(tmp_path, players=4, characters=2, situations=2, seed=5)
    board = board_of(load(made.tree, "synthetic", "en"))
    first, second = board.rows[:2]
    named = board.model_copy(
        update={"rows": (first.model_copy(update={"name": second.player}), *board.rows[1:])}
    )
    listed_board, aliases = board_list(board, named, "Other")
    assert len(listed_board.scores) == 4
    assert len({alias.names[listed_board.name] for alias in aliases}) == 4
