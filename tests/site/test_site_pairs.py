"""The head-to-head page and the pages of pairs and comparisons."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from bench.files import write_folder
from bench.records import Failure, sealed
from bench.results import ResultsTree
from bench.results.compared import (
    ComparedLine,
    ComparedSource,
    ComparedTable,
    compared_files,
    compared_folder,
    csv_of_compared,
)
from bench.results.comparisons import comparisons, write_comparison
from bench.scores.pairwise_records import Rating
from bench.site.build import build_site
from tests.site.site_html import article, dead_links, links, read
from tests.synthetic import SyntheticTree
from tests.synthetic_pairs import HOSTILE, add_comparisons

FOLDER = Path("boards/synthetic/en")
PAIR = "player-01~player-02"


@pytest.fixture(scope="module")
def site(no_charts: None, mini_tree: ResultsTree, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two players who were compared in four scenes; one order failed, and in one scene a player refuses."""
    root = tmp_path_factory.mktemp("pairs")
    shutil.copytree(mini_tree.root, root / "results")
    tree = ResultsTree(root / "results")
    names = ("player-01", "player-02")
    made = SyntheticTree(tree, "synthetic", ("en",), names, ("judge-01",), {names[0]: 4.2, names[1]: 3.1}, {})
    assert add_comparisons(made) == 4
    failed, refused, *_ = comparisons(tree, "synthetic", "en")
    failure = Failure(role="judge", turn=1, outcome="parse_error", reason=f"no JSON {HOSTILE}")
    broken = failed.orders[1].model_copy(update={"status": "failed", "margins": {}, "failure": failure})
    seen = refused.orders[0].model_copy(update={"refusals": (False, True), "refusal_reason": HOSTILE})
    for record, orders in ((failed, (failed.orders[0], broken)), (refused, (seen, refused.orders[1]))):
        write_comparison(tree, sealed(record.model_copy(update={"orders": orders})), replace=True)
    build_site(tree, root / "site", jobs=1)
    return root / "site"


def test_the_board_leads_to_the_head_to_head_page_and_on_to_the_words(site: Path) -> None:
    board = site / FOLDER / "index.html"
    assert any(address.endswith("head-to-head.html") for _, address in links(article(read(board))))
    page = article(read(site / FOLDER / "head-to-head.html"))
    cells = [address for text, address in links(page) if address.endswith(f"{PAIR}/index.html")]
    assert len(cells) == 2
    assert "2 comparisons count" in " ".join(page.text.split())
    pair = article(read(site / FOLDER / "pairs" / PAIR / "index.html"))
    scenes = [address for _, address in links(pair) if ".situation-" in address]
    assert len(scenes) == 4
    text = " ".join(pair.text.split())
    assert "saw a refusal, which does not count" in text
    assert "failed in at least one order, which does not count" in text
    assert "player-01" not in text
    assert "Player 01 won 2" in text


def test_wins_by_criterion_character_and_situation_add_up(site: Path) -> None:
    """Player 01 won both comparisons that count, on whatever criteria."""
    page = article(read(site / FOLDER / "head-to-head.html"))
    tables = [t for t in page.tagged("table") if "The page of a pair shows this" in t.text]
    sums = []
    for table in tables:
        first, second = (
            [tuple(map(int, cell.text.split("–"))) for cell in row.tagged("td")]
            for row in table.tagged("tr")[1:]
        )
        assert [cell[::-1] for cell in first] == second
        sums.append([sum(column) for column in zip(*first, strict=True)])
    criteria, *sides = sums
    assert sum(criteria) == 2 * 3
    assert sides == [[2, 0, 0], [2, 0, 0]]


def test_a_comparison_shows_both_conversations_and_the_reasons_in_both_orders(site: Path) -> None:
    paths = sorted((site / FOLDER / "pairs" / PAIR).glob("character*.html"))
    assert len(paths) == 4
    for path in paths:
        page = article(read(path))
        text = page.text
        assert "Player 01 shown first" in " ".join(text.split())
        assert "Player 02 shown first" in " ".join(text.split())
        assert len(page.having("rc-msg--player")) == 2 * len(page.having("rc-msg--user")) / 2
        assert "alert('reason')" in text  # as text
        assert "alert(" not in "".join(script.text for script in page.tagged("script"))
        assert page.having("rc-cp")  # the direction override is shown and has no effect


