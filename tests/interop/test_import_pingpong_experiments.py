"""Public results of several interrogators and judges become suites of their own."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean

import pytest
from click.testing import CliRunner
from scipy.stats import kendalltau

from bench.cli import cli
from bench.errors import UserError
from bench.interop.pingpong_files import Choice
from bench.results import ResultsTree
from tests.interop.conftest import SUITE, conversations_of, import_public, judgements_of, put
from tests.interop.public_files import make_public, version_2


def _experiment(folder: Path) -> None:
    """Two players, each asked by two interrogators, whose questions differ."""
    for p in range(2):
        for n, asker in enumerate(("gpt_4o_mini", "Claude 3.5")):
            name = f"judge_gpt_4o_player_p{p}_interrogator_{asker}.json"
            put(folder, version_2(p, "gpt_4o", 2, 2, seed=n), name)


def test_each_interrogator_of_an_experiment_has_a_suite_of_its_own(tree: ResultsTree, folder: Path) -> None:
    _experiment(folder)
    report = import_public(tree, folder)
    assert report.problems == ()
    assert report.suites == (f"{SUITE}-claude-3-5", f"{SUITE}-gpt-4o-mini")
    assert (report.conversations, report.judgements) == (16, 16)
    first, second = (conversations_of(tree, "p0", suite) for suite in report.suites)
    assert len(first) == len(second) == 4
    assert first[0].messages != second[0].messages


def test_suites_of_two_interrogators_are_compared_by_kendall(tmp_path: Path) -> None:
    folder = tmp_path / "public"
    folder.mkdir()
    for p in range(4):
        for n, asker in enumerate(("a", "b")):
            data = version_2(p, "gpt_4o", 2, 2, seed=n)
            put(folder, data, f"judge_gpt_4o_player_p{p}_interrogator_{asker}.json")
    options = ["--results", str(tmp_path / "results")]
    run = CliRunner().invoke
    assert run(cli, ["import", "ping-pong-bench", str(folder), "-l", "en", *options]).exit_code == 0
    words = ["analyse", f"{SUITE}-a", "-l", "en", "--swap-with", f"{SUITE}-b", "--only", "board_swap"]
    result = run(cli, [*words, "--format", "json", *options])
    [pair, mean_of_pairs] = json.loads(result.output)["analyses"][0]["rows"]
    scores = [
        [
            mean(
                sum(map(mean, (o["scores"][n] for n in ("in_character", "entertaining", "fluency"))))
                for o in version_2(p, "gpt_4o", 2, 2, seed=seed)["outputs"]
            )
            for p in range(4)
        ]
        for seed in (0, 1)
    ]
    assert pair["players"] == 4
    # answers are shorter than what normalisation bites on by less than the players' differences
    assert pair["kendall"] == pytest.approx(kendalltau(*scores).statistic, abs=1e-6)
    assert mean_of_pairs["kendall"] == pair["kendall"]


def test_only_the_judges_and_interrogators_asked_for_are_read(tree: ResultsTree, folder: Path) -> None:
    _experiment(folder)
    put(
        folder,
        version_2(0, "claude_3_5_sonnet", 2, 2),
        "judge_claude_player_p0_interrogator_gpt_4o_mini.json",
    )
    report = import_public(tree, folder, choice=Choice(frozenset({"gpt_4o"}), frozenset({"gpt_4o_mini"})))
    assert (report.files, report.suites) == (2, (f"{SUITE}-gpt-4o-mini",))
    assert {j.judge for j in judgements_of(tree, "p0", f"{SUITE}-gpt-4o-mini")} == {"gpt_4o"}


def test_interrogators_whose_names_look_alike_are_not_mixed(tree: ResultsTree, folder: Path) -> None:
    for n, asker in enumerate(("gpt_4o", "gpt-4o", "...")):
        name = f"judge_gpt_4o_player_p_interrogator_{asker}.json"
        put(folder, version_2(0, "gpt_4o", 1, 1, seed=n), name)
    report = import_public(tree, folder)
    assert (report.suites, report.conversations) == ((f"{SUITE}-gpt-4o",), 1)
    assert len(report.problems) == 2
    for problem, asker in zip(report.problems, ("'...'", "'gpt_4o'"), strict=True):
        assert asker in problem.text


def test_the_command_says_so_where_no_file_is_of_the_judge_asked_for(tmp_path: Path) -> None:
    make_public(tmp_path / "public", players=1)
    words = ["import", "ping-pong-bench", str(tmp_path / "public"), "-l", "en", "--judge", "nobody"]
    result = CliRunner().invoke(cli, [*words, "--results", str(tmp_path / "results")])
    assert isinstance(result.exception, UserError)
