"""The page of a human study in a real browser: accessible, narrow, dark, and asking nobody."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from bench.site.build import build_site
from bench.site.serve import site_server
from tests.agreement.made_study import STUDY, study_tree
from tests.site.browsing import BROWSER, Watched

pytestmark = BROWSER
AXE = (Path(__file__).parent / "vendor/axe.min.js").read_text(encoding="utf-8")
PAGE = f"people/{STUDY}/en/index.html"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = tmp_path_factory.mktemp("human-browser")
    build_site(study_tree(root / "results", refusal_rate=0.1).tree, output=root / "site")
    with site_server(root / "site", 0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", [PAGE, "people.html"])
def test_axe_finds_no_serious_fault(
    watch: Watched, url: str, name: str, scheme: Literal["light", "dark"]
) -> None:
    watch.base = url
    watch.page.emulate_media(color_scheme=scheme)
    page = watch.open(name)
    page.evaluate(AXE)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']}).then(r => r.violations)")
    serious = [
        (one["id"], one["nodes"][0]["html"][:200])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == []
    assert watch.faults == []


@pytest.mark.parametrize("watch", [{"viewport": {"width": 360, "height": 740}}], indirect=True)
@pytest.mark.parametrize("name", [PAGE, "people.html"])
def test_it_does_not_scroll_sideways_on_a_phone(watch: Watched, url: str, name: str) -> None:
    watch.base = url
    page = watch.open(name)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert watch.faults == []


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