def test_links_of_these_pages_lead_somewhere(site: Path) -> None:
    assert dead_links(site) == []


def test_the_rating_is_published_as_data(site: Path) -> None:
    data = json.loads((site / FOLDER / "rating.json").read_text(encoding="utf-8"))
    made = Rating.model_validate(data)
    assert made.standings == {"counts": 2, "one_order": 1, "refusal": 1}
    assert [row.player for row in made.rows] == ["player-01", "player-02"]


def test_imported_comparisons_have_a_board_and_a_page_for_each_pair(tmp_path: Path) -> None:
    """Four players; the third never met the first, and the fourth nobody. Names hold markup."""
    names = ["<script>alert(1)</script>", "two", "three", "four", "five"]
    met = ((0, 1, 2), (1, 0, -1), (0, 1, 0), (1, 2, 1), (2, 1, -1), (3, 4, 1))
    lines = [ComparedLine(f"q{n}", "a judge", names[i], names[j], m) for n, (i, j, m) in enumerate(met)]
    source = ComparedSource(
        title="Other <i>bench</i>",
        language="ja",
        url="https://example.org",
        commit="1",
        licence="MIT",
        digest=hashlib.sha256(csv_of_compared(lines)).hexdigest(),
    )
    tree = ResultsTree(tmp_path / "results")
    table = ComparedTable("other", source, tuple(lines))
    write_folder(compared_folder(tree, "other"), compared_files(table))
    build_site(tree, tmp_path / "site", jobs=1)
    site = tmp_path / "site"
    boards = article(read(site / "boards" / "index.html"))
    linked = {a.text: a.attributes["href"] for a in boards.tagged("a")}
    assert linked["Other <i>bench</i>"] == "compared/other/index.html"
    board = article(read(site / "boards" / "compared" / "other" / "index.html"))
    text = " ".join(board.text.split())
    assert "Other <i>bench</i>, Japanese" in read(site / "boards" / "compared" / "other" / "index.html").text
    assert "6 verdicts, 1 judge" in text
    assert "No rating: no chain of comparisons leads from it to the other players" in text
    linked = {a.text: a.attributes["href"] for a in board.tagged("a")}
    cells = [a for a in board.tagged("a") if "–" in a.text]
    assert sorted(a.text for a in cells) == ["0–0–2", "0–1–2", "2–0–0", "2–1–0"]
    assert "five and four" in linked
    first = next(a.attributes["href"] for a in cells if "–1–" in a.text)
    pair = article(read(site / "boards" / "compared" / "other" / first))
    assert "won 2, tied 1 and lost 0" in pair.text
    assert [row.text for row in pair.tagged("tr")][-1].strip().startswith("q2")
    assert Rating.model_validate_json((site / "boards" / "compared" / "other" / "rating.json").read_bytes())
    assert dead_links(site) == []


def test_a_board_without_comparisons_has_no_such_page(small_site: Path) -> None:
    assert not (small_site / FOLDER / "head-to-head.html").exists()


def test_comparisons_of_players_that_are_gone_leave_the_board_as_it_is(
    no_charts: None, mini_tree: ResultsTree, tmp_path: Path
) -> None:
    shutil.copytree(mini_tree.root, tmp_path / "results")
    tree = ResultsTree(tmp_path / "results")
    names = ("player-01", "player-02")
    made = SyntheticTree(tree, "synthetic", ("en",), names, ("judge-01",), {names[0]: 4.2, names[1]: 3.1}, {})
    assert add_comparisons(made) == 4
    shutil.rmtree(tree.player_folder("synthetic", "en", names[0]))
    build_site(tree, tmp_path / "site", jobs=1)
    assert (tmp_path / "site" / FOLDER / "index.html").is_file()
    assert not (tmp_path / "site" / FOLDER / "head-to-head.html").exists()
    assert dead_links(tmp_path / "site") == []
