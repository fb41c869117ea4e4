"""Sites built once for all tests that only look at them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.results import ResultsTree
from bench.site import SuiteLabel, build_site
from tests.site.hostile import BOOM, hostile_tree
from tests.synthetic import make_tree


@pytest.fixture(scope="session")
def small_tree(tmp_path_factory: pytest.TempPathFactory) -> ResultsTree:
    """Three players, two languages, nine scenes, with failures and refusals; and one conversation missing."""
    root = tmp_path_factory.mktemp("small") / "results"
    made = make_tree(
        root,
        players=3,
        languages=("en", "ru"),
        characters=3,
        situations=3,
        failure_rate=0.2,
        refusal_rate=0.3,
        seed=3,
    )
    folder = made.tree.player_folder(made.suite, "en", made.players[0])
    for path in folder.rglob("character-2.situation-2.json"):
        path.unlink()
    return made.tree


@pytest.fixture(scope="session")
def small_site(small_tree: ResultsTree, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the small tree; its suite is a demonstration."""
    output = tmp_path_factory.mktemp("small-site") / "site"
    label = SuiteLabel("Made by a script", "Stock sentences.", demonstration=True)
    build_site(small_tree, output=output, suites={"synthetic": label})
    return output


@pytest.fixture(scope="session")
def hostile_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with hostile results in ``results`` and their site in ``deep/er/site``."""
    root = tmp_path_factory.mktemp("hostile")
    tree = hostile_tree(root / "results")
    evil = f"</title><script>{BOOM}</script>"
    label = SuiteLabel(evil, evil, demonstration=True)
    build_site(tree, output=root / "deep" / "er" / "site", suites={"hostile": label})
    return root
