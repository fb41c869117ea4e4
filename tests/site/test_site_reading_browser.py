"""What a reader does with the site in a browser: from a number to the words, wherever it lies, on a phone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.site.browsing import BROWSER, Watched

FOLDER = "boards/synthetic/en"
BOARD = f"{FOLDER}/index.html"
PHONE = {"viewport": {"width": 390, "height": 740}}

pytestmark = BROWSER


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def subpath_url(small_site: Path) -> Iterator[str]:
    """The small site as a folder of a bigger one."""
    handler = partial(_Quiet, directory=str(small_site.parent.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/{small_site.parent.name}/{small_site.name}/"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "name",
    [
        "index.html",
        "method.html",
        "search.html",
        BOARD,
        f"{FOLDER}/compare.html?p=player-01&p=player-02",
        f"{FOLDER}/rescore.html",
        f"{FOLDER}/characters/character-1.html",
        f"{FOLDER}/players/player-03/character-1.situation-1.html#t1",
    ],
)
def test_in_a_folder_of_a_server_it_asks_for_its_own_files_only(
    watch: Watched, subpath_url: str, name: str
) -> None:
    """Pages of each depth and with each script. ``test_site_kinds_browser.py`` opens all kinds as files."""
    watch.base = subpath_url
    page = watch.open(name)
    assert page.evaluate("getComputedStyle(document.querySelector('.md-header')).position") == "sticky"
    assert watch.faults == []


def test_two_clicks_lead_from_a_number_to_the_words_behind_it(watch: Watched, small_url: str) -> None:
    watch.base = small_url
    page = watch.open(BOARD)
    page.locator(".rc-board tbody th a").first.click()
    page.locator(".rc-matrix tbody td a").first.click()
    assert page.locator(".rc-message").first.inner_text()
    page.locator(".rc-verdict summary").first.click()
    assert page.locator(".rc-verdict[open] .rc-reason").first.is_visible()
    assert watch.faults == []


def test_the_first_tab_leads_past_the_navigation(watch: Watched, small_url: str) -> None:
    watch.base = small_url
    page = watch.open(BOARD)
    page.keyboard.press("Tab")
    link = page.locator(":focus")
    assert link.inner_text() == "Skip to content"
    box = link.bounding_box()
    assert box is not None
    assert box["y"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#content"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('article') !== null")
    assert watch.faults == []


@pytest.mark.parametrize("watch", [PHONE], indirect=True)
def test_a_phone_breaks_neither_ranks_nor_names(watch: Watched, small_url: str) -> None:
    watch.base = small_url
    page = watch.open(f"{FOLDER}/players/player-01/index.html")
    line = (
        "cell => { const r = document.createRange(); r.selectNodeContents(cell); return r.getClientRects(); }"
    )
    rows = page.eval_on_selector_all(
        ".rc-rank", f"all => all.map(c => new Set([...({line})(c)].map(r => Math.round(r.bottom / 8))).size)"
    )
    assert rows
    assert set(rows) == {1}
    for name in ("judges.html", "players/player-03/character-1.situation-1.html"):
        page = watch.open(f"{FOLDER}/{name}")
        heights = page.eval_on_selector_all(
            ".rc-table:not(.rc-calls) tbody th bdi",
            "all => all.filter(e => e.textContent === 'judge-01').map(e => e.getClientRects().length)",
        )
        assert heights
        assert set(heights) == {1}, name
    assert watch.faults == []


@pytest.mark.parametrize("watch", [PHONE], indirect=True)
@pytest.mark.parametrize("name", ["judges.html", "index.html", "players/player-01/audit.html"])
def test_captions_can_be_read_without_scrolling_sideways(watch: Watched, small_url: str, name: str) -> None:
    watch.base = small_url
    page = watch.open(f"{FOLDER}/{name}")
    ends = page.eval_on_selector_all(
        ".rc-table caption", "all => all.map(c => c.getBoundingClientRect().right)"
    )
    assert ends
    assert max(ends) <= 390
    assert watch.faults == []
