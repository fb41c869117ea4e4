"""The site in a real browser: nothing hostile runs, nothing is asked of other origins, and it can be used."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from bench.results import ResultsTree
from bench.site.build import build_site
from bench.slugs import slug
from tests.lengths import of_long
from tests.site.browsing import BROWSER, Watched, ready
from tests.site.hostile import PLAYERS, TEXTS, hostile_tree, shown

if TYPE_CHECKING:
    from playwright.sync_api import Page

CONTRAST = (Path(__file__).parent / "contrast.js").read_text()
BOARD = "boards/synthetic/en"
TALK = f"{BOARD}/players/player-03/character-1.situation-1.html"
EVIL = f"boards/hostile/en/players/{slug('CON')}/{slug('<b>c</b>')}.{slug('../s')}.html"

SCHEMES = {"light": "default", "dark": "slate"}
"""What the theme calls the schemes."""

pytestmark = BROWSER


@pytest.mark.parametrize(
    "name",
    [
        "index.html",
        "boards/index.html",
        "boards/hostile/en/index.html",
        f"boards/hostile/en/compare.html?p={slug('CON')}&p={slug('.git')}&p={slug(PLAYERS[-2])}",
        *(f"boards/hostile/en/{part}.html" for part in ("judges", "audit", "scenes", "wins", "head-to-head")),
        f"boards/hostile/en/pairs/{slug('A/b')}~{slug('CON')}/index.html",
        "boards/hostile/en/rescore.html?w=1,2,3&refusals=left_out&c=con",
        f"boards/hostile/en/characters/{slug('<b>c</b>')}.html",
        f"boards/hostile/en/players/{slug(PLAYERS[-2])}/audit.html",
        *(f"boards/hostile/en/players/{slug(player)}/index.html" for player in PLAYERS[::3]),
        EVIL,
        EVIL.replace(f"players/{slug('CON')}", "scenes"),
    ],
)
def test_nothing_hostile_runs(watch: Watched, hostile_url: str, name: str) -> None:
    watch.base = hostile_url
    page = watch.open(name)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    page.emulate_media(media="print")
    ready(page)
    assert page.evaluate("window.__pwned") is None
    assert watch.faults == []


def test_messages_read_in_the_browser_as_they_were_written(watch: Watched, hostile_url: str) -> None:
    watch.base = hostile_url
    page = watch.open(EVIL)
    texts = page.eval_on_selector_all(".rc-message", "all => all.map(e => e.textContent)")
    assert texts == [shown(text) for text in TEXTS for _ in range(2)]


def test_a_direction_override_does_not_leave_its_mark(watch: Watched, hostile_url: str) -> None:
    watch.base = hostile_url
    page = watch.open(EVIL)
    style = "e => getComputedStyle(e).unicodeBidi"
    assert set(page.eval_on_selector_all(".rc-cp", f"all => all.map({style})")) == {"isolate"}
    label = page.eval_on_selector('.rc-cp[data-cp="U+202E"]', "e => getComputedStyle(e, '::before').content")
    assert "U+202E" in label


def test_searching_for_hostile_names_runs_nothing(watch: Watched, hostile_url: str) -> None:
    watch.base = hostile_url
    page = watch.open("index.html")
    page.click(".md-search__input")
    page.keyboard.type("script")
    page.wait_for_selector(".md-search-result__item")
    assert page.evaluate("window.__pwned") is None
    assert watch.faults == []


@pytest.mark.long
def test_huge_messages_do_not_break_a_page(watch: Watched, tmp_path: Path) -> None:
    wide, high = of_long(100_000, 1_000_000), of_long(20_000, 100_000)
    texts = ("W" * wide, "\n" * high, ">" * 3000, "> " * 3000, "end")
    build_site(hostile_tree(tmp_path / "r", texts, ("p",)), output=tmp_path / "s")
    watch.base = "file://"
    name = f"boards/hostile/en/players/p/{slug('<b>c</b>')}.{slug('../s')}.html"
    watch.page.set_viewport_size({"width": 360, "height": 800})
    page = watch.open(f"{tmp_path}/s/{name}")
    said = page.eval_on_selector_all(".rc-message", "all => all.map(e => e.textContent)")
    assert said == [text for text in texts for _ in range(2)]
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert page.evaluate("document.documentElement.scrollHeight") < 200_000
    assert watch.faults == []


def test_opened_as_a_file_it_can_be_searched(watch: Watched, small_site: Path) -> None:
    watch.base = f"file://{small_site}/"
    page = watch.open("index.html")
    page.click(".md-search__input")
    page.keyboard.type("Player 02")
    page.wait_for_selector(".md-search-result__item")
    assert "Player 02" in page.inner_text(".md-search-result__item >> nth=0")
    assert watch.faults == []


def _column(page: Page, key: str) -> list[str]:
    number = page.eval_on_selector(f'.rc-board th[data-key="{key}"]', "th => th.cellIndex + 1")
    cells = page.locator(f".rc-board tbody tr > :nth-child({number})")
    return [str(cell.get_attribute("data-v")) for cell in cells.all()]


def test_a_board_sorts_by_mouse_and_keyboard(watch: Watched, small_url: str) -> None:
    watch.base = small_url
    page = watch.open(f"{BOARD}/index.html")
    length = page.locator(".rc-board th", has_text="Length").nth(-1)
    length.locator("button").click()
    values = [int(v) for v in _column(page, "length")]
    assert values == sorted(values, reverse=True)
    assert length.get_attribute("aria-sort") == "descending"
    page.keyboard.press("Enter")
    assert [int(v) for v in _column(page, "length")] == sorted(values)
    assert length.get_attribute("aria-sort") == "ascending"
    assert page.locator(".rc-board th[aria-sort]").count() == 1
    assert watch.faults == []


def test_rows_without_a_value_come_last_either_way(watch: Watched, small_url: str) -> None:
    watch.base = small_url
    page = watch.open(f"{BOARD}/index.html")
    page.evaluate("document.querySelector('.rc-board tbody tr').cells[4].dataset.v = ''")
    score = page.locator('.rc-board th[data-key="score"] button')
    for _ in range(2):
        score.click()
        assert _column(page, "score")[-1] == ""


@pytest.mark.parametrize("watch", [{"java_script_enabled": False}], indirect=True)
def test_without_scripts_everything_can_be_read(watch: Watched, small_url: str) -> None:
    watch.base = small_url
    page = watch.open(TALK)
    page.locator("details.rc-verdict summary").first.click()
    assert page.locator(".rc-reason").first.is_visible()
    page.goto(small_url + f"{BOARD}/index.html")
    assert page.locator(".rc-board tbody tr").count() == 3
    assert watch.faults == []


def test_a_link_to_a_verdict_opens_it_below_the_header(
    watch: Watched, small_url: str, small_tree: ResultsTree
) -> None:
    talk = next(t for t in small_tree.judgements("synthetic", "en", "player-02") if t.status == "ok")
    watch.base = small_url
    name = f"{BOARD}/players/player-02/{talk.character}.{talk.situation}.html"
    page = watch.open(f"{name}#t3-{talk.judge}")
    box = page.locator(f"#t3-{talk.judge}")
    assert box.get_attribute("open") is not None
    top = box.evaluate("e => e.getBoundingClientRect().top")
    header = page.locator(".md-header").evaluate("e => e.getBoundingClientRect().bottom")
    assert header <= top < 900
    assert watch.faults == []


def test_print_opens_all_reasons(watch: Watched, small_url: str) -> None:
    watch.base = small_url
    page = watch.open(TALK)
    closed = "document.querySelectorAll('details.rc-reasons:not([open])').length"
    page.evaluate(f"addEventListener('beforeprint', () => {{ window.closedInPrint = {closed}; }})")
    assert page.evaluate(closed) > 0
    page.pdf()
    assert page.evaluate("window.closedInPrint") == 0
    assert page.locator("article details[open]").count() == 0


@pytest.mark.parametrize("watch", [{"java_script_enabled": False}], indirect=True)
def test_print_shows_reasons_without_scripts(watch: Watched, small_url: str) -> None:
    watch.base = small_url
    page = watch.open(TALK)
    page.emulate_media(media="print")
    box = page.locator(".rc-reason").first.bounding_box()
    assert box is not None
    assert box["height"] > 0


@pytest.mark.parametrize(
    ("watch", "scheme"), [({"color_scheme": name}, name) for name in SCHEMES], indirect=["watch"]
)
def test_text_has_contrast_on_the_screen_and_on_paper(
    watch: Watched, small_url: str, scheme: Literal["light", "dark"]
) -> None:
    """In a window for each scheme, because the theme remembers the first."""
    watch.base = small_url
    watch.page.emulate_media(color_scheme=scheme)
    for name in (f"{BOARD}/index.html", f"{BOARD}/players/player-01/index.html", TALK):
        page = watch.open(name)
        assert page.get_attribute("body", "data-md-color-scheme") == SCHEMES[scheme]
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert page.evaluate(CONTRAST) == [], name
        page.emulate_media(media="print")
        grounds = page.eval_on_selector_all(
            "body, .rc-msg, .rc-card, .rc-warning", "all => all.map(e => getComputedStyle(e).backgroundColor)"
        )
        lights = [[float(n) for n in re.findall(r"[\d.]+", ground)] for ground in grounds]
        assert all(min(light[:3]) > 200 or light[3:] == [0] for light in lights), grounds
        assert page.evaluate(CONTRAST) == [], name
        page.emulate_media(media="screen")
