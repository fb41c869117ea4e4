"""Human-calibrated scores: the formula, simulations with a known truth, and the studies that allow them."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

from bench.annotate.sample import Candidate, draw_within_players
from bench.boards.loading import load_board, stored_json
from bench.cli import cli
from bench.records import canonical
from bench.results import ResultsTree
from bench.results.studies import (
    Annotation,
    AnnotatorFile,
    StudyFile,
    read_study,
    write_annotator,
    write_study,
)
from bench.scores.analyses.scenes import scene_finals
from bench.scores.bootstrap import Array
from bench.scores.calibration import CalibratedStudy, calibrated
from bench.scores.frame import load
from tests.synthetic import make_tree
from tests.tiny import ROOT

# The formula


def test_formula_is_worked_by_hand() -> None:
    judges = np.array([3.0, 4.0, 4.5, 2.0, 5.0, 3.5, 4.0, 3.0])
    people = np.array([2.5, np.nan, 3.0, 2.0, 3.5, np.nan, 3.5, np.nan])
    made = calibrated(judges, people, list(range(8)))
    f, y = judges[[0, 2, 3, 4, 6]], people[[0, 2, 3, 4, 6]]
    weight = np.cov(y, f)[0, 1] / np.var(f, ddof=1)
    assert 0 < weight < 1
    rest = y - weight * f
    variance = weight**2 * judges.var(ddof=1) / 8 + (rest - rest.mean()) @ (rest - rest.mean()) / 3 / 5
    assert made.weight == pytest.approx(weight)
    assert made.df == 3
    assert made.score == pytest.approx(weight * judges.mean() + rest.mean())
    assert made.high is not None
    assert made.high - made.score == pytest.approx(stats.t.ppf(0.975, 3) * math.sqrt(variance))


@pytest.mark.parametrize(("sign", "weight"), [(-1.0, 0.0), (3.0, 1.0)])
def test_clipped_weights_follow_the_whole_formula(sign: float, weight: float) -> None:
    rng = np.random.default_rng(0)
    judges = rng.normal(3, 0.5, 40)
    people = np.where(np.arange(40) < 15, sign * judges + rng.normal(0, 0.1, 40), np.nan)
    made = calibrated(judges, people, list(range(40)))
    f, y = judges[:15], people[:15]
    rest = y - weight * f
    variance = (
        weight**2 * judges.var(ddof=1) / 40
        + rest.var(ddof=1) / 15
        + 2 * weight * (np.cov(y, f)[0, 1] - weight * f.var(ddof=1)) / 40
    )
    assert (made.weight, made.df) == (weight, 14)
    assert made.high is not None
    assert made.high - made.score == pytest.approx(stats.t.ppf(0.975, 14) * math.sqrt(variance))


def test_constant_scores_have_no_interval() -> None:
    people = np.where(np.arange(20) < 12, 3.0, np.nan)
    made = calibrated(np.full(20, 4.0), people, list(range(20)))
    assert (made.score, made.low, made.high) == (3.0, None, None)


def simulated(rng: np.random.Generator, rated: int, repeats: int) -> tuple[Array, Array]:
    """Judges 0.6 points too high, and people's whole scores with a true mean of 3.5."""
    truth = np.repeat(rng.normal(3.5, 0.5, 64 // repeats), repeats) + rng.normal(0, 0.3, 64)
    judges = 4.1 + 0.5 * (truth - 3.5) + rng.normal(0, 0.4, 64)
    people = np.round(truth + rng.uniform(-0.5, 0.5, 64))  # unbiased rounding
    drawn = rng.choice(64, rated, replace=False)
    kept = np.full(64, np.nan)
    kept[drawn] = people[drawn]
    return judges, kept


@pytest.mark.parametrize(("rated", "repeats"), [(12, 1), (20, 1), (32, 2)])
def test_simulated_intervals_cover_and_the_judges_bias_is_gone(rated: int, repeats: int) -> None:
    rng = np.random.default_rng(11)
    scenes = list(np.repeat(np.arange(64 // repeats), repeats))
    made = [calibrated(*simulated(rng, rated, repeats), scenes) for _ in range(600)]
    inside = [one.low is not None and one.high is not None and one.low <= 3.5 <= one.high for one in made]
    assert 0.925 <= np.mean(inside) <= 0.975
    assert abs(float(np.mean([one.score for one in made])) - 3.5) < 0.03


def test_intervals_hold_for_these_characters_and_are_too_narrow_for_others() -> None:
    """Characters and situations each vary a third as much as single scenes, as the method page says."""
    rng = np.random.default_rng(5)
    these = others = 0
    for _ in range(300):
        effects = rng.normal(0, 0.245, (8, 1)) + rng.normal(0, 0.245, (1, 8))
        truth = 3.5 + effects.ravel() + rng.normal(0, 0.45, 64)
        judges = 4.1 + 0.5 * (truth - 3.5) + rng.normal(0, 0.4, 64)
        people = np.full(64, np.nan)
        drawn = rng.choice(64, 16, replace=False)
        people[drawn] = truth[drawn] + rng.normal(0, 0.4, 16)
        made = calibrated(judges, people, list(range(64)))
        assert made.low is not None
        assert made.high is not None
        these += made.low <= truth.mean() <= made.high
        others += made.low <= 3.5 <= made.high
    assert these / 300 > 0.93
    assert 0.86 < others / 300 < 0.94


# Samples


def test_every_conversation_of_a_player_is_equally_likely() -> None:
    pool = [Candidate(player, f"c{n}", "s", "") for player in "ab" for n in range(8)]
    counts = dict.fromkeys((candidate.scene for candidate in pool), 0)
    for seed in range(800):
        chosen = draw_within_players(pool, 2, seed)
        assert [sum(one.player == player for one in chosen) for player in "ab"] == [2, 2]
        for one in chosen:
            counts[one.scene] += 1
    assert min(counts.values()) > 140
    assert max(counts.values()) < 260
    assert len(draw_within_players(pool, 99, 1)) == 16


@pytest.fixture(scope="module")
def three_players(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tree(tmp_path_factory.mktemp("three"), players=3, characters=4, situations=6).tree.root


@pytest.fixture
def tree(tmp_path: Path, three_players: Path) -> ResultsTree:
    return ResultsTree(shutil.copytree(three_players, tmp_path / "results"))


def sample(tree: ResultsTree, *words: str) -> StudyFile:
    options = ["--results", str(tree.root), "--prompts", str(ROOT / "prompts")]
    said = CliRunner().invoke(
        cli, ["annotate", "sample", "synthetic", "-l", "en", "--study", "autumn", *words, *options]
    )
    assert said.exit_code == 0, said.output
    return read_study(tree.root, "autumn")


def rate(tree: ResultsTree, study: StudyFile, below: float = 1.0, skip: int = 0) -> None:
    """One annotator who scores every item ``below`` points lower than the judges, to a half."""
    finals = scene_finals(load(tree, "synthetic", "en")).to_dict()
    annotations = []
    for item in study.items[skip:]:
        final = float(finals[item.player, item.character, item.situation])
        score = max(1.0, round(2 * (final - below)) / 2)
        annotations.append(Annotation(item=item.item, scores=dict.fromkeys(study.criterion_names, score)))
    record = AnnotatorFile(
        study="autumn", annotator="annotator-1", origin="test", annotations=tuple(annotations)
    )
    write_annotator(tree.root, record)


def on_board(tree: ResultsTree) -> CalibratedStudy:
    (study,) = load_board(tree, "synthetic", "en").board.people
    return study


def test_sample_records_how_it_was_drawn(tree: ResultsTree) -> None:
    study = sample(tree, "--within-player", "12")
    assert study.within_player == 12
    assert study.population == {f"player-0{n}": 24 for n in (1, 2, 3)}
    assert len(study.items) == 36


def test_old_samples_keep_their_bytes(tree: ResultsTree) -> None:
    study = sample(tree)
    assert "within_player" not in canonical(study.plain())
    assert "population" not in canonical(study.plain())


def test_board_shows_judges_and_people_together(tree: ResultsTree) -> None:
    rate(tree, sample(tree, "--within-player", "12"))
    loaded = load_board(tree, "synthetic", "en")
    (study,) = loaded.board.people
    for row in study.players:
        assert row.judges is not None
        assert row.score is not None
        assert row.low is not None
        assert row.high is not None
        assert row.low < row.judges - 1 < row.high
        assert (row.rated, row.conversations, row.reason) == (12, 24, None)
    assert "people" not in json.loads(stored_json(loaded.board))
    options = ["--results", str(tree.root), "--prompts", str(tree.root)]
    said = CliRunner().invoke(cli, ["board", "synthetic", "-l", "en", *options]).output
    assert "Human-calibrated" in said
    data = json.loads(
        CliRunner().invoke(cli, ["board", "synthetic", "-l", "en", "--format", "json", *options]).output
    )
    assert data["people"][0]["study"] == "autumn"


def test_sample_that_is_balanced_instead_is_refused(tree: ResultsTree) -> None:
    rate(tree, sample(tree, "--size", "36"))
    study = on_board(tree)
    assert study.players == ()
    assert study.reason is not None
    assert "--within-player" in study.reason


def test_study_that_nobody_rated_or_that_is_not_finished(tree: ResultsTree) -> None:
    file = sample(tree, "--within-player", "12")
    assert on_board(tree).reason is not None
    rate(tree, file, skip=3)
    reasons = [row.reason for row in on_board(tree).players]
    assert sum(reason is not None and "not rated yet" in reason for reason in reasons) >= 1


def test_few_ratings_conversations_that_changed_and_new_ones_are_refused(tree: ResultsTree) -> None:
    file = sample(tree, "--within-player", "5")
    rate(tree, file)
    assert {row.score for row in on_board(tree).players} == {None}
    file = file.model_copy(
        update={
            "within_player": 12,
            "population": {"player-01": 24, "player-02": 23},
            "items": tuple(item.model_copy(update={"conversation_sha256": "0" * 64}) for item in file.items),
        }
    )
    write_study(tree.root, file)
    assert all("changed" in (row.reason or "") for row in on_board(tree).players)


def test_population_that_grew_is_refused(tree: ResultsTree) -> None:
    file = sample(tree, "--within-player", "12")
    rate(tree, file)
    write_study(tree.root, file.model_copy(update={"population": {"player-01": 24, "player-02": 23}}))
    assert [row.score is None for row in on_board(tree).players] == [False, True, True]


def test_damaged_study_does_not_break_the_board(tree: ResultsTree) -> None:
    sample(tree, "--within-player", "12")
    (tree.root / "human" / "autumn" / "study.json").write_text("{")
    assert load_board(tree, "synthetic", "en").board.people == ()


def test_size_and_within_player_exclude_each_other(tree: ResultsTree) -> None:
    options = ["--results", str(tree.root), "--prompts", str(ROOT / "prompts")]
    words = [
        "annotate",
        "sample",
        "synthetic",
        "-l",
        "en",
        "--study",
        "a",
        "--size",
        "3",
        "--within-player",
        "2",
    ]
    assert CliRunner().invoke(cli, [*words, *options]).exit_code != 0
