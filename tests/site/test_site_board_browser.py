"""The board's controls and the compare page in a real browser; accessibility by axe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bench.boards.loading import load_board
from bench.results import ResultsTree
from bench.site.board_table import column_key, size_of
from bench.site.cells import summarise
from bench.site.numbers import number
from tests.site.browsing import BROWSER, Watched

if TYPE_CHECKING:
    from playwright.sync_api import Page

FOLDER = "boards/synthetic/en"
BOARD = f"{FOLDER}/index.html"
COMPARE = f"{FOLDER}/compare.html"

pytestmark = BROWSER


@pytest.fixture
def numbers(small_site: Path) -> dict[str, Any]:
    """board.json of the small site."""
    found: dict[str, Any] = json.loads((small_site / FOLDER / "board.json").read_text())
    return found


def _shown(page: Page) -> list[str]:
    """Names of the rows that can be seen, in order."""
    rows = page.locator(".rc-board tbody tr:visible th a")
    return [text.strip() for text in rows.all_inner_texts()]


def _cells(page: Page, key: str) -> dict[str, str]:
    """Text of one column by player."""
    index = page.evaluate(
        "key => [...document.querySelectorAll('.rc-board thead th')].findIndex(h => h.dataset.key === key)",
        key,
    )
    rows = page.eval_on_selector_all(
        ".rc-board tbody tr", "(all, n) => all.map(r => [r.dataset.key, r.cells[n].textContent])", index
    )
    return dict(rows)


def _query(page: Page) -> str:
    return str(page.evaluate("location.search"))


def test_filters_are_in_the_address_through_reload_and_back(
    watch: Watched, small_url: str, numbers: dict[str, Any]
) -> None:
    watch.base = small_url
    page = watch.open(BOARD)
    opened = [row["name"] for row in numbers["rows"] if row["weights"] == "open"]
    page.select_option("select[name=weights]", "open")
    assert _shown(page) == opened
    assert _query(page) == "?weights=open"
    page.select_option("select[name=family]", label="Cedar")
    cedar = [row["name"] for row in numbers["rows"] if row["family"] == "Cedar" and row["weights"] == "open"]
    assert _shown(page) == cedar
    page.reload()
    assert _shown(page) == cedar
    assert page.input_value("select[name=weights]") == "open"
    page.go_back()
    assert _shown(page) == opened
    page.go_back()
    assert len(_shown(page)) == len(numbers["rows"])
    assert page.input_value("select[name=weights]") == ""
    assert watch.faults == []


def test_filters_by_size_and_text(watch: Watched, small_url: str, numbers: dict[str, Any]) -> None:
    watch.base = small_url
    page = watch.open(f"{BOARD}?size=small")
    small = [r["name"] for r in numbers["rows"] if size_of(r["parameters_billion"]) == "small"]
    assert _shown(page) == small
    page.locator("form .rc-button").click()
    page.fill("input[name=find]", "player 02 BIRCH")
    assert _shown(page) == ["Player 02"]
    assert page.inner_text(".rc-count") == "1 of 3 players"
    assert _query(page) == "?find=player+02+BIRCH"
    assert watch.faults == []


def test_sorting_is_in_the_address(watch: Watched, small_url: str) -> None:
    watch.base = small_url
    page = watch.open(f"{BOARD}?sort=length&dir=asc")
    ascending = [int(text) for text in _cells(page, "length").values()]
    assert ascending == sorted(ascending)
    head = page.locator('th[data-key="length"]')
    assert head.get_attribute("aria-sort") == "ascending"
    head.locator("button").click()
    assert _query(page) == "?sort=length"
    page.go_back()
    assert [int(text) for text in _cells(page, "length").values()] == ascending
    assert watch.faults == []


def test_an_address_that_says_something_else_is_as_if_it_said_nothing(watch: Watched, small_url: str) -> None:
    watch.base = small_url
    page = watch.open(BOARD)
    plain = (_shown(page), _cells(page, "norm"))
    for query in (
        "?weights=<img src=x onerror=window.__pwned=1>&sort=constructor&dir=up&scoring=__proto__",
        "?family=gone&weighting=toString&size=%00&sort=interval",
        f"?find={'x' * 101}",
    ):
        page = watch.open(BOARD + query)
        assert (_shown(page), _cells(page, "norm")) == plain, query
        assert page.evaluate("window.__pwned") is None
    assert watch.faults == []


def _printed(score: float | None, half: float | None) -> str:
    if score is None:
        return "–"
    return f"{score:.2f}" + ("" if half is None else f" ±{half:.2f}")


def test_other_weightings_show_the_numbers_of_board_json(
    watch: Watched, small_url: str, numbers: dict[str, Any]
) -> None:
    watch.base = small_url
    page = watch.open(f"{BOARD}?weighting=in_character_heavy")
    for weighting in ("in_character_heavy", "entertaining_heavy", "fluency_heavy"):
        if weighting != "in_character_heavy":  # which comes from the address
            page.select_option("select[name=weighting]", weighting)
        found = {row["player"]: row["weightings"][weighting] for row in numbers["rows"]}
        norm = {p: _printed(row["length_norm_score"], row["length_norm_ci"]) for p, row in found.items()}
        assert _cells(page, "norm") == norm
        assert _cells(page, "score") == {p: _printed(r["score"], r["score_ci"]) for p, r in found.items()}
        assert _cells(page, "rank") == {p: str(row["rank"]) for p, row in found.items()}
    assert watch.faults == []


@pytest.mark.parametrize("judges", ["", "fixed"])
def test_robust_scoring_shows_the_numbers_of_board_json(
    watch: Watched, small_url: str, numbers: dict[str, Any], judges: str
) -> None:
    """For judges like these, and for these judges only; the choice is in the page's address."""
    watch.base = small_url
    page = watch.open(f"{BOARD}?scoring=robust&judge=judge-01")
    page.select_option("select[name=judges]", judges)
    assert _query(page) == "?scoring=robust" + ("&judges=fixed" if judges else "")
    page.reload()
    note = page.locator("[data-rc-judges]:visible").inner_text()
    assert ("judges like these:" in note) == (judges == "")
    scores = {row["player"]: row["robust"]["score"] for row in numbers["rows"]}
    robust = {row["player"]: row["robust"] if judges else row["robust"]["sample"] for row in numbers["rows"]}
    norm = {
        p: f"{number(scores[p])}" + ("" if r["low"] is None else f" {number(r['low'])}–{number(r['high'])}")
        for p, r in robust.items()
    }
    assert _cells(page, "norm") == norm
    ranges = {
        p: str(row["rank_low"]) + ("" if row["rank_low"] == row["rank_high"] else f"–{row['rank_high']}")
        for p, row in robust.items()
    }
    assert _cells(page, "rank") == {p: f"{row['rank']} {ranges[p]}" for p, row in robust.items()}
    assert page.locator("select[name=judge]").is_disabled()
    assert not page.locator('th[data-key="score"]').is_visible()
    assert not page.get_by_text("share its rank").is_visible()
    page.select_option("select[name=scoring]", "")
    assert _cells(page, "norm") == {
        row["player"]: _printed(row["length_norm_score"], row["length_norm_ci"]) for row in numbers["rows"]
    }
    assert watch.faults == []


