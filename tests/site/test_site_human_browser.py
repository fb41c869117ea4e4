"""The page of a human study in a real browser; ``test_site_kinds_browser.py`` checks its layout."""

from __future__ import annotations

import re

from tests.agreement.made_study import STUDY
from tests.site.browsing import BROWSER, Watched

pytestmark = BROWSER
PAGE = f"people/{STUDY}/en/index.html"


def test_a_disagreement_opens_at_the_judges_words(watch: Watched, study_url: str) -> None:
    watch.base = study_url
    page = watch.open(PAGE)
    assert page.locator("svg.rc-figure").count() == 1
    link = page.locator("h2#disagreements ~ div a").first
    href = link.get_attribute("href") or ""
    link.click()
    page.wait_for_url(re.compile(re.escape(href.split("/")[-1])))
    assert page.locator(f"[id='{href.split('#')[1]}']").is_visible()
    assert watch.faults == []
