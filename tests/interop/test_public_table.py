"""The board of imported files against the table that can be made of the files themselves.

The table here is worked out from the JSON alone, in exact fractions, by the steps that the public project
states: it shares no code with the import or the scoring.
"""

from __future__ import annotations

import json
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from bench.interop.pingpong_import import import_pingpong
from bench.results import ResultsTree
from bench.scores.board import Board, board_of
from bench.scores.frame import load
from tests.interop.public_files import make_public

CRITERIA = ("in_character", "entertaining", "fluency")
PLAYERS = 24
Talk = tuple[str, ...]


def mean(values: list[Any]) -> Fraction:
    return sum(map(Fraction, values), Fraction(0)) / len(values)


def table_of(folder: Path) -> dict[str, dict[str, Fraction]]:
    """Per player: score, each criterion, length, share of refusals, length-normalised score."""
    verdicts: dict[str, dict[Talk, list[dict[str, Fraction]]]] = defaultdict(lambda: defaultdict(list))
    refusals: dict[str, set[Talk]] = defaultdict(set)
    talks: dict[str, set[Talk]] = defaultdict(set)
    for path in folder.glob("*.json"):
        player = path.stem.split("_player_", 1)[1]
        for output in json.loads(path.read_text(encoding="utf-8"))["outputs"]:
            talk = tuple(message["content"] for message in output["messages"])
            talks[player].add(talk)
            if any(output["scores"]["is_refusal"]):
                refusals[player].add(talk)
            else:
                verdicts[player][talk].append({name: mean(output["scores"][name]) for name in CRITERIA})
    rows: dict[str, dict[str, Fraction]] = {}
    for player, judged in verdicts.items():
        row = {name: mean([mean([v[name] for v in given]) for given in judged.values()]) for name in CRITERIA}
        row["score"] = mean([row[name] for name in CRITERIA])
        row["length"] = Fraction(int(mean([len(text) for talk in talks[player] for text in talk[1::2]])))
        row["refusals"] = Fraction(len(refusals[player]), len(talks[player]))
        rows[player] = row
    middle = Fraction(median(row["length"] for row in rows.values()))
    for row in rows.values():
        factor = 1 + Fraction(7, 100) * (middle / row["length"] - 1)
        row["norm"] = row["score"] * min(max(factor, Fraction(93, 100)), Fraction(1))
    return rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("public")
    make_public(made, players=PLAYERS, characters=4, situations=4, refusal_rate=0.08)
    return made


@pytest.fixture(scope="module")
def board(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Board:
    tree = ResultsTree(tmp_path_factory.mktemp("results"))
    report = import_pingpong(tree, folder, language="en")
    assert (report.players, report.problems) == (PLAYERS, ())
    return board_of(load(tree, "ping-pong-bench", "en"), resamples=100)


def test_every_number_is_that_of_the_files(folder: Path, board: Board) -> None:
    table = table_of(folder)
    assert {row.player for row in board.rows} == table.keys()
    assert sum(row["refusals"] > 0 for row in table.values()) > PLAYERS / 2
    for row in board.rows:
        due = table[row.player]
        assert row.score == pytest.approx(float(due["score"]), abs=1e-6)
        assert row.length_norm_score == pytest.approx(float(due["norm"]), abs=1e-6)
        assert row.criteria == pytest.approx({name: float(due[name]) for name in CRITERIA}, abs=1e-6)
        assert row.avg_length == due["length"]
        assert row.refusal_ratio == pytest.approx(float(due["refusals"]), abs=1e-6)


def test_ranks_follow_from_the_printed_scores(folder: Path, board: Board) -> None:
    printed = sorted(
        ((int(f"{float(row['norm']):.2f}".replace(".", "")), name) for name, row in table_of(folder).items()),
        reverse=True,
    )
    ranks: dict[str, int] = {}
    leader, rank = printed[0][0], 1
    for place, (score, name) in enumerate(printed, start=1):
        if leader - score > 6:
            leader, rank = score, place
        ranks[name] = rank
    assert {row.player: row.rank for row in board.rows} == ranks
    assert len(set(ranks.values())) > 5