def test_one_judge_shows_the_board_of_that_judge(
    watch: Watched, small_url: str, small_tree: ResultsTree
) -> None:
    watch.base = small_url
    page = watch.open(f"{BOARD}?judge=judge-01")
    for judge in ("judge-01", "judge-02"):
        if judge != "judge-01":  # which comes from the address
            page.select_option("select[name=judge]", judge)
        loaded = load_board(small_tree, "synthetic", "en", prompts={}, judges=[judge])
        alone = {row.player: row for row in loaded.board.rows}
        norm = {p: _printed(row.length_norm_score, row.length_norm_ci) for p, row in alone.items()}
        assert _cells(page, "norm") == norm
        assert _cells(page, "rank") == {p: "–" if r.rank is None else str(r.rank) for p, r in alone.items()}
        for name in ("in_character", "entertaining", "fluency"):
            means = {p: _printed(row.criteria.get(name), None) for p, row in alone.items()}
            assert _cells(page, column_key(name)) == means
    assert watch.faults == []


def test_the_board_is_worked_by_keyboard_alone(watch: Watched, small_url: str) -> None:
    watch.base = small_url
    page = watch.open(BOARD)
    page.locator("input[name=find]").focus()
    page.keyboard.type("player 03")
    assert _shown(page) == ["Player 03"]
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    assert _query(page) == "?find=player+03&weights=open"
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.parentElement.dataset.key === 'length'"):
            break
    page.keyboard.press("Space")
    assert "sort=length" in _query(page)
    assert page.locator('th[data-key="length"]').get_attribute("aria-sort") == "descending"
    assert watch.faults == []


