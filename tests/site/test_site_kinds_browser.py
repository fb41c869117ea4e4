"""Every kind of page: axe finds no fault in either scheme, and nothing is cut off on any screen or on paper.

The pages come from built sites, see :func:`tests.site.kinds.representatives`: a new kind is checked as well.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.site.build import build_site
from tests.other_benches import make_long, played
from tests.sharing import made_once
from tests.site.browsing import BROWSER, COLOUR_RULES, SCHEMES, Watched, access_faults
from tests.site.kinds import representatives
from tests.spoken_bench import make_spoken, recorded

pytestmark = BROWSER

ROOT = Path(__file__).resolve().parents[2]
BOXES = (Path(__file__).parent / "boxes.js").read_text()
WIDTHS = (360, 390, 768, 1400)
PAPER = 718
"""Width of an A4 page between the margins of the browser, in pixels."""
COMMITTED = ("card-probes/en/*/*/baba-yaga.[aist]*", "demo-v1/en", "human-likeness-demo/en/*/*/jun.*")
"""Of the committed results, what shows the other protocols."""


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of boards of other protocols: spoken, long, probes, version 1, human likeness."""
    return made_once(tmp_path_factory, "other-kinds", _make_others) / "site"


def _make_others(root: Path) -> None:
    tree = recorded(make_spoken(root / "spoken"))
    shutil.move(played(make_long(root / "long"), ("bard", "actor")).root / "tiny-long", tree.root)
    committed = ROOT / "results"
    for pattern in COMMITTED:
        for path in committed.glob(pattern):
            for file in [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]:
                _copy(file, tree.root / file.relative_to(committed))
    for board in ("card-probes", "human-likeness-demo"):
        for file in committed.glob(f"{board}/en/*/player.json"):
            _copy(file, tree.root / file.relative_to(committed))
    build_site(tree, output=root / "site", jobs=1)


def _copy(file: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, to)


def test_every_kind_of_page_is_accessible_and_shows_all_of_itself(
    others: Path, small_site: Path, full_root: Path, watch: Watched
) -> None:
    pages = representatives([small_site, full_root / "site", others])
    assert len(pages) > 40
    faults = {name: found for site, name in pages if (found := list(_faults(watch, site, name)))}
    assert faults == {}


def _faults(watch: Watched, site: Path, name: str) -> Iterator[object]:
    page = watch.page
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(media="screen", color_scheme=SCHEMES[0], reduced_motion="reduce")
    watch.base = site.as_uri()
    watch.open(f"/{name}")
    page.evaluate("document.querySelectorAll('article details').forEach(d => d.open = true)")
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        watch.drawn()
        yield from access_faults(page, *(COLOUR_RULES if scheme != SCHEMES[0] else ()))
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        watch.drawn()
        yield from [(width, fault) for fault in page.evaluate(BOXES, True)]
        if page.evaluate("document.documentElement.scrollWidth") != width:
            yield width, "the page scrolls sideways"
    box = page.query_selector(".rc-board-box")
    if box is not None and box.evaluate("b => b.scrollWidth > b.clientWidth"):
        yield WIDTHS[-1], "the board has columns to scroll to"
    page.set_viewport_size({"width": PAPER, "height": 1000})
    page.emulate_media(media="print")
    watch.drawn()
    yield from [("print", fault) for fault in page.evaluate(BOXES, False)]
