"""Pages of the other protocols: their own words, scales and rules, and versions beside each other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.records import Flaw, sealed
from bench.replies import REPAIRS
from bench.site.build import build_site
from bench.site.charts import Axis
from bench.slugs import slug
from tests.other_benches import make_likeness, make_long, make_v1, played
from tests.scores.evidence import Evidence
from tests.site import recomputed
from tests.site.site_html import Element, article, dead_links, read, repeated_ids
from tests.tiny import edit

PLAYERS = ("bard", "actor")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of both protocols, and of one version 2 board with the same players as a version 1 board."""
    root = tmp_path_factory.mktemp("protocols")
    likeness = make_likeness(root / "likeness")
    edit(likeness.suite_file, "orders = 2", "orders = 3")
    tree = played(likeness, PLAYERS)
    first = make_v1(root / "v1")
    played(first, PLAYERS)
    (root / "v1" / "results" / "tiny-v1").rename(tree.root / "tiny-v1")
    long = make_long(root / "long")
    played(long, PLAYERS)
    storm = next(cell for cell in long.made().cells("bard") if cell.situation == "storm")
    judgement = long.tree.judgement(storm, "strict")
    assert judgement is not None
    flaws = (Flaw(flaw="cliche", quote="<i>once</i> upon"),)
    turns = (judgement.turns[0].model_copy(update={"flaws": flaws}), *judgement.turns[1:])
    long.tree.write_judgement(sealed(judgement.model_copy(update={"turns": turns})), replace=True)
    (root / "long" / "results" / "tiny-long").rename(tree.root / "tiny-long")
    for suite, protocol, scores in (("new", "pingpong_v2", (5, 3, 1)), ("old", "pingpong_v1", (2, 9, 6))):
        evidence = Evidence(tree.root, protocol=protocol, suite=suite)
        for player, score, size in zip(("ann", "ben", "cat"), scores, (10, 100, 30), strict=True):
            cells = {scene: {"j": [(score,) * 3]} for scene in ("c/s", "d/t")}
            evidence.played(player, cells, ["x" * size])
    return tree.root


