"""Layout in Chromium, checked by the boxes of elements: a phone's cards, paper, nothing jumps."""

from __future__ import annotations

import pytest

from bench.results import ResultsTree
from tests.site.browsing import BROWSER, Watched, ready

pytestmark = BROWSER

FOLDER = "boards/synthetic/en"
PAPER = 718
"""Width of an A4 page between the margins of the browser, in pixels."""
PAGES = (
    "index.html",
    f"{FOLDER}/index.html",
    f"{FOLDER}/compare.html?p=player-01&p=player-02",
    f"{FOLDER}/players/player-01/index.html",
    f"{FOLDER}/players/player-03/character-1.situation-1.html",
)
SHIFT = """
window.shift = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""


@pytest.mark.parametrize("name", PAGES)
def test_pages_do_not_jump_while_they_load(watch: Watched, small_url: str, name: str) -> None:
    watch.base = small_url
    for width in (390, 1400):
        watch.page.set_viewport_size({"width": width, "height": 900})
        page = watch.open(name)
        if "compare" in name:
            page.wait_for_selector(".rc-compare")
        page.evaluate(SHIFT)
        page.wait_for_timeout(600)
        assert page.evaluate("window.shift") < 0.05, width


@pytest.mark.parametrize("watch", [{"viewport": {"width": 390, "height": 800}}], indirect=True)
def test_a_phone_shows_the_table_first_and_opens_rows_as_cards(watch: Watched, small_url: str) -> None:
    watch.base = small_url
    page = watch.open(f"{FOLDER}/index.html")
    assert not page.locator("select[name=weights]").is_visible()
    tops = page.evaluate(
        "['.rc-board', '.rc-charts'].map(s => document.querySelector(s).getBoundingClientRect().top)"
    )
    assert tops[0] < tops[1]
    row = page.locator(".rc-board tbody tr").first
    assert row.locator("td >> nth=2").is_visible()
    heads = page.locator(".rc-board thead th")
    keys = [head.get_attribute("data-key") for head in heads.all()]
    length = row.locator(":scope > *").nth(keys.index("length"))
    assert not length.is_visible()
    row.locator(".rc-opener").click()
    assert length.is_visible()
    assert length.get_attribute("data-label") == "Length"
    assert row.locator(".rc-opener").get_attribute("aria-expanded") == "true"
    assert watch.faults == []


def test_the_search_index_is_asked_for_when_somebody_is_about_to_search(
    watch: Watched, small_url: str
) -> None:
    watch.base = small_url
    asked: list[str] = []
    watch.page.on("request", lambda call: asked.append(call.url))
    page = watch.open("index.html")
    page.wait_for_timeout(600)
    assert not [url for url in asked if url.endswith("search_index.json")]
    page.click(".md-search__input")
    page.keyboard.type("Player")
    page.wait_for_selector(".md-search-result__item")
    assert [url for url in asked if url.endswith("search_index.json")]


def test_a_printed_conversation_starts_on_its_first_page(
    watch: Watched, small_url: str, small_tree: ResultsTree
) -> None:
    watch.base = small_url
    page = watch.open(f"{FOLDER}/players/player-03/character-1.situation-1.html")
    page.set_viewport_size({"width": PAPER, "height": 1000})
    page.emulate_media(media="print")
    ready(page)
    top = page.locator(".rc-msg").first.evaluate("e => e.getBoundingClientRect().top + scrollY")
    assert top < 900
