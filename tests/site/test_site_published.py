"""Pages of published scores: they say where the conversations are, and link nothing that does not exist."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from bench.site.build import build_site
from tests.scores.test_scores_published import ABOUT, lines_of, tree_with

BOARD = "boards/other/ja"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with one board of published scores; a player has a name that must be escaped."""
    root = tmp_path_factory.mktemp("published")
    evil = "<img src=x onerror=alert(1)>"
    lines = [line._replace(player=evil if line.player == "p0" else line.player) for line in lines_of(4, 6, 2)]
    build_site(tree_with(root / "results", lines), root / "site", prompts=root, models=root / "none", jobs=1)
    return root / "site"


def pages(site: Path) -> list[Path]:
    return sorted((site / BOARD).rglob("*.html"))


def test_every_page_says_that_the_conversations_are_elsewhere_and_links_them(site: Path) -> None:
    assert len(pages(site)) >= 4 + 4 + 6
    for page in [*pages(site), site / "index.html"]:
        text = page.read_text(encoding="utf-8")
        assert "ublished scores" in text, page
        assert f'href="{ABOUT["conversations"]}"' in text, page


def test_no_link_is_dead(site: Path) -> None:
    dead = set()
    for page in [*pages(site), site / "index.html", site / "boards" / "index.html"]:
        for link in re.findall(r'href="([^"]+)"', page.read_text(encoding="utf-8")):
            target = re.split("[#?]", html.unescape(link))[0]
            outside = not target or re.match("https?:|mailto:|data:", target)
            if not outside and not (page.parent / target).resolve().exists():
                dead.add((page.name, target))
    assert dead == set()


def test_pages_of_our_own_evidence_only_are_left_out(site: Path) -> None:
    names = {page.name for page in (site / BOARD).glob("*.html")}
    assert {"index.html", "compare.html", "scenes.html", "judges.html"} <= names
    assert not names & {"audit.html", "changes-of-board.html"}


def test_a_name_from_the_table_is_text_on_every_page(site: Path) -> None:
    assert not any("<img src=x" in page.read_text(encoding="utf-8") for page in pages(site))


def test_the_board_has_no_column_of_what_is_unknown(site: Path) -> None:
    text = (site / BOARD / "index.html").read_text(encoding="utf-8")
    assert "Japanese" in text
    keys = set(re.findall(r'<th scope="col" data-key="([^"]+)"', text))
    assert {"rank", "norm", "spread"} <= keys
    assert not keys & {"refusals", "length", "cost"}
    rows = re.findall(r'<tr data-key="[^"]*">(.*?)</tr>', text, re.DOTALL)
    assert {len(re.findall(r"<t[dh][ >]", row)) for row in rows} == {len(keys)}
