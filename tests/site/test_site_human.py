"""The page of a human study: there where a study is, with links to turns and files of its numbers."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from bench.agreement.report import agreement_of
from bench.agreement.study import study_panel
from bench.results import ResultsTree
from bench.results.studies import load_study, read_study, write_study
from bench.scores.frame import load
from bench.site.build import build_site
from bench.slugs import slug
from tests.agreement.made_study import JUDGES, NOISE, STUDY, add_study, study_tree
from tests.site.conftest import RESAMPLES
from tests.synthetic import SUITE

pytestmark = pytest.mark.usefixtures("quick_agreement", "no_charts")
PAGE = f"people/{STUDY}/en/index.html"


@pytest.fixture
def tree(study_root: Path) -> ResultsTree:
    return ResultsTree(study_root / "results")


@pytest.fixture
def site(study_root: Path) -> Path:
    return study_root / "site"


def page_of(site: Path) -> str:
    return (site / PAGE).read_text(encoding="utf-8")


def test_board_and_list_of_studies_lead_to_it(site: Path, tree: ResultsTree) -> None:
    board = (site / "boards" / SUITE / "en" / "index.html").read_text(encoding="utf-8")
    assert f'href="../../../{PAGE}"' in board
    listed = (site / "people.html").read_text(encoding="utf-8")
    count = len(read_study(tree.root, STUDY).items)
    assert f'href="{PAGE}"' in listed
    assert f"</a>: {count} conversations of <bdi>{SUITE}</bdi>, English" in listed
    assert PAGE in (site / "search" / "search_index.json").read_text(encoding="utf-8")


def test_files_hold_what_the_functions_say(site: Path, tree: ResultsTree) -> None:
    panel = study_panel(load_study(tree.root, STUDY), tree, [load(tree, SUITE, "en")])
    made = agreement_of(panel, resamples=RESAMPLES)
    folder = site / "people" / STUDY / "en"
    assert json.loads((folder / "agreement.json").read_text(encoding="utf-8")) == made.model_dump(mode="json")
    assert (folder / "agreement.csv").read_text(encoding="utf-8").startswith("table,version,criterion,")
    for form in ("svg", "png", "pdf"):
        assert (folder / f"people-{slug('synthetic 1')}.{form}").stat().st_size > 1000


def test_page_shows_every_figure_with_its_number_of_pairs_and_its_p(site: Path) -> None:
    page = page_of(site)
    data = json.loads((site / "people" / STUDY / "en" / "agreement.json").read_text(encoding="utf-8"))
    figures = [*data["judged"][0]["figures"], *data["people"]["pairs"], *data["people"]["alpha"]]
    figures += data["judged"][0]["ensembles"]
    for figure in figures:
        assert figure["value"] is not None
        ends = f"{figure['low']:z.2f} to {figure['high']:z.2f}".replace("-", "−")
        small = f"{ends}, n {figure['n']}"
        if figure["p"] is not None:
            small += ", p &lt; 0.0001" if figure["p"] < 0.0001 else f", p {figure['p']:.4f}"
        assert f"{figure['value']:.3f} <small>{small}</small>" in page
    assert "nan" not in re.sub(r"<[^>]*>", " ", page).lower().split()


def test_disagreements_lead_to_the_judges_words_on_a_turn(site: Path) -> None:
    links = re.findall(r'href="([^"]*#t\d+-[^"]+)"', page_of(site))
    assert len(links) == 30
    for link in links:
        path, anchor = link.split("#")
        target = (site / PAGE).parent.joinpath(path).resolve()
        assert f'id="{anchor}"' in target.read_text(encoding="utf-8")
        assert anchor.split("-", 1)[1] in JUDGES


def test_without_a_study_there_is_no_such_page(tmp_path: Path) -> None:
    tree = study_tree(tmp_path / "results", scenes=1).tree
    shutil.rmtree(tree.root / "human")
    build_site(tree, output=tmp_path / "site")
    assert not (tmp_path / "site" / "people").exists()
    assert "There are no studies yet" in (tmp_path / "site" / "people.html").read_text(encoding="utf-8")
    assert "people/" not in (tmp_path / "site" / "boards" / SUITE / "en" / "index.html").read_text(
        encoding="utf-8"
    )


def test_a_study_without_a_board_shows_its_people(tmp_path: Path) -> None:
    tree = study_tree(tmp_path / "results", scenes=2).tree
    file = read_study(tree.root, STUDY)
    write_study(tree.root, file.model_copy(update={"suite": "elsewhere", "language": "ru"}))
    build_site(tree, output=tmp_path / "site")
    page = (tmp_path / "site" / "people" / STUDY / "ru" / "index.html").read_text(encoding="utf-8")
    assert "shows only people" in page
    assert "People against people" in page


def test_a_study_that_nobody_has_rated_says_only_that(tmp_path: Path) -> None:
    tree = study_tree(tmp_path / "results", scenes=1).tree
    shutil.rmtree(tree.root / "human" / STUDY / "annotations")
    build_site(tree, output=tmp_path / "site")
    page = (tmp_path / "site" / PAGE).read_text(encoding="utf-8")
    assert "Nobody has scored one yet" in page
    assert "Models in the sample" in page
    for words in (
        "People read",
        "Judges against people:",
        "the plain mean of the judges",
        "People against people",
    ):
        assert words not in page


def test_one_annotator_and_one_judge_say_why_there_is_no_more(tmp_path: Path) -> None:
    tree = study_tree(tmp_path / "results", scenes=2).tree
    for path in (tree.root / "human" / STUDY / "annotations").iterdir():
        path.unlink()
    for judge in JUDGES[1:]:
        for folder in tree.root.glob(f"{SUITE}/en/*/judgements/{judge}"):
            shutil.rmtree(folder)
    add_study(tree, {"ann": NOISE["ann"]})
    build_site(tree, output=tmp_path / "site")
    page = (tmp_path / "site" / PAGE).read_text(encoding="utf-8")
    assert "Only one annotator, so there is nothing to compare" in page
    assert "One judge: there is nothing to combine" in page
    assert "agrees with people" in page
    assert "agrees best" not in page


def test_hostile_names_are_text(tmp_path: Path) -> None:
    """A player's id and a criterion of an imported study come from a foreign file."""
    tree = study_tree(tmp_path / "results", scenes=1).tree
    file = read_study(tree.root, STUDY)
    evil = "<img src=x onerror=alert(1)>"
    items = tuple(item.model_copy(update={"player": evil}) for item in file.items)
    write_study(tree.root, file.model_copy(update={"suite": "elsewhere", "items": items}))
    build_site(tree, output=tmp_path / "site")
    page = (tmp_path / "site" / PAGE).read_text(encoding="utf-8")
    assert "<img src=x" not in page
    assert "&lt;img src=x" in page
