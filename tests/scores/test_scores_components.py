"""Variance components and the decision study: against statsmodels, simulation and reference figures."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from click.testing import CliRunner
from statsmodels.stats.anova import anova_lm

from bench.boards.judge_prices import judgement_price
from bench.boards.loading import load_board
from bench.catalog import Prices
from bench.cli import cli
from bench.errors import UserError
from bench.results import ResultsTree
from bench.scores.analyses.variance import variance_study, variance_table
from bench.scores.bootstrap import Array
from bench.scores.components import Components, Cube, components, design, henderson
from bench.scores.designs import design_study, goal_of
from bench.scores.frame import Frames, load
from bench.scores.weights import EQUAL, standard_weightings
from tests.synthetic import make_tree
from tests.tiny import ROOT

REFERENCE = ROOT.parent / "shared/published/japanese-rp-bench/reference.json"
TRUE = {"p": 0.3, "s": 0.1, "j": 0.2, "ps": 0.25, "pj": 0.1, "sj": 0.05, "r": 0.4}
"""Variances of simulated scores."""


def cube_of(values: Array, within: Array | None = None, grid: tuple[int, int] | None = None) -> Cube:
    n_p, n_s, n_j = values.shape
    characters, situations = grid or (1, n_s)
    scenes = tuple((f"c{c}", f"s{s:03}") for c in range(characters) for s in range(situations))
    return Cube(
        tuple(f"p{n:02}" for n in range(n_p)), scenes, tuple(f"j{n}" for n in range(n_j)), values, within
    )


def simulated(rng: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    values = np.zeros(shape)
    for name, variance in TRUE.items():
        axes = "psj" if name == "r" else name
        size = [n if axis in axes else 1 for axis, n in zip("psj", shape, strict=True)]
        values = values + rng.normal(0, variance**0.5, size)
    return values


def known_components(cube: Cube) -> Components:
    found = components(cube)
    assert found is not None
    return found


def test_components_are_those_of_the_mean_squares_of_statsmodels() -> None:
    """Expected mean squares by hand from the analysis of variance of statsmodels, 5 x 4 x 3 scores."""
    shape = (5, 4, 3)
    values = simulated(np.random.default_rng(1), shape)
    rows = [(*map(str, at), values[at]) for at in itertools.product(*map(range, shape))]
    table = pd.DataFrame(rows, columns=["p", "s", "j", "y"])
    fit = smf.ols("y ~ (C(p) + C(s) + C(j)) ** 2", table).fit()
    squares = anova_lm(fit)["mean_sq"]
    residual = float(squares.pop("Residual"))
    ms = {"".join(c for c in str(name) if c in "psj"): float(value) for name, value in squares.items()}
    due = {
        "p": (ms["p"] - ms["ps"] - ms["pj"] + residual) / 12,
        "s": (ms["s"] - ms["ps"] - ms["sj"] + residual) / 15,
        "j": (ms["j"] - ms["pj"] - ms["sj"] + residual) / 20,
        "ps": (ms["ps"] - residual) / 3,
        "pj": (ms["pj"] - residual) / 4,
        "sj": (ms["sj"] - residual) / 5,
        "r": residual,
    }
    found = known_components(cube_of(values))
    assert found.variance == {name: pytest.approx(max(0.0, value)) for name, value in due.items()}
    assert found.negative == {name for name, value in due.items() if value < 0}


def test_components_of_a_table_worked_by_hand() -> None:
    """Two players, scenes and judges; the only difference is one point between the players, and a judge who
    is two points more lenient."""
    values = np.array([[[2.0, 4.0], [2.0, 4.0]], [[3.0, 5.0], [3.0, 5.0]]])
    found = known_components(cube_of(values))
    assert found.variance == {
        name: pytest.approx({"p": 0.5, "j": 2.0}.get(name, 0.0), abs=1e-9) for name in TRUE
    }
    assert not found.negative
    assert found.total == pytest.approx(2.5)


@pytest.mark.parametrize(("missing", "judges_of_a_scene"), [(0.0, 4), (0.15, 4), (0.0, 2)])
def test_components_are_found_again_with_scores_missing(missing: float, judges_of_a_scene: int) -> None:
    """On average over boards with missing scores, and where two of four judges judge each scene."""
    rng, found = np.random.default_rng(2), []
    for _ in range(150):
        values = simulated(rng, (12, 16, 4))
        values[rng.random(values.shape) < missing] = np.nan
        for scene in range(16):
            values[:, scene, [(scene + k) % 4 for k in range(judges_of_a_scene, 4)]] = np.nan
        raw = henderson(values, [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)])
        assert raw is not None
        found.append(raw)
    spread = np.std(found, axis=0) / len(found) ** 0.5
    assert np.abs(np.mean(found, axis=0) - list(TRUE.values())).tolist() <= (4 * spread).tolist()


def test_one_judge_a_scene_cannot_separate_the_components() -> None:
    values = simulated(np.random.default_rng(3), (6, 8, 2))
    values[:, ::2, 0] = values[:, 1::2, 1] = np.nan
    assert components(cube_of(values)) is None


def test_player_by_character_is_found_on_a_grid_and_only_there() -> None:
    rng, found = np.random.default_rng(4), []
    for _ in range(60):
        values = (
            rng.normal(0, 0.5, (10, 6, 1, 1))
            + rng.normal(0, 0.3, (10, 1, 5, 1))
            + rng.normal(0, 0.2, (10, 6, 5, 1))
            + rng.normal(0, 0.4, (10, 6, 5, 2))
        )
        parts = known_components(cube_of(values.reshape(10, 30, 2), grid=(6, 5))).parts
        found.append([parts[name] for name in ("pc", "pt", "pct")])
    assert np.mean(found, axis=0) == pytest.approx([0.25, 0.09, 0.04], rel=0.15)
    assert not known_components(cube_of(values.reshape(10, 30, 2))).parts


def test_the_turns_part_of_the_residual() -> None:
    values = simulated(np.random.default_rng(5), (8, 10, 3))
    found = known_components(cube_of(values, within=np.full(values.shape, 0.1)))
    assert found.parts["turn"] == pytest.approx(0.1)
    assert found.parts["psj"] == pytest.approx(found.variance["r"] - 0.1)


def test_estimates_below_zero_count_as_zero_and_are_marked() -> None:
    values = np.random.default_rng(6).normal(0, 1, (6, 6, 3))
    found = known_components(cube_of(values))
    assert found.negative
    assert all(found.variance[name] == 0 for name in found.negative)


@pytest.fixture(scope="module")
def reference() -> dict[str, Any]:
    if not REFERENCE.exists():
        pytest.skip(f"the reference figures are not in {REFERENCE.parent}")
    data: dict[str, Any] = json.loads(REFERENCE.read_text(encoding="utf-8"))["all_8"]
    return data


@pytest.fixture(scope="module")
def published() -> Frames:
    return load_board(ROOT / "results", "japanese-rp-bench", "ja", prompts=ROOT / "prompts").frames


def test_components_and_designs_of_the_published_scores(published: Frames, reference: dict[str, Any]) -> None:
    """reference.json is from an independent implementation."""
    study = variance_study(published)
    found = study.every
    assert found is not None
    assert found.variance == {k: pytest.approx(v, abs=5e-5) for k, v in reference["components"].items()}
    for name, due in reference["d_study"].items():
        size, _, rotated = name.partition("_")
        scenes, judges = map(int, size.split("x"))
        made = design(found, scenes, judges, 1 if rotated else None)
        assert made.erho2 == pytest.approx(due["erho2"], abs=5e-5), name
        assert made.phi == pytest.approx(due["phi"], abs=5e-5), name
        assert made.se_difference == pytest.approx(due["se_difference"], abs=5e-5), name
    rows = design_study(published, study, None).designs
    row = next(row for row in rows if (row.scenes, row.judges, row.per_scene) == (64, 4, 1))
    assert row.erho2 == pytest.approx(reference["d_study"]["64x4_rotated"]["erho2"], abs=5e-5)


def test_a_reader_learns_what_separates_the_best_of_the_published_scores(published: Frames) -> None:
    study = variance_study(published)
    assert study.top is not None
    chance = study.top.chance()
    assert chance["pj"] > sum(chance.values()) / 2
    table = variance_table(study)
    assert any(
        "Most of what separates neighbours" in note and "judge" in note for note in table.attrs["notes"]
    )
    main = table[(table["part_of"] == "") & (table["players"] == "all")]
    assert main["share"].sum() == pytest.approx(1)


def of(**variance: float) -> Components:
    return Components(20, 64, 4, 20 * 64 * 4, {**dict.fromkeys(TRUE, 0.0), **variance})


def test_designs_by_hand() -> None:
    found = of(p=0.3, ps=0.2, pj=0.04, r=0.8, s=0.1, j=0.2, sj=0.4)
    crossed, rotated = design(found, 10, 4), design(found, 10, 4, 1)
    assert crossed.se_difference**2 == pytest.approx(2 * (0.02 + 0.01 + 0.02))
    assert crossed.se_these_judges**2 == pytest.approx(2 * (0.02 + 0.02))
    assert crossed.erho2 == pytest.approx(0.3 / 0.35)
    assert crossed.phi == pytest.approx(0.3 / (0.35 + 0.01 + 0.05 + 0.01))
    assert rotated.se_difference**2 == pytest.approx(2 * (0.02 + 0.01 + 0.08))
    assert rotated.phi == pytest.approx(0.3 / (0.3 + 0.11 + 0.01 + 0.05 + 0.04))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("components") / "results"
    make_tree(root, players=6, characters=4, situations=4, judges=("a", "b", "c"), failure_rate=0.02)
    return root


def test_every_effect_of_a_board_is_in_the_analysis(root: Path) -> None:
    """Scenes on a grid and several turns; failed judgements cost no scene."""
    study = variance_study(load(ResultsTree(root), "synthetic", "en"))
    table = variance_table(study)
    assert set(table["players"]) == {"all"}
    assert {"player x character", "player x situation", "player x judge", "scene x judge", "turn"} <= set(
        table["effect"]
    )
    assert study.every is not None
    assert (study.every.players, study.every.scenes, study.every.judges) == (6, 16, 3)
    assert study.every.scores < 6 * 16 * 3
    assert any("missing" in note for note in table.attrs["notes"])


def test_one_judge_gives_no_components_and_says_why(root: Path) -> None:
    frames = load(ResultsTree(root), "synthetic", "en").only_judges(["a"])
    study = variance_study(frames)
    assert study.every is None
    made = design_study(frames, study, None)
    assert not made.designs
    assert made.reason is not None
    assert "judges" in made.reason


@pytest.mark.parametrize(("goal", "value"), [("separability", 0.5), ("erho2", 0.9), ("difference", 0.3)])
def test_the_cheapest_design_reaches_its_goal_and_one_scene_less_does_not(
    published: Frames, goal: Any, value: float
) -> None:
    study = variance_study(published)
    made = design_study(published, study, None, (goal, value)).cheapest
    assert made is not None
    reached = {
        "separability": made.separability,
        "erho2": made.erho2,
        "difference": made.detectable_difference,
    }
    found = reached[goal]
    assert found is not None
    assert found == pytest.approx(value, rel=0.05)
    assert (found <= value) if goal == "difference" else (found >= value)
    others = [
        row for row in design_study(published, study, None).designs if row.judge_calls < made.judge_calls
    ]
    for row in others:
        if goal == "erho2":
            assert row.erho2 is not None
            assert row.erho2 < value


@pytest.mark.parametrize(
    "text", ["", "erho2", "erho2=", "erho2=2", "separability=nan", "cost=3", "difference=-1"]
)
def test_an_invalid_goal_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="invalid goal"):
        goal_of(text)


def bench(root: Path, *words: str) -> str:
    result = CliRunner().invoke(cli, [*words, "--results", str(root)])
    if result.exception:
        raise result.exception
    return result.output


def test_the_commands_print_components_and_designs(root: Path) -> None:
    data = json.loads(
        bench(root, "analyse", "synthetic", "-l", "en", "--only", "components", "--format", "json")
    )
    (analysis,) = data["analyses"]
    assert analysis["notes"]
    assert {"players", "effect", "variance", "share", "negative"} <= set(analysis["rows"][0])
    made = json.loads(
        bench(root, "board", "synthetic", "--design", "--format", "json", "--reach", "erho2=0.8")
    )
    assert {(row["scenes"], row["judges"]) for row in made["designs"]} >= {(16, 1), (512, 8)}
    assert {row["rotated"] for row in made["designs"]} == {True, False}
    assert made["cheapest"]["erho2"] >= 0.8
    text = bench(root, "board", "synthetic", "--design", "--reach", "erho2=0.8")
    assert f"{made['cheapest']['judge_calls']:,} judgements" in text
    assert "unknown" in text  # the synthetic judges have no price


@pytest.mark.parametrize(
    "words",
    [
        ("--reach", "erho2=0.9"),
        ("--design", "--compare-methods"),
        ("--design", "--separate", "player-01", "player-02"),
        ("--design", "--write"),
        ("--design", "--format", "csv"),
        ("--design", "--judges-as", "fixed"),
        ("--judges-as", "fixed", "--compare-methods"),
    ],
)
def test_options_that_do_not_go_together_are_refused(root: Path, words: tuple[str, ...]) -> None:
    with pytest.raises(UserError):
        bench(root, "board", "synthetic", *words)


def test_weights_of_the_criteria_count(root: Path) -> None:
    frames = load(ResultsTree(root), "synthetic", "en")
    one = variance_study(frames, standard_weightings(frames.criteria)[EQUAL]).every
    two = variance_study(frames, {"in_character": 1.0, "entertaining": 0.0, "fluency": 0.0}).every
    assert one is not None
    assert two is not None
    assert one.variance["r"] < two.variance["r"]


def test_a_judgement_costs_what_the_catalogue_says_now() -> None:
    """Of a committed board: tokens by hand from its records, priced at $1 and $2 a million."""
    tree = ResultsTree(ROOT / "results")
    loaded = load_board(tree, "demo", "en", prompts=ROOT / "prompts", models=ROOT / "models.toml")
    assert loaded.catalog is not None
    prices = Prices(input=Decimal(1), output=Decimal(2))
    loaded.catalog.models["smollm2-135m"] = loaded.catalog.models["smollm2-135m"].model_copy(
        update={"prices": prices}
    )
    made = [j for info in loaded.frames.players for j in tree.judgements("demo", "en", info.player)]
    made = [judgement for judgement in made if judgement.judge in loaded.frames.judges]
    usages = [call.usage for judgement in made for call in judgement.calls if call.usage is not None]
    dollars = sum(usage.prompt_tokens + 2 * usage.completion_tokens for usage in usages) / 1e6
    price = judgement_price(tree, loaded)
    assert price is not None
    assert float(price) == pytest.approx(dollars / sum(bool(judgement.calls) for judgement in made))
    assert judgement_price(tree, replace(loaded, catalog=None)) is None