def test_a_board_opened_as_a_file_keeps_its_state(watch: Watched, small_site: Path) -> None:
    watch.base = f"file://{small_site}/"
    page = watch.open(f"{BOARD}?weights=open")
    assert len(_shown(page)) == 2
    page.select_option("select[name=scoring]", "robust")
    assert _query(page) == "?weights=open&scoring=robust"
    page.reload()
    assert page.input_value("select[name=scoring]") == "robust"
    assert watch.faults == []


@pytest.mark.parametrize("watch", [{"java_script_enabled": False}], indirect=True)
def test_without_scripts_the_controls_are_not_there(watch: Watched, small_url: str) -> None:
    watch.base = small_url
    page = watch.open(BOARD)
    assert not page.locator("form[data-rc-controls]").is_visible()
    assert len(_shown(page)) == 3
    page = watch.open(COMPARE)
    assert page.locator("noscript").count() == 1
    assert page.locator(".rc-others a").count() == 9


@pytest.mark.parametrize("scheme", ["http", "file"])
def test_two_players_are_compared_on_the_same_scenes(
    watch: Watched, small_url: str, small_site: Path, small_tree: ResultsTree, scheme: str
) -> None:
    watch.base = small_url if scheme == "http" else f"file://{small_site}/"
    page = watch.open(f"{COMPARE}?p=player-01&p=player-02&p=nobody&p=constructor")
    page.wait_for_selector(".rc-compare")
    expected = {}
    for player in ("player-01", "player-02"):
        judgements = list(small_tree.judgements("synthetic", "en", player))
        for talk in small_tree.conversations("synthetic", "en", player):
            mine = [j for j in judgements if (j.character, j.situation) == (talk.character, talk.situation)]
            score = summarise(talk, mine).score
            href = f"players/{player}/{talk.character}.{talk.situation}.html"
            expected[href] = None if score is None else f"{score:.2f}"
    cells = page.eval_on_selector_all(
        ".rc-compare tbody td a", "all => all.map(a => [a.getAttribute('href'), a.textContent])"
    )
    assert {href: text if text[0].isdigit() else None for href, text in cells} == expected
    page.locator("[data-rc-compare] select").nth(1).select_option("player-03")
    # By locator: the policy of the page forbids to evaluate a string.
    page.locator(".rc-compare thead", has_text="Player 03").wait_for()
    assert _query(page) == "?p=player-01&p=player-03"
    page.go_back()
    page.locator(".rc-compare thead", has_text="Player 02").wait_for()
    assert watch.faults == []


def test_search_finds_characters_and_situations(watch: Watched, small_url: str) -> None:
    watch.base = small_url
    page = watch.open("index.html")
    page.click(".md-search__input")
    page.keyboard.type("Clockmaker")
    page.wait_for_selector(".md-search-result__item")
    assert "Clockmaker" in page.inner_text(".md-search-result__item >> nth=0")
    assert watch.faults == []
