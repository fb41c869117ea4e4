"""What each kind of reader comes for is at most three clicks away."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urljoin

from bench.boards.rescoring import rescore_board
from bench.results import ResultsTree
from bench.scores.rescore import Choices
from tests.site.browsing import BROWSER, Watched, ready

pytestmark = BROWSER
BOARD = "boards/synthetic/en"
MOST = 3


class Reader:
    """Somebody who clicks, and counts."""

    def __init__(self, watch: Watched, start: str) -> None:
        self.page = watch.open(start)
        self.clicks = 0

    def click(self, selector: str, text: str = "") -> None:
        """Click the first such element, or the first with ``text``."""
        found = self.page.locator(selector, has_text=text) if text else self.page.locator(selector)
        found.first.click()
        self.clicks += 1
        assert self.clicks <= MOST
        ready(self.page)


def test_who_chooses_a_model_finds_the_best_value_for_a_kind_of_situation(
    watch: Watched, full_url: str, full_root: Path
) -> None:
    watch.base = full_url
    reader = Reader(watch, "index.html")
    reader.click(f'article a[href="{BOARD}/index.html"]')
    reader.click(".rc-parts a", "Your scoring")
    reader.click("input[name=kind][value=attack]")  # leaves the common ones
    page = reader.page
    page.locator("[data-rc-said]", has_text="2 scenes").wait_for()
    heads = [head.inner_text() for head in page.locator("[data-rc-yours] thead th").all()]
    cost = heads.index("Cost of a conversation")
    rows = page.locator("[data-rc-yours] tbody tr").all()
    made = rescore_board(
        full_root / "results", "synthetic", "en", Choices(kinds=("common",)), prompts=full_root / "prompts"
    )
    assert [row.locator("td").nth(2).inner_text() for row in rows] == [
        f"{row.score:.2f}" for row in made.rows
    ]
    assert all(row.locator("> *").nth(cost).inner_text().startswith("$0.") for row in rows)
    assert watch.faults == []


def test_who_made_a_model_finds_the_scenes_that_cost_most_and_why(watch: Watched, full_url: str) -> None:
    watch.base = full_url
    reader = Reader(watch, "index.html")
    reader.click(f'article a[href="{BOARD}/index.html"]')
    reader.click(".rc-board tbody a", "Player 02")
    scenes = reader.page.locator("#worst + ol > li")
    assert 1 <= scenes.count() <= 3
    assert scenes.first.is_visible()
    reader.click('#worst + ol a[href*="#t"]')
    verdict = reader.page.locator(".rc-verdict:target")
    assert verdict.get_attribute("open") is not None
    assert verdict.locator(".rc-reason").first.is_visible()
    assert watch.faults == []


def test_who_checks_gets_from_a_digit_to_its_words_and_to_the_source_file(
    watch: Watched, full_url: str, full_root: Path
) -> None:
    watch.base = full_url
    reader = Reader(watch, f"{BOARD}/index.html")
    reader.click(".rc-board tbody a", "Player 02")
    reader.click(".rc-matrix tbody td a")
    page = reader.page
    assert page.locator(".rc-message").first.is_visible()
    base = "https://example.invalid/results/"
    source = page.locator(f'#provenance ~ dl a[href^="{base}"]').first
    assert source.is_visible()  # the third click, which leaves the site
    file = urljoin(base, source.get_attribute("href") or "").removeprefix(base)
    assert (full_root / "results" / file).is_file()
    talk = page.url.removeprefix(full_url)
    tree = ResultsTree(full_root / "results")
    scene = Path(talk).stem
    wanted = [
        t
        for t in tree.conversations("synthetic", "en", "player-02")
        if f"{t.character}.{t.situation}" == scene
    ]
    assert [tree.conversation_path(t).relative_to(tree.root).as_posix() for t in wanted] == [file]
    assert watch.faults == []
