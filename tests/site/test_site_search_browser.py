"""Full-text search of conversations in Chromium."""

from __future__ import annotations

import re
import shutil
import threading
from pathlib import Path

import pytest

from bench.site.serve import site_server
from bench.site.talk_index import index_talks
from bench.slugs import slug
from tests.site.browsing import BROWSER, Watched
from tests.site.hostile import PLAYERS

pytestmark = BROWSER


def test_the_search_finds_words_and_runs_nothing_hostile(
    watch: Watched, hostile_root: Path, tmp_path: Path
) -> None:
    pytest.importorskip("pagefind", reason="Pagefind is not installed: make search")
    site = Path(shutil.copytree(hostile_root / "deep/er/site", tmp_path / "site"))
    index_talks(hostile_root / "results", site)
    with site_server(site, 0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        watch.base = f"http://127.0.0.1:{server.server_address[1]}/"
        page = watch.open("search.html?find=isolated")
        hits = page.locator("[data-rc-hits] > li")
        hits.first.wait_for()
        found = page.locator("[data-rc-said]").inner_text()
        assert found == f"{2 * len(PLAYERS)} conversations"  # of each player's three, one has failed
        assert hits.count() == 10
        page.get_by_role("button", name="Show more").click()
        hits.nth(10).wait_for()
        page.select_option("select[name=player]", slug("CON"))
        page.locator("[data-rc-said]", has_text="2 conversations").wait_for()
        page.locator("input[name=find]").fill("script onerror")
        page.get_by_role("button", name="Search", exact=True).click()
        page.locator("[data-rc-hits] mark", has_text="script").first.wait_for()
        assert page.locator("[data-rc-hits]").locator("script, img, svg, iframe, form").count() == 0
        assert page.evaluate("window.__pwned") is None
        link = page.locator("[data-rc-hits] p a").first
        target = str(link.get_attribute("href"))
        assert re.fullmatch(
            rf"{re.escape(watch.base)}boards/hostile/en/players/{slug('CON')}/[\w.-]+\.html#t\d+", target
        )
        link.click()
        page.locator(".rc-turn:target").wait_for()
        assert watch.faults == []
        server.shutdown()
        thread.join()


def test_without_an_index_or_a_server_the_page_says_so(watch: Watched, small_site: Path) -> None:
    watch.base = f"file://{small_site}/"
    page = watch.open("search.html?find=kettle&in=en/synthetic")
    assert "needs the site over HTTP" in page.locator("[data-rc-said]").inner_text()
    assert page.locator("select[name=in]").input_value() == "en/synthetic"
    assert watch.faults == []


@pytest.mark.parametrize("watch", [{"java_script_enabled": False}], indirect=True)
def test_without_scripts_the_page_says_what_it_needs(watch: Watched, small_url: str) -> None:
    watch.base = small_url
    page = watch.open("search.html")
    assert "needs JavaScript" in page.locator("article").inner_text()
    assert not page.locator("form[data-rc-search]").is_visible()
