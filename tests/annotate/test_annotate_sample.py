"""Drawing a study: equal seeds draw alike, margins are even, names tell nothing, only the complete counts."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from pathlib import Path

import pytest

from bench.annotate.sample import Candidate, candidates, draw, item_id
from bench.errors import UserError
from bench.records import Audio, Failure, sealed
from bench.results import ResultsTree
from tests.annotate.studies import CRITERIA, make_study
from tests.synthetic import SUITE, make_tree
from tests.tiny import ROOT


def grid(players: int, characters: int, situations: int) -> list[Candidate]:
    return [
        Candidate(f"p{p}", f"c{c}", f"s{s}", "0")
        for p in range(players)
        for c in range(characters)
        for s in range(situations)
    ]


def spread(pool: list[Candidate], drawn: list[Candidate], margin: int) -> int:
    """How much oftener the most drawn level of a margin was drawn than the least drawn one."""
    counts = Counter(candidate.scene[margin] for candidate in drawn)
    levels = {candidate.scene[margin] for candidate in pool}
    return max(counts[level] for level in levels) - min(counts[level] for level in levels)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("shape", "size"),
    [((13, 8, 8), 250), ((13, 8, 8), 265), ((63, 8, 8), 250), ((3, 8, 8), 100), ((5, 2, 3), 17)],
)
def test_every_margin_is_even_to_within_one(shape: tuple[int, int, int], size: int, seed: int) -> None:
    pool = grid(*shape)
    drawn = draw(pool, size, seed)
    assert len({candidate.scene for candidate in drawn}) == len(drawn) == size
    assert [spread(pool, drawn, margin) for margin in range(3)] <= [1, 1, 1]


def test_characters_of_a_player_are_even_too() -> None:
    drawn = draw(grid(13, 8, 8), 260, 7)
    pairs = Counter((candidate.player, candidate.character) for candidate in drawn)
    assert set(pairs.values()) <= {2, 3, 4}  # 2.5 on the average; by chance alone 0 to 7
    assert len(pairs) == 13 * 8


def test_equal_seeds_draw_alike_whatever_the_order_and_others_do_not() -> None:
    pool = grid(6, 4, 4)
    shuffled = random.Random(3).sample(pool, len(pool))
    assert draw(pool, 30, 1) == draw(shuffled, 30, 1)
    assert {c.scene for c in draw(pool, 30, 1)} != {c.scene for c in draw(pool, 30, 2)}
    assert {c.scene for c in draw(pool, 30, 1)} != {c.scene for c in draw(pool, 30, 1, "another suite")}


def test_a_sample_is_the_same_on_every_machine() -> None:
    """Drawn once, kept: a change of the method would change every study that is repeated by its seed."""
    pool = grid(2, 2, 2)
    assert [c.scene for c in draw(pool, 3, 1)] == [("p1", "c0", "s1"), ("p0", "c1", "s0"), ("p0", "c1", "s1")]

    def digest(cell: tuple[str, str, str]) -> str:
        text = json.dumps([1, "", *cell], separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    assert min((c.scene for c in pool), key=digest) == ("p1", "c0", "s1")


def test_a_pool_with_gaps_is_drawn_as_evenly_as_it_allows() -> None:
    pool = [
        c for c in grid(4, 4, 4) if c.player != "p0" or c.character == "c0"
    ]  # four of p0, sixteen of others
    drawn = draw(pool, 40, 5)
    counts = Counter(c.player for c in drawn)
    assert counts["p0"] == 4
    assert sorted(counts.values()) == [4, 12, 12, 12]


def test_where_there_are_fewer_than_asked_for_all_are_drawn() -> None:
    pool = grid(2, 2, 2)
    assert sorted(c.scene for c in draw(pool, 100, 1)) == sorted(c.scene for c in pool)
    assert draw([], 5, 1) == []


def test_only_complete_conversations_are_candidates(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, players=1, characters=2, situations=2, judges=1).tree
    talk = next(tree.conversations(SUITE, "en", "player-01"))
    failure = Failure(role="player", turn=1, outcome="empty", reason="no text")
    tree.write_conversation(
        sealed(talk.model_copy(update={"status": "failed", "failure": failure})), replace=True
    )
    version, pool = candidates(tree, SUITE, "en")
    assert version == "1"
    assert len(pool) == 3
    assert (talk.player, talk.character, talk.situation) not in {c.scene for c in pool}


def test_what_cannot_be_drawn_from_is_said(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, players=2, characters=2, situations=2, judges=1).tree
    with pytest.raises(UserError, match="no complete conversations"):
        candidates(tree, SUITE, "ru")
    with pytest.raises(UserError, match=r"no conversations of nobody.*player-01, player-02"):
        candidates(tree, SUITE, "en", players=("nobody",))
    assert {c.player for c in candidates(tree, SUITE, "en", players=("player-02",))[1]} == {"player-02"}


def test_spoken_conversations_are_not_put_to_readers(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, players=1, characters=1, situations=1, judges=1).tree
    talk = next(tree.conversations(SUITE, "en", "player-01"))
    sound = Audio(
        sha256="0" * 64,
        format="wav",
        bytes=9,
        seconds=1,
        sample_rate=8000,
        channels=1,
        silence=0,
        clipping=0,
    )
    said = (*talk.messages[:-1], talk.messages[-1].model_copy(update={"audio": sound}))
    tree.write_conversation(sealed(talk.model_copy(update={"messages": said})), replace=True)
    with pytest.raises(UserError, match="its conversations are spoken"):
        candidates(tree, SUITE, "en")


def test_several_versions_of_a_suite_are_not_mixed(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, players=1, characters=2, situations=2, judges=1).tree
    talk = next(tree.conversations(SUITE, "en", "player-01"))
    tree.write_conversation(sealed(talk.model_copy(update={"version": "2"})), replace=True)
    with pytest.raises(UserError, match=r"versions 1, 2.*--suite-version"):
        candidates(tree, SUITE, "en")
    assert [len(candidates(tree, SUITE, "en", version=v)[1]) for v in ("1", "2")] == [3, 1]
    with pytest.raises(UserError, match="no complete conversations of version 3"):
        candidates(tree, SUITE, "en", version="3")


def test_a_study_records_seed_strata_and_items_whose_names_tell_nothing(tmp_path: Path) -> None:
    study = make_study(tmp_path, size=9)
    assert (study.seed, study.asked, study.guideline) == (1, 9, "en-2")
    assert study.strata is not None
    assert study.strata["player"] == {"player-01": 3, "player-02": 3, "player-03": 3}
    assert [sum(levels.values()) for levels in study.strata.values()] == [9, 9, 9]
    names = [item.item for item in study.items]
    assert names == sorted(set(names))
    for item in study.items:
        assert len(item.item) == 16
        assert set(item.item) <= set("0123456789abcdef")
    players = [item.player for item in study.items]
    assert players != sorted(players)  # the order of the tasks does not group them


def test_another_study_names_its_items_otherwise(tmp_path: Path) -> None:
    names = {
        item_id(name, seed, candidate)
        for name, seed in (("one", 1), ("two", 1), ("one", 2))
        for candidate in grid(1, 1, 2)
    }
    assert len(names) == 6


def test_people_are_not_asked_about_what_no_judge_scores() -> None:
    tree = ResultsTree(ROOT / "results")
    with pytest.raises(UserError, match="its judges score human_likeness, and people would be asked about"):
        candidates(tree, "human-likeness-demo", "en", criteria=CRITERIA)
    assert candidates(tree, "demo-v1", "en", criteria=CRITERIA)[1]