@pytest.fixture(scope="module")
def site(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("protocols-site") / "site"
    build_site(results, root, jobs=1)
    return root / "boards"


def page(site: Path, name: str) -> Element:
    return article(read(site / name))


LIKENESS = "tiny-likeness/en"


def test_a_board_says_its_scale_and_its_rules(site: Path) -> None:
    text = page(site, f"{LIKENESS}/index.html").text
    assert "Sorted by score, on a scale of 0 to 100" in text
    assert "within 1.5 of the leader" in text
    assert "Human likeness" in text
    assert "length-normalised" not in text
    old = page(site, "old/en/index.html").text
    assert "Sorted by length-normalised score, on a scale of 1 to 10" in old
    assert "within 0.135 of" in old
    assert "on a scale of 1 to 5" in page(site, "new/en/index.html").text


def test_tints_use_the_whole_of_the_scale(site: Path) -> None:
    tables = page(site, f"{LIKENESS}/players/bard/index.html").having("rc-table")
    (table,) = [table for table in tables if "Score of each" in table.text]
    tints = {name for cell in table.tagged("td") for name in cell.classes if name.startswith("rc-h")}
    assert len(tints) > 1


def test_an_axis_of_a_wide_scale_has_few_ticks() -> None:
    assert Axis(0, 100).ticks == [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
    assert Axis(1, 10).ticks == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    assert Axis(1, 5).ticks == [1, 2, 3, 4, 5]
    assert Axis(3, 4.5).ticks == [3, 3.5, 4, 4.5]


def test_items_are_a_list_and_no_table_full_of_holes(site: Path) -> None:
    for name in ("players/bard/index.html", "scenes.html"):
        found = page(site, f"{LIKENESS}/{name}")
        assert not found.having("rc-matrix")
        assert sum(found.text.count(item) for item in ("hive", "rain", "honey", "smoke")) >= 4
    assert page(site, "tiny-v1/en/players/bard/index.html").having("rc-matrix")


def test_no_link_is_dead_and_no_id_is_there_twice(site: Path) -> None:
    assert dead_links(site.parent) == []
    for path in site.rglob("*.html"):
        assert repeated_ids(read(path)) == [], path


def test_pages_of_scenes_and_characters_name_no_interrogator_where_there_is_none(site: Path) -> None:
    for path in (site / LIKENESS).rglob("*.html"):
        assert "nterrogator" not in article(read(path)).text, path


def test_what_a_judge_says_on_its_way_stays_text(tmp_path: Path) -> None:
    other = make_likeness(tmp_path / "other")
    tree = played(other, PLAYERS)
    (record, *_) = tree.judgements(other.suite, "en", "bard")
    hostile = "<img src=x onerror=alert(1)>"
    turn = record.turns[0].model_copy(
        update={"detail": {"band": hostile, hostile: [hostile, {"a": hostile}]}}
    )
    tree.write_judgement(sealed(record.model_copy(update={"turns": (turn, *record.turns[1:])})), replace=True)
    build_site(tree, output=tmp_path / "site", jobs=1)
    pages = (tmp_path / "site" / "boards").rglob(f"players/bard/{record.character}.{record.situation}.html")
    text = next(pages).read_text(encoding="utf-8")
    assert "&lt;img src=x" in text
    assert "<img src=x" not in text


def test_each_order_of_the_real_answers_has_its_verdict(site: Path) -> None:
    found = page(site, f"{LIKENESS}/players/bard/ann.hive.html")
    judges = [element.text.strip() for element in found.having("rc-judge")]
    assert judges == ["strict, order 1", "strict, order 2", "strict, order 3"]
    for words in (
        "Band:",
        "Order: ",
        "To be answered",
        "Real answer 3: THIRD answer",
        "Answer 1",
        "It talks.",
    ):
        assert words in found.text
    assert "interrogator" not in found.text
    assert "does not have" not in found.text  # no verdict is left over
    assert "asked 3 times" not in found.text


def test_a_conversation_of_version_1_says_who_judged(site: Path) -> None:
    text = page(site, "tiny-v1/en/players/bard/anna.hello.html").text
    assert "User (interrogator and judge)" in text
    assert "The interrogator, which is also the judge, saw the card" in text
    assert "What the interrogator reads" not in text


def test_the_order_effect_stands_on_the_judges_page(site: Path) -> None:
    text = page(site, f"{LIKENESS}/judges.html").text
    assert "Order of the real answers" in text
    assert "Largest minus smallest score of a response" in text
    assert "Order of the real answers" not in page(site, "tiny-v1/en/judges.html").text


def test_scores_follow_from_the_records_under_every_rule(site: Path, results: Path) -> None:
    for board in (LIKENESS, "tiny-v1/en", "old/en", "new/en"):
        rows = json.loads((site / board / "board.json").read_text(encoding="utf-8"))["rows"]
        for player, numbers in recomputed.board(results / board).items():
            row = next(row for row in rows if row["player"] == player)
            assert row["score"] == pytest.approx(numbers["score"], abs=1e-6)
            assert row["length_norm_score"] == pytest.approx(numbers["norm"], abs=1e-6)
            text = page(site, f"{board}/players/{slug(player)}/audit.html").text
            assert f"{numbers['norm']:.6f}" in text
    old = page(site, "old/en/players/ben/audit.html").text
    assert "−0.651" in old  # 100 characters against a median of 30: tanh(-70/90) of 9 - 2
    assert "Every answer has the same weight" in old
    assert "has no rule about length" in page(site, f"{LIKENESS}/players/bard/audit.html").text


def test_versions_of_the_method_are_put_beside_each_other(site: Path) -> None:
    maps = page(site, "new/en/rank-maps.html")
    assert "Spearman −1.00" in maps.text  # cat, ben, ann against ann, ben, cat, by what length leaves
    assert "suite old, en" in maps.text
    assert page(site, "old/en/rank-maps.html").having("rc-plot")
    assert not (site / "tiny-v1/en/rank-maps.html").exists()  # it shares no player with the others
    assert not (site / LIKENESS / "rank-maps.html").exists()


def test_a_long_conversation_shows_its_script_and_the_flaws(site: Path) -> None:
    talk = page(site, "tiny-long/en/players/bard/anna.storm.html").text
    assert "<b>A lamp</b> called Ada." in talk
    assert "forgotten" in talk
    assert "Turn 2: They shout." in talk
    assert "Flaws: Cliché (<i>once</i> upon)" in talk
    repaired = page(site, "tiny-long/en/players/actor/anna.hello.html").text
    assert f"reply repaired: {REPAIRS['flaws_missing']}" in repaired
    for name in ("index.html", "players/bard/index.html"):
        text = page(site, f"tiny-long/en/{name}").text
        assert "Facts" in text or "facts" in text
        assert "1.000" in text  # one flaw in the one turn with a list
