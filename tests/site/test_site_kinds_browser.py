"""Every kind of page: axe finds no fault in either scheme, and nothing is cut off on any screen or on paper.

Opened as files, the pages ask for their own files only and log nothing.

The pages come from built sites, see :func:`tests.site.kinds.representatives`: a new kind is checked as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.site.browsing import BROWSER, READY, SCHEMES, Axe, Watched
from tests.site.kinds import kind, representatives

pytestmark = BROWSER

BOXES = (Path(__file__).parent / "boxes.js").read_text()
DRAWN_BOXES = f"""async (scrolls) => {{
  await ({READY})();
  const wider = (box) => box !== null && box.scrollWidth > box.clientWidth;
  const board = document.querySelector(".rc-board-box");
  return [({BOXES})(scrolls), document.documentElement.scrollWidth, wider(board)];
}}"""
"""The faults of the boxes, how wide the page is, and whether the board scrolls sideways."""
WIDTHS = (360, 390, 768, 1400)
POSITION = "e => getComputedStyle(e).position"
PAPER = 718
"""Width of an A4 page between the margins of the browser, in pixels."""


@pytest.mark.parametrize("watch", [{"reduced_motion": "reduce"}], indirect=True)
def test_every_kind_of_page_is_accessible_and_shows_all_of_itself(
    other_site: Path, small_site: Path, full_root: Path, study_root: Path, watch: Watched
) -> None:
    pages = representatives([small_site, full_root / "site", other_site, study_root / "site"])
    assert len(pages) > 40
    assert "people/*/index.html" in {kind(name) for _, name in pages}
    axe = Axe(watch.page)
    faults = {name: found for site, name in pages if (found := list(_faults(watch, axe, site, name)))}
    assert faults == {}


def _faults(watch: Watched, axe: Axe, site: Path, name: str) -> Iterator[object]:
    page = watch.page
    page.evaluate("document.documentElement.hidden = true")  # so that changes of the window cost nothing
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(media="screen", color_scheme=SCHEMES[0])
    watch.base = f"{site.as_uri()}/"
    watch.open(name)
    if page.locator(".md-header").count() and page.eval_on_selector(".md-header", POSITION) != "sticky":
        yield "the page has not got its style"
    yield from axe.faults()
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        faults, inside, scrolls = page.evaluate(DRAWN_BOXES, True)
        yield from [(width, fault) for fault in faults]
        if inside != width:
            yield width, "the page scrolls sideways"
    if scrolls:
        yield WIDTHS[-1], "the board has columns to scroll to"
    page.set_viewport_size({"width": PAPER, "height": 1000})
    page.emulate_media(media="print")
    yield from [("print", fault) for fault in page.evaluate(DRAWN_BOXES, False)[0]]
    yield from watch.faults
    watch.faults.clear()
