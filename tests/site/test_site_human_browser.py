"""The page of a human study in a real browser: accessible, narrow, dark, and asking nobody."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator

import pytest

from bench.site.build import build_site
from bench.site.serve import site_server
from tests.agreement.made_study import STUDY, study_tree
from tests.site.browsing import BROWSER, Watched, check_access

pytestmark = BROWSER
PAGE = f"people/{STUDY}/en/index.html"


@pytest.fixture(scope="module")
def url(quick_agreement: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = tmp_path_factory.mktemp("human-browser")
    build_site(study_tree(root / "results", refusal_rate=0.1).tree, output=root / "site")
    with site_server(root / "site", 0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("name", [PAGE, "people.html"])
def test_a_page_fits_a_phone_and_axe_finds_no_serious_fault(watch: Watched, url: str, name: str) -> None:
    watch.base = url
    check_access(watch, name)


def test_a_disagreement_opens_at_the_judges_words(watch: Watched, url: str) -> None:
    watch.base = url
    page = watch.open(PAGE)
    assert page.locator("svg.rc-figure").count() == 1
    link = page.locator("h2#disagreements ~ div a").first
    href = link.get_attribute("href") or ""
    link.click()
    page.wait_for_url(re.compile(re.escape(href.split("/")[-1])))
    assert page.locator(f"[id='{href.split('#')[1]}']").is_visible()
    assert watch.faults == []
